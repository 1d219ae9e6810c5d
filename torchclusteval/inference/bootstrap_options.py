"""The options of every bootstrap, its replicates, and the jackknife."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from torchclusteval.common.checks import check_choice, check_chunk_size
from torchclusteval.inference import intervals
from torchclusteval.inference.cell_resampling import CellResampler
from torchclusteval.inference.group_resampling import GroupResampler
from torchclusteval.inference.item_resampling import ItemResampler
from torchclusteval.inference.resampling import Progress, Values, score_replicates
from torchclusteval.inference.sampling import check_replicates
from torchclusteval.measures.record import Measure

_MAX_JACKKNIFE_CELLS = 10_000
_JACKKNIFE_BLOCK_CELLS = 1 << 20  # cells of the tables less one item that are scored at a time


@dataclass(frozen=True)
class BootstrapOptions:
    """How to resample, checked."""

    replicates: int
    confidence: float
    method: str
    chunk_size: int | None

    def __post_init__(self) -> None:
        check_replicates(self.replicates, "replicates")
        check_chunk_size(self.chunk_size)
        confidence: Any = self.confidence
        if not isinstance(confidence, Real) or not 0 < float(confidence) < 1:
            raise ValueError(f"confidence: expected a number between 0 and 1; got {self.confidence!r}")
        check_choice(self.method, "method", intervals.METHODS)

    def resample(
        self,
        cells: CellResampler | GroupResampler,
        measures: Sequence[Measure],
        generator: torch.Generator | None,
        progress: Progress | None,
        *,
        items: ItemResampler | None = None,
    ) -> "Replicates":
        """Score replicates of the cells or the groups or, where given, of the items of the same tables."""
        source = cells if items is None else items
        values = score_replicates(source, measures, self.replicates, generator, self.chunk_size, progress)
        if self.method != "bca":
            return Replicates(self, values, {})
        if isinstance(cells, GroupResampler):
            return Replicates(self, values, cells.accelerations())
        return Replicates(self, values, _jackknife(cells, measures))

    def settings_dict(self, resampled: str) -> dict[str, Any]:
        keys = ("replicates", "confidence", "method")
        return {key: getattr(self, key) for key in keys} | {"resampled": resampled}


@dataclass(frozen=True, eq=False)
class Replicates:
    """Values of the measures on resampled tables."""

    options: BootstrapOptions
    values: Values  # (replicates, B)
    accelerations: Values  # (B,), for BCa

    def of_measure(self, name: str, shape: torch.Size) -> Tensor:
        """``(replicates, *batch)``"""
        return self.values[name].reshape(self.options.replicates, *shape)

    def interval(self, name: str, estimate: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """The interval of a measure, as ``intervals.interval`` returns it."""
        skew = self.accelerations.get(name)
        skew = torch.zeros_like(estimate) if skew is None else skew.reshape(estimate.shape)
        values = self.of_measure(name, estimate.shape)
        return intervals.interval(values, estimate, self.options.confidence, self.options.method, skew)


def _jackknife(cells: CellResampler, measures: Sequence[Measure]) -> Values:
    """Accelerations ``(B,)`` by name, from the tables less one item of each non-empty cell."""
    counts = cells.counts
    table, cell = counts.nonzero().unbind(-1)
    most = int((counts > 0).sum(-1).max()) if counts.numel() else 0
    if most > _MAX_JACKKNIFE_CELLS:
        raise ValueError(f"method: expected another than 'bca' for more than {_MAX_JACKKNIFE_CELLS} cells; got {most}")
    step = max(1, _JACKKNIFE_BLOCK_CELLS // cells.n_elements)
    parts = []
    for at, position in zip(table.split(step), cell.split(step), strict=True):
        fewer = counts[at].scatter_add(1, position.unsqueeze(1), -torch.ones_like(position).unsqueeze(1))
        parts.append(cells.score(fewer, at, measures))
    weights = counts[table, cell].double()
    return {
        name: intervals.acceleration(torch.cat([part[name] for part in parts]), weights, table, len(counts))
        for name in (parts[0] if len(table) else ())
    }


def sample_std(values: Tensor) -> Tensor:
    """Standard deviation over the replicates ``(replicates, *batch)``; nan for a single one."""
    return values.std(0) if values.shape[0] > 1 and values.numel() else torch.full_like(values[0], torch.nan)
