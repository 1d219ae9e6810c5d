"""The labels that a command asks for, from one file or several, joined by the names of rows."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch

from torchclusteval.cli.options import numbered
from torchclusteval.cli.reading.cell_counts import CellCounts, LabelOptions, dense
from torchclusteval.cli.reading.columns import (
    MISSING,
    SPELLINGS,
    Array,
    BadLabelError,
    Column,
    Distinct,
    ReadAsTextError,
    distinct_labels,
)
from torchclusteval.cli.reading.formats import open_table
from torchclusteval.cli.reading.picking import pick
from torchclusteval.cli.reading.sources import STDIN
from torchclusteval.cli.reading.table import (
    Part,
    ReadOptions,
    Table,
    check_name,
    explained,
    read_columns,
    wrong_label,
)
from torchclusteval.common.progress import Progress, progress_bar
from torchclusteval.streaming.distributed import all_gather_objects, process_group, rank_and_size
from torchclusteval.tables import ContingencyTables

_BLOCK_ITEMS = 1 << 16


@dataclass(frozen=True, eq=False)
class Counted:
    """The tables of clusterings against the truth."""

    truth_name: str
    names: list[str]
    n_items: int
    tables: ContingencyTables
    rank: int = 0


@dataclass(frozen=True)
class Selection:
    """What the command line asks for."""

    files: Sequence[str]
    columns: Sequence[str]
    exclude: Sequence[str]
    read: ReadOptions
    labels: LabelOptions
    join: str = "names"  # or "shared": items that all files have; "position": whatever the names


# --- one file, counted while it is read ---------------------------------------------------------------------


def count_table(asked: Selection, truth: str | None, device: torch.device | None) -> Counted:
    """The tables of the columns of one file against its column ``truth``; every process returns those of all.

    Raises:
        ValueError: the file or names are not as described.
        OSError: the file cannot be read.
    """
    table = open_table(asked.files[0], asked.read, is_table=True)
    if truth is None:
        listed = ", ".join(table.names[:6]) + (", ..." if len(table.names) > 6 else "")
        expected = "expected the column that holds the truth (or a second file)"
        raise ValueError(f"--truth: {expected}; {table.path} has {listed}")
    check_name(table, truth, "--truth")
    if asked.read.id_column is not None:
        check_name(table, asked.read.id_column, "--id")
        if asked.read.id_column == truth:
            raise ValueError(f"--id: expected another column than that of --truth; got {truth!r} for both")
    if asked.join != "names":
        raise ValueError(f"--join: expected several files, which it joins; got {asked.files[0]}")
    names = pick(table.names, [name for name in table.names if name != truth], asked.columns, asked.exclude)
    read = [truth, *(name for name in names if name != truth)]
    place_of = {name: place for place, name in enumerate(read)}
    places = [place_of[name] for name in names]
    counts = CellCounts(names)

    def start(columns: list[Column]) -> Callable[[list[Array]], None]:
        nonlocal counts
        counts = CellCounts(names)
        return lambda block: counts.add(block[0], [block[i] for i in places])

    text: set[str] = set()
    with process_group(torch.device("cpu")) as (rank, ranks, _):
        while True:
            with progress_bar("reading", in_bytes=True) if rank == 0 else nullcontext() as progress:
                columns = read_columns(table, read, start, text, Part(rank, ranks), progress, all_gather_objects)
            clusterings = [columns[i] for i in places]
            counts.gather(columns[0], clusterings)
            if not counts.n_items:
                raise ValueError(f"{table.path}: expected rows of labels below the header; got none")
            tables_of = dict.fromkeys(columns, table)
            try:
                tables = _tables(counts, columns[0], clusterings, tables_of, asked.labels, device)
                return Counted(truth, names, counts.n_items, tables, rank)
            except ReadAsTextError as error:
                text.update(error.names)


def _tables(
    counts: CellCounts,
    truth: Column,
    clusterings: Sequence[Column],
    tables_of: Mapping[Column, Table],
    options: LabelOptions,
    device: torch.device | None,
) -> ContingencyTables:
    def refuse(column: Column, count: int) -> ValueError:
        return missing_labels(tables_of[column], column.name, count, counts.n_items, is_truth=column is truth)

    try:
        return counts.tables(truth, clusterings, options, device, refuse)
    except BadLabelError as error:
        raise explained(tables_of[error.column], error) from None


def missing_labels(table: Table, name: str, count: int, n: int, *, is_truth: bool = False) -> ValueError:
    """The error for missing labels."""
    ways = "--missing ignore leaves them out, --missing label makes them a group"
    remedy = f"{count} of {n} items have none; {ways}"
    if len(table.names) > 1 and not is_truth:
        remedy += f"; if this column is no clustering: --exclude {name!r}"
    return wrong_label(table, name, "a label", "an empty cell, NA or the like", lambda cell: cell is None, remedy)


# --- columns held in memory, from several files ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Held:
    """A column with the label of every item: raw codes in the smallest type, in the order of the joined rows."""

    title: str  # in reports
    table: Table
    column: Column
    codes: Array


def hold_files(asked: Selection, *, with_truth: bool) -> list[Held]:
    """The columns of all files that are asked for; of the first file all, if it holds the truth.

    Raises:
        ValueError: files or names are not as described.
        OSError: a file cannot be read.
    """
    if asked.files.count(STDIN) > 1:
        raise ValueError("standard input: expected '-' once among the files; got it twice")
    single = len(asked.files) == 1
    tables = [open_table(path, asked.read, is_table=single) for path in asked.files]
    _check_ids(tables, asked.read.id_column)
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
    titles = [[_title(table, name, single) for name in table.names] for table in tables]
    known = numbered([title for part in titles[int(with_truth) :] for title in part])
    following = iter(known)
    titles[int(with_truth) :] = [[next(following) for _ in part] for part in titles[int(with_truth) :]]
    kept = set(pick(known, known, asked.columns, asked.exclude))
    chosen = [
        [
            (title, name)
            for title, name in zip(part, table.names, strict=True)
            if title in kept or (with_truth and place == 0)
        ]
        for place, (table, part) in enumerate(zip(tables, titles, strict=True))
    ]
    with progress_bar("reading", in_bytes=True) as progress:
        columns = [_hold(table, names, asked, progress) for table, names in zip(tables, chosen, strict=True) if names]
    kept_tables = [table for table, names in zip(tables, chosen, strict=True) if names]
    orders = _join(kept_tables, columns, asked)
    return [
        Held(held.title, held.table, held.column, held.codes if order is None else held.codes[order])
        for part, order in zip(columns, orders, strict=True)
        for held in part
        if held.title or held.column.name != held.table.row_names
    ]


def hold_table(
    asked: Selection, named: Mapping[str, str], *, row_names: bool = False
) -> tuple[list[Held], Held | None]:
    """Columns of one file: those that options name (option -> column), then the clusterings; and the names of rows.

    Raises:
        ValueError: the file or names are not as described.
        OSError: the file cannot be read.
    """
    if asked.join != "names":
        raise ValueError(f"--join: expected several files, which it joins; got {asked.files[0]}")
    if rank_and_size()[1] > 1:
        raise ValueError(f"FILE: expected one process, as all labels are held in memory; got {rank_and_size()[1]}")
    table, ids = open_table(asked.files[0], asked.read, is_table=True), asked.read.id_column
    for flag, name in [*named.items(), *([("--id", ids)] if ids is not None else [])]:
        check_name(table, name, flag)
        if name == ids and flag != "--id":
            raise ValueError(f"--id: expected another column than that of {flag}; got {name!r} for both")
    first = list(named.values())
    names = pick(table.names, [x for x in table.names if x not in first], asked.columns, asked.exclude)
    with progress_bar("reading", in_bytes=True) as progress:
        distinct = dict.fromkeys([*first, *names])
        held = _hold(table, [(name, name) for name in distinct], asked, progress, row_names=row_names)
    if not len(held[0].codes):
        raise ValueError(f"{table.path}: expected rows of labels below the header; got none")
    rows = held.pop() if not held[-1].title else None
    by_name = {one.column.name: one for one in held}
    return [by_name[name] for name in (*first, *names)], rows


def _title(table: Table, name: str, single: bool) -> str:
    return name if single else table.path if len(table.names) == 1 else f"{table.path}:{name}"


def _check_ids(tables: Sequence[Table], id_column: str | None) -> None:
    if id_column is not None and not any(table.row_names == id_column for table in tables):
        check_name(tables[0], id_column, "--id")


def _hold(
    table: Table,
    asked_names: Sequence[tuple[str, str]],
    asked: Selection,
    progress: Progress | None,
    *,
    row_names: bool = False,
) -> list[Held]:
    """The columns asked for and, last, the names of rows if they are needed and there are any (with an empty title)."""
    names = dict(asked_names)
    read = list(names.values())
    joins = len(asked.files) > 1 and asked.join != "position"
    if (joins or row_names) and table.row_names is not None:
        read.append(table.row_names)
    text = {table.row_names} if row_names and table.row_names is not None else set()  # as they are spelled
    parts: list[list[Array]] = []

    def start(columns: list[Column]) -> Callable[[list[Array]], None]:
        parts.clear()

        def add(block: list[Array]) -> None:
            parts.append([_smallest(codes) for codes in block])

        return add

    while True:
        columns = read_columns(table, read, start, text, progress=progress)
        held = [
            Held(title, table, column, _smallest(np.concatenate([block[i] for block in parts]).astype(np.int64)))
            for i, (title, column) in enumerate(zip([*names, ""], columns, strict=False))
        ]
        try:
            for one in held:
                distinct_of(one)
            return held
        except ReadAsTextError as error:
            text.update(error.names)


def spelled(held: Held) -> tuple[list[str], Array]:
    """The names of rows as they are spelled, and the place of each row's among them; -1: it has none."""
    spellings = [text.strip() for text in held.column.vocabulary]
    return spellings, np.where(held.codes.astype(np.int64) == MISSING, -1, held.codes.astype(np.int64))


