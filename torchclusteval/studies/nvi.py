"""The tables of Reichart and Rappoport (2009), and the bias of V toward many clusters, their reason for NVI.

Table 1 follows from its two clusterings. The other measures of Table 3 follow from its printed VI and the entropies of
Table 4. A simulation shows the bias: the classes stay the same, while clusterings independent of them have more and
more clusters.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torchclusteval.common.figures import new_figure, save_figure
from torchclusteval.common.formatting import text_table
from torchclusteval.common.threads import on_one_thread
from torchclusteval.scoring.evaluation import evaluate, evaluate_tables
from torchclusteval.studies.common import Row, mean
from torchclusteval.studies.runner import Plan, Run, run_plan
from torchclusteval.tables import ContingencyTables

SHORT = {"v_measure": "V", "variation_of_information": "VI", "nvi": "NVI", "nvi_k": "NVI_K"}
MEASURES = tuple(SHORT)
N_CLASSES, CLASS_SIZE = 10, 10  # those of Table 1
N_ITEMS = N_CLASSES * CLASS_SIZE
BLOCK_SIZE = 250

# Scores of the two clusterings, in the order of MEASURES, as printed.
TABLE_1: Mapping[str, str] = {"singletons": "0.667 2.303 1 0.5", "solution R": "0.587 1.88 0.81 0.81"}

# Corpus and labels -> scores of Table 3, in the order of MEASURES, and H(C) and H(K) of Table 4.
TABLES_3_AND_4: Mapping[str, tuple[str, str]] = {
    "WSJ10 MDL": ("0.4 3.83 2.21 0.81", "1.73 4.72"),
    "WSJ10 T": ("0.44 2.32 1.34 0.86", "1.73 2.7"),
    "WSJ10 P": ("0.41 1.9 1.1 1.2", "1.73 1.58"),
    "NEGRA10 MDL": ("0.47 2.56 1.51 0.76", "1.69 3.36"),
    "NEGRA10 T": ("0.5 1.8 1.1 0.96", "1.69 1.87"),
    "NEGRA10 P": ("0.5 1.4 0.83 1.1", "1.69 1.29"),
    "CTB10 MDL": ("0.42 3 1.72 0.87", "1.76 3.45"),
    "CTB10 T": ("0.42 2.22 1.26 1.1", "1.76 2.1"),
    "CTB10 P": ("0.45 1.85 1.1 1.25", "1.76 1.48"),
}


def rounding_to(printed: str) -> tuple[float, float]:
    """The least and the greatest number that round to a printed number."""
    half_unit = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    return float(printed) - half_unit, float(printed) + half_unit


class Check(NamedTuple):
    """A printed number, and the value that follows from the data of the paper."""

    place: str
    measure: str
    printed: str
    value: float
    follows: bool  # whether rounding (in Table 1 also cutting digits off) explains the difference


@dataclass(frozen=True, eq=False)
class Result:
    """Checks of the printed tables, and the simulation with 1 to N clusters; columns as in MEASURES."""

    table_1: list[Check]
    table_3: list[Check]
    run: Run

    def mean(self, measure: str) -> list[float]:
        """Averages over the random clusterings, for 1 to N clusters."""
        return [mean(values) for values in self.run.records[..., MEASURES.index(measure)]]

    def of_r(self, measure: str) -> float:
        """The value of solution R of Table 1."""
        return next(x.value for x in self.table_1 if (x.place, x.measure) == ("solution R", measure))

    def preferred_to_r(self, measure: str) -> list[int]:
        """Numbers of clusters at which random clusterings on average score better than solution R."""
        sign, bar = 1 if measure == "v_measure" else -1, self.of_r(measure)
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

    Source: Reichart and Rappoport (2009), sections 4 to 6.
    """
    plan = Plan(
        study="nvi",
        settings={"n_classes": N_CLASSES, "class_size": CLASS_SIZE, "block_size": BLOCK_SIZE},
        configurations=[{"n_clusters": k} for k in range(1, N_ITEMS + 1)],
        columns=MEASURES,
        block=_score_random,
        block_size=BLOCK_SIZE,
    )
    done = run_plan(plan, iterations=iterations, seed=seed, device=device, output=output, progress=progress)
    return Result(check_table_1(), check_table_3(), done)


