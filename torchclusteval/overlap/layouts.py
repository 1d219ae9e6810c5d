"""Text that lists memberships: its layouts, which of them it has, and whether its first line is a header."""

import re
from collections.abc import Collection, Mapping, Sequence, Set

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


def read_text(text: str, layout: str, header: str) -> tuple[dict[str, list[str]] | list[Sequence[str]], list[str]]:
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
    first = next(iter(lines))
    names = lines.pop(first) if header == "yes" else None
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
            names, rows = lines.pop(first), rows[1:]
    again = None if names is None else next((n for n, line in lines.items() if line.strip() == names.strip()), None)
    if again is not None:
        expected = f"the header of line {first} once; got it again (files put together?)"
        raise ValueError(f'line {again}: expected {expected} (remove it, or header="no")')
    if layout == "group-per-line":
        return rows, notes
    memberships: dict[str, list[str]] = {row[0]: [] for row in rows}
    for item, *groups in rows:
        memberships[item] += groups
    return memberships, notes


def _line_of(layout: str) -> str:
    return {"item-groups": "item<TAB>group group ...", "group-per-line": "of items"}.get(layout, "item<TAB>group")


def _lines(text: str) -> tuple[dict[int, str], list[str]]:
    """Lines with content by their numbers, and a note of comments that could have been such lines."""
    lines = {n: line for n, line in enumerate(text.split("\n"), 1) if line.strip(" ")}
    comments = {n: line for n, line in lines.items() if line.startswith("#")}
    for number in comments:
        del lines[number]
    start = next(iter(lines), 0)
    doubtful = [n for n, line in comments.items() if n > start or "\t" in line.strip()]
    if not doubtful or (len(doubtful) == 1 and doubtful[0] < start):  # one line above is the names of columns
        return lines, []
    return lines, [f"{len(doubtful)} lines that begin with # are left out as comments, the first is line {doubtful[0]}"]


def _find_layout(lines: Mapping[int, str]) -> str:
    """The layout of lines, where there is no doubt."""
    odd = next((number for number, line in lines.items() if line.count("\t") != 1), None)
    if odd is not None:
        got = shortened(lines[odd])
        if not any("\t" in line.strip() or " " in line.strip() for line in lines.values()):
            comma = next((f" (divided by {mark!r}? write tabs)" for mark in ",;|" if mark in lines[odd]), "")
            raise ValueError(f"line {odd}: expected item<TAB>group; got one column, {got}{comma}")
        if _is_list_of_groups(lines.values()):
            return "group-per-line"
        raise ValueError(f"line {odd}: expected item<TAB>group; got {got} (or say {CHOICES})")
    several = {}
    for number, line in lines.items():
        if " " in line:
            groups = line.partition("\t")[2].strip()
            if " " in groups and not groups.startswith('"'):
                several[number] = groups.split()
    if not several:
        return "item-group"
    items = {line.partition("\t")[0].strip() for line in lines.values()}
    if len(items) == len(lines) and all(_NUMBER.fullmatch(group) for groups in several.values() for group in groups):
        return "item-groups"
    number = next(iter(several))
    got = f"{shortened(lines[number])}, one group with a blank in its name or several groups"
    raise ValueError(f"line {number}: expected item<TAB>group; got {got} (say {CHOICES})")


def _is_list_of_groups(lines: Collection[str]) -> bool:
    """Whether lines are far more likely groups than an item and its groups, which would be more than the items."""
    divider = "\t" if any("\t" in line.strip() for line in lines) else None
    rows = [line.strip().split(divider) for line in lines]
    lengths = {len(row) for row in rows}
    once = all(len(set(row)) == len(row) for row in rows)
    return len(lengths) > 1 and max(lengths) > 2 and once and len({x for row in rows for x in row[1:]}) > 2 * len(rows)


