"""Figures of README and of the documentation are those of the newest files of results."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchclusteval as tce
from tests.support.pages import DOCS

RESULTS = DOCS.parent / "benchmarks" / "results"
PAGES = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("guides/*.md"))]
PEERS = ("scikit-learn", "genieclust", "torchmetrics")  # the columns after our own; each by its first row of calls
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


def newest(stem: str) -> str:
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


def loaded(stem: str) -> Any:
    return json.loads((RESULTS / f"{newest(stem)}.json").read_text())


def peer_row(result: Any, package: str, calls: str) -> Any:
    return next(x for x in result["peers"] if x["package"] == package and x["calls"].startswith(calls))


def times_of_one_index(found: Any) -> list[float]:
    """Shortest and longest time of ``evaluate`` of the adjusted Rand index of 100 items, in ms."""
    rows = [x for x in found["results"][0]["peers"] if x["calls"] == "adjusted_rand_score"]
    times = [1e3 * x["torchclusteval_same_measures"]["cpu_s"] for x in rows]
    return [min(times), max(times)]


def figures_of_comparison(found: Any) -> list[float]:
    one, *larger = found["results"]
    single, torch = (peer_row(one, name, "adjusted_rand_score") for name in ("genieclust", "torchmetrics"))
    rows = [peer_row(x, "genieclust", "adjusted_rand") for x in larger if x["shape"]["clusterings"] == 1000]
    factors = [row["cpu_s"] / row["torchclusteval_same_measures"]["cpu_s"] for row in rows]
    whole = peer_row(one, "genieclust", "compare_partitions")["cpu_s"]
    return [
        1e6 * whole,
        1e6 * single["cpu_s"],
        *times_of_one_index(found),
        1e3 * torch["cpu_s"],
        min(factors),
        max(factors),
    ]


def figures_of_counting(found: Any) -> list[float]:
    rows = found["results"]
    times = {row["dtype"]: row["ns"]["torchclusteval"] for row in rows if row["items"] == 100_000}
    shares = [row["against_best"] for row in rows]
    return [times["int64"], times["uint8"], min(shares), max(shares)]


def figures_of_measures(found: Any) -> list[float]:
    some, every, compiled = found["rows"]
    least = [min(row["cpu_all_s"]) for row in (some, every)]
    times = [some["cpu_s"], every["cpu_s"], *least]
    return [some["measures"], 1e3 * times[0], every["measures"], *(1e3 * x for x in (*times[1:], compiled["cpu_s"]))]


def figures_of_inference(found: Any) -> list[float]:
    rows = {name: row["cpu_s"] for name, row in found["rows"].items()}
    drawn = next(x for name, x in rows.items() if name.startswith("bootstrap") and name.endswith("measures"))
    permuted = {name.rpartition(", ")[2]: x for name, x in rows.items() if "200 clusterings" in name}
    pairs, plain = (x for name, x in rows.items() if name.startswith("all pairs"))
    return [drawn, permuted["adjusted_rand"], permuted["all"], pairs, plain / pairs]


def figures_of_streaming(found: Any) -> list[float]:
    theirs, *ours = found["epoch"]["rows"]
    of_kind = ([row["cpu_s"] for row in ours if ("no sizes" in row["name"]) == no] for no in (False, True))
    spans = [end for times in of_kind for end in (min(times), max(times))]
    million, most = (next(x for x in found["adjusted_rand"] if x["items"] == n) for n in (10**6, 10**7))
    return [*spans, theirs["cpu_s"], million["torchmetrics"], million["exact"], most["torchmetrics"]]


def figures_of_overlap(found: Any) -> list[float]:
    peer = next(x for x in found["peers"] if x["peer"] == "bcubed")
    times = [1e3 * peer["torchclusteval"]["cpu_s"], peer["other"]["cpu_s"], peer["times_faster"]]
    return [*times, found["large"][0]["cpu_s"]]


def figures_of_coreference(found: Any) -> list[float]:
    row = found["coreference"]
    plain = row["plain_python"]["cpu_s"] * row["documents"] / row["plain_documents"]
    return [row["measures"], 1e3 * row["torchclusteval"]["cpu_s"], plain, row["times_faster"]]


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("README.md", r"without it, (\d+) common ones"),
        ("docs/start.md", r"computes (\d+) common ones"),
        ("docs/more.md", r"(\d+) headline measures"),
    ],
)
def test_pages_count_the_headline_measures(page: str, words: str) -> None:
    assert re.findall(words, (DOCS.parent / page).read_text()) == [str(len(tce.measures.DEFAULT))]


def test_the_page_of_vi_and_its_relatives_states_the_registry() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| [^|]+ \| 0 to ([^|]+) \| ([^|]+) \| (yes|no) \|$", (DOCS / "vi_and_nvi.md").read_text(), re.M
    )
    assert len(rows) == 11
    for name, high, swapped, metric in rows:
        measure = tce.MEASURES[name]
        facts: tuple[object, ...] = (measure.range, measure.swapped, measure.metric, measure.better, measure.perfect)
        other = name if swapped == "the same" else swapped.strip("`")
        assert facts == ((0, 1 if high == "1" else float("inf")), other, metric == "yes", "lower", 0)


PERFORMANCE, TRAINING = "performance.md", "guides/in_training.md"
NUMBER = r"([\d.]+)"
SENTENCES: list[tuple[str, str, str, Callable[[Any], list[float]]]] = [
    (
        PERFORMANCE,
        "genieclust scores 100 items in # us (its adjusted Rand index alone in # us, ours in # to # ms), torchmetrics' "
        "adjusted Rand index takes # ms; … are only # to # times as fast as genieclust's",
        "compare",
        figures_of_comparison,
    ),
    (
        PERFORMANCE,
        "# ns a label pair for 100 clusterings of 100,000 int64 labels, # ns for uint8; between # and # of the time",
        "counting",
        figures_of_counting,
    ),
    (
        PERFORMANCE,
        "# measures of 1000 tables of 10 x 10 in # ms, all # that need no host in # ms, … (# and # ms at best)… (# ms;",
        "measures",
        figures_of_measures,
    ),
    (
        PERFORMANCE,
        "take # GB in addition to the labels with 100 classes, # GB with as many classes as clusters",
        "limits",
        lambda found: [row["peak_mb"] / 1000 for row in found["rows"][1:3]],
    ),
    (
        PERFORMANCE,
        "measures take # s for a 10 x 10 table of a million items; 1000 permutations of 200 clusterings # s for "
        "adjusted Rand, # s for all measures; all pairs of 300 clusterings of 10,000 items # s, # times",
        "inference",
        figures_of_inference,
    ),
    (
        PERFORMANCE,
        "in 40 groups take # ms, python-bcubed # s (# x); all eleven overlapping measures … in 500 groups # s",
        "overlap",
        figures_of_overlap,
    ),
    (
        PERFORMANCE,
        "billion pairs: # s and # MB on one thread",
        "element_centric",
        lambda found: [found["element_centric"]["threads_1"]["wall_s"], found["element_centric"]["additional_mb"]],
    ),
    (
        PERFORMANCE,
        "All # measures of coreference of 1000 documents of 200 mentions take # ms, … plain Python # s (# x",
        "coreference",
        figures_of_coreference,
    ),
    (
        TRAINING,
        "ours take # to # s of CPU time with sizes given and # to # s without, … 1.9 take # s. … # instead of # for "
        "1,000,000 items, and #, which",
        "streaming",
        figures_of_streaming,
    ),
    ("../README.md", "`evaluate` took # to # ms for the adjusted Rand index alone", "compare", times_of_one_index),
]


@pytest.mark.parametrize(("page", "sentence", "stem", "figures"), SENTENCES, ids=[row[2] for row in SENTENCES])
def test_figures_in_sentences(page: str, sentence: str, stem: str, figures: Callable[[Any], list[float]]) -> None:
    pattern = re.escape(sentence).replace("\\#", NUMBER).replace("…", ".*?").replace("\\ ", " ")
    shown = re.search(pattern, " ".join((DOCS / page).read_text().split()))
    assert shown is not None
    expected = figures(loaded(stem))
    assert len(shown.groups()) == len(expected)
    for text, exact in zip(shown.groups(), expected, strict=True):
        assert is_rounded(text.rstrip("."), exact) or is_rounded_to_two(text, exact), (shown[0], exact)


def is_rounded_to_two(text: str, exact: float) -> bool:
    """Whether a whole number has two digits of the exact one, as 160 of 159.5."""
    return text.endswith("0") and "." not in text and abs(float(text) - exact) <= 5
