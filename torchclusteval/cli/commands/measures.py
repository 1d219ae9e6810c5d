"""The command ``measures``: the registry as text."""

import argparse
import inspect
import math
import shutil
import textwrap
from collections.abc import Iterable
from functools import partial
from itertools import groupby

from torchclusteval.cli.commands.checks import parse_measure
from torchclusteval.cli.printing import Table, as_text
from torchclusteval.measures.aliases import ALIASES, canonical, elsewhere, library_names
from torchclusteval.measures.record import REFERENCES, Measure
from torchclusteval.measures.registry import DEFAULT, MEASURES
from torchclusteval.overlap import OVERLAP_MEASURES


def run(arguments: argparse.Namespace) -> str:
    """List the measures, explain one, or say what a function of another library is here."""
    name = arguments.name
    every = {**MEASURES, **OVERLAP_MEASURES}
    if name is None or name in {measure.family for measure in every.values()}:
        return _list([m for m in every.values() if name in (None, m.family)], shutil.get_terminal_size().columns)
    measure = every.get(canonical(name)) or every.get(name.lower())
    if measure is None and (found := elsewhere(name)):
        return "".join(f"{function}: {meant}\n" for function, meant in found.items())
    return _describe(parse_measure(name, "NAME") if measure is None else measure)


def _list(measures: Iterable[Measure], width: int) -> str:
    """A line for each measure, a table for each family, and the aliases."""
    listed = list(measures)
    names = {measure.name for measure in listed}
    families = [list(family) for _, family in groupby(listed, lambda measure: measure.family)]
    aliases = ", ".join(f"{alias}={name}" for alias, name in ALIASES.items() if name in names)
    notes = [
        "* computed by default. better: which direction is better; -: neither.",
        f"Other names: {aliases}." if aliases else "",
        "`torchclusteval measures NAME` explains one, with its formula and reference.",
    ]
    text = [textwrap.fill(line, max(20, width), break_on_hyphens=False) for line in notes if line]
    header = ["measure", "family", "range", "better", "source"]
    tables = [
        [(m.name + "*" * (m.name in DEFAULT), m.family, _range(m), m.better or "-", m.source) for m in family]
        for family in families
    ]
    return "\n".join([*(as_text(Table(header, rows), width, whole_names=True) for rows in tables), *text]) + "\n"


def _describe(measure: Measure) -> str:
    """The facts about a measure, the docstring of its function, and the reference."""
    given = measure.function
    function, options = (given.func, given.keywords) if isinstance(given, partial) else (given, {})
    aliases = [alias for alias, name in ALIASES.items() if name == measure.name]
    direction = "neither direction is better" if measure.better is None else f"{measure.better} is better"
    identical = "depends on the partition" if measure.perfect is None else f"{measure.perfect:g}"
    swapped = {None: "no measure of this list", measure.name: "the same (symmetric)"}
    call = "evaluate_overlapping(true, pred" if measure.family == "overlap" else "evaluate(labels_true, labels_pred"
    facts = {
        "other names": ", ".join(aliases),
        "elsewhere": ", ".join(str(row) for row in library_names() if row.measure == measure.name),
        "family": measure.family,
        "range": f"{_range(measure)}, {direction}",
        "identical": identical,
        "sides swapped": swapped.get(measure.swapped, measure.swapped or ""),
        "chance": "corrected: 0 on average over all permutations of one side" if measure.chance_corrected else "",
        "distance": "a metric on the partitions of the same items" if measure.metric else "",
        "needs": "whole counts (integer weights work), not floats or probabilities" if measure.integer_only else "",
        "options": ", ".join(f"{key}={value!r}" for key, value in options.items()),
        "in Python": f"torchclusteval.{call}, {measure.name!r})",
    }
    indent = " " * 17
    lines = [
        textwrap.fill(value, 100, initial_indent=f"  {key + ':':<15}", subsequent_indent=indent, break_on_hyphens=False)
        for key, value in facts.items()
        if value
    ]
    reference = textwrap.fill(REFERENCES.get(measure.source, measure.source), 100, subsequent_indent="  ")
    return "\n".join([measure.name, *lines, "", inspect.getdoc(function) or "", "", "Reference:", f"  {reference}", ""])


def _range(measure: Measure) -> str:
    low, high = measure.range
    opening, closing = ("(" if math.isinf(low) else "["), (")" if math.isinf(high) else "]")
    return f"{opening}{low:g}, {high:g}{closing}"
