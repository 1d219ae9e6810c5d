"""The commands ``measures`` and ``demo``."""

import argparse

from torchclusteval.cli.commands.demo import demonstrate
from torchclusteval.cli.options import Command, option, parse_measure, terminal_width
from torchclusteval.cli.printing.measure_text import describe_measure, list_measures
from torchclusteval.measures.aliases import canonical
from torchclusteval.measures.library_names import elsewhere
from torchclusteval.measures.registry import MEASURES
from torchclusteval.overlap import OVERLAP_MEASURES


def measures(arguments: argparse.Namespace) -> str:
    """List the measures, explain one, or say what a function of another library is here."""
    name = arguments.name
    every = {**MEASURES, **OVERLAP_MEASURES}
    if name is None or name in {measure.family for measure in every.values()}:
        return list_measures([m for m in every.values() if name in (None, m.family)], terminal_width())
    measure = every.get(canonical(name)) or every.get(name.lower())
    if measure is None and (found := elsewhere(name)):
        return "".join(f"{function}: {meant}\n" for function, meant in found.items())
    return describe_measure(parse_measure(name, "NAME") if measure is None else measure)


def demo(arguments: argparse.Namespace) -> str:
    """Score the bundled clusterings with every measure."""
    return demonstrate(terminal_width())


MEASURES_COMMAND = Command(
    "measures",
    "list the measures, or explain one",
    measures,
    (
        option(
            "name",
            nargs="?",
            metavar="NAME",
            help="a measure to explain, a family or another library to list, or a function of it (LIBRARY:NAME)",
        ),
    ),
)
DEMO_COMMAND = Command("demo", "score several hundred bundled clusterings with every measure", demo)
