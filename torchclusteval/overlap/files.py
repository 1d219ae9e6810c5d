"""Read memberships from files of text and of JSON."""

import gzip
import itertools
import json
import re
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from torchclusteval.common.checks import as_path, check_choice
from torchclusteval.common.formatting import brief, shortened
from torchclusteval.common.other_formats import other_format
from torchclusteval.overlap.memberships import Memberships, build, of_plain

_LINES = {"item-group": "item<TAB>group", "item-groups": "item<TAB>group group ...", "group-per-line": "of items"}
LAYOUTS = tuple(_LINES)
_JSON = "expected a JSON object {item: [groups]}, or a list of groups"
_CHOICES = (
    'layout="item-group" (item<TAB>group), layout="item-groups" (item<TAB>group group ...) or '
    'layout="group-per-line" (the items of a group, divided by tabs or blanks)'
)
_HEADERS = {"item\tgroup": "item-group", "item\tgroups": "item-groups"}
_NUMBERS = re.compile(r"[+-]?\d+(\.\d*)?( +[+-]?\d+(\.\d*)?)*")


def read_memberships(path: str | Path, *, layout: str = "auto", header: str = "auto") -> Memberships:
    r"""Memberships of named items, from a UTF-8 file, plain or packed by gzip.

    Text has one of three layouts:

    * ``"item-group"``: lines ``item<TAB>group``; an item of several groups has several lines, and ``item<TAB>`` alone
      is an item without a group.
    * ``"item-groups"``: lines ``item<TAB>group group ...``, as in ``community.dat`` of the LFR benchmark.
    * ``"group-per-line"``: the items of one group on each line, divided by tabs, or by blanks in a file without tabs,
      as in the community files of SNAP.

    ``"auto"`` means ``"group-per-line"`` for a file name that ends in ``.cmty`` or ``.cmty.txt``, ``"item-groups"`` for
    a header ``item<TAB>groups`` and for files with one line an item, some with several numbers as groups, and
    ``"item-group"`` for all others. Lines that begin with ``#`` are comments; blank lines and blanks around names do
    not count. Names are text: ``01`` and ``1`` differ.

    JSON is a mapping ``{item: [groups]}`` (``{group: [items]}`` with ``"group-per-line"``), a list of groups, or an
    object of CDlib with such a list as its ``"communities"``.

    Args:
        path: the file; JSON if its name ends in ``.json`` or ``.json.gz``, or if all of it is one JSON object or list.
        layout: ``"auto"`` or one of the layouts.
        header: whether the first line is a header, ``"yes"`` or ``"no"``. ``"auto"`` finds ``item<TAB>group``,
            ``item<TAB>groups``, and names that stand above numbers and occur nowhere else.

    Raises:
        ValueError: the content is not as described; the message begins with the file and names the line.
        OSError: the file cannot be read.

    Warnings report how a doubtful first line was read, and comments that may be items.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "groups.tsv")
    >>> _ = path.write_text("ann\tclub\nann\tchoir\nbob\tclub\n")
    >>> tce.read_memberships(path).n_groups
    2
    """
    check_choice(layout, "layout", ("auto", *LAYOUTS))
    check_choice(header, "header", ("auto", "yes", "no"))
    path = as_path(path, "path")
    content, name, notes = path.read_bytes(), path.name.removesuffix(".gz"), list[str]()
    try:
        text = _text(content, path.suffix == ".gz")
        is_json = name.endswith(".json")
        value = _json_value(text, is_json) if is_json or text.lstrip()[:1] in ("{", "[") else None
        if is_json or value is not None:
            made, doubt = of_plain(_from_json(value, layout))
            if doubt is not None and layout == "auto":
                raise ValueError(f'{_JSON}; got {doubt} (say layout="item-groups" or layout="group-per-line")')
        else:
            if (other := other_format(text)) is not None:
                raise ValueError(f"expected groups of items; got {other}")
            named = layout == "auto" and name.endswith((".cmty", ".cmty.txt"))
            made = _from_text(text, "group-per-line" if named else layout, header, notes)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    for note in notes:
        warnings.warn(f"{path}: {note}", UserWarning, stacklevel=2)
    return made


def _text(content: bytes, packed: bool) -> str:
    if packed or content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"expected a gzip file; it is damaged or none ({error})") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before, got = content[: error.start].count(b"\n"), f"byte {content[error.start]:#04x}"
    else:
        odd = re.search("[\0\ufeff]", text)  # binary files and UTF-16; files put together
        if odd is None:
            return text.replace("\r\n", "\n").replace("\r", "\n")
        before, got = text[: odd.start()].count("\n"), f"the character {odd[0]!r}"
    raise ValueError(f"line {before + 1}: expected text in UTF-8; got {got} (save it in UTF-8)")


