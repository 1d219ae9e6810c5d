"""Four formal constraints: pairs of clusterings (D1, D2) whose second is better beyond dispute.

Each constraint is a generator of random pairs, a batch at a time. Examples cannot prove a constraint, but one pair on
which D2 does not score strictly better disproves it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from torchclusteval.common.checks import check_choice
from torchclusteval.common.formatting import format_number
from torchclusteval.common.results import ByName
from torchclusteval.common.threads import on_one_thread
from torchclusteval.inference import sampling
from torchclusteval.measures.record import Measure
from torchclusteval.meta.properties import Better, MeasureArgument, as_measure, exceeds
from torchclusteval.scoring.evaluation import evaluate_tables
from torchclusteval.tables import ContingencyTables

Rest = Literal["bounded", "any"]
Pairs = tuple[ContingencyTables, ContingencyTables]  # D1 and D2, which is better, (instances, R, C) each

_TOLERANCE = 1e-9  # absolute and relative: smaller improvements are rounding
_REST_CLASSES = 4
_REST_CLUSTERS = 5
_MAX_REST_ITEMS = 60
_MAX_GROUPS = 8  # largest n of constraints 3 and 4


@dataclass(frozen=True)
class Constraint:
    """A formal constraint and its generator of pairs."""

    name: str
    statement: str
    draw: Callable[["_Draw"], tuple[Tensor, Tensor]]  # counts of D1 and D2, ``(instances, R, C)`` int64 each


@dataclass(frozen=True)
class Counterexample:
    """A pair on which a measure does not find D2 better."""

    labels_true: list[int]
    first: list[int]  # clusters of D1
    second: list[int]  # clusters of D2
    value_first: float
    value_second: float

    def __str__(self) -> str:
        values = [format_number(value) for value in (self.value_first, self.value_second)]
        sides = {"truth": self.labels_true, f"D1, value {values[0]}": self.first, f"D2, value {values[1]}": self.second}
        width = max(map(len, sides))
        return "\n".join(f"  {name:{width}}  {' '.join(map(str, side))}" for name, side in sides.items())


@dataclass(frozen=True)
class Verdict:
    """How a measure scores the pairs of one constraint."""

    share: float  # share of the pairs on which D2 is strictly better
    counterexample: Counterexample | None  # the first pair on which it is not

    @property
    def satisfied(self) -> bool:
        """Whether no pair is a counterexample."""
        return self.counterexample is None


@dataclass(frozen=True, eq=False)
class ConstraintReport(ByName[Verdict]):
    """For each constraint, by its name or number (1 to 4), the verdict on it."""

    _field = "verdicts"

    measure: str
    instances: int
    verdicts: Mapping[str, Verdict]

    def __getitem__(self, key: str | int) -> Verdict:
        number = key if isinstance(key, int) and key in range(1, 5) else None
        return super().__getitem__(CONSTRAINTS[number - 1].name if number else key)  # type: ignore[index]

    @property
    def satisfied(self) -> dict[str, bool]:
        """Whether each constraint holds on every pair."""
        return {name: verdict.satisfied for name, verdict in self.verdicts.items()}

    def __str__(self) -> str:
        lines = [f"Constraints on {self.measure}, {self.instances} pairs each"]
        for i, constraint in enumerate(CONSTRAINTS, start=1):
            verdict = self.verdicts[constraint.name]
            answer = "yes" if verdict.satisfied else f"no, in {1 - verdict.share:.2%} of the pairs"
            lines.append(f"{i} {constraint.name}: {answer}  ({constraint.statement})")
            if verdict.counterexample is not None:
                lines.append(str(verdict.counterexample))
        return "\n".join(lines)


@on_one_thread
def check_constraints(
    measure: MeasureArgument,
    better: Better | None = None,
    *,
    instances: int = 10_000,
    rng: sampling.Rng = 0,
    rest: Rest = "bounded",
) -> ConstraintReport:
    """Which of the four formal constraints a measure satisfies, with a counterexample for each failed one.

    Args:
        measure: a ``Measure``, a name, or a callable of tables that gives ``(*batch,)`` values.
        better: ``"higher"`` or ``"lower"``; by default the measure's own direction, ``"higher"`` for a callable.
        instances: pairs of clusterings for each constraint.
        rng: source of the draws: a whole number (a seed), a ``torch.Generator``, whose device is that of the tables,
            or None for torch's own.
        rest: the remaining groups of the clusterings. ``"bounded"``: the clean cluster of constraint 3 holds all of
            its class, and the rest has at most as many items as the part that constraint 4 is about. ``"any"``: no
            such bounds, as the wording also allows; ``clustering_f`` then fails 3 and ``nvi_k`` fails 4.

    Returns:
        A mapping of ``"homogeneity"``, ``"completeness"``, ``"rag_bag"`` and ``"size_versus_quantity"`` (or 1 to
        4) to the share of the pairs that satisfy it and the first counterexample.

    Raises:
        ValueError: the measure has no direction, or an argument is not as described.

    Source: Amigó, Gonzalo, Artiles and Verdejo (2009), section 2.

    >>> tce.meta.check_constraints("bcubed_f", instances=100).satisfied
    {'homogeneity': True, 'completeness': True, 'rag_bag': True, 'size_versus_quantity': True}
    """
    chosen = as_measure(measure, better)
    return compare_constraints([chosen], instances=instances, rng=rng, rest=rest)[chosen.name]


def compare_constraints(
    measures: Sequence[Measure], *, instances: int = 10_000, rng: sampling.Rng = 0, rest: Rest = "bounded"
) -> dict[str, ConstraintReport]:
    """Reports by measure on the same pairs; options as in :func:`check_constraints`."""
    generator = sampling.seeded(rng) or torch.default_generator
    verdicts: dict[str, dict[str, Verdict]] = {measure.name: {} for measure in measures}
    for constraint in CONSTRAINTS:
        pairs = draw_instances(constraint, instances, generator, rest)
        first, second = (evaluate_tables(side, measures) for side in pairs)
        for measure in measures:
            name = measure.name
            verdicts[name][constraint.name] = _verdict(measure, pairs, first[name], second[name])
    return {name: ConstraintReport(name, instances, found) for name, found in verdicts.items()}


def draw_instances(constraint: Constraint, count: int, generator: torch.Generator, rest: Rest = "bounded") -> Pairs:
    """Draw pairs of clusterings of the same items, the smallest first.

    Both sides have at least two classes, and two items that share class and cluster: without them some measures tie
    because they have no pair to count.
    """
    sampling.check_resamples(count, "instances")
    check_choice(rest, "rest", get_args(Rest))
    first, second = constraint.draw(_Draw(count, generator, rest == "bounded"))
    order = first.sum((-2, -1)).argsort(stable=True)
    return ContingencyTables(first[order], validate=False), ContingencyTables(second[order], validate=False)


def _verdict(measure: Measure, pairs: Pairs, first: Tensor, second: Tensor) -> Verdict:
    """The verdict from the values ``(instances,)`` of a measure on both sides."""
    low, high = (first, second) if measure.better == "higher" else (second, first)
    holds = exceeds(high, low, _TOLERANCE)
    failures = (~holds).nonzero()
    example = None
    if len(failures):
        i = int(failures[0])
        example = _counterexample([side.counts[i] for side in pairs], float(first[i]), float(second[i]))
    return Verdict(share=float(holds.double().mean()), counterexample=example)


def _counterexample(counts: list[Tensor], value_first: float, value_second: float) -> Counterexample:
    """Labels of the two tables ``(R, C)`` of a pair, numbered without gaps, class by class.

    The cells that D2 changes are next to their cells in D1, so that the items of the two sides correspond.
    """
    cells = [side.nonzero() for side in counts]
    sizes = [side[tuple(cell.T)] for side, cell in zip(counts, cells, strict=True)]
    items = torch.cat([cell.repeat_interleave(size, 0) for cell, size in zip(cells, sizes, strict=True)])
    classes, clusters = (torch.unique(labels, return_inverse=True)[1].tolist() for labels in items.T)
    n = len(classes) // 2
    return Counterexample(classes[:n], clusters[:n], clusters[n:], value_first, value_second)


# In the four generators the part that a constraint is about comes first, the rest of the clustering after it.


@dataclass(frozen=True)
class _Draw:
    """Random numbers for ``count`` instances."""

    count: int
    generator: torch.Generator
    bounded: bool

    def empty(self, rows: int, columns: int) -> Tensor:
        return torch.zeros(self.count, rows, columns, dtype=torch.int64, device=self.generator.device)

    def uniform(self, *shape: int) -> Tensor:
        return torch.rand(
            self.count, *shape, generator=self.generator, dtype=torch.float64, device=self.generator.device
        )

    def integers(self, high: Tensor | int) -> Tensor:
        """Random integers from 0 to ``high``, both included, ``(instances,)``."""
        return (self.uniform() * (high + 1)).long()

    def size(self) -> Tensor:
        """A size of at least 1, mostly small, ``(instances,)``."""
        return 1 - (self.uniform() * 8 * (1 - self.uniform()).log()).long()

    def rest(self, classes: int, max_items: Tensor | int = _MAX_REST_ITEMS) -> Tensor:
        """Up to ``max_items`` items scattered over classes and clusters, evenly or not, ``(instances, R, C)``."""
        cells = classes * _REST_CLUSTERS
        weights = self.uniform(cells) ** (self.uniform(1) * 12) + 1e-6
        n_items = self.integers(max_items)
        largest = int(torch.as_tensor(max_items).max())
        cell = torch.multinomial(weights, largest, replacement=True, generator=self.generator)
        counted = (torch.arange(largest, device=n_items.device) < n_items[:, None]).long()
        scattered = torch.zeros_like(weights, dtype=torch.int64).scatter_add_(1, cell, counted)
        return scattered.reshape(self.count, classes, _REST_CLUSTERS)


def _draw_homogeneity(draw: _Draw) -> tuple[Tensor, Tensor]:
    """Cluster 0 holds classes 0 and 1; D2 puts class 1 into cluster 1."""
    first = draw.empty(_REST_CLASSES, 2 + _REST_CLUSTERS)
    first[:, :, 2:] = draw.rest(_REST_CLASSES)
    first[:, 0, 0], first[:, 1, 0] = draw.size(), draw.size()
    _keep_a_pair(first)
    second = first.clone()
    second[:, 1, 1], second[:, 1, 0] = first[:, 1, 0], 0
    return first, second


def _draw_completeness(draw: _Draw) -> tuple[Tensor, Tensor]:
    """Clusters 0 and 1 hold class 0 only; D2 merges them."""
    first = draw.empty(_REST_CLASSES, 2 + _REST_CLUSTERS)
    first[:, :, 2:] = draw.rest(_REST_CLASSES)
    first[:, 0, 0], first[:, 0, 1] = draw.size(), draw.size()
    first[:, 1, 2] += (first[:, 1:].sum((-2, -1)) == 0).long()
    _keep_a_pair(first)
    second = first.clone()
    second[:, 0, 0], second[:, 0, 1] = first[:, 0, :2].sum(-1), 0
    return first, second


def _draw_rag_bag(draw: _Draw) -> tuple[Tensor, Tensor]:
    """Cluster 0 holds n items of class 0, cluster 1 an item of each of n classes; a new item joins 0 or 1."""
    new = _MAX_GROUPS + 1
    shared = draw.empty(new + 1 + _REST_CLASSES, 2 + _REST_CLUSTERS)
    rest = draw.rest(1 + _REST_CLASSES)
    shared[:, new + 1 :, 2:] = rest[:, 1:]
    if not draw.bounded:
        shared[:, 0, 2:] = rest[:, 0]
    n = 2 + draw.integers(_MAX_GROUPS - 2)
    shared[:, 0, 0] = n
    shared[:, 1:new, 1] = _first_few(n)
    first, second = shared.clone(), shared.clone()
    first[:, new, 0] = 1
    second[:, new, 1] = 1
    return first, second


def _draw_size_versus_quantity(draw: _Draw) -> tuple[Tensor, Tensor]:
    """A class of n + 1 items and n classes of 2: D1 splits every pair, D2 takes one item off the large class."""
    core = 2 + 2 * _MAX_GROUPS
    shared = draw.empty(1 + _MAX_GROUPS + _REST_CLASSES, core + _REST_CLUSTERS)
    n = 3 + draw.integers(_MAX_GROUPS - 3)
    shared[:, 1 + _MAX_GROUPS :, core:] = draw.rest(_REST_CLASSES, 3 * n + 1 if draw.bounded else 30 * n)
    shared[:, 0, 0] = n + 1
    pairs = _first_few(n)
    group = torch.arange(_MAX_GROUPS, device=n.device)
    first, second = shared.clone(), shared.clone()
    first[:, 1 + group, 2 + 2 * group] = first[:, 1 + group, 3 + 2 * group] = pairs
    second[:, 1 + group, 2 + 2 * group] = 2 * pairs
    second[:, 0, 0], second[:, 0, 1] = n, 1
    return first, second


def _first_few(n: Tensor) -> Tensor:
    """Ones for the first n of the groups, ``(instances, groups)``."""
    return (torch.arange(_MAX_GROUPS, device=n.device) < n[:, None]).long()


def _keep_a_pair(counts: Tensor) -> None:
    """Add an item to the first cell of tables where no two items share class and cluster."""
    counts[:, 0, 0] += (counts < 2).all(-1).all(-1).long()


CONSTRAINTS: tuple[Constraint, ...] = (
    Constraint("homogeneity", "splitting a cluster of two classes into its class parts is better", _draw_homogeneity),
    Constraint("completeness", "merging two clusters of one and the same class is better", _draw_completeness),
    Constraint("rag_bag", "a stray item is better in a mixed cluster than in a clean one", _draw_rag_bag),
    Constraint(
        "size_versus_quantity",
        "one item lost by a large class is better than many small classes broken",
        _draw_size_versus_quantity,
    ),
)