def distinct_of(held: Held) -> tuple[Distinct, Array]:
    """The labels of a column, and the place of each item among the raw codes.

    Raises:
        ValueError: a cell is no label.
    """
    raw, places, counts = dense(held.codes.astype(np.int64))
    try:
        return distinct_labels(held.column, raw, counts), places
    except BadLabelError as error:
        raise explained(held.table, error) from None


def _smallest(codes: Array) -> Array:
    low, high = int(codes.min(initial=0)), int(codes.max(initial=0))
    fitting = np.result_type(np.min_scalar_type(low), np.min_scalar_type(high))
    return codes.astype(fitting, copy=False) if fitting.kind in "iu" else codes


def _join(tables: Sequence[Table], columns: Sequence[Sequence[Held]], asked: Selection) -> list[Array | None]:
    """The rows of each file in the order of the joined items; None: as they are."""
    lengths = [len(part[0].codes) for part in columns]
    named = [place for place, part in enumerate(columns) if part[-1].title == ""]
    for place, (table, length) in enumerate(zip(tables, lengths, strict=True)):
        if place and length != lengths[0] and not (len(named) > 1 and place in named and 0 in named):
            expected = f"expected {lengths[0]} labels, as in {tables[0].path}"
            raise ValueError(f"{table.path}: {expected}; got {length}")
    orders: list[Array | None] = [None] * len(tables)
    if len(named) < 2:
        if asked.join == "shared":
            got = f"{len(named)} of {len(tables)} (--id COLUMN says which column holds them)"
            raise ValueError(f"--join: expected at least two files with names of rows; got {got}")
        return orders
    keys = [_row_keys(columns[place][-1]) for place in named]
    if not all(isinstance(key, int) for key in (next(iter(part), "") for part in keys)):
        keys = [{str(key): row for key, row in part.items()} for part in keys]
    shared = [key for key in keys[0] if all(key in part for part in keys[1:])]
    for place, part in zip(named[1:], keys[1:], strict=True):
        _check_names_meet(tables[named[0]].path, keys[0], tables[place].path, part, asked.join == "shared")
    if not shared:
        raise ValueError(f"{tables[named[0]].path}: expected names of rows that all files have; got none")
    rows = np.array([keys[0][key] for key in shared])
    for place in range(len(tables)):
        if place in named:
            part = keys[named.index(place)]
            orders[place] = np.array([part[key] for key in shared])
        else:
            orders[place] = rows  # by position, as there are no names
    return orders


