"""A self-contained page of HTML: sortable tables, pictures, sections."""

import base64
import io
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from torchclusteval.common.formatting import format_number, printable
from torchclusteval.common.optional import import_optional
from torchclusteval.plots.canvas import no_glyph_warnings

_PRINTED, _LONG = 10, 40  # rows on paper (as in page.css) of a table with more rows than this

Cell = str | int | float | tuple[str, float]


def text(label: object) -> str:
    """A label as text of a page."""
    return escape(printable(str(label)))


def name(label: object) -> str:
    """A name of a measure, which may break after underscores."""
    return text(label).replace("_", "_<wbr>")


def paragraph(content: str) -> str:
    return f"<p>{content}</p>"


def note(content: str) -> str:
    return f'<p class="note">{content}</p>'


def table(
    header: Sequence[str], rows: Sequence[Sequence[Cell]], *, words: Sequence[int] = (0,), best: int | None = None
) -> str:
    """A table that a click on a column sorts; a long one prints its first rows, or all after a tick.

    ``words`` are the columns of text, on the left; other cells are numbers, or a text and the number to sort by.
    ``best`` is the row to mark.
    """
    head = "".join(
        f'<th scope="col"{_class("text" if i in words else "")}>{name(cell)}</th>' for i, cell in enumerate(header)
    )
    body = []
    for i, row in enumerate(rows):
        cells = "".join(_cell(cell, j == words[0], j in words) for j, cell in enumerate(row))
        body.append(f"<tr{_class('best' if i == best else '')}>{cells}</tr>")
    tall = " tall" if len(rows) > 25 else ""
    whole = (
        f'<div class="wide{tall}"><table class="sorts"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )
    if len(rows) <= _LONG:
        return whole
    tick = f'<label class="note"><input type="checkbox"> Print all {len(rows)} rows</label>'
    said = f'<p class="note printed">Printed are the first {_PRINTED} of {len(rows)} rows; the page has all.</p>'
    return f'<div class="long">{tick}{said}{whole}</div>'


def _cell(cell: Cell, is_head: bool, is_text: bool) -> str:
    if is_text:
        shown = f'<span class="n">{text(cell)}</span>'
        return f'<th scope="row">{shown}</th>' if is_head else f'<td class="text">{shown}</td>'
    if isinstance(cell, str):
        return f"<td>{text(cell)}</td>"
    if not isinstance(cell, tuple):
        cell = (str(cell) if isinstance(cell, int) else format_number(cell), cell)
    key = f"{cell[1]:.17g}"
    key = {"nan": "", "inf": "Infinity", "-inf": "-Infinity"}.get(key, key)  # as a script reads them
    return f'<td data-key="{key}">{text(cell[0])}</td>'


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def picture(axes: Any, description: str) -> str:
    """The figure of axes as an image whose texts the browser sets; the description is for those who cannot see it."""
    stream, settings = io.BytesIO(), {"svg.fonttype": "none", "svg.hashsalt": "torchclusteval"}
    axes.figure.set_layout_engine("none")  # labels have their room
    with import_optional("matplotlib", "plots").rc_context(settings), no_glyph_warnings():
        axes.figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    data = base64.b64encode(stream.getvalue()).decode()
    size = f"max-width:min(100%,{96 * axes.figure.get_size_inches()[0]:.0f}px)"
    source = f'src="data:image/svg+xml;base64,{data}"'
    return f'<div class="picture"><img alt="{escape(description)}" style="{size}" {source}></div>'


@cache
def _data(file: str) -> str:
    return (files("torchclusteval.reports") / "data" / file).read_text(encoding="utf-8")


def page(title: str, lead: Sequence[str], sections: Sequence[tuple[str, str, str]]) -> str:
    """The whole page: a title, sentences of HTML that stand first, and anchor, heading and HTML of each section."""
    return Template(_data("page.html")).substitute(
        title=text(title),
        style=_data("page.css"),
        script=_data("page.js"),
        points="".join(f"<li>{point}</li>" for point in lead),
        links="".join(f'<a href="#{anchor}">{text(heading)}</a> ' for anchor, heading, _ in sections),
        sections="".join(
            f'<section id="{anchor}"><h2>{text(heading)}</h2>{content}</section>\n'
            for anchor, heading, content in sections
        ),
    )
