"""What every kind of bootstrap shares: its settings, the replicates, the jackknife."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from torchclusteval.inference import intervals
from torchclusteval.inference.item_resampling import SharedItems
from torchclusteval.inference.resampling import Progress, Values, check_chunk, replicated
from torchclusteval.inference.sampling import check_replicates, multinomial, seeded_blocks

Score = Callable[[Tensor, slice | Tensor], Values]

_MOST_JACKKNIFE_CELLS = 10_000
_JACKKNIFE_CELLS = 1 << 20  # cells of the tables less one item that are scored at a time


@dataclass(frozen=True)
class Setting:
    """How to resample, checked."""

    replicates: int
    confidence: float
    method: str
    chunk_size: int | None

    def __post_init__(self) -> None:
        check_replicates(self.replicates, "replicates")
        check_chunk(self.chunk_size)
        confidence: Any = self.confidence
        if not isinstance(confidence, Real) or not 0 < float(confidence) < 1:
            raise ValueError(f"confidence: expected a number between 0 and 1; got {self.confidence!r}")
        if self.method not in intervals.METHODS:
            raise ValueError(f"method: expected one of {', '.join(intervals.METHODS)}; got {self.method!r}")

    def resample(
        self,
        counts: Tensor,
        score: Score,
        generator: torch.Generator | None,
        progress: Progress | None,
        *,
        cells: int,
        items: SharedItems | None = None,
    ) -> "Resampled":
        """Score replicates.

        Args:
            counts: cells of the tables, ``(B, Z)``.
            score: scores cells like them, ``(*some, b, Z)``, of the tables ``b``.
            generator: source of the one seed.
            progress: called with the number of replicates done and in all.
            cells: how many numbers it takes to score one replicate of one table.
            items: where given, what is drawn instead of the cells, once for all tables.
        """
        tables = len(counts)
        found = replicated(
            (lambda at, count, source: multinomial(counts[at], count, source)) if items is None else items.draw,
            score if items is None else items.score,
            tables=tables,
            cells=cells if items is None else -(-items.n_items // tables),
            blocks=seeded_blocks(self.replicates, counts.device, generator),
            chunk_size=self.chunk_size,
            progress=progress,
            together=items is not None,
        )
        return Resampled(self, found, counts.device, _jackknife(counts, score, cells) if self.method == "bca" else {})

    def described(self, resampled: str) -> dict[str, Any]:
        keys = ("replicates", "confidence", "method")
        return {key: getattr(self, key) for key in keys} | {"resampled": resampled}


@dataclass(frozen=True, eq=False)
class Resampled:
    setting: Setting
    found: Values  # (replicates, B)
    device: torch.device
    accelerations: Values  # (B,), for BCa

    def replicates(self, name: str, shape: torch.Size) -> Tensor:
        """``(replicates, *batch)``"""
        count = self.setting.replicates
        values = self.found.get(name)
        if values is None:
            return torch.zeros(count, *shape, dtype=torch.float64, device=self.device)
        return values.reshape(count, *shape)

    def interval(self, name: str, estimate: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        skew = self.accelerations.get(name)
        skew = torch.zeros_like(estimate) if skew is None else skew.reshape(estimate.shape)
        values = self.replicates(name, estimate.shape)
        return intervals.interval(values, estimate, self.setting.confidence, self.setting.method, skew)


def _jackknife(counts: Tensor, score: Score, cells: int) -> Values:
    """Accelerations ``(B,)`` by name, from the tables less one item of each non-empty cell."""
    table, cell = counts.nonzero().unbind(-1)
    most = int((counts > 0).sum(-1).max()) if counts.numel() else 0
    if most > _MOST_JACKKNIFE_CELLS:
        raise ValueError(f"method: expected another than 'bca' for more than {_MOST_JACKKNIFE_CELLS} cells; got {most}")
    step = max(1, _JACKKNIFE_CELLS // cells)
    parts = []
    for at, place in zip(table.split(step), cell.split(step), strict=True):
        fewer = counts[at].scatter_add(1, place.unsqueeze(1), -torch.ones_like(place).unsqueeze(1))
        parts.append(score(fewer, at))
    weights = counts[table, cell].double()
    return {
        name: intervals.acceleration(torch.cat([part[name] for part in parts]), weights, table, len(counts))
        for name in (parts[0] if len(table) else ())
    }


def deviation(values: Tensor) -> Tensor:
    return values.std(0) if values.shape[0] > 1 and values.numel() else torch.full_like(values[0], torch.nan)