def _check_names_meet(
    first: str, ours: Mapping[int | str, int], path: str, theirs: Mapping[int | str, int], shared: bool
) -> None:
    only_ours, only_theirs = ours.keys() - theirs.keys(), theirs.keys() - ours.keys()
    if shared or not (only_ours or only_theirs):
        return
    example = min(map(str, only_ours or only_theirs))
    got = f"{len(only_ours)} only in {first} and {len(only_theirs)} only in {path}, such as {example!r}"
    remedy = "--join shared takes the others, --join position ignores names"
    raise ValueError(f"{path}: expected the names of rows of {first}; got {got} ({remedy})")


def _row_keys(held: Held) -> dict[int | str, int]:
    """The row of each name."""
    distinct, places = distinct_of(held)
    codes = distinct.codes[places]
    labels = [label for label in np.asarray(distinct.labels).tolist()] if isinstance(
        distinct.labels, np.ndarray) else list(distinct.labels)  # fmt: skip
    if (codes < 0).any():
        raise wrong_label(held.table, held.column.name, "a name for every row", "none", lambda cell: cell is None)
    rows = {labels[code]: row for row, code in enumerate(codes.tolist())}
    if len(rows) < len(codes):
        counts = np.bincount(codes)
        name = labels[int(counts.argmax())]
        expected = f"different names of rows; got {name!r} {int(counts.max())} times"
        raise ValueError(f"{held.table.path}: expected {expected} (--join position ignores names)")
    return rows


