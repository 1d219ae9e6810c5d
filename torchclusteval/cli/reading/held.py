"""Columns held in memory, from one file or several, joined by the names of rows."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from torchclusteval.cli.options import numbered, print_note
from torchclusteval.cli.reading.formats import open_table
from torchclusteval.cli.reading.selection import Selection, pick
from torchclusteval.cli.reading.sources import STDIN
from torchclusteval.cli.reading.table import Table, WrongKindError, bad_spelling, check_name, wrong_label
from torchclusteval.common.progress import Progress, progress_bar
from torchclusteval.labels.integers import to_integers, with_vocabulary
from torchclusteval.labels.sources import LabelSource, concatenate
from torchclusteval.labels.spelled import BadSpellingError, leading_zeros, numbers_or_text
from torchclusteval.streaming.distributed import rank_and_size

Label = int | str | None  # None: missing


@dataclass(frozen=True, eq=False)
class Held:
    """A column with the label of every item, in the order of the joined rows."""

    title: str  # in reports; "": these are the names of rows
    table: Table
    name: str
    labels: LabelSource  # whole numbers if all are, else text
    rows: np.ndarray | None = None  # (N,) of the file; None: 0, 1, 2 ...

    def __len__(self) -> int:
        return len(self.labels.values)

    @property
    def is_numeric(self) -> bool:
        return self.labels.vocabulary is None or all(isinstance(x, int) for x in self.labels.vocabulary)

    def at(self, rows: np.ndarray) -> "Held":
        """The column with these rows."""
        own = self.labels
        missing = None if own.missing is None else own.missing[rows]
        return replace(self, labels=replace(own, values=own.values[rows], missing=missing), rows=rows)


def hold_files(asked: Selection, *, with_truth: bool) -> list[Held]:
    """The columns of all files that are asked for; of the first file all, if it holds the truth."""
    if asked.files.count(STDIN) > 1:
        raise ValueError("standard input: expected '-' once among the files; got it twice")
    single = len(asked.files) == 1
    tables = [open_table(path, asked, is_table=single) for path in asked.files]
    if asked.id_column is not None and all(table.row_names != asked.id_column for table in tables):
        check_name(tables[0], asked.id_column, "--id")
    if with_truth and len(tables[0].names) != 1:
        remedy = "for the columns of a single file, name the truth with --truth"
        if tables[0].path.endswith(".npy"):
            remedy = f"a label image: image.ravel(); {remedy}"
        elif not single:
            shared = [name for name in tables[0].names if all(name in table.names for table in tables)]
            column = repr(shared[0]) if len(shared) == 1 else "COLUMN"
            ids = f"if one holds ids of the items: --id {column}"
            remedy = f"{ids}; for items in several groups: torchclusteval score-overlapping; {remedy}"
        got = f"{len(tables[0].names)} ({remedy})"
        raise ValueError(f"{tables[0].path}: expected one column, the truth; got {got}")
    listed = [(place, name, _title(table, name, single)) for place, table in enumerate(tables) for name in table.names]
    first, others = listed[: int(with_truth)], listed[int(with_truth) :]
    titles = numbered([title for *_, title in others])
    kept = set(pick(titles, titles, asked.columns, asked.exclude))
    first += [(place, name, title) for (place, name, _), title in zip(others, titles, strict=True) if title in kept]
    chosen = [{name: title for place, name, title in first if place == i} for i in range(len(tables))]
    with progress_bar("reading") as progress:
        columns = [hold(table, names, asked, progress) for table, names in zip(tables, chosen, strict=True) if names]
    orders = _join([part[0].table for part in columns], columns, asked)
    return [
        held if order is None else held.at(order)
        for part, order in zip(columns, orders, strict=True)
        for held in part
        if held.title or held.name != held.table.row_names
    ]


def open_one(asked: Selection, named: Mapping[str, str]) -> Table:
    """The table in the only file, which has the columns that options name (option -> column)."""
    table, ids = open_table(asked.files[0], asked, is_table=True), asked.id_column
    for flag, name in [*named.items(), *([("--id", ids)] if ids is not None else [])]:
        check_name(table, name, flag)
        if name == ids and flag != "--id":
            raise ValueError(f"--id: expected another column than that of {flag}; got {name!r} for both")
    if asked.join != "names":
        raise ValueError(f"--join: expected several files, which it joins; got {asked.files[0]}")
    return table


def hold_table(
    asked: Selection, options: Mapping[str, str | None], *, row_names: bool = False
) -> tuple[list[Held], Held | None]:
    """Columns of one file: those that options name (option -> column), then the clusterings; and the names of rows."""
    named = {flag: name for flag, name in options.items() if name is not None}
    if rank_and_size()[1] > 1:
        raise ValueError(f"FILE: expected one process, as all labels are held in memory; got {rank_and_size()[1]}")
    table, first = open_one(asked, named), list(named.values())
    names = pick(table.names, [x for x in table.names if x not in first], asked.columns, asked.exclude)
    with progress_bar("reading") as progress:
        held = hold(table, {name: name for name in (*first, *names)}, asked, progress, row_names=row_names)
    rows = held.pop() if not held[-1].title else None
    by_name = {one.name: one for one in held}
    return [by_name[name] for name in (*first, *names)], rows


def _title(table: Table, name: str, single: bool) -> str:
    return name if single else table.path if len(table.names) == 1 else f"{table.path}:{name}"


def hold(
    table: Table,
    titles: Mapping[str, str],
    asked: Selection,
    progress: Progress | None,
    *,
    row_names: bool = False,
    as_text: Collection[str] = (),
) -> list[Held]:
    """The columns asked for and, last, the names of rows if they are needed and there are any (with an empty title).

    ``titles``: name of a column -> its title; ``as_text``: columns whose cells stay as they are spelled.
    """
    read, joins = [*titles], len(asked.files) > 1 and asked.join != "position"
    if (joins or row_names) and table.row_names is not None:
        read.append(table.row_names)
    spelled = {*as_text, *([table.row_names] if row_names and table.row_names is not None else [])}
    try:
        blocks = _read(table, read, spelled, progress)
    except WrongKindError:
        blocks = _read(table, read, {*read}, progress)
    if not blocks:
        raise ValueError(f"{table.path}: expected rows of labels below the header; got none")
    return [
        Held(title, table, name, _whole_column(table, name, [block[i] for block in blocks], name in spelled))
        for i, (title, name) in enumerate(zip([*titles.values(), ""], read, strict=False))
    ]


def _read(table: Table, names: list[str], as_text: set[str], progress: Progress | None) -> list[list[LabelSource]]:
    return [
        [replace(column, values=_smallest(np.asarray(column.values))) for column in block]
        for block in table.blocks(names, as_text, progress)
        if len(block[0].values)
    ]


def _whole_column(table: Table, name: str, parts: Sequence[LabelSource], spelled: bool) -> LabelSource:
    column = concatenate(parts)
    if spelled or column.vocabulary is None:
        return column
    words = column.vocabulary.tolist()
    try:
        read = numbers_or_text(column)
    except BadSpellingError as error:
        codes = np.asarray(column.values) if column.missing is None else np.where(column.missing, -1, column.values)
        raise bad_spelling(table, name, 0, codes, words, error) from None
    zeros = leading_zeros(words)
    if zeros is not None and (read.vocabulary is None or isinstance(read.vocabulary[0], int)):
        said = f"{zeros[0]} and {zeros[1]} are one label (put a letter before them to tell them apart)"
        print_note(f"note: {table.path}: column {name!r}: {said}")
    return read


def _smallest(codes: np.ndarray) -> np.ndarray:
    low, high = int(codes.min(initial=0)), int(codes.max(initial=0))
    fitting = np.result_type(np.min_scalar_type(low), np.min_scalar_type(high))
    return codes.astype(fitting, copy=False) if fitting.kind in "iu" else codes


def listed(labels: LabelSource) -> tuple[list[Label], np.ndarray]:
    """Labels in order, and the place of each item's; -1: it has none."""
    gaps = labels.missing
    if gaps is not None and gaps.all():
        return [], np.full(len(gaps), -1)
    ids = with_vocabulary(to_integers(labels, "labels", torch.device("cpu")))
    places, known = ids.values.long().numpy(), [] if ids.vocabulary is None else ids.vocabulary.tolist()
    return known, places if gaps is None else np.where(gaps, -1, places)


