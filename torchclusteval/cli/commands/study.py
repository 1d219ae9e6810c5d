"""The command ``study``: the experiments of the source papers."""

import argparse
import inspect
import shutil
import textwrap
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torchclusteval.cli.commands.checks import check_plot
from torchclusteval.cli.options import closest, warnings_as_notes
from torchclusteval.labels.inputs import check_device
from torchclusteval.studies import STUDIES
from torchclusteval.studies.runner import checked_output, is_unfinished, rank, write_result

STUDY_OPTIONS = ("preset", "iterations", "seed", "device", "output")  # arguments of ``run``


def run(arguments: argparse.Namespace) -> str:
    """Run an experiment, or list them."""
    if arguments.name == "list":
        left, width = max(map(len, STUDIES)) + 2, max(40, shutil.get_terminal_size().columns)
        lines = [
            textwrap.fill(f"{name:{left}}{row.summary}", width, subsequent_indent=" " * left)
            for name, row in STUDIES.items()
        ]
        return "\n".join(lines) + "\n\n`torchclusteval study NAME` runs one.\n"
    if arguments.name not in STUDIES:
        got = f"{arguments.name!r}{closest(arguments.name, STUDIES)}"
        raise ValueError(f"NAME: expected list, {', '.join(STUDIES)}; got {got}")
    check_plot(arguments.plot)
    if arguments.csv is not None and not arguments.overwrite and not is_unfinished(arguments.csv):  # it goes on then
        taken = next((x for x in (Path(arguments.csv), Path(arguments.csv).with_suffix(".json")) if x.exists()), None)
        if taken is not None:
            raise ValueError(f"--output: expected a new file; got '{taken}', which exists (--overwrite replaces it)")
    check_device(arguments.device or "cpu")
    module = STUDIES[arguments.name].load()
    defaults = {name: x.default for name, x in inspect.signature(module.run).parameters.items()}
    options = _options(arguments, defaults)
    # A study in one piece, of some seconds, leaves the file to its caller.
    output = None if "output" in defaults else checked_output(options.pop("output", None))
    started = time.perf_counter()
    result = module.run(**options)
    if rank() != 0:
        return ""
    if output is not None:
        seconds = round(time.perf_counter() - started, 3)
        facts = {"study": arguments.name, "settings": defaults | options, "seconds": seconds}
        write_result(output, module.rows(result), facts)
    if arguments.plot is not None:
        with warnings_as_notes():
            module.plot(result, arguments.plot)
    return str(module.report(result)).rstrip() + "\n"


def _options(arguments: argparse.Namespace, taken: Iterable[str]) -> dict[str, Any]:
    """The options given; a study takes those of its ``run``, and ``--output``."""
    # Not in arguments.output, where main writes the report: a study writes its rows itself, so that it can be resumed.
    values = {name: getattr(arguments, "csv" if name == "output" else name) for name in STUDY_OPTIONS}
    given = {name: value for name, value in values.items() if value is not None}
    known = [name for name in STUDY_OPTIONS if name in {*taken, "output"}]
    refused = next((name for name in given if name not in known), None)
    if refused is not None:
        takes = ", ".join(f"--{name}" for name in known)
        raise ValueError(f"--{refused}: study {arguments.name} takes {takes}")
    return given
