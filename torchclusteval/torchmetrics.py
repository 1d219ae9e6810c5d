"""Metric objects for torchmetrics and Lightning whose state is the contingency table; needs torchmetrics.

:class:`ClusteringMetric` computes any measures at once. The other classes bear torchmetrics' names and take its
arguments, so that ``from torchclusteval.torchmetrics import AdjustedRandScore`` stands in for
``from torchmetrics.clustering import AdjustedRandScore``. As there, ``update`` takes predictions first.

Where they differ from torchmetrics (1.9):

* The state is the table: it does not grow with the number of labels, and ranks add up.
* Values are float64 and right at any size; torchmetrics' adjusted Rand index leaves [-1, 1] from about 70,000 items.
* Every 0/0 has the one value that the rest of this package gives it: 1 for identical partitions, nan without items.
* ``num_classes`` and ``num_clusters`` may be given: labels are then codes, and ``update`` never synchronises with the
  device.
* ``higher_is_better`` is set for every measure that has a direction, and nothing claims to be differentiable.
"""

from dataclasses import replace
from functools import cached_property, partial
from hashlib import sha256
from typing import Any

import torch
from torch import Tensor

from torchclusteval import measures as functions
from torchclusteval.common.optional import import_optional
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import MEASURES, Selection, select
from torchclusteval.scoring.evaluation import evaluate_tables
from torchclusteval.streaming.accumulator import ContingencyAccumulator
from torchclusteval.streaming.growing_cells import LabelledCells
from torchclusteval.tables import ContingencyTables

import_optional("torchmetrics", "torchmetrics")

from torchmetrics import Metric  # noqa: E402
from torchmetrics.utilities.data import dim_zero_cat  # noqa: E402

__all__ = [
    "AdjustedMutualInfoScore",
    "AdjustedRandScore",
    "ClusterAccuracy",
    "ClusteringMetric",
    "CompletenessScore",
    "FowlkesMallowsIndex",
    "HomogeneityScore",
    "MutualInfoScore",
    "NormalizedMutualInfoScore",
    "RandScore",
    "VMeasureScore",
]

_MEANS = ("min", "geometric", "arithmetic", "max")
_USUAL = ("v_measure", "adjusted_rand", "nmi")
_MAX_WAITING_CELLS = 1024  # cells that may always wait before equal ones are merged; few, as ``forward`` copies them
_MAX_WAITING_PARTS = 64


