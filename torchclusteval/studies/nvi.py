"""The tables of Reichart and Rappoport (2009), and the bias of V toward many clusters that made them propose NVI.

Table 1 is computed from its two clusterings. Of Tables 3 and 4 only the printed entropies and VI are known, from
which the other measures follow. The bias is simulated: classes stay fixed and random clusterings, which know
nothing of them, get more and more clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torchclusteval.common.figures import new_figure
from torchclusteval.common.formatting import text_table
from torchclusteval.common.threads import on_one_thread
from torchclusteval.scoring.evaluation import evaluate, evaluate_tables
from torchclusteval.scoring.scores import Scores
from torchclusteval.studies.common import Row, mean, standard_error
from torchclusteval.studies.runner import Plan, run_plan
from torchclusteval.tables import ContingencyTables

__all__ = [
    "MEASURES",
    "TABLE_1",
    "TABLE_3",
    "TABLE_4",
    "Check",
    "Printed",
    "Result",
    "Settings",
    "check_table_1",
    "check_table_3",
    "plot",
    "report",
    "rows",
    "run",
]

MEASURES = ("v_measure", "variation_of_information", "nvi", "nvi_k")
SHORT = ("V", "VI", "NVI", "NVI_K")
_HIGHER_IS_BETTER = ("v_measure",)


class Printed(NamedTuple):
    """A printed number, with the digits that were printed."""

    text: str

    @property
    def value(self) -> float:
        return float(self.text)

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed digit."""
        return 0.5 * 10.0 ** -len(self.text.partition(".")[2])

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest number that rounds to this one."""
        return self.value - self.half_unit, self.value + self.half_unit


def _printed(line: str) -> tuple[Printed, ...]:
    return tuple(map(Printed, line.split()))


# Scores of the two clusterings, in the order of MEASURES.
TABLE_1: Mapping[str, tuple[Printed, ...]] = MappingProxyType(
    {"singletons": _printed("0.667 2.303 1 0.5"), "solution R": _printed("0.587 1.88 0.81 0.81")}
)

# Corpus and labels -> scores, in the order of MEASURES.
TABLE_3: Mapping[tuple[str, str], tuple[Printed, ...]] = MappingProxyType(
    {
        ("WSJ10", "MDL"): _printed("0.4 3.83 2.21 0.81"),
        ("WSJ10", "T"): _printed("0.44 2.32 1.34 0.86"),
        ("WSJ10", "P"): _printed("0.41 1.9 1.1 1.2"),
        ("NEGRA10", "MDL"): _printed("0.47 2.56 1.51 0.76"),
        ("NEGRA10", "T"): _printed("0.5 1.8 1.1 0.96"),
        ("NEGRA10", "P"): _printed("0.5 1.4 0.83 1.1"),
        ("CTB10", "MDL"): _printed("0.42 3 1.72 0.87"),
        ("CTB10", "T"): _printed("0.42 2.22 1.26 1.1"),
        ("CTB10", "P"): _printed("0.45 1.85 1.1 1.25"),
    }
)

# Corpus and labels -> H(C) and H(K).
TABLE_4: Mapping[tuple[str, str], tuple[Printed, Printed]] = MappingProxyType(
    {
        (corpus, labels): (Printed(of_classes), Printed(of_clusters))
        for corpus, of_classes, *others in (
            ("WSJ10", "1.73", "4.72", "2.7", "1.58"),
            ("NEGRA10", "1.69", "3.36", "1.87", "1.29"),
            ("CTB10", "1.76", "3.45", "2.1", "1.48"),
        )
        for labels, of_clusters in zip(("MDL", "T", "P"), others, strict=True)
    }
)


@dataclass(frozen=True)
class Check:
    """A printed number and the value that follows from the paper's own data."""

    place: str
    measure: str
    printed: Printed
    value: float
    follows: bool
    """Whether rounding (or, in Table 1, cutting digits off) explains the difference."""


@dataclass(frozen=True)
class Settings:
    """The simulation; the defaults have the classes of Table 1."""

    n_classes: int = 10
    class_size: int = 10
    block_size: int = 250

    @property
    def n_items(self) -> int:
        return self.n_classes * self.class_size