def _from_text(text: str, layout: str, header: str, notes: list[str]) -> Memberships:
    lines, numbers = _content(text, notes)
    if layout == "auto" and len(lines) > 1 and header != "no":
        layout = _HEADERS.get(lines[0].strip().lower(), layout)
    if layout == "group-per-line":
        columns = [[line.replace("\t", " ") for line in lines]]
    else:
        *columns, layout = _columns(lines, numbers, layout)
    taken = header == "yes" or (header == "auto" and len(lines) > 1 and _is_header(lines, columns, notes))
    if len(lines) <= taken:
        why = " below the header" if taken else " but comments, which begin with #" if text.strip() else ""
        expected = _LINES.get(layout, "item<TAB>group")
        raise ValueError(f"expected at least one line {expected}; got none{why}")
    if taken:
        first, (*lines,), (start, *numbers), columns = lines[0], lines[1:], numbers, [x[1:] for x in columns]
        if first in lines:
            expected = f"the header of line {start} once; got it again (files put together?)"
            again = numbers[lines.index(first)]
            raise ValueError(f'line {again}: expected {expected} (remove it, or header="no")')
    if layout == "group-per-line":
        return Memberships.from_groups(_groups(lines, numbers))
    items, cells = columns
    marked = " " in text or '"' in text
    if marked:
        items = [_name(*cell) for cell in zip(items, numbers, strict=True)]
    if "" in items:
        raise _no_item(numbers[items.index("")], lines[items.index("")], layout)
    codes, names = _codes(items)
    if marked or "" in cells or layout == "item-groups":
        several = [cell.split(" ") if layout == "item-groups" else [cell] for cell in cells]
        parts = [list(filter(None, [_name(x, n) for x in own])) for own, n in zip(several, numbers, strict=True)]
        codes, cells = np.repeat(codes, list(map(len, parts))), list(itertools.chain.from_iterable(parts))
    groups, labels = _codes(cells)
    return build(torch.from_numpy(codes), torch.from_numpy(groups), (len(names),), labels, names)


def _content(text: str, notes: list[str]) -> tuple[list[str], Sequence[int]]:
    """Return (lines that are neither blank nor comments, their numbers)."""
    lines = text.rstrip("\n").split("\n")
    if all(map(str.strip, lines)) and not text.startswith("#") and "\n#" not in text:
        return lines, range(1, len(lines) + 1)
    filled = [number for number, line in enumerate(lines, 1) if line.strip(" ")]
    numbers = [number for number in filled if not lines[number - 1].startswith("#")]
    start = next(iter(numbers), len(lines))
    doubtful = [n for n in filled if lines[n - 1].startswith("#") and (n > start or "\t" in lines[n - 1].strip())]
    if len(doubtful) > 1 or any(n > start for n in doubtful):  # a single line at the top names columns
        got = f"{len(doubtful)} lines that begin with #"
        notes.append(f"{got} are left out as comments, the first is line {doubtful[0]}")
    return [lines[number - 1] for number in numbers], numbers


def _no_item(number: int, line: str, layout: str, more: str = "") -> ValueError:
    got = f"{shortened(line)}{more} (or say {_CHOICES})"
    return ValueError(f"line {number}: expected {_LINES.get(layout, 'item<TAB>group')}; got {got}")


def _columns(lines: list[str], numbers: Sequence[int], layout: str) -> tuple[list[str], list[str], str]:
    """Return (items, cells of groups, layout). Several numbers in a cell are groups if no item has two lines."""
    text = "\t".join(lines)
    for tabs, number, line in zip(map(str.count, lines, itertools.repeat("\t")), numbers, lines, strict=False):
        if tabs != 1:
            comma = next((f", divided by {mark!r}? (write tabs)" for mark in ",;|" if mark in line), "")
            raise _no_item(number, line, layout, "" if tabs else comma)
    cells = text.split("\t")
    items, groups = cells[::2], cells[1::2]
    if layout == "auto" and " " in text:
        trimmed = [cell.strip(" ") for cell in groups]
        several = [place for place, cell in enumerate(trimmed) if " " in cell and not cell.startswith('"')]
        if several:
            layout = "item-groups"
            if len(set(items)) < len(items) or not all(_NUMBERS.fullmatch(trimmed[place]) for place in several):
                what = ", one group with a blank in its name or several groups"
                raise _no_item(numbers[several[0]], lines[several[0]], "auto", what)
    return items, groups, layout