class ClusteringMetric(Metric):
    """Any measures of the package, from one table.

    Args:
        measures: as in ``evaluate``: names, aliases, families, ``"all"``, ``Measure`` records.
        num_classes: number of classes; targets are then codes ``0..num_classes - 1``.
        num_clusters: number of clusters, likewise. With both the state is one ``(num_classes, num_clusters)`` tensor
            ``counts``, and ``update`` never synchronises with the device: labels outside the codes are refused on the
            CPU and excluded on devices. Without, labels may be any integers, and the state is a list of
            ``(true, predicted, count)`` rows.
        ignore_index: the target of items to exclude.
        noise_label: the predicted label of noise.
        noise: ``"ignore"``, ``"cluster"`` or ``"singletons"``, as in ``evaluate``.
        **kwargs: those of ``torchmetrics.Metric``.

    ``compute`` returns a dictionary of canonical names to float64 scalars.

    Raises:
        ValueError: an option or the name of a measure is unknown.
    """

    is_differentiable = False
    full_state_update = False

    counts: Tensor  # (R, C) int64, with sizes
    cells: list[Tensor]  # (Z, 3) int64 each, without

    def __init__(
        self,
        measures: Selection = _USUAL,
        num_classes: int | None = None,
        num_clusters: int | None = None,
        *,
        ignore_index: int | None = None,
        noise_label: int | None = None,
        noise: str = "ignore",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.measures = tuple(select(measures))
        self._selection = measures if measures is None or isinstance(measures, (str, Measure)) else tuple(measures)
        self._options: dict[str, Any] = {
            "num_classes": num_classes,
            "num_clusters": num_clusters,
            "ignore_index": ignore_index,
            "noise_label": noise_label,
            "noise": noise,
        }
        empty = ContingencyAccumulator(**self._options, device=self.device).state_dict()  # checks the options
        self._sized = "counts" in empty
        if self._sized:
            self.add_state("counts", default=empty["counts"], dist_reduce_fx="sum")
        else:
            self.add_state("cells", default=[], dist_reduce_fx="cat")
            self._add_no_cells()
        # A collection shares one state between metrics whose states are equal: those of other options never are.
        digest = sha256(repr(self._options).encode()).digest()
        self.add_state("options", default=torch.tensor(list(digest), dtype=torch.uint8), dist_reduce_fx="max")

    @property
    def higher_is_better(self) -> bool | None:  # type: ignore[override]
        """True if higher values of all measures are better, False if lower values of all are; else None."""
        directions = {measure.better for measure in self.measures}
        return {"higher": True, "lower": False}.get(directions.pop() or "") if len(directions) == 1 else None

    @property
    def plot_lower_bound(self) -> float | None:  # type: ignore[override]
        """The smallest possible value of all measures; None if unbounded."""
        return _finite(min(measure.range[0] for measure in self.measures))

    @property
    def plot_upper_bound(self) -> float | None:  # type: ignore[override]
        """The largest possible value of all measures; None if unbounded."""
        return _finite(max(measure.range[1] for measure in self.measures))

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Add a batch.

        Args:
            preds: ``(N,)`` predicted labels.
            target: ``(N,)`` true labels.

        Raises:
            ValueError: they are not integer tensors of the same length.
        """
        for name, x in (("preds", preds), ("target", target)):
            if not isinstance(x, Tensor) or x.dim() != 1:
                got = f"shape {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
                raise ValueError(f"{name}: expected a tensor of shape (N,); got {got}")
        chunk = self._counter.count(target, preds)
        if isinstance(chunk, Tensor):
            self.counts = self.counts + chunk
        else:
            self.cells.append(chunk.pack_table())
            self._compact()

    @cached_property
    def _counter(self) -> ContingencyAccumulator:
        return ContingencyAccumulator(**self._options)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_counter"}

    def compute(self) -> Any:
        """The measures of all items so far, on all ranks: a dictionary of names to float64 scalars."""
        return dict(evaluate_tables(self.tables(), self._selection))

    def tables(self) -> ContingencyTables:
        """The table of all items so far on this rank (within ``sync_context``: on all ranks)."""
        accumulator = ContingencyAccumulator(**self._options, device=self.device)
        if self._sized:
            accumulator.load_state_dict({"counts": self.counts, "considered": self.counts.sum()})
        else:
            accumulator.add_cells(LabelledCells.unpack_table(dim_zero_cat(self.cells)))
        return accumulator.tables()

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Plot values of ``compute`` or ``forward``, one or a list; by default the current value.

        Returns:
            Figure and axes (needs matplotlib).
        """
        return self._plot(val, ax)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Add a batch and return its values; a batch that is refused changes nothing."""
        flags = ("_update_count", "_is_synced", "_should_unsync", "_to_sync", "_enable_grad", "compute_on_cpu")
        kept = {name: getattr(self, name) for name in (*self._defaults, *flags)}
        try:
            return super().forward(*args, **kwargs)
        except Exception:
            for name, value in kept.items():
                setattr(self, name, value)
            raise

    def persistent(self, mode: bool = False) -> None:
        """Whether states are part of ``state_dict``; the options are not, which every metric is made with."""
        super().persistent(mode)
        self._persistent["options"] = False

    def reset(self) -> None:
        """Forget everything."""
        if not self._sized:
            self.cells = []  # not the list itself, which a wrapper may have kept
        super().reset()
        if not self._sized:
            self._add_no_cells()

    def set_dtype(self, dst_type: str | torch.dtype) -> "ClusteringMetric":
        """Does nothing: counts stay int64, results float64."""
        return self

    def _add_no_cells(self) -> None:
        # The list is never empty: a rank without labels must send a part of the right shape and type.
        self.cells.append(torch.zeros(0, 3, dtype=torch.int64, device=self.device))

    def _reduce_states(self, incoming_state: dict[str, Any]) -> None:
        super()._reduce_states(incoming_state)
        if not self._sized:
            self._compact()

    def _compact(self) -> None:
        """Merge all parts once the later ones outgrow the first, which is merged."""
        first, *waiting = self.cells
        if len(waiting) > _MAX_WAITING_PARTS or sum(map(len, waiting)) > max(_MAX_WAITING_CELLS, len(first)):
            self.cells[:] = [LabelledCells.unpack_table(torch.cat(self.cells)).merged().pack_table()]


def _finite(x: float) -> float | None:
    return x if abs(x) < float("inf") else None


# --- torchmetrics' names ----------------------------------------------------------------------------------


class _Score(ClusteringMetric):
    """One measure, as a scalar; a subclass names it: ``class Name(_Score, measure=...)``."""

    _measure: str | Measure

    def __init_subclass__(cls, measure: str | None = None) -> None:
        super().__init_subclass__()
        if measure is not None:
            cls._measure = measure

    def __init__(self, **kwargs: Any) -> None:
        super().__init__((self._measure,), **kwargs)

    def compute(self) -> Tensor:
        """The measure of all items so far, on all ranks: a float64 scalar."""
        (value,) = super().compute().values()
        result: Tensor = value
        return result


class _AveragedScore(_Score):
    """A measure for each mean of the two entropies."""

    def __init__(self, average_method: str = "arithmetic", **kwargs: Any) -> None:
        if average_method not in _MEANS:
            raise ValueError(f"average_method: expected one of {', '.join(_MEANS)}; got {average_method!r}")
        ClusteringMetric.__init__(self, (f"{self._measure}_{average_method}",), **kwargs)
        self.average_method = average_method


class AdjustedRandScore(_Score, measure="adjusted_rand"):
    """Adjusted Rand index. Arguments: the options of :class:`ClusteringMetric` by name."""


class RandScore(_Score, measure="rand"):
    """Rand index. Arguments: the options of :class:`ClusteringMetric` by name."""


class FowlkesMallowsIndex(_Score, measure="fowlkes_mallows"):
    """Fowlkes-Mallows index. Arguments: the options of :class:`ClusteringMetric` by name."""


class MutualInfoScore(_Score, measure="mutual_information"):
    """Mutual information in nats. Arguments: the options of :class:`ClusteringMetric` by name."""


class HomogeneityScore(_Score, measure="homogeneity"):
    """Homogeneity. Arguments: the options of :class:`ClusteringMetric` by name."""


class CompletenessScore(_Score, measure="completeness"):
    """Completeness. Arguments: the options of :class:`ClusteringMetric` by name."""


class NormalizedMutualInfoScore(_AveragedScore, measure="nmi"):
    """Mutual information over a mean of both entropies.

    Args:
        average_method: ``"min"``, ``"geometric"``, ``"arithmetic"`` or ``"max"``.
        **kwargs: the options of :class:`ClusteringMetric`.
    """


class AdjustedMutualInfoScore(_AveragedScore, measure="ami"):
    """Normalised mutual information corrected for chance.

    Args:
        average_method: ``"min"``, ``"geometric"``, ``"arithmetic"`` or ``"max"``.
        **kwargs: the options of :class:`ClusteringMetric`.
    """


class VMeasureScore(_Score):
    """Weighted harmonic mean of homogeneity and completeness.

    Args:
        beta: weight of completeness, above 0.
        **kwargs: the options of :class:`ClusteringMetric`.
    """

    def __init__(self, beta: float = 1.0, **kwargs: Any) -> None:
        if isinstance(beta, bool) or not isinstance(beta, (int, float)) or not 0 < beta < float("inf"):
            raise ValueError(f"beta: expected a number above 0; got {beta!r}")
        function = partial(functions.v_measure, beta=beta)
        measure = replace(MEASURES["v_measure"], name=f"v_measure_beta_{beta:g}", function=function, swapped=None)
        ClusteringMetric.__init__(self, (measure,), **kwargs)
        self.beta = beta


class ClusterAccuracy(_Score, measure="one_to_one_accuracy"):
    """Share of items on the diagonal under the best assignment of clusters to classes.

    Args:
        num_classes: number of classes, and of clusters unless ``num_clusters`` is given.
        **kwargs: the options of :class:`ClusteringMetric`.
    """

    def __init__(self, num_classes: int, **kwargs: Any) -> None:
        super().__init__(**{"num_clusters": num_classes, **kwargs}, num_classes=num_classes)