@dataclass(frozen=True, eq=False)
class Result:
    """Checks of the printed tables, and the records of the simulation."""

    settings: Settings
    iterations: int
    seed: int
    table_1: list[Check]
    table_3: list[Check]
    records: Tensor  # (clusters from 1 to N, iterations, measures) float64, on the CPU; measures as in MEASURES

    def mean(self, measure: str) -> list[float]:
        """Average over the random clusterings for 1 to N clusters."""
        return [mean(values) for values in self.records[..., MEASURES.index(measure)]]

    def preferred_to_r(self, measure: str) -> list[int]:
        """Numbers of clusters for which the average random clustering scores better than solution R."""
        bar = next(x.value for x in self.table_1 if (x.place, x.measure) == ("solution R", measure))
        sign = 1 if measure in _HIGHER_IS_BETTER else -1
        return [k for k, value in enumerate(self.mean(measure), start=1) if sign * value > sign * bar]


@on_one_thread
def run(
    *,
    iterations: int = 1000,
    seed: int = 0,
    device: str | torch.device = "cpu",
    output: str | Path | None = None,
    progress: bool | None = None,
) -> Result:
    """Check the tables and run the simulation.

    Args:
        iterations: random clusterings for each number of clusters.
        seed: seed of all random numbers.
        device: where clusterings are drawn and scored. Devices draw different random numbers.
        output: CSV file of averages and standard errors, with a JSON file beside it; makes the run resumable.
        progress: whether to show a bar; None shows one on a terminal.

    Returns:
        A :class:`Result`; :func:`report`, :func:`rows` and :func:`plot` present it.

    Raises:
        ValueError: as :func:`~torchclusteval.studies.runner.run_plan` does.

    Source: Reichart and Rappoport (2009), sections 4 to 6.
    """
    settings = Settings()
    plan = Plan(
        study="nvi",
        settings=asdict(settings),
        configurations=[{"n_clusters": k} for k in range(1, settings.n_items + 1)],
        columns=MEASURES,
        block=partial(_score_random, settings),
        rows=_rows,
        block_size=settings.block_size,
    )
    done = run_plan(plan, iterations=iterations, seed=seed, device=device, output=output, progress=progress)
    return Result(
        settings=settings,
        iterations=iterations,
        seed=seed,
        table_1=check_table_1(),
        table_3=check_table_3(),
        records=done.records,
    )


def _score_random(settings: Settings, values: Mapping[str, Any], count: int, generator: torch.Generator) -> Tensor:
    """Scores of random clusterings with clusters of equal size, give or take an item, ``(count, measures)``."""
    n, k = settings.n_items, values["n_clusters"]
    items = torch.arange(n, device=generator.device)
    order = torch.rand(count, n, generator=generator, device=generator.device).argsort(-1)
    clusters = (order * k) // n
    scores = evaluate(
        items // settings.class_size,
        clusters,
        MEASURES,
        num_classes=settings.n_classes,
        num_clusters=k,
        validate=False,
    )
    return _columns(scores)


def _columns(scores: Scores) -> Tensor:
    return torch.stack([scores[name] for name in MEASURES], dim=-1)


def check_table_1() -> list[Check]:
    """Table 1 from its clusterings: singletons, and a circulant with 7, 1, 1, 1 items of each class."""
    size = 10
    singletons = torch.eye(size, dtype=torch.int64).repeat_interleave(size, dim=1)
    row = torch.tensor([7, 1, 1, 1] + [0] * (size - 4))
    circulant = torch.stack([row.roll(i) for i in range(size)])
    checks = []
    for (place, printed), counts in zip(TABLE_1.items(), (singletons, circulant), strict=True):
        values = _columns(evaluate_tables(ContingencyTables(counts), MEASURES)).tolist()
        for name, cell, value in zip(MEASURES, printed, values, strict=True):
            low, high = cell.ends[0], cell.value + 2 * cell.half_unit  # the paper cuts .8169 to .81
            checks.append(Check(place, name, cell, value, low <= value < high))
    return checks


def check_table_3() -> list[Check]:
    """V, NVI and NVI_K of Table 3 from the printed VI and the entropies of Table 4."""
    formulas: dict[str, Callable[[float, float, float], float]] = {
        "v_measure": lambda vi, of_classes, of_clusters: 1 - vi / (of_classes + of_clusters),
        "nvi": lambda vi, of_classes, of_clusters: vi / of_classes,
        "nvi_k": lambda vi, of_classes, of_clusters: vi / of_clusters,
    }
    checks = []
    for place, cells in TABLE_3.items():
        known = (cells[MEASURES.index("variation_of_information")], *TABLE_4[place])
        for name, formula in formulas.items():
            # Every formula is monotone in VI and, the other way, in the entropies: the ends are at corners.
            corners = (
                formula(known[0].ends[0], *(x.ends[1] for x in known[1:])),
                formula(known[0].ends[1], *(x.ends[0] for x in known[1:])),
            )
            printed = cells[MEASURES.index(name)]
            follows = min(corners) <= printed.ends[1] and printed.ends[0] <= max(corners)
            checks.append(Check(" ".join(place), name, printed, formula(*(x.value for x in known)), follows))
    return checks