def _join(tables: Sequence[Table], columns: Sequence[Sequence[Held]], asked: Selection) -> list[np.ndarray | None]:
    """The rows of each file in the order of the joined items; None: as they are."""
    lengths = [len(part[0]) for part in columns]
    named = [place for place, part in enumerate(columns) if part[-1].title == ""]
    for place, (table, length) in enumerate(zip(tables, lengths, strict=True)):
        if length != lengths[0] and not (len(named) > 1 and {0, place} <= set(named)):
            expected = f"expected {lengths[0]} labels, as in {tables[0].path}"
            raise ValueError(f"{table.path}: {expected}; got {length}")
    if len(named) < 2:
        if asked.join == "shared":
            got = f"{len(named)} of {len(tables)} (--id COLUMN says which column holds them)"
            raise ValueError(f"--join: expected at least two files with names of rows; got {got}")
        if named and asked.join == "names":
            print_note(
                f"note: of these files {tables[named[0]].path} alone has names of rows: files are joined by position "
                "(--id COLUMN says which column of the others holds them)"
            )
        return [None] * len(tables)
    keys = {place: _row_keys(columns[place][-1]) for place in named}
    if not all(isinstance(next(iter(part)), int) for part in keys.values()):
        keys = {place: {str(key): row for key, row in part.items()} for place, part in keys.items()}
    first, ours = tables[named[0]].path, keys[named[0]]
    for place in named[1:]:
        left, right = ours.keys() - keys[place].keys(), keys[place].keys() - ours.keys()
        if (left or right) and asked.join != "shared":
            path, example = tables[place].path, min(map(str, left or right))
            got = f"{len(left)} only in {first} and {len(right)} only in {path}, such as {example!r}"
            remedy = "--join shared takes the others, --join position ignores names"
            raise ValueError(f"{path}: expected the names of rows of {first}; got {got} ({remedy})")
    shared = [key for key in ours if all(key in part for part in keys.values())]
    if not shared:
        raise ValueError(f"{first}: expected names of rows that all files have; got none")
    # Files without names go by the position of the first one's.
    return [np.array([keys.get(place, ours)[key] for key in shared]) for place in range(len(tables))]


