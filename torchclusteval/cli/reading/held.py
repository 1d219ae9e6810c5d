"""Columns held in memory, from one file or several, joined by the names of rows."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from torchclusteval.cli.options import closest, numbered, print_note, shown
from torchclusteval.cli.reading.arrow_table import UNNAMED
from torchclusteval.cli.reading.formats import open_table
from torchclusteval.cli.reading.selection import Selection, is_asked, pick
from torchclusteval.cli.reading.sources import STDIN
from torchclusteval.cli.reading.table import Table, WrongKindError, bad_spelling, wrong_label
from torchclusteval.common.progress import Progress, progress_bar
from torchclusteval.labels.integers import to_integers, with_vocabulary
from torchclusteval.labels.sources import LabelSource, concatenate
from torchclusteval.labels.spelled import BadSpellingError, is_fraction, is_plain, leading_zeros, numbers_or_text
from torchclusteval.scoring.no_clusterings import FEW
from torchclusteval.streaming.distributed import rank_and_size

Label = int | str | None  # None: missing
_NO_NAME = re.compile(r"\d+|arr_\d+(:\d+)?")  # of a column without a name of its own


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

    def at(self, rows: np.ndarray) -> "Held":
        """The column with these rows."""
        own = self.labels
        missing = None if own.missing is None else own.missing[rows]
        return replace(self, labels=replace(own, values=own.values[rows], missing=missing), rows=rows)


def hold_columns(
    asked: Selection, options: Mapping[str, str | None] = {}, *, truth_first: bool = False, row_names: bool = False
) -> tuple[list[Held], Held | None]:
    """The columns that options name (option -> column), then the clusterings; and the names of rows of a single file.

    ``truth_first``: the truth comes before them, the only other column of the first file.
    """
    if rank_and_size()[1] > 1:
        raise ValueError(f"FILE: expected one process, as all labels are held in memory; got {rank_and_size()[1]}")
    named = {flag: name for flag, name in options.items() if name is not None}
    tables, columns, first = open_tables(asked, named, int(truth_first))
    known = {title: name for title, (table, name) in columns.items() if name in table.names}
    if truth_first:
        own = [title for title in known if columns[title][0] is tables[0] and title not in first]
        if len(own) != 1:
            remedy = "--truth COLUMN names the truth, --id COLUMN ids of the items"
            if tables[0].path.endswith(".npy"):
                remedy = f"a label image: image.ravel(); {remedy}"
            remedy = f"{remedy}; for items in several groups: torchclusteval score-overlapping"
            got = f"{len(own)}: {shown([known[title] for title in own])} ({remedy})"
            raise ValueError(f"{tables[0].path}: expected one column, the truth; got {got}")
        del known[own[0]]
        first = [*own, *first]
    ids = {f"{table.path}:{table.row_names}": table.row_names for table in tables if table.row_names}
    names = pick(known, [title for title in known if title not in first], asked, ids)
    wanted = dict.fromkeys([*first, *names])
    parts = [{columns[title][1]: title for title in wanted if columns[title][0] is table} for table in tables]
    with progress_bar("reading") as progress:
        read = [(table, part) for table, part in zip(tables, parts, strict=True) if part]
        held = [hold(*one, asked, progress, row_names=row_names) for one in read]
    orders = _join([table for table, _ in read], held, asked) if len(held) > 1 else [None]
    joined = [one if order is None else one.at(order) for part, order in zip(held, orders, strict=True) for one in part]
    by_title = {one.title: one for one in joined}
    return [by_title[title] for title in (*first, *names)], by_title.get("") if row_names else None


def open_tables(
    asked: Selection, named: Mapping[str, str], truths: int = 0
) -> tuple[list[Table], dict[str, tuple[Table, str]], list[str]]:
    """The tables in the files, their columns, and the titles of those that options name (option -> column).

    Columns are title -> table and name there: the name alone if no other table has it. Names of rows are among them.
    ``truths``: how many of the tables hold no clusterings.
    """
    if asked.files.count(STDIN) > 1:
        raise ValueError("standard input: expected '-' once among the files; got it twice")
    single, ids = len(asked.files) == 1, asked.id_column
    tables = [open_table(path, asked, is_table=single) for path in asked.files]
    for flag in [flag for flag, name in named.items() if name == ids]:
        raise ValueError(f"--id: expected a column other than that of {flag}; got {ids!r} for both")
    if single and asked.join != "names":
        raise ValueError(f"--join: expected several files to join; got {asked.files[0]} alone")
    if ids is None and not single and not (truths and len(tables[0].names) > 1) and asked.join != "position":
        _take_ids(tables, [*named.values()], asked.exclude)
    columns = _columns(tables, truths)
    if ids is not None and all(table.row_names != ids for table in tables):
        _find(tables, columns, ids, "--id")
    return tables, columns, [_find(tables, columns, name, flag) for flag, name in named.items()]


def _take_ids(tables: Sequence[Table], named: Collection[str], exclude: Sequence[str]) -> None:
    """Take the columns that name the same rows in all files, each once, as the names of rows; a note says which.

    Raise where several files have ids, but not all the same, unless the names of rows of each say more than a position.
    """
    firsts = [[] if (x := own.row_names) is None else _texts(next(own.blocks([x], [x]))[0]) for own in tables]
    are_named, are_numbers = all(x and not _counts(x) for x in firsts), all(is_plain(x) for own in firsts for x in own)
    titles = {*map(_own_name, tables)}
    if are_named and len(titles) == 1 and (titles != {""} or not are_numbers):
        return
    ids, apart = [_like_ids(table, named) for table in tables], dict[str, str]()
    columns = [
        (is_asked(table.path, name, exclude), all(map(is_plain, x)), table, name)
        for table, own in zip(tables, ids, strict=True)
        for name, x in own.items()
    ]
    for left_out, _, table, name in sorted(columns, key=lambda column: column[:2]):  # text first
        cells = [x for block in table.blocks([name], {name}) for x in _texts(block[0])]
        number, names, chosen = all(map(is_plain, cells)), set(cells), list[str]()
        # Few numbers may be anything, and in their order they say no more than the position.
        is_sure = not number or (len(cells) > FEW and not _counts(cells))
        if table.row_names is not None and (len(names) < len(cells) or (name == table.row_names and not is_sure)):
            continue  # an index does where a column repeats
        for heads in ids:
            same = [x for x, head in heads.items() if is_sure and 2 * len(head & names) > len(head)]
            chosen += [name] if name in heads and not left_out else same[:1]
        if len(chosen) == len(tables):
            for one, x in zip(tables, chosen, strict=True):
                one.name_rows(x)
            _note_names(tables)
            return
        if len(cells) > FEW and is_sure and not left_out and (not number or sum(name in heads for heads in ids) > 1):
            apart.setdefault(table.path, name)
    if are_named and len(titles) > 1:
        _note_names(tables)
    elif len(apart) > 1 and not are_named:
        got = " and ".join(f"{apart[x.path]!r} of {x.path}" if x.path in apart else f"none of {x.path}" for x in tables)
        remedy = "--id COLUMN says which column of all files holds them, --join position ignores them"
        raise ValueError(f"FILE: expected the same ids in all {len(tables)} files, or in none; got {got} ({remedy})")


def _note_names(tables: Sequence[Table]) -> None:
    names = [table.row_names for table in tables]
    titles = [f"{x.row_names!r} of {x.path}" if x.row_names else f"the first column of {x.path}" for x in tables]
    which = repr(names[0]) if names[0] and len({*names}) == 1 else ", ".join(titles)
    print_note(f"note: files are joined by {which}, which names each item once (--join position ignores it)")


def _own_name(table: Table) -> str:
    return UNNAMED.sub("", table.row_names or "")


def _counts(names: Sequence[Label]) -> bool:
    """Whether names are 0, 1, 2 ... or 1, 2, 3 ..., as pandas and R write them, which say no more than the position."""
    spelled = [*map(str, names)]
    return all(map(is_plain, spelled)) and spelled == [str(int(spelled[0]) + i) for i in range(len(spelled))]


def _like_ids(table: Table, named: Collection[str], columns: Sequence[str] | None = None) -> dict[str, set[str]]:
    """The columns that look like ids in the first rows, with these ids; the names of rows, if there are any."""
    if columns is None:
        free = [x for x in table.names if x not in named and not _NO_NAME.fullmatch(x)]
        own = [] if table.row_names is None else [table.row_names]
        columns = own + free * (len(table.names) > 1)
    try:
        first = next(table.blocks(columns, columns), []) if columns else []
    except (WrongKindError, ValueError):  # a column that holds no labels
        return {k: v for x in columns if len(columns) > 1 for k, v in _like_ids(table, named, [x]).items()}
    found = {name: _texts(column) for name, column in zip(columns, first, strict=False)}
    # Labels that recur are a clustering with many groups, and fractions are measurements.
    whole = {name: x for name, x in found.items() if not any(map(is_fraction, x[:FEW]))}
    return {name: ids for name, x in whole.items() if 10 * len(ids := {*x}) > 9 * len(x) > 9}


def _texts(column: LabelSource) -> list[str]:
    values = np.asarray(column.values)
    return [*map(str, (values if column.vocabulary is None else np.asarray(column.vocabulary)[values]).tolist())]


def _columns(tables: Sequence[Table], truths: int) -> dict[str, tuple[Table, str]]:
    listed = [(table, name) for table in (*tables[truths:], *tables[:truths]) for name in table.names]
    counts, titles = Counter(name for _, name in listed), list[str]()
    for table, name in listed:
        longer = table.path if len(table.names) == 1 else f"{table.path}:{name}"
        is_plain = len(tables) == 1 or (counts[name] == 1 and not _NO_NAME.fullmatch(name))
        titles.append(name if is_plain else longer)
    of_rows = [(table, name) for table in tables for name in (table.row_names, *table.levels) if name]
    return {name: (table, name) for table, name in of_rows} | dict(zip(numbered(titles), listed, strict=True))


def _find(tables: Sequence[Table], columns: Mapping[str, tuple[Table, str]], name: str, option: str) -> str:
    """The title of the column that an option names by its title or its name."""
    fits = {title: (own, f"{table.path}:{own}") for title, (table, own) in columns.items()}
    same = [name] if name in columns else [title for title, own in fits.items() if name in own]
    if len(same) > 1:
        raise ValueError(f"{option}: expected a column of one file; got {name!r} ({' or '.join(map(repr, same))}?)")
    if same:
        return same[0]
    where, file = (tables[0].path, "the file") if len(tables) == 1 else (f"{len(tables)} files", "one of them")
    hint = closest(name, columns, f"there are {shown([*columns])}")
    if len(columns) == 1 and name in next(iter(columns)).split():
        remedy = "do blanks align its columns? put a comma between cells, as tr -s ' ' ',' does"
        hint = f" (it has {shown([*columns])}: {remedy})"
    raise ValueError(f"{where}: {option}: expected a column that {file} has; got {name!r}{hint}")


def hold(
    table: Table,
    titles: Mapping[str, str],
    asked: Selection,
    progress: Progress | None,
    *,
    row_names: bool = False,
    as_text: Collection[str] = (),
) -> list[Held]:
    """The columns asked for; last, with an empty title, the names of rows, if they are needed and there are any.

    ``titles``: name of a column -> its title; ``as_text``: columns whose cells stay as they are spelled.
    """
    read, joins = [*titles], len(asked.files) > 1 and asked.join != "position"
    if (joins or row_names) and table.row_names is not None:
        read.append(table.row_names)
    spelled = {*as_text, *([table.row_names] if row_names and table.row_names is not None else [])}
    try:
        blocks = _read(table, read, spelled, progress)
        if any(len({x.vocabulary is None for x in column}) > 1 for column in zip(*blocks, strict=True)):
            raise WrongKindError  # parts of a table, of which some hold numbers alone
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
    """Labels in order, and the place of each item's label; -1: none."""
    gaps = labels.missing
    if gaps is not None and gaps.all():
        return [], np.full(len(gaps), -1)
    ids = with_vocabulary(to_integers(labels, "labels", torch.device("cpu")))
    places, known = ids.values.long().numpy(), [] if ids.vocabulary is None else ids.vocabulary.tolist()
    return known, places if gaps is None else np.where(gaps, -1, places)