def rows(result: Result) -> list[Row]:
    """One row per number of clusters and measure: average over the random clusterings and its standard error."""
    return _rows(result.records)


def _rows(records: Tensor) -> list[Row]:
    return [
        {"n_clusters": k, "measure": name, "mean": mean(values), "standard_error": standard_error(values)}
        for k, of_number in enumerate(records, start=1)
        for name, values in zip(MEASURES, of_number.T, strict=True)
    ]


def report(result: Result) -> str:
    """Table 1, Tables 3 and 4 with the cells that do not follow, and the averages of the simulation."""
    table_3 = result.table_3
    wrong = [check for check in table_3 if not check.follows]
    settings = result.settings
    shown = [k for k in (1, 2, 5, 10, 20, 50, 100) if k <= settings.n_items]
    means = {name: result.mean(name) for name in MEASURES}
    return "\n".join(
        [
            "Reichart and Rappoport (2009), Table 1: value (printed)",
            _table(result.table_1, SHORT),
            *(f"does not match: {_say(check)}" for check in result.table_1 if not check.follows),
            "",
            "Table 3 from the printed VI, H(C) and H(K) (Table 4): value (printed)",
            _table(table_3, [SHORT[MEASURES.index(name)] for name in ("v_measure", "nvi", "nvi_k")]),
            f"{len(table_3) - len(wrong)} of {len(table_3)} follow, within the rounding of what is printed",
            *(f"does not follow: {_say(check)}" for check in wrong),
            "",
            f"Random clusterings of {settings.n_items} items in {settings.n_classes} classes of "
            f"{settings.class_size}, {result.iterations} for each number of clusters, averages",
            text_table(
                ["clusters", *SHORT], [[str(k), *(f"{means[name][k - 1]:.3f}" for name in MEASURES)] for k in shown]
            ),
            *(_say_preferred(result, name, short) for name, short in zip(MEASURES, SHORT, strict=True)),
        ]
    )


def _table(checks: list[Check], header: Any) -> str:
    cells: dict[str, list[str]] = {}
    for check in checks:
        mark = "" if check.follows else " *"
        cells.setdefault(check.place, []).append(f"{check.value:.3f} ({check.printed.text}){mark}")
    return text_table(["", *header], [[place, *found] for place, found in cells.items()])


def _say(check: Check) -> str:
    short = SHORT[MEASURES.index(check.measure)]
    return f"{short} of {check.place}, {check.value:.3f}, printed {check.printed.text}"


def _say_preferred(result: Result, measure: str, short: str) -> str:
    numbers = result.preferred_to_r(measure)
    if not numbers:
        return f"{short} prefers solution R of Table 1 to random clusters, however many"
    if numbers == list(range(numbers[0], result.settings.n_items + 1)):
        return f"{short} prefers {numbers[0]} or more random clusters to solution R of Table 1"
    return f"{short} prefers {len(numbers)} of {result.settings.n_items} numbers of random clusters to solution R"


def plot(result: Result, path: str | Path) -> None:
    """Draw the averages over the number of clusters, with the values of solution R."""
    settings = result.settings
    classes = f"{settings.n_items} items in {settings.n_classes} classes"
    figure = new_figure(12, 4, f"Random clusterings of {classes}: more clusters, better V")
    panels = (("V, higher is better", ("v_measure",)), ("VI, lower is better", ("variation_of_information",)))
    both = ("NVI and NVI_K, lower is better", ("nvi", "nvi_k"))
    numbers = range(1, settings.n_items + 1)
    for axis, (title, names) in zip(figure.subplots(1, 3), (*panels, both), strict=True):
        axis.set_title(title)
        axis.set_xlabel("clusters")
        for name, color in zip(names, ("tab:blue", "tab:orange"), strict=False):
            axis.plot(numbers, result.mean(name), color=color, label=f"{SHORT[MEASURES.index(name)]}, random")
        bar = next(x.value for x in result.table_1 if (x.place, x.measure) == ("solution R", names[0]))
        axis.axhline(bar, color="black", linestyle="--", label="solution R of Table 1")
        axis.set_ylim(bottom=0)
        axis.legend()
    figure.savefig(path)
