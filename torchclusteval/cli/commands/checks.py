"""Arguments of several commands, checked before the work: measures, device, outputs."""

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from torchclusteval.cli.options import print_note
from torchclusteval.common.formatting import shortened
from torchclusteval.common.optional import import_optional
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import MEASURES, find_measure
from torchclusteval.scoring.no_clusterings import IS_TRUTH
from torchclusteval.scoring.scores import low_coverage

_FORMATS = {".csv": "csv", ".json": "json", ".md": "markdown"}  # suffix of --output -> format
_OF_OTHERS = (".xlsx", ".xls", ".ods", ".parquet", ".feather", ".pdf", ".png", ".svg", ".html", ".gz", ".zip")


def parse_measure(name: str, option: str, registry: Mapping[str, Measure] = MEASURES) -> Measure:
    """The measure of a name; an error names the option."""
    try:
        return find_measure(name, registry)
    except ValueError as error:
        raise ValueError(f"{option}: {str(error).partition(': ')[2]}") from None


def parse_list(text: str) -> list[str]:
    """Names that are joined by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def check_seed(arguments: argparse.Namespace) -> None:
    """Raise for a seed or a unit without draws."""
    for flag, given in (("--seed", arguments.seed), ("--resamples", arguments.resample)):
        if given is not None and arguments.confidence_level is None and arguments.resamples is None:
            raise ValueError(f"{flag}: expected --confidence-level or --resamples too; got none")


def check_unit(arguments: argparse.Namespace) -> None:
    """Raise for another unit of draws where groups are drawn."""
    if arguments.resample not in (None, "groups"):
        raise ValueError(f"--resamples: expected groups or a number, as groups are drawn; got {arguments.resample}")


def check_printing(arguments: argparse.Namespace) -> None:
    """Check the outputs, and decide the format: that of ``--format`` or of the suffix of ``--output``."""
    check_plot(getattr(arguments, "plot", None))
    if getattr(arguments, "picture", None) is not None and arguments.plot is None:
        raise ValueError("--picture: expected --plot FILE.png too; got none")
    asked, path = arguments.format, arguments.output
    by_suffix = None if path is None else _FORMATS.get(Path(path).suffix.lower())
    if by_suffix and asked not in (None, by_suffix):
        fitting = [suffix for suffix, name in _FORMATS.items() if name == asked]
        expected = " or ".join([*fitting, "an unknown suffix"])
        raise ValueError(f"--output: expected a file with {expected} for --format {asked}; got {path}")
    check_output(arguments, path)
    if path is not None and path.lower().endswith(_OF_OTHERS):
        raise ValueError(f"--output: expected a file of text, such as one that ends in .csv; got {path}")
    arguments.format = by_suffix or asked or "table"


def check_output(arguments: argparse.Namespace, path: str | None, suffixes: Sequence[str] = ()) -> None:
    """Raise early for an ``--output`` that cannot be written, or that is one of the inputs."""
    if path is None:
        if arguments.overwrite:
            raise ValueError("--overwrite: expected --output too, the file to replace; got none")
        return
    if suffixes and not path.lower().endswith(tuple(suffixes)):
        raise ValueError(f"--output: expected a file that ends in {' or '.join(suffixes)}; got {path}")
    if Path(path).is_file():
        if not arguments.overwrite:
            raise ValueError(f"--output: expected a new file; {path} exists (--overwrite replaces it)")
        if any(os.path.isfile(file) and os.path.samefile(file, path) for file in arguments.files):
            raise ValueError(f"--output: expected a file other than the inputs; got {path}")
    _check_folder("--output", path)


def check_plot(path: str | None) -> None:
    """Raise early for a picture that cannot be drawn."""
    if path is None:
        return
    if not path.endswith((".png", ".pdf", ".svg")):
        raise ValueError(f"--plot: expected a file that ends in .png, .pdf or .svg; got {path!r}")
    _check_folder("--plot", path)
    import_optional("matplotlib.figure", "plots")


def _check_folder(option: str, path: str) -> None:
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise ValueError(f"{option}: expected a file in an existing folder; got {path}")
    if Path(path).is_dir() or not os.access(folder, os.W_OK):
        got = "a folder" if Path(path).is_dir() else "one in a folder without the right to write"
        raise ValueError(f"{option}: expected the name of a file to write; got {path}, {got}")


def note_doubtful(found: Mapping[Any, str]) -> None:
    """Print a note for each of the first three columns that do not look like clusterings, and one for the rest."""
    for name, reason in [*found.items()][:3]:
        what = "is the truth" if reason == IS_TRUTH else "holds ids"
        print_note(f"note: in {name!r} {reason}; if it {what}, --exclude it")
    if others := [*found][3:]:
        print_note(f"note: these do not look like clusterings either: {', '.join(map(shortened, others))}")


def note_low_coverage(coverage: np.ndarray, measures: Iterable[str]) -> None:
    """Print a note if few items are scored and a measure depends on the other items of a cluster."""
    if said := low_coverage(float(np.nanmin(coverage, initial=1.0)), [MEASURES[name] for name in measures]):
        print_note(f"note: {said}")


def note_ties(names: Sequence[str], unique: Sequence[bool]) -> None:
    """Print a note for each of the first clusterings with several best matchings."""
    for name in [name for name, only in zip(names, unique, strict=False) if not only][:3]:
        print_note(f"note: {name!r} has several best matchings; shown is one of them")
