"""What the command line asks for: files, columns, how to read them and what becomes of labels."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase

from torchclusteval.cli.options import closest, shown
from torchclusteval.labels.spelled import SPELLINGS


@dataclass(frozen=True)
class Selection:
    """What the command line asks for."""

    files: Sequence[str]
    columns: Sequence[str] = ()
    exclude: Sequence[str] = ()
    header: str = "auto"  # "yes", "no" or "auto"
    spellings: frozenset[str] = frozenset(SPELLINGS)  # of missing labels in text files
    id_column: str | None = None  # whose cells are the names of rows
    join: str = "names"  # or "shared": items that all files have; "position": whatever the names
    ignore: str | None = None
    noise_label: str | None = None
    noise: str = "ignore"
    missing: str = "error"  # "error", "ignore" or "label"

    def spells_missing(self, label: str | None) -> bool:
        """Whether a label on the command line stands for a missing one."""
        return label is not None and (not label.strip() or label.strip() in self.spellings)


def parse_selection(arguments: argparse.Namespace) -> Selection:
    """The selection of a command; raise for ``--noise`` without ``--noise-label``."""
    spellings = frozenset(SPELLINGS)
    if arguments.na_values is not None:
        spellings = frozenset(["", *(text.strip() for text in arguments.na_values.split(","))])
    given = vars(arguments)
    if given.get("noise", "ignore") != "ignore" and arguments.noise_label is None:
        raise ValueError(f"--noise-label: expected the label of noise too with --noise {arguments.noise}; got none")
    same = {field.name: given[field.name] for field in fields(Selection) if field.name in given}
    return Selection(**{"missing": "ignore", **same}, spellings=spellings, id_column=arguments.id)


def is_asked(path: str, name: str, asked: Sequence[str]) -> bool:
    """Whether an item of a list of names and patterns fits a column of a file."""
    patterns = [x.strip().replace("[", "[[]") for item in asked for x in (item, *item.split(","))]
    return any(fnmatchcase(name, x) or fnmatchcase(f"{path}:{name}", x) for x in patterns)


def pick(known: Mapping[str, str], default: Sequence[str], asked: Selection, ids: Mapping[str, str] = {}) -> list[str]:
    """Titles that are asked for, by themselves or by names (title -> name), patterns with ``*``, or comma lists.

    Raise on an unknown name, and where nothing is left.
    """
    chosen = _match(known, asked.columns, "--columns") if asked.columns else list(default)
    excluded = set(_match({**known, **ids}, asked.exclude, "--exclude"))  # files may be joined by what is left out
    kept = [name for name in chosen if name not in excluded]
    if not kept:
        others = " other than " + shown(named) if (named := [name for name in known if name not in default]) else ""
        raise ValueError(f"clusterings: expected at least one column{others}; got none")
    return kept


def _match(known: Mapping[str, str], asked: Sequence[str], option: str) -> list[str]:
    matches: dict[str, None] = {}
    for item in asked:
        parts = [item] if item in known else [part.strip() for part in item.split(",")]
        for name in filter(None, parts):
            pattern = name.replace("[", "[[]")
            fits = [x for x, own in known.items() if fnmatchcase(x, pattern) or fnmatchcase(own, pattern)]
            matching = [name] if name in known else fits
            if not matching:
                hint = closest(name, dict.fromkeys([*known, *known.values()]), f"there are {shown([*known])}")
                raise ValueError(f"{option}: expected a column of the input; got {name!r}{hint}")
            matches.update(dict.fromkeys(matching))
    return list(matches)