def _row_keys(held: Held) -> dict[Label, int]:
    """The row of each name."""
    if held.labels.missing is not None:
        raise wrong_label(held.table, held.name, int(held.labels.missing.argmax()), "a name for every row", "none")
    names, places = listed(held.labels)
    rows = {names[place]: row for row, place in enumerate(places.tolist())}
    if len(rows) < len(places):
        counts = np.bincount(places)
        expected = f"different names of rows; got {names[int(counts.argmax())]!r} {int(counts.max())} times"
        raise ValueError(f"{held.table.path}: expected {expected} (--join position ignores names)")
    return rows


LEFT_OUT = "--missing ignore leaves such items out, --missing label makes them a group"


def name_gap(
    error: ValueError, clusterings: Sequence[Held], truth: Held | None, first: int = 0, remedy: str = LEFT_OUT
) -> ValueError:
    """The error of the one door for a missing label as one that names its column and line; others as they are.

    ``first``: the row of the file at which labels begin that are one block of it.
    """
    said = re.match(r"labels_(true|pred).*: expected a label .* at position \(?(?:(\d+), )?(\d+)\)?", str(error))
    if said is None:
        return error
    one = truth if said[1] == "true" and truth is not None else clusterings[int(said[2] or 0)]
    row = int(said[3]) if one.rows is None else int(one.rows[int(said[3])])
    if one is truth:
        remedy += "; if only a sample has a known class: torchclusteval estimate"
    elif len(one.table.names) > 1:
        remedy += f"; if this column is no clustering: --exclude {one.name!r}"
    return missing_label(one, first + row, remedy)


def missing_label(held: Held, row: int, remedy: str = LEFT_OUT) -> ValueError:
    """The error for a missing label."""
    return wrong_label(held.table, held.name, row, "a label", "an empty cell, NA or the like", remedy)


def note_unseen(option: str, label: str | None, seen: bool) -> None:
    """Print a note where no item has a label of the command line."""
    if label is not None and not seen:
        print_note(f"note: {option}: no item has the label {label!r}")
