"""Numbers and tables as text."""

import math
from collections.abc import Collection, Sequence
from html import escape

_MAX_BRIEF, _NAMED = 200, 5  # characters; documents


def format_number(x: float) -> str:
    """A number in at most about eight characters."""
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    if x == int(x) and abs(x) < 1e7:
        return f"{x:.0f}" if abs(x) >= 10 else f"{x:.4f}"
    if abs(x) >= 1e5:
        return f"{x:.6g}"
    return f"{x:.4f}" if abs(x) >= 1e-3 else f"{x:.3g}"


def brief(x: object) -> str:
    """An unexpected value, on one line."""
    text = repr(x)
    if isinstance(x, str):
        return text
    text = " ".join(text.split())
    return text if len(text) <= _MAX_BRIEF else f"{text[:_MAX_BRIEF]} ..."


def shortened(value: object) -> str:
    """The repr of a value, on one line of at most 60 characters."""
    text = repr(value) if isinstance(value, str) else " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def lacking(own: Collection[object], other: Collection[object], what: str = "documents") -> str:
    """What to say of a side that lacks some of the documents (recordings) of the other; empty if it has all."""
    alone = [name for name in other if name not in own]
    more = f" and {len(alone) - _NAMED} more" if len(alone) > _NAMED else ""
    listed = ", ".join(map(shortened, alone[:_NAMED])) + more
    return f"lacks {len(alone)} of {len(other)} {what}, which count as empty there: {listed}" if alone else ""


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns: the first one left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in (header, *rows):
        first, *others = (
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *others]).rstrip())
    return "\n".join(lines)


def html_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    words: Sequence[int] = (0,),
    title: str = "",
    notes: Sequence[str] = (),
) -> str:
    """A plain HTML table for notebooks; the columns ``words`` are left-aligned, the others right-aligned."""

    def cells(row: Sequence[str], kind: str) -> str:
        sides = ("left" if i in words else "right" for i in range(len(row)))
        return "".join(
            f'<{kind} style="text-align:{side}">{escape(printable(cell))}</{kind}>'
            for side, cell in zip(sides, row, strict=True)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    above = f"<p>{escape(printable(title))}</p>" if title else ""
    below = "".join(f"<p>{escape(printable(note))}</p>" for note in notes)
    return f"{above}<table><thead><tr>{cells(header, 'th')}</tr></thead><tbody>{body}</tbody></table>{below}"


def printable(text: str) -> str:
    """The text with ? for line breaks and control characters."""
    return "".join(x if x.isprintable() else "?" for x in text)


def shorten(text: str, width: int) -> str:
    """The text, or the two ends of a text longer than ``width``."""
    if len(text) <= width:
        return text
    tail = (width - 3) // 2
    return f"{text[: width - 3 - tail]}...{text[len(text) - tail :]}"