def _join(tables: Sequence[Table], columns: Sequence[Sequence[Held]], asked: Selection) -> list[np.ndarray | None]:
    """The rows of each file in the order of the joined items; None: as they are."""
    without = next((table for table in tables if table.row_names is None), None)
    if asked.id_column is not None and asked.join == "names" and without is not None and len(without.names) > 1:
        got = f"{shown(without.names)} (--join position ignores names)"
        raise ValueError(f"{without.path}: --id: expected a column {asked.id_column!r} in each file; got {got}")
    lengths = [len(part[0]) for part in columns]
    named = [place for place, part in enumerate(columns) if part[-1].title == ""]
    for place, (table, length) in enumerate(zip(tables, lengths, strict=True)):
        if length != lengths[0] and not (len(named) > 1 and {0, place} <= set(named)):
            expected = f"expected {lengths[0]} labels, as in {tables[0].path}"
            raise ValueError(f"{table.path}: {expected}; got {length}{tables[0].remedy or table.remedy}")
    several = any(len(table.names) > 1 and not _NO_NAME.fullmatch(table.names[0]) for table in tables)
    remedy = "(--id COLUMN says which column holds them)"
    if len(named) < 2:
        if asked.join == "shared":
            got = f"{len(named)} of {len(tables)} {remedy}"
            raise ValueError(f"--join: expected at least two files with names of rows; got {got}")
        if asked.join == "names" and (named or several):
            alone = f"{tables[named[0]].path} alone" if named else "none"
            print_note(f"note: of these files {alone} has names of rows: files are joined by position {remedy}")
        return [None] * len(tables)
    keys = {place: _row_keys(columns[place][-1]) for place in named}
    if len({isinstance(next(iter(part)), int) for part in keys.values()}) > 1:
        keys = {place: _spelled_keys(columns[place][-1]) for place in named}
    first, ours = tables[named[0]].path, keys[named[0]]
    if len(named) < len(tables):
        bare = next(table.path for place, table in enumerate(tables) if place not in named)
        print_note(f"note: {bare} has no names of rows: they are those of {first}, by position {remedy}")
    elif several and not any(map(_own_name, tables)) and _counts([*ours]) and len({(*x,) for x in keys.values()}) == 1:
        print_note(f"note: files are joined by an index that counts rows, so by position {remedy}")
    for place in named[1:]:
        left, right = ours.keys() - keys[place].keys(), keys[place].keys() - ours.keys()
        if (left or right) and asked.join != "shared":
            path, example = tables[place].path, min(map(str, left or right))
            got = f"{len(left)} only in {first} and {len(right)} only in {path}, such as {example!r}"
            remedy = "--join shared takes the others, --join position ignores names"
            raise ValueError(f"{path}: expected the names of rows of {first}; got {got} ({remedy})")
    shared = [key for key in ours if all(key in part for part in keys.values())]
    if not shared:
        raise ValueError(f"{first}: expected names of rows that are in all files; got none")
    # Files without names go by the position of the first one's.
    return [np.array([keys.get(place, ours)[key] for key in shared]) for place in range(len(tables))]


