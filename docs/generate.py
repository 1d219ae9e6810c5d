"""Pages that follow from the package: the measures, the reference and the benchmarks. Called at every build."""

import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from formulas import formula_of, plain_formula

import torchclusteval as tce
from torchclusteval.cli.commands.measures import _range
from torchclusteval.measures import ALIASES, REFERENCES, Measure
from torchclusteval.measures.aliases import library_names

ROOT = Path(__file__).parent.parent
MODULES = ("", "measures", "inference", "overlap", "streaming", "meta", "studies", "sklearn", "torchmetrics", "plots")
FAMILIES = {
    "entropy": "Measures built on entropies",
    "pairs": "Measures that count pairs of items",
    "matching": "Measures that match classes and clusters",
    "bcubed": "Means over items",
    "coreference": "Coreference and entity resolution",
    "segmentation": "Segmentation",
    "tracking": "Tracking and diarization",
    "overlap": "Overlapping clusterings",
}
NOTATION = r"""
$n_{ij}$ items of class $i$ are in cluster $j$ (a *cell*); $r_i$ is the size of class $i$, $c_j$ that of cluster $j$,
$N$ the number of items, $R$ and $C$ the numbers of classes and of clusters. $\sigma$ is a one-to-one matching of
classes and clusters. Logarithms are natural.
$H(C)$ is the entropy of the classes, $H(K)$ that of the clusters, $I$ their mutual information. Of the $M$ pairs of
items, $SS$ share a cluster and a class, $SD$ a cluster only, $DS$ a class only, $DD$ neither. In coreference,
segmentation and tracking $r_i$ and $c_j$ count the items that only one side groups too, and $TP$, $FP$ and $FN$ are
matched objects, predicted objects without a match, and true ones. In BLANC, $a$, $K$ and $Q$ are the coreference links
of both sides, of the truth and of the prediction; $a'$, $K'$ and $Q'$ the pairs of items without a link. With
overlapping groups $L$ is a class and $G$ a cluster, $L(e)$ and $C(e)$ are the classes and the clusters of item $e$, and
$X_k$, $Y_l$ the membership of items in class $k$ and in cluster $l$.
"""


