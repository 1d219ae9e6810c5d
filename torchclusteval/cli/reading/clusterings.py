"""Which clusterings of which files are asked for, and the labels of a batch of them as one array."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase

import numpy as np

from torchclusteval.cli.reading.files import STDIN, LabelFile, Labels, find, read_labels, read_table, stack_columns


@dataclass(frozen=True, eq=False)
class Task:
    """Clusterings and the truth to hold them against."""

    truth_name: str
    truth: Labels
    names: Sequence[str]
    clusterings: Sequence[Labels]

    @property
    def n_items(self) -> int:
        return len(self.truth)

    def __post_init__(self) -> None:
        for name, labels in zip(self.names, self.clusterings, strict=True):
            if len(labels) != len(self.truth):
                expected = f"expected {len(self.truth)} labels, as in {self.truth_name}"
                raise ValueError(f"{name}: {expected}; got {len(labels)}")


def read_task(files: Sequence[str], truth: str | None, columns: Sequence[str], exclude: Sequence[str]) -> Task:
    """The clusterings of one file against its column ``truth``, or of several files against the first.

    Args:
        files: paths; ``-`` is standard input.
        truth: the column of a single file that holds the truth.
        columns: the clusterings to take, by name; empty: every column except the truth.
        exclude: the clusterings to leave out.

    Raises:
        ValueError: files or names are not as described.
        OSError: a file cannot be read.
    """
    if len(files) == 1:
        return _from_columns(read_table(files[0]), truth, columns, exclude)
    if truth is not None:
        raise ValueError(f"--truth: expected one FILE that has this column; got {len(files)} files")
    if files.count(STDIN) > 1:
        raise ValueError("standard input: expected '-' once among the files; got it twice")
    return _from_files(files, columns, exclude)


def read_clusterings(
    files: Sequence[str], columns: Sequence[str], exclude: Sequence[str]
) -> tuple[list[str], list[Labels]]:
    """Names and labels of the clusterings of all files; every column is one.

    Raises:
        ValueError: files or names are not as described.
        OSError: a file cannot be read.
    """
    if files.count(STDIN) > 1:
        raise ValueError("standard input: expected '-' once among the files; got it twice")
    read = read_table if len(files) == 1 else read_labels
    found = [(name, file) for file in map(read, files) for name in file.names]
    names = [name for name, _ in found]
    kept = set(pick(names, names, columns, exclude))
    chosen = [(name, _clustering(file, name)) for name, file in found if name in kept]
    first = chosen[0][1]
    for name, labels in chosen:
        if len(labels) != len(first):
            raise ValueError(f"{name}: expected {len(first)} labels, as in {chosen[0][0]}; got {len(labels)}")
    return [name for name, _ in chosen], [labels for _, labels in chosen]


def pick(known: Sequence[str], default: Sequence[str], columns: Sequence[str], exclude: Sequence[str]) -> list[str]:
    """Names that are asked for: each of ``columns`` and ``exclude`` is a name, a pattern with ``*``, or a comma list.

    Raises:
        ValueError: an unknown name, or nothing is left.
    """
    chosen = _match(known, columns, "--columns") if columns else list(default)
    left_out = set(_match(known, exclude, "--exclude"))
    kept = [name for name in chosen if name not in left_out]
    if not kept:
        raise ValueError("clusterings: expected at least one beside the truth; got none")
    return kept


def encode(columns: Sequence[Labels], label: str | None) -> tuple[np.ndarray, int | None]:
    """Labels of a batch as whole numbers ``(B, N)``, and the number that a label has there (None: no item has it).

    Raises:
        ValueError: the labels are whole numbers and ``label`` is none.
    """
    values, vocabulary = stack_columns(columns)
    return values, None if label is None else find(label, values, vocabulary)


def _from_columns(file: LabelFile, truth: str | None, columns: Sequence[str], exclude: Sequence[str]) -> Task:
    if truth is None:
        listed = ", ".join(file.names[:6]) + (", ..." if len(file.names) > 6 else "")
        expected = "expected the column that holds the truth (or a second file)"
        raise ValueError(f"--truth: {expected}; {file.path} has {listed}")
    labels = file.labels(truth)
    names = pick(file.names, [name for name in file.names if name != truth], columns, exclude)
    return Task(truth, labels, names, [_clustering(file, name) for name in names])


def _clustering(file: LabelFile, name: str) -> Labels:
    try:
        return file.labels(name)
    except ValueError as error:
        raise ValueError(f"{error} (if this column is no clustering: --exclude {name!r})") from None


def _from_files(paths: Sequence[str], columns: Sequence[str], exclude: Sequence[str]) -> Task:
    first, *others = paths
    file = read_labels(first)
    if len(file.names) > 1:
        remedy = "for the columns of a single file, name the truth with --truth"
        raise ValueError(f"{first}: expected one column, the truth; got {len(file.names)} ({remedy})")
    found = [(name, other) for other in map(read_labels, others) for name in other.names]
    names = [name for name, _ in found]
    kept = set(pick(names, names, columns, exclude))
    chosen = [(name, other.labels(name)) for name, other in found if name in kept]
    return Task(first, file.labels(file.names[0]), *zip(*chosen, strict=True))


def _match(known: Sequence[str], asked: Sequence[str], option: str) -> list[str]:
    found: dict[str, None] = {}
    for item in asked:
        parts = [item] if item in known else [part.strip() for part in item.split(",")]
        for name in filter(None, parts):
            pattern = name.replace("[", "[[]")
            matching = [name] if name in known else [x for x in known if fnmatchcase(x, pattern)]
            if not matching:
                close = get_close_matches(name, known, 3, 0.5)
                hint = f"did you mean {' or '.join(map(repr, close))}?" if close else "patterns with * work too"
                raise ValueError(f"{option}: expected a column of the input; got {name!r} ({hint})")
            found.update(dict.fromkeys(matching))
    return list(found)
