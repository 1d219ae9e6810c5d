"""The command ``measures``: the registry as text."""

import argparse

from torchclusteval.cli.commands.checks import parse_measure
from torchclusteval.cli.options import terminal_width
from torchclusteval.cli.printing.measure_text import describe_measure, list_measures
from torchclusteval.measures.aliases import canonical
from torchclusteval.measures.library_names import elsewhere
from torchclusteval.measures.registry import MEASURES
from torchclusteval.overlap import OVERLAP_MEASURES


def run(arguments: argparse.Namespace) -> str:
    """List the measures, explain one, or say what a function of another library is here."""
    name = arguments.name
    every = {**MEASURES, **OVERLAP_MEASURES}
    if name is None or name in {measure.family for measure in every.values()}:
        return list_measures([m for m in every.values() if name in (None, m.family)], terminal_width())
    measure = every.get(canonical(name)) or every.get(name.lower())
    if measure is None and (found := elsewhere(name)):
        return "".join(f"{function}: {meant}\n" for function, meant in found.items())
    return describe_measure(parse_measure(name, "NAME") if measure is None else measure)