def _spelled_keys(held: Held) -> dict[Label, int]:
    """The row of each name as it is spelled, such as 01 next to 1."""
    blocks = _read(held.table, [held.name], {held.name}, None)
    return {name: row for row, name in enumerate(x for block in blocks for x in _texts(block[0]))}


def _row_keys(held: Held) -> dict[Label, int]:
    """The row of each name."""
    if held.labels.missing is not None:
        raise wrong_label(held.table, held.name, int(held.labels.missing.argmax()), "a name for every row", "none")
    names, places = listed(held.labels)
    rows = {names[place]: row for row, place in enumerate(places.tolist())}
    if len(rows) < len(places):
        counts = np.bincount(places)
        got = f"{names[int(counts.argmax())]!r} {int(counts.max())} times"
        got += held.table.remedy or " (--join position ignores names)"
        raise wrong_label(held.table, held.name, None, "different names of rows", got)
    return rows


LEFT_OUT = "--missing ignore leaves such items out, --missing label makes them a group"


def name_gap(
    error: ValueError, clusterings: Sequence[Held], truth: Held | None, first: int = 0, remedy: str = LEFT_OUT
) -> ValueError:
    """Name column and line in an error for a missing label; other errors stay as they are.

    ``first``: the row of the file with the first of these labels.
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
    """Print a note if no item has this label of the command line."""
    if label is not None and not seen:
        print_note(f"note: {option}: no item has the label {label!r}")
