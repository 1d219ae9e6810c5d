"""The commands ``measures`` and ``demo``: what there is, and what it looks like."""

import argparse

from torchclusteval.commands.options import Command, find_measure, option, width
from torchclusteval.demo import demonstrate
from torchclusteval.describe import describe_measure, list_measures
from torchclusteval.measures.registry import FAMILIES, MEASURES


def measures(arguments: argparse.Namespace) -> str:
    """List the measures, or explain one."""
    name = arguments.name
    if name is None or name in FAMILIES:
        return list_measures([m for m in MEASURES.values() if name in (None, m.family)], width())
    return describe_measure(find_measure(name, "NAME"))


def demo(arguments: argparse.Namespace) -> str:
    """Score the bundled clusterings with every measure."""
    return demonstrate(width())


MEASURES_COMMAND = Command(
    "measures",
    "list the measures, or explain one",
    measures,
    (option("name", nargs="?", metavar="NAME", help="a measure to explain, or a family to list"),),
)
DEMO_COMMAND = Command("demo", "score several hundred bundled clusterings with every measure", demo)
