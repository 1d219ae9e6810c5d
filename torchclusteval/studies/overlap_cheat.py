"""The cheat system of Amigo et al. (2009), section 6.4, and the measures that see through it.

The data of the paper comes from a people-search campaign: pages about an ambiguous name, grouped by person, with some
pages about several. Here gold standards and systems are random, but similar. Each system makes a known share of errors;
as there, some merge people and some split them. The cheat has one cluster of all items, and one of each item alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from torchclusteval.common.checks import check_count
from torchclusteval.common.figures import SAFE_COLOURS, new_figure, save_figure
from torchclusteval.common.formatting import text_table
from torchclusteval.common.threads import on_one_thread
from torchclusteval.overlap import Memberships, evaluate_overlapping
from torchclusteval.studies.common import Row

MEASURE_NAMES = {
    "overlap_purity": "purity",
    "overlap_inverse_purity": "inverse purity",
    "overlap_purity_f": "F of purities",
    "extended_bcubed_precision": "BCubed P",
    "extended_bcubed_recall": "BCubed R",
    "extended_bcubed_f": "BCubed F",
}
CHEAT = "cheat"
ITEMS, PEOPLE = 100, 30  # the campaign had about 100 pages for each name, and 16 systems
ERROR_RATES = tuple(round(0.1 * step, 1) for step in range(1, 9))
# where a wrong membership moves: shares of a random person, the largest cluster, a cluster of its own
STYLES = {"merges": (0.1, 0.85, 0.05), "splits": (0.1, 0.05, 0.85)}
SYSTEMS = tuple((style, rate) for rate in ERROR_RATES for style in STYLES)
SECOND, THIRD = 0.15, 0.03  # shares of items about a second and a third person
_GOLD_STANDARDS_PER_CALL = 16  # scored in one batch


@dataclass(frozen=True)
class Result:
    """Average scores of the systems; the cheat is the last."""

    systems: tuple[str, ...]
    scores: Mapping[str, tuple[float, ...]]  # measure -> average over the gold standards, for each system
    iterations: int

    def ranks(self, measure: str) -> tuple[int, ...]:
        """Rank of each system, from 1 for the best; equal scores share the better rank."""
        values = self.scores[measure]
        return tuple(1 + sum(other > value for other in values) for value in values)

    def cheat_rank(self, measure: str) -> int:
        return self.ranks(measure)[-1]

    def order_agreement(self, measure: str) -> float:
        """Kendall's tau between scores and known order, over pairs of systems with one style of error."""
        values = self.scores[measure]
        pairs = [
            (i, j)
            for i, (style, rate) in enumerate(SYSTEMS)
            for j, (other_style, other_rate) in enumerate(SYSTEMS)
            if style == other_style and rate < other_rate
        ]
        return sum((values[i] > values[j]) - (values[i] < values[j]) for i, j in pairs) / len(pairs)


@on_one_thread
def run(*, iterations: int = 30, seed: int = 0, device: str | torch.device = "cpu") -> Result:
    """Score the cheat and systems of known quality: averages over ``iterations`` gold standards (ambiguous names).

    All devices have the same random numbers.

    Source: Amigo, Gonzalo, Artiles and Verdejo (2009), section 6.4, tables 2 and 3.
    """
    check_count(iterations, "iterations")
    generator = torch.Generator().manual_seed(seed)
    sums = torch.zeros(len(MEASURE_NAMES), len(SYSTEMS) + 1, dtype=torch.float64)
    for start in range(0, iterations, _GOLD_STANDARDS_PER_CALL):
        drawn = [_draw(SYSTEMS, generator) for _ in range(start, min(start + _GOLD_STANDARDS_PER_CALL, iterations))]
        gold, systems = (torch.stack(part).to(device) for part in zip(*drawn, strict=True))
        true, pred = Memberships.from_matrix(gold), Memberships.from_matrix(systems)
        scores = evaluate_overlapping(true, pred, list(MEASURE_NAMES))
        sums += torch.stack([scores[name].sum(0).cpu() for name in MEASURE_NAMES])
    averages = zip(MEASURE_NAMES, (sums / iterations).tolist(), strict=True)
    names = (*(f"{style} {rate:.0%}" for style, rate in SYSTEMS), CHEAT)
    return Result(names, {name: tuple(values) for name, values in averages}, iterations)