def _score_random(configuration: Mapping[str, Any], count: int, generator: torch.Generator) -> Tensor:
    """Scores of random clusterings with clusters of equal size (to one item), ``(count, measures)``."""
    k, device = configuration["n_clusters"], generator.device
    classes = torch.arange(N_ITEMS, device=device) // CLASS_SIZE
    order = torch.rand(count, N_ITEMS, generator=generator, device=device).argsort(-1)
    sizes: Any = {"num_classes": N_CLASSES, "num_clusters": k}
    return _columns(evaluate(classes, (order * k) // N_ITEMS, MEASURES, **sizes, validate=False))


def _columns(scores: Mapping[str, Tensor]) -> Tensor:
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
        for name, cell, value in zip(MEASURES, printed.split(), values, strict=True):
            low, high = rounding_to(cell)
            high += (high - low) / 2  # the paper cuts .8169 to .81
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
    for place, (row, printed_entropies) in TABLES_3_AND_4.items():
        cells = dict(zip(MEASURES, row.split(), strict=True))
        known = (cells["variation_of_information"], *printed_entropies.split())
        lows, highs = zip(*map(rounding_to, known), strict=True)
        for name, formula in formulas.items():
            # all formulas are monotone in VI, and the other way in the entropies, so corners give both ends
            corners = formula(lows[0], *highs[1:]), formula(highs[0], *lows[1:])
            low, high = rounding_to(cells[name])
            follows = min(corners) <= high and low <= max(corners)
            checks.append(Check(place, name, cells[name], formula(*map(float, known)), follows))
    return checks


def rows(result: Result) -> list[Row]:
    return result.run.rows


def report(result: Result) -> str:
    wrong = [check for check in result.table_3 if not check.follows]
    means = {name: result.mean(name) for name in MEASURES}
    body = [[str(k), *(f"{means[x][k - 1]:.3f}" for x in MEASURES)] for k in (1, 2, 5, 10, 20, 50, 100)]
    return "\n".join(
        [
            "Reichart and Rappoport (2009), Table 1: value (printed)",
            _table(result.table_1, MEASURES),
            *(f"does not match: {_say(check)}" for check in result.table_1 if not check.follows),
            "",
            "Table 3 from the printed VI, H(C) and H(K) (Table 4): value (printed)",
            _table(result.table_3, ("v_measure", "nvi", "nvi_k")),
            f"{27 - len(wrong)} of 27 follow, within the rounding of what is printed",
            *(f"does not follow: {_say(check)}" for check in wrong),
            "",
            f"Random clusterings of {N_ITEMS} items in {N_CLASSES} classes of {CLASS_SIZE}, "
            f"{result.run.records.shape[1]} for each number of clusters, averages",
            text_table(["clusters", *SHORT.values()], body),
            *(_say_preferred(result, name) for name in MEASURES),
        ]
    )


def _table(checks: list[Check], measures: Sequence[str]) -> str:
    cells: dict[str, list[str]] = {}
    for check in checks:
        mark = "" if check.follows else " *"
        cells.setdefault(check.place, []).append(f"{check.value:.3f} ({check.printed}){mark}")
    return text_table(["", *(SHORT[name] for name in measures)], [[place, *found] for place, found in cells.items()])


def _say(check: Check) -> str:
    return f"{SHORT[check.measure]} of {check.place}, {check.value:.3f}, printed {check.printed}"


def _say_preferred(result: Result, measure: str) -> str:
    numbers, short = result.preferred_to_r(measure), SHORT[measure]
    if not numbers:
        return f"{short} prefers solution R of Table 1 to random clusters, however many"
    if numbers == list(range(numbers[0], N_ITEMS + 1)):
        return f"{short} prefers {numbers[0]} or more random clusters to solution R of Table 1"
    return f"{short} prefers {len(numbers)} of {N_ITEMS} numbers of random clusters to solution R"


def plot(result: Result, path: str | Path) -> None:
    title = f"Random clusterings of {N_ITEMS} items in {N_CLASSES} classes: more clusters, better V"
    figure = new_figure(12, 4, title)
    panels = {
        "V, higher is better": ("v_measure",),
        "VI, lower is better": ("variation_of_information",),
        "NVI and NVI_K, lower is better": ("nvi", "nvi_k"),
    }
    for axis, (title, names) in zip(figure.subplots(1, 3), panels.items(), strict=True):
        axis.set(title=title, xlabel="clusters")
        for name, color in zip(names, ("tab:blue", "tab:orange"), strict=False):
            axis.plot(range(1, N_ITEMS + 1), result.mean(name), color=color, label=f"{SHORT[name]}, random")
        axis.axhline(result.of_r(names[0]), color="black", linestyle="--", label="solution R of Table 1")
        axis.set_ylim(bottom=0)
        axis.legend()
    save_figure(figure, path)
