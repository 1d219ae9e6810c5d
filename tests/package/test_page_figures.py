"""Figures of README and of the documentation are those of the newest files of results."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.pages import DOCS

RESULTS = DOCS.parent / "benchmarks" / "results"
PAGES = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("guides/*.md"))]
PEERS = ("scikit-learn", "genieclust", "torchmetrics")  # the columns after our own; each by its first row of calls
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


def newest(stem: str) -> str:
    """The newest file of results of this kind."""
    dated = re.compile(rf"{re.escape(stem)}(_\d{{4}}-\d\d-\d\d)?\.(json|png)")
    return max(path.name for path in RESULTS.iterdir() if dated.fullmatch(path.name)).rpartition(".")[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_pages_name_the_newest_results(page: Path) -> None:
    for name, stem in re.findall(r"\b(([a-z_]+)_\d{4}-\d\d-\d\d)\.(?:json|png)", page.read_text()):
        assert name == newest(stem)


@pytest.mark.parametrize("page", ["README.md", "docs/performance.md"])
def test_figures_of_the_comparison_are_those_of_the_newest_results(page: str) -> None:
    results = json.loads((RESULTS / f"{newest('compare')}.json").read_text())["results"]
    rows = re.findall(r"^\| ([\d,]+) x ([\d,]+), ([\d,]+) \|(.*)\|$", (DOCS.parent / page).read_text(), re.MULTILINE)
    assert len(rows) == len(results)
    for (*shape, cells), result in zip(rows, results, strict=True):
        assert [int(x.replace(",", "")) for x in shape] == list(result["shape"].values())
        own, *others = cells.split("|")
        mine = [result["torchclusteval"], *(x["torchclusteval_all_measures"] for x in result["peers"] if "cpu_s" in x)]
        times = [x["cpu_s"] for x in mine]
        assert agrees(own, min(times)) or agrees(own, max(times)) or min(times) < seconds(own) < max(times)
        for name, cell in zip(PEERS, others, strict=True):
            peer = next(x for x in result["peers"] if x["package"] == name)
            assert agrees(cell, peer["cpu_s"]), (shape, name)
            factor = peer["cpu_s"] / peer["torchclusteval_all_measures"]["cpu_s"]
            assert is_rounded(re.findall(r"\(\**([\d.]+) x\**\)", cell)[0], factor), (shape, name)


def seconds(cell: str) -> float:
    number, unit = re.findall(r"([\d.]+) (s|ms|us)\b", cell)[0]
    return float(number) * SECONDS[unit]


def agrees(cell: str, expected: float) -> bool:
    """Whether the first time of a cell is this number of seconds, rounded."""
    number, unit = re.findall(r"([\d.]+) (s|ms|us)\b", cell)[0]
    return is_rounded(number, expected / SECONDS[unit])


def is_rounded(shown: str, exact: float) -> bool:
    """Whether the text is the number with its decimals, or with three digits."""
    decimals = len(shown.partition(".")[2])
    return abs(float(shown) - exact) <= max(0.5 * 10**-decimals, 0.0005 * exact) * 1.01
