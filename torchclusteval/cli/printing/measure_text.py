"""The registry of measures as text: a list of measures, or one explained."""

import inspect
import math
import textwrap
from collections.abc import Iterable
from functools import partial
from itertools import groupby

from torchclusteval.cli.printing.tables import Table, as_text
from torchclusteval.measures.aliases import ALIASES
from torchclusteval.measures.library_names import library_names
from torchclusteval.measures.record import Measure
from torchclusteval.measures.references import REFERENCES
from torchclusteval.measures.registry import DEFAULT

_CALLS = {"overlap": "evaluate_overlapping(true, pred"}  # by family, where it is not evaluate


def list_measures(measures: Iterable[Measure], width: int) -> str:
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
    tables = [as_text(Table(header, [*map(_row, family)]), width, whole_names=True) for family in families]
    return "\n".join([*tables, *text]) + "\n"


def _row(measure: Measure) -> list[str]:
    mark = "*" if measure.name in DEFAULT else ""
    return [measure.name + mark, measure.family, _range(measure), measure.better or "-", measure.source]


def describe_measure(measure: Measure) -> str:
    """The facts about a measure, the docstring of its function, and the reference."""
    function, options = _unwrap(measure)
    aliases = [alias for alias, name in ALIASES.items() if name == measure.name]
    direction = "neither direction is better" if measure.better is None else f"{measure.better} is better"
    identical = "depends on the partition" if measure.perfect is None else f"{measure.perfect:g}"
    swapped = {None: "no measure of this list", measure.name: "the same (symmetric)"}
    call = _CALLS.get(measure.family, "evaluate(labels_true, labels_pred")
    facts = {
        "other names": ", ".join(aliases),
        "elsewhere": ", ".join(str(row) for row in library_names() if row.measure == measure.name),
        "family": measure.family,
        "range": f"{_range(measure)}, {direction}",
        "identical": identical,
        "sides swapped": swapped.get(measure.swapped, measure.swapped or ""),
        "chance": "corrected: 0 on average over all permutations of one side" if measure.chance_corrected else "",
        "distance": "a metric on the partitions of the same items" if measure.metric else "",
        "needs": "whole counts, not weights or probabilities" if measure.integer_only else "",
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


def _unwrap(measure: Measure) -> tuple[object, dict[str, object]]:
    """The function that holds the formula, and the options that the measure fixes."""
    if isinstance(measure.function, partial):
        return measure.function.func, measure.function.keywords
    return measure.function, {}


def _range(measure: Measure) -> str:
    low, high = measure.range
    opening, closing = ("(" if math.isinf(low) else "["), (")" if math.isinf(high) else "]")
    return f"{opening}{low:g}, {high:g}{closing}"