def _draw(systems: Sequence[tuple[str, float]], generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """A gold standard ``(1, ITEMS, PEOPLE)`` and its systems, the cheat last; bool.

    The systems are ``(len(systems) + 1, ITEMS, PEOPLE + ITEMS)``: a cluster for each person, then one for each item.
    """
    gold = _draw_gold(generator)
    shape = (len(systems), ITEMS, PEOPLE)
    rates = torch.tensor([rate for _, rate in systems], dtype=torch.float64)[:, None, None]
    ends = torch.tensor([STYLES[style] for style, _ in systems], dtype=torch.float64).cumsum(-1)[:, None, None]
    wrong = gold & (torch.rand(shape, generator=generator, dtype=torch.float64) < rates)
    kind = (torch.rand(*shape, 1, generator=generator, dtype=torch.float64) > ends[..., :2]).sum(-1)
    moved = torch.where(kind == 1, 0, torch.randint(PEOPLE, shape, generator=generator))
    arrived = torch.zeros(shape, dtype=torch.int64).scatter_add(2, moved, (wrong & (kind < 2)).long())
    alone = torch.diag_embed((wrong & (kind == 2)).any(-1))
    drawn = torch.cat([(gold & ~wrong) | (arrived > 0), alone], -1)
    everything = torch.zeros(ITEMS, PEOPLE, dtype=torch.bool)
    everything[:, 0] = True
    cheat = torch.cat([everything, torch.eye(ITEMS, dtype=torch.bool)], -1)
    return gold[None], torch.cat([drawn, cheat[None]])


def _draw_gold(generator: torch.Generator) -> Tensor:
    """The people of each item, ``(ITEMS, PEOPLE)`` bool: a few people with many pages, many with a page or two."""
    popularity = 1.0 / torch.arange(1, PEOPLE + 1, dtype=torch.float64)
    order = torch.multinomial(popularity.expand(ITEMS, -1), 3, generator=generator)  # three different people
    chance = torch.rand(ITEMS, 1, generator=generator, dtype=torch.float64)
    used = chance < torch.tensor([1.0, SECOND, THIRD], dtype=torch.float64)
    return torch.zeros(ITEMS, PEOPLE, dtype=torch.int64).scatter_add(1, order, used.long()) > 0


def rows(result: Result) -> list[Row]:
    return [
        {
            "system": system,
            "style": SYSTEMS[i][0] if system != CHEAT else None,
            "error_rate": SYSTEMS[i][1] if system != CHEAT else None,
            **{name: values[i] for name, values in result.scores.items()},
            **{f"{name}_rank": result.ranks(name)[i] for name in result.scores},
        }
        for i, system in enumerate(result.systems)
    ]


def report(result: Result) -> str:
    count = len(result.systems)
    body = [
        [system, *(f"{result.scores[name][i]:.3f} ({result.ranks(name)[i]:>2})" for name in MEASURE_NAMES)]
        for i, system in enumerate(result.systems)
    ]
    ranks = {printed: result.cheat_rank(name) for name, printed in MEASURE_NAMES.items()}
    last = [printed for printed, rank in ranks.items() if rank == count]
    fooled = [f"{printed} ({rank})" for printed, rank in ranks.items() if rank < count]
    summary = [
        ["rank of the cheat", *map(str, ranks.values())],
        ["Kendall's tau", *(f"{result.order_agreement(name):.2f}" for name in MEASURE_NAMES)],
    ]
    return "\n".join(
        [
            f"Systems of known quality and the cheat: average score (rank), {result.iterations} gold standards",
            "",
            text_table(["system", *MEASURE_NAMES.values()], body + summary),
            "",
            "Systems are named by how they err and how often. Kendall's tau is the agreement with their known order,",
            "over pairs that err in the same way.",
            f"The cheat is last of {count} under: {', '.join(last) or 'none'}.",
            f"It beats real systems under: {', '.join(fooled) or 'none'}.",
            "In the paper: 5th under purity, first under inverse purity and BCubed recall, 2nd under their F, and last "
            "under BCubed precision and F.",
        ]
    )


def plot(result: Result, path: str | Path) -> None:
    figure = new_figure(12, 7, "The cheat system among systems of known quality")
    for axis, (name, label) in zip(figure.subplots(2, 3).flat, MEASURE_NAMES.items(), strict=True):
        scores = dict(zip(SYSTEMS, result.scores[name], strict=False))
        axis.set_prop_cycle(color=SAFE_COLOURS)
        for style in STYLES:
            axis.plot(ERROR_RATES, [scores[style, rate] for rate in ERROR_RATES], "o-", label=style)
        axis.axhline(result.scores[name][-1], color="black", linestyle="--", label="cheat")
        title = f"{label}: cheat has rank {result.cheat_rank(name)}"
        axis.set(title=title, xlabel="share of errors", ylim=(0, 1.02))
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=len(STYLES) + 1)
    save_figure(figure, path)
