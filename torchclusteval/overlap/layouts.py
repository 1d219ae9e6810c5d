"""Text that lists memberships: its layouts, which of them it has, and whether its first line is a header."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from torchclusteval.overlap.inputs import shortened

LAYOUTS = ("item-group", "item-groups", "group-per-line")
HEADERS = ("auto", "yes", "no")
CHOICES = (
    'layout="item-group" (item<TAB>group), layout="item-groups" (item<TAB>group group ...) or '
    'layout="group-per-line" (the items of a group, divided by tabs or blanks)'
)

_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?")
_ITEM_WORDS = re.compile(
    "barcode|cell|doc|document|element|entity|gene|id|index|items?|key|member|name|nodes?|object|point|sample|sequence|"
    "subject|term|user|vertex|word"
)
_GROUP_WORDS = re.compile(
    "annotation|assignment|category|class|classes|clusters?|clustering|communities|community|groups?|labels?|leiden|"
    "louvain|memberships?|modules?|tags?|topics?|truth|type"
)


class Line(NamedTuple):
    """A line that is neither blank nor a comment."""

    number: int
    text: str


def read_text(text: str, layout: str, header: str) -> tuple[dict[str, list[str]] | list[list[str]], list[str]]:
    """Groups by item, or the list of groups where a line is one; and what to note of how the text was read.

    Args:
        text: lines that end in a line feed.
        layout: one of ``LAYOUTS``, or ``"auto"``.
        header: one of ``HEADERS``.

    Raises:
        ValueError: a line is not as expected, or the layout is in doubt; the message names the line.
    """
    lines, notes = _lines(text)
    if not lines:
        comments = " but comments, which begin with #" if text.strip() else ""
        raise ValueError(f"expected at least one line {_line_of(layout)}; got none{comments}")
    skipped: list[Line] = []
    if header == "yes":
        skipped, lines = lines[:1], lines[1:]
    if not lines:
        raise ValueError(f"expected at least one line {_line_of(layout)} below the header; got none")
    if layout == "auto":
        layout = _find_layout(lines)
        if layout == "group-per-line":
            notes.append('every line is taken for the items of one group (layout="group-per-line" says so)')
    rows = _group_rows(lines) if layout == "group-per-line" else _item_rows(lines, split=layout == "item-groups")
    if header == "auto":
        taken, note = _find_header(rows, layout)
        notes += note
        if taken:
            skipped, lines, rows = lines[:1], lines[1:], rows[1:]
    for line in lines if skipped else ():
        if line.text.strip() == skipped[0].text.strip():
            expected = f"the header of line {skipped[0].number} once; got it again (files put together?)"
            raise ValueError(f'line {line.number}: expected {expected} (remove it, or header="no")')
    if layout == "group-per-line":
        return rows, notes
    memberships: dict[str, list[str]] = {}
    for item, *groups in rows:
        memberships.setdefault(item, []).extend(groups)
    return memberships, notes


def _line_of(layout: str) -> str:
    return {"item-groups": "item<TAB>group group ...", "group-per-line": "of items"}.get(layout, "item<TAB>group")


def _lines(text: str) -> tuple[list[Line], list[str]]:
    """Lines with content, and a note of comments that could have been lines."""
    lines: list[Line] = []
    doubtful: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("#"):
            if lines or "\t" in line.strip():
                doubtful.append(number)
        elif line.strip(" \t") or "\t" in line:
            lines.append(Line(number, line))
    heading = len(doubtful) == 1 and (not lines or doubtful[0] < lines[0].number)  # names of columns, as SNAP has
    if not doubtful or heading:
        return lines, []
    return lines, [f"{len(doubtful)} lines that begin with # are left out as comments, the first is line {doubtful[0]}"]


def _find_layout(lines: Sequence[Line]) -> str:
    """The layout of lines, where there is no doubt."""
    odd = next((line for line in lines if line.text.count("\t") != 1), None)
    if odd is not None:
        if not any("\t" in line.text.strip() for line in lines) and all(" " not in line.text.strip() for line in lines):
            comma = next((f" (divided by {mark!r}? write tabs)" for mark in ",;|" if mark in odd.text), "")
            raise ValueError(
                f"line {odd.number}: expected item<TAB>group; got one column, {shortened(odd.text)}{comma}"
            )
        if _is_list_of_groups(lines):
            return "group-per-line"
        raise ValueError(f"line {odd.number}: expected item<TAB>group; got {shortened(odd.text)} (or say {CHOICES})")
    cells = [line.text.partition("\t") for line in lines]
    several = [at for at, (_, _, groups) in enumerate(cells) if " " in groups.strip() and groups.strip()[0] != '"']
    if not several:
        return "item-group"
    items = [item.strip() for item, _, _ in cells]
    tokens = {group for at in several for group in cells[at][2].split(" ") if group}
    if len(set(items)) == len(items) and all(map(_NUMBER.fullmatch, tokens)):
        return "item-groups"
    line = lines[several[0]]
    got = f"{shortened(line.text)}, one group with a blank in its name or several groups"
    raise ValueError(f"line {line.number}: expected item<TAB>group; got {got} (say {CHOICES})")


def _is_list_of_groups(lines: Sequence[Line]) -> bool:
    """Whether lines are far more likely groups than an item and its groups, which would be more than the items."""
    tabs = any("\t" in line.text.strip() for line in lines)
    rows = [line.text.strip().split("\t" if tabs else None) for line in lines]
    lengths = {len(row) for row in rows}
    once = all(len(set(row)) == len(row) for row in rows)
    return len(lengths) > 1 and max(lengths) > 2 and once and len({x for row in rows for x in row[1:]}) > 2 * len(rows)


def _item_rows(lines: Iterable[Line], split: bool) -> list[list[str]]:
    """An item and its groups of each line."""
    rows = []
    for line in lines:
        cells = line.text.split("\t")
        item = _name(cells[0], line)
        if len(cells) != 2 or not item:
            layout = "item<TAB>group group ..." if split else "item<TAB>group"
            raise ValueError(f"line {line.number}: expected {layout}; got {shortened(line.text)} (or say {CHOICES})")
        groups = cells[1].split(" ") if split else [cells[1]]
        rows.append([item, *(name for name in (_name(group, line) for group in groups) if name)])
    return rows


def _group_rows(lines: Iterable[Line]) -> list[list[str]]:
    """The items of each line."""
    lines = list(lines)
    tabs = any("\t" in line.text.strip() for line in lines)
    rows, blanks = [], []
    for line in lines:
        cells = line.text.strip(" \t").split("\t" if tabs else " ")
        row = [_name(cell, line) for cell in cells if tabs or cell]
        if not all(row):
            raise ValueError(f"line {line.number}: expected an item between two tabs; got {shortened(line.text)}")
        if not tabs and any(name.endswith((",", ";")) for name in row):
            got = f"{shortened(line.text)} (write tabs)"
            raise ValueError(f"line {line.number}: expected items divided by tabs or blanks; got {got}")
        rows.append(row)
        blanks += [(line, name) for name in row if " " in name] if tabs else []
    known = {name for row in rows for name in row} if blanks else set()
    for line, name in blanks:
        parts = name.split()
        if known.issuperset(parts) or all(map(_NUMBER.fullmatch, parts)):
            got = f"an item {shortened(name)} in a file with tabs"
            raise ValueError(f"line {line.number}: expected items divided by tabs or by blanks; got {got}")
    return rows


def _name(cell: str, line: Line) -> str:
    """A name without the blanks around it, and without quotes as CSV has them."""
    name = cell.strip(" ")
    if not name.startswith('"'):
        return name
    inner = name[1:-1].replace('""', "\0")
    if len(name) < 2 or name[-1] != '"' or '"' in inner:
        got = f"{shortened(cell)} (write the file without quotes)"
        raise ValueError(f"line {line.number}: expected names without quotes, or closed ones; got {got}")
    return inner.replace("\0", '"')


def _find_header(rows: Sequence[Sequence[str]], layout: str) -> tuple[bool, list[str]]:
    """Whether the first row is a header, and a note where it could be one."""
    if len(rows) < 2 or (layout != "group-per-line" and not rows[0][1:]):
        return False, []
    (first, *groups), rest = rows[0], [row for row in rows[1:] if row != rows[0]]
    shown = shortened(" ".join(rows[0]))
    header = f'the first line, {shown}, is taken for a header (header="no" if it holds an item)'
    if any(map(_NUMBER.fullmatch, rows[0])):
        return False, []
    if layout == "group-per-line":
        taken = bool(rest) and all(_NUMBER.fullmatch(name) for row in rest for name in row)
        return taken, [header] if taken else []
    items, named = {row[0] for row in rest}, {name for row in rest for name in row[1:]}
    if first in items or not named.isdisjoint(groups):
        return False, []
    numbers = any(bool(names) and all(map(_NUMBER.fullmatch, names)) for names in (items, named))
    if numbers or (_is_word(first, _ITEM_WORDS) and all(_is_word(group, _GROUP_WORDS) for group in groups)):
        return True, [header]
    item = f'the first line, {shown}, is taken for an item and its group (header="yes" if it is a header)'
    return False, [item]


def _is_word(name: str, words: re.Pattern[str]) -> bool:
    """Whether a name such as ``cell_id`` has one of the words in it."""
    return any(map(words.fullmatch, re.split(r"[\W_]+", name.lower())))
