"""The command ``study``: the experiments of the source papers."""

import argparse
from typing import Any

from torchclusteval.commands.options import DEVICE, Command, count, find_device, option, width
from torchclusteval.commands.report import fit
from torchclusteval.studies import STUDIES, Study
from torchclusteval.studies.runner import rank

_SETTINGS = {name: name for name in ("preset", "iterations", "seed", "device", "dtype")} | {"output": "csv"}


def study(arguments: argparse.Namespace) -> str:
    """Run an experiment, or list them."""
    if arguments.name == "list":
        rows = [[row.name, row.summary] for row in STUDIES.values()]
        return fit(["study", "what it is"], rows, width()) + "\n`torchclusteval study NAME` runs one.\n"
    if arguments.name not in STUDIES:
        raise ValueError(f"NAME: expected list, {', '.join(STUDIES)}; got {arguments.name!r}")
    if arguments.plot is not None and not arguments.plot.endswith((".png", ".pdf", ".svg")):
        raise ValueError(f"--plot: expected a file that ends in .png, .pdf or .svg; got {arguments.plot!r}")
    chosen = STUDIES[arguments.name]
    module = chosen.load()
    result = module.run(**_options(chosen, arguments))
    if rank() != 0:
        return ""
    if arguments.plot is not None:
        module.plot(result, arguments.plot)
    return str(module.report(result)).rstrip() + "\n"


def _options(chosen: Study, arguments: argparse.Namespace) -> dict[str, Any]:
    """The options given that this study takes."""
    find_device(arguments.device)
    values = {name: getattr(arguments, kept) for name, kept in _SETTINGS.items()}
    given = {name: value for name, value in values.items() if value is not None}
    refused = [name for name in given if name not in chosen.options]
    if refused:
        takes = ", ".join(f"--{name}" for name in _SETTINGS if name in chosen.options) or "no options"
        raise ValueError(f"--{refused[0]}: study {chosen.name} takes {takes}")
    presets = getattr(chosen.load(), "PRESETS", {})
    if "preset" in given and given["preset"] not in presets:
        raise ValueError(f"--preset: expected one of {', '.join(presets)}; got {given['preset']!r}")
    return given


COMMAND = Command(
    "study",
    "repeat an experiment of a source paper",
    study,
    (
        option("name", metavar="NAME", help="the experiment; list names them"),
        option("--preset", metavar="NAME", help="a reading of the paper, where it leaves several open"),
        option("--iterations", type=count, metavar="N", help="sets a configuration"),
        option("--seed", type=int, help="of the random numbers (default: 0)"),
        DEVICE,
        option("--dtype", choices=("float32", "float64"), help="of the arithmetic, where the study offers it"),
        # Not "output": a study writes its own file, piece by piece, so that it can be resumed.
        option("--output", dest="csv", metavar="FILE.csv", help="write rows there; an interrupted run goes on there"),
        option("--plot", metavar="FILE", help="draw the figures (.png, .pdf, .svg)"),
    ),
)
