"""Pictures written to files."""

from typing import Any

from torchclusteval.common.optional import import_optional


def save(axes: Any, path: str) -> None:
    """Write the figure of axes; texts of a PDF can be searched and edited."""
    from torchclusteval.plots.canvas import no_glyph_warnings

    with import_optional("matplotlib", "plots").rc_context({"pdf.fonttype": 42}), no_glyph_warnings():
        axes.figure.savefig(path)