def count_files(asked: Selection, device: torch.device | None) -> Counted:
    """The tables of the clusterings of several files against the truth, the only column of the first.

    Raises:
        ValueError: files or names are not as described.
        OSError: a file cannot be read.
    """
    truth, *clusterings = hold_files(asked, with_truth=True)
    names = [held.title for held in clusterings]
    counts = CellCounts(names)
    tables_of = {held.column: held.table for held in (truth, *clusterings)}
    columns = [held.column for held in clusterings]
    for start in range(0, max(1, len(truth.codes)), _BLOCK_ITEMS):
        block = slice(start, start + _BLOCK_ITEMS)
        true, *parts = (held.codes[block].astype(np.int64) for held in (truth, *clusterings))
        counts.add(true, parts)
    tables = _tables(counts, truth.column, columns, tables_of, asked.labels, device)
    return Counted(truth.table.path, names, counts.n_items, tables)


def parse_selection(arguments: argparse.Namespace) -> Selection:
    """What the arguments of a command ask for."""
    missing = frozenset(SPELLINGS)
    if arguments.na_values is not None:
        missing = frozenset(["", *(text.strip() for text in arguments.na_values.split(","))])
    return Selection(
        files=arguments.files,
        columns=arguments.columns,
        exclude=arguments.exclude,
        read=ReadOptions(header=arguments.header, missing=missing, id_column=arguments.id),
        labels=LabelOptions(
            ignore=getattr(arguments, "ignore", None),
            noise_label=arguments.noise_label,
            noise=arguments.noise,
            missing=getattr(arguments, "missing", "ignore"),
            spellings=missing,
        ),
        join=getattr(arguments, "join", "names"),
    )