def _item_rows(lines: Mapping[int, str], split: bool) -> list[Sequence[str]]:
    """An item and its groups of each line."""
    rows: list[Sequence[str]] = []
    for number, line in lines.items():
        item, tab, groups = line.partition("\t")
        row: tuple[str, ...] = (item, groups) if groups else (item,)
        if " " in line or '"' in line:
            cells = (_name(cell, number) for cell in (groups.split(" ") if split else [groups]))
            row = (_name(item, number), *filter(None, cells))
        if not row[0] or not tab or "\t" in groups:
            layout = "item<TAB>group group ..." if split else "item<TAB>group"
            raise ValueError(f"line {number}: expected {layout}; got {shortened(line)} (or say {CHOICES})")
        rows.append(row)
    return rows


def _group_rows(lines: Mapping[int, str]) -> list[Sequence[str]]:
    """The items of each line."""
    tabs = any("\t" in line.strip() for line in lines.values())
    rows: list[Sequence[str]] = []
    blanks: list[tuple[int, str]] = []
    for number, line in lines.items():
        cells = line.strip(" \t").split("\t" if tabs else " ")
        row = [_name(cell, number) for cell in cells if tabs or cell]
        if not row or not all(row):
            raise ValueError(f"line {number}: expected an item between two tabs; got {shortened(line)}")
        if not tabs and any(name.endswith((",", ";")) for name in row):
            got = f"{shortened(line)} (write tabs)"
            raise ValueError(f"line {number}: expected items divided by tabs or blanks; got {got}")
        rows.append(row)
        blanks += [(number, name) for name in row if " " in name] if tabs else []
    known = {name for row in rows for name in row} if blanks else set()
    for number, name in blanks:
        parts = name.split()
        if known.issuperset(parts) or all(map(_NUMBER.fullmatch, parts)):
            got = f"an item {shortened(name)} in a file with tabs"
            raise ValueError(f"line {number}: expected items divided by tabs or by blanks; got {got}")
    return rows


def _name(cell: str, number: int) -> str:
    """A name without the blanks around it, and without quotes as CSV has them."""
    name = cell.strip(" ")
    if not name.startswith('"'):
        return name
    inner = name[1:-1].replace('""', "\0")
    if len(name) < 2 or name[-1] != '"' or '"' in inner:
        got = f"{shortened(cell)} (write the file without quotes)"
        raise ValueError(f"line {number}: expected names without quotes, or closed ones; got {got}")
    return inner.replace("\0", '"')


def _find_header(rows: Sequence[Sequence[str]], layout: str) -> tuple[bool, list[str]]:
    """Whether the first row is a header, and a note where it could be one."""
    rest = [row for row in rows if row != rows[0]]
    if layout != "group-per-line":
        named = {name for row in rest for name in row[1:]}
        return header_of_items(rows[0], {row[0] for row in rest}, named, len(rows))
    numbers = bool(rest) and all(_NUMBER.fullmatch(name) for row in rest for name in row)
    taken = numbers and not any(map(_NUMBER.fullmatch, rows[0]))
    return taken, [_header_note(rows[0])] if taken else []


def header_of_items(first: Sequence[str], items: Set[str], groups: Set[str], n_rows: int) -> tuple[bool, list[str]]:
    """Whether the first row of items and their groups is a header, and a note where it could be one.

    Args:
        first: an item and its groups.
        items: those of the rows that differ from the first.
        groups: likewise.
        n_rows: how many rows there are.
    """
    item, *names = first
    if n_rows < 2 or not names or any(map(_NUMBER.fullmatch, first)):
        return False, []
    if item in items or not groups.isdisjoint(names):
        return False, []
    numbers = any(bool(known) and all(map(_NUMBER.fullmatch, known)) for known in (items, groups))
    if numbers or (_is_word(item, _ITEM_WORDS) and all(_is_word(name, _GROUP_WORDS) for name in names)):
        return True, [_header_note(first)]
    shown = shortened(" ".join(first))
    return False, [f'the first line, {shown}, is taken for an item and its group (header="yes" if it is a header)']


def _header_note(first: Sequence[str]) -> str:
    return f'the first line, {shortened(" ".join(first))}, is taken for a header (header="no" if it holds an item)'


def _is_word(name: str, words: re.Pattern[str]) -> bool:
    """Whether a name such as ``cell_id`` has one of the words in it."""
    return any(map(words.fullmatch, re.split(r"[\W_]+", name.lower())))