def _groups(lines: list[str], numbers: Sequence[int]) -> list[list[str]]:
    """The items of each line."""
    tabs = any("\t" in line.strip() for line in lines)
    cells = [line.strip(" \t").split("\t" if tabs else " ") for line in lines]
    rows = [[_name(cell, n) for cell in row if tabs or cell] for n, row in zip(numbers, cells, strict=True)]
    known = {name for row in rows for name in row}
    for number, line, row in zip(numbers, lines, rows, strict=True):
        wrong = None
        if not row or not all(row):
            wrong = f"an item between two tabs; got {shortened(line)}"
        elif not tabs and any(name.endswith((",", ";")) for name in row):
            wrong = f"items divided by tabs or blanks; got {shortened(line)} (write tabs)"
        elif any(" " in x and (_NUMBERS.fullmatch(x) or known.issuperset(x.split())) for x in row):
            wrong = f"items divided by tabs or by blanks; got both, {shortened(line)}"
        if wrong is not None:
            raise ValueError(f"line {number}: expected {wrong}")
    return rows


def _name(cell: str, number: int) -> str:
    """A name without blanks around it and without the quotes of CSV."""
    name = cell.strip(" ")
    if not name.startswith('"'):
        return name
    inner = name[1:-1].replace('""', "\0")
    if len(name) < 2 or name[-1] != '"' or '"' in inner:
        got = f"{shortened(cell)} (write the file without quotes)"
        raise ValueError(f"line {number}: expected names without quotes, or closed ones; got {got}")
    return inner.replace("\0", '"')


def _is_header(lines: list[str], columns: list[list[str]], notes: list[str]) -> bool:
    """Whether the first line is a header: known words, or names above numbers that occur nowhere else."""
    names, repeats = [column[0].strip() for column in columns], lines.count(lines[0])
    if not all(names) or repeats == len(lines) or any(map(_NUMBERS.fullmatch, " ".join(names).split())):
        return False
    above = "\t".join(names).lower() in _HEADERS
    if not above:
        if any(column.count(column[0]) > repeats for column in columns):
            return False
        rest = [{*map(str.strip, {*column})} - {name, ""} for column, name in zip(columns, names, strict=True)]
        above = any(bool(known) and all(map(_NUMBERS.fullmatch, known)) for known in rest)
    if above or len(columns) > 1:
        what, than = ("a header", "no") if above else ("an item and its group", "yes")
        either = "holds an item" if above else "is a header"
        notes.append(
            f'the first line, {shortened(" ".join(names))}, is taken for {what} (header="{than}" if it {either})'
        )
    return above


def _codes(names: list[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    known = dict(zip(dict.fromkeys(names), itertools.count(), strict=False))
    return np.fromiter(map(known.__getitem__, names), np.int64, len(names)), tuple(known)


def _json_value(text: str, must: bool) -> Any:
    """The value of a JSON text. Other text raises if it ``must`` be JSON, and is None otherwise."""
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except RecursionError:
        raise ValueError(f"{_JSON}; got one nested too deep") from None
    except json.JSONDecodeError as error:
        if must:
            raise ValueError(f"line {error.lineno}, column {error.colno}: {_JSON}; got {error.msg}") from None
        return None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in values if names.count(name) > 1)
        raise ValueError(f"expected each item once; got {brief(repeated)} again")
    return values


def _from_json(value: Any, layout: str) -> dict[str, Any] | list[list[str]]:
    communities = value.get("communities") if isinstance(value, dict) else None
    if isinstance(communities, list) and all(isinstance(group, list) for group in communities):
        value = communities
    if not isinstance(value, dict | list) or not value:
        raise ValueError(f"{_JSON}, not empty; got {shortened(value)}")
    if isinstance(value, list) and layout in ("item-group", "item-groups"):
        raise ValueError(f'expected a JSON object {{item: [groups]}} with layout="{layout}"; got a list of groups')
    if isinstance(value, dict) and layout != "group-per-line":
        return value
    groups = value if isinstance(value, dict) else dict(enumerate(value))
    for which, group in groups.items():
        if not isinstance(group, list):
            raise ValueError(f"{_JSON}: a list in group {shortened(which)}; got {shortened(group)}")
        for name in group:  # becomes text, as keys of JSON and cells of other files are
            if isinstance(name, bool) or not isinstance(name, str | int):
                got = f"{shortened(name)} in group {shortened(which)}"
                raise ValueError(f"expected text or whole numbers as items; got {got}")
    return [list(map(str, group)) for group in groups.values()]
