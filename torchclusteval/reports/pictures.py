"""Pictures as inline SVG, whose texts the browser sets."""

import io
import re
import warnings
from html import escape
from itertools import count
from typing import Any

from torchclusteval.common.optional import import_optional

_POINT = 4 / 3  # pixels


class Pictures:
    """Turns axes into SVG elements with ids of their own in one page."""

    def __init__(self) -> None:
        self._numbers = count()

    def svg(self, axes: Any, description: str) -> str:
        """The figure of axes as an element of a page; the description is for those who cannot see it."""
        matplotlib = import_optional("matplotlib", "plots")
        stream = io.StringIO()
        settings = {"svg.fonttype": "none", "svg.hashsalt": "torchclusteval"}
        with matplotlib.rc_context(settings), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")
            axes.figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
        text = stream.getvalue()
        text = text[text.index("<svg") :]
        head, body = text[: text.index(">") + 1], text[text.index(">") + 1 :]
        body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
        prefix = f"p{next(self._numbers)}-"
        body = re.sub(r'\bid="', f'id="{prefix}', body)
        body = re.sub(r"url\(#", f"url(#{prefix}", body)
        body = re.sub(r'href="#', f'href="#{prefix}', body)
        box = re.search(r'viewBox="([^"]*)"', head)
        assert box is not None
        width = float(box[1].split()[2]) * _POINT
        label = escape(description, quote=True)
        return (
            f'<div class="picture"><svg viewBox="{box[1]}" role="img" aria-label="{label}" '
            f'style="max-width:{width:.0f}px;min-width:{0.7 * width:.0f}px" xmlns="http://www.w3.org/2000/svg" '
            f'xmlns:xlink="http://www.w3.org/1999/xlink"><title>{escape(description)}</title>{body.strip()}</div>'
        )