def write_all(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for page in (measures, names_elsewhere, reference, benchmarks):
        path, text = folder / f"{page.__name__}.md", page()
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


# --- measures -----------------------------------------------------------------------------------------------


def measures() -> str:
    """One section a measure, and a table of all."""
    both = [*tce.MEASURES.values(), *tce.OVERLAP_MEASURES.values()]
    by_family = {
        family: [measure for measure in both if measure.family == family]
        for family in dict.fromkeys(measure.family for measure in both)
    }
    parts = [
        "# Measures\n",
        f"{len(both)} measures. This page is made from the registry of the package when the documentation is built.\n",
        "The names here are the keys of `evaluate`; `torchclusteval measures NAME` prints the same. A ratio "
        "0/0 has the perfect value if the partitions are identical, else the value of no agreement, unless a measure "
        "says otherwise ([conventions](../conventions.md)).\n",
        "## Notation\n" + NOTATION,
        "## All in one table\n\n*Corrected*: for chance; *counts*: needs whole counts (integer weights work); "
        "*metric*: a metric on partitions.\n\n```{rst-class} dense\n```\n\n" + overview(both),
    ]
    for family, members in by_family.items():
        parts.append(f"## {FAMILIES.get(family, family.capitalize())}\n")
        parts += [section(measure) for measure in members]
    return "\n".join(parts)


def overview(listed: Iterable[Measure]) -> str:
    """The facts about measures, without their sources."""
    rows = []
    for measure in listed:
        swapped = {None: "", measure.name: "symmetric"}.get(measure.swapped, f"`{measure.swapped}`")
        facts = {"corrected": measure.chance_corrected, "counts": measure.integer_only, "metric": measure.metric}
        notes = ", ".join(note for note, holds in facts.items() if holds)
        better = measure.better or "neither"
        rows.append([f"`{measure.name}`", measure.family, _range(measure), better, swapped, notes])
    return table(["measure", "family", "range", "better", "sides exchanged", "notes"], rows)


def section(measure: Measure) -> str:
    function = measure.function
    function, options = (function.func, function.keywords) if isinstance(function, partial) else (function, {})
    doc = inspect.getdoc(function) or ""
    facts = facts_of(doc)
    formula = formula_of(measure.name, doc)
    shown = f"$$\n{formula}\n$$\n" if formula else f"```text\n{plain_formula(doc)}\n```\n" if plain_formula(doc) else ""
    summary = " ".join(doc.partition("\n\n")[0].split())
    names = [alias for alias, name in ALIASES.items() if name == measure.name]
    lines = [
        f"### `{measure.name}`\n",
        words(summary) + "\n",
        shown,
        "\n".join(details(doc)),
        f"* Range: {range_of(measure, facts.get('Range', ''))}",
        f"* Degenerate: {facts.get('Degenerate', 'nan without items.')}",
        f"* Source: {facts.get('Source', '')} {REFERENCES.get(measure.source, '')}",
        f"* Other names: {', '.join(f'`{name}`' for name in names)}" if names else "",
        f"* Options: {', '.join(f'`{key}={value!r}`' for key, value in options.items())}" if options else "",
        f"* Sides exchanged: `{measure.swapped}`" if measure.swapped not in (None, measure.name) else "",
        "* Corrected for chance" if measure.chance_corrected else "",
        "* Needs whole counts (integer weights work), not floats or probabilities" if measure.integer_only else "",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def details(doc: str) -> list[str]:
    """The paragraphs of a docstring between its first and its facts, but for formulas."""
    before = re.split(r"\n\n(?:Args|Range|Returns|Raises|>>> )", doc)[0].split("\n\n")[1:]
    return [words(" ".join(text.split())) + "\n" for text in before if not text.startswith("    ")]


def facts_of(doc: str) -> dict[str, str]:
    """``Range``, ``Degenerate`` and ``Source`` of a docstring."""
    found = re.findall(r"^(Range|Degenerate|Source): (.+?)(?=\n\S|\n\n|\Z)", doc, re.MULTILINE | re.DOTALL)
    return {key: words(" ".join(text.split())) for key, text in found}


def range_of(measure: Measure, text: str) -> str:
    """Interval, direction and further words of the docstring; the docstring's own words where an end is infinite."""
    if "inf" in _range(measure):
        return f"{_range(measure)}: {text}"
    rest = re.split(r"(?:higher is better|lower is better|no direction)[.;]?\s*", text, maxsplit=1)[-1]
    return f"{_range(measure)}; {measure.better} is better. {rest[:1].upper()}{rest[1:]}"


def words(text: str) -> str:
    """Text of a docstring in Markdown."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text).replace("``", "`")
    return re.sub(r"\*(?=[^`]*(?:`[^`]*`[^`]*)*$)", r"\*", text)


# --- names of other libraries -------------------------------------------------------------------------------


def names_elsewhere() -> str:
    """The functions of each library that are a measure here."""
    parts = [
        "# The measures of other libraries\n",
        "Functions with the same formula as a measure here with its default options. `evaluate` takes them with the "
        "library in front: `aricode:NVI`. [Names elsewhere](../others/names_elsewhere.md) has the other functions.\n",
    ]
    for library, rows in groupby(library_names(), lambda row: row.library):
        functions: dict[str, list[str]] = {}
        for row in rows:
            functions.setdefault(f"`{row.measure}`", []).append(f"`{row.function}`")
        body = [[", ".join(there), here] for here, there in functions.items()]
        parts += [f"## {library}\n", table(["there", "here"], body)]
    return "\n".join(parts)


# --- reference ----------------------------------------------------------------------------------------------


def reference() -> str:
    """Every public name, by module."""
    parts = [
        "# Reference\n",
        "Every public name. The examples assume `import torch`, `import torchclusteval as tce` and "
        "`from torchclusteval import measures`.\n",
    ]
    seen: set[int] = set()
    for name in MODULES:
        module = importlib.import_module(f"torchclusteval.{name}".rstrip("."))
        title = f"torchclusteval.{name}".rstrip(".")
        parts.append(f"## `{title}`\n")
        parts.append((inspect.getdoc(module) or "").partition("\n")[0].replace("``", "`") + "\n")
        parts += list(entries(module, title, seen))
    return "\n".join(parts)


def entries(module: Any, title: str, seen: set[int]) -> Iterable[str]:
    elsewhere, constants = [], []
    for name in sorted(module.__all__, key=str.lower):
        value = getattr(module, name)
        if inspect.ismodule(value):
            continue
        if not callable(value):
            constants.append(f"* `{name}`: {kind_of(value)}")
        elif id(value) in seen:
            elsewhere.append(f"`{name}`")
        else:
            seen.add(id(value))
            directive = "autoclass" if inspect.isclass(value) else "autofunction"
            members = "\n   :members:" if inspect.isclass(value) else ""
            yield f"```{{eval-rst}}\n.. {directive}:: {title}.{name}{members}\n```\n"
    if constants:
        yield "Constants:\n\n" + "\n".join(constants) + "\n"
    if elsewhere:
        yield f"Also here, described above: {', '.join(elsewhere)}.\n"


def kind_of(value: Any) -> str:
    kinds = {
        Mapping: "a mapping with {} entries",
        tuple: "a tuple of {}",
        frozenset: "a set of {}",
        list: "a list of {}",
    }
    return next(
        (text.format(len(value)) for kind, text in kinds.items() if isinstance(value, kind)), type(value).__name__
    )


# --- benchmarks ---------------------------------------------------------------------------------------------


def benchmarks() -> str:
    """The newest file of each benchmark in ``benchmarks/results``, as tables."""
    newest: dict[str, Path] = {}
    for path in sorted((ROOT / "benchmarks" / "results").glob("*.json")):
        newest[re.sub(r"_\d{4}-\d\d-\d\d$", "", path.stem)] = path
    parts = [
        "# Benchmarks\n",
        "Each table shows a file of `benchmarks/results`, made by the script of that name in `benchmarks/`; its README "
        "says how. Times without a unit are seconds. None is from a GPU yet.\n",
        "![Time to score one clustering as clusterings, items and groups grow]"
        f"(../../benchmarks/results/{max((ROOT / 'benchmarks/results').glob('scaling*.png')).name})\n",
    ]
    for name, path in newest.items():
        data = json.loads(path.read_text())
        machine = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in data.pop("environment").items())
        parts.append(f"## {name.replace('_', ' ').capitalize()}\n\n{machine}. File: `{path.name}`.\n")
        parts += [text for key, value in data.items() for text in value_as_tables(key, value)]
    return "\n".join(parts)


def value_as_tables(key: str, value: Any) -> Iterable[str]:
    title = f"**{key.replace('_', ' ')}**"
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        flat = [flatten(row) for row in value]
        header = list(dict.fromkeys(name for row in flat for name in row))
        yield title + "\n"
        yield table(header, [[cell(row.get(name, "")) for name in header] for row in flat])
    elif isinstance(value, dict):
        yield title + "\n"
        yield table(["what", "value"], [[name, cell(x)] for name, x in flatten(value).items()])
    elif value not in ([], None):
        yield f"{title}: {cell(value)}\n"


def flatten(row: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested mappings as one, their keys joined by blanks."""
    result: dict[str, Any] = {}
    for key, value in row.items():
        name = f"{before} {key}".strip().replace("_", " ")
        if isinstance(value, dict):
            result |= flatten(value, name)
        elif isinstance(value, list) and any(isinstance(x, dict) for x in value):
            for i, x in enumerate(value):
                label = next((str(y) for y in x.values() if isinstance(y, str)), str(i))
                result |= flatten({k: y for k, y in x.items() if y != label}, f"{name}: {label}")
        else:
            result[name] = value
    return result


def cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list):
        return ", ".join(map(cell, value))
    return str(value).replace("|", r"\|").replace("*", r"\*")


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"
