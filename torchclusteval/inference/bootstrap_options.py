"""The options of every bootstrap, its resamples, and the jackknife."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import check_choice, check_chunk_size
from torchclusteval.common.formatting import brief
from torchclusteval.inference import intervals
from torchclusteval.inference.item_resampling import ItemResampler
from torchclusteval.inference.resampling import JackknifeResampler, Progress, Values, score_resamples
from torchclusteval.inference.sampling import check_resamples
from torchclusteval.measures.record import Measure


@dataclass(frozen=True)
class BootstrapOptions:
    """How to resample, checked."""

    n_resamples: int
    confidence_level: float
    method: str
    chunk_size: int | None

    def __post_init__(self) -> None:
        check_resamples(self.n_resamples, "n_resamples")
        check_chunk_size(self.chunk_size)
        level: Any = self.confidence_level
        if isinstance(level, np.timedelta64) or not isinstance(level, Real) or not 0 < float(level) < 1:
            raise ValueError(f"confidence_level: expected a number between 0 and 1; got {brief(self.confidence_level)}")
        check_choice(self.method, "method", intervals.METHODS)

    def resample(
        self,
        cells: JackknifeResampler,
        measures: Sequence[Measure],
        generator: torch.Generator | None,
        progress: Progress | None,
        *,
        items: ItemResampler | None = None,
    ) -> "Resamples":
        """Score resamples of the cells or the groups or, where given, of the items of the same tables."""
        source = cells if items is None else items
        values = score_resamples(source, measures, self.n_resamples, generator, self.chunk_size, progress)
        return Resamples(self, values, cells.accelerations(measures) if self.method == "bca" else {})

    def settings_dict(self, resampled: str) -> dict[str, Any]:
        keys = ("n_resamples", "confidence_level", "method")
        return {key: getattr(self, key) for key in keys} | {"resampled": resampled}


@dataclass(frozen=True, eq=False)
class Resamples:
    """Values of the measures on resampled tables."""

    options: BootstrapOptions
    values: Values  # (resamples, B)
    accelerations: Values  # (B,), for BCa

    def of_measure(self, name: str, shape: torch.Size) -> Tensor:
        """``(resamples, *batch)``"""
        return self.values[name].reshape(self.options.n_resamples, *shape)

    def interval(self, name: str, estimate: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """The interval of a measure, as ``intervals.interval`` returns it."""
        skew = self.accelerations.get(name)
        skew = torch.zeros_like(estimate) if skew is None else skew.reshape(estimate.shape)
        values = self.of_measure(name, estimate.shape)
        return intervals.interval(values, estimate, self.options.confidence_level, self.options.method, skew)


def sample_std(values: Tensor) -> Tensor:
    """Standard deviation over the resamples ``(resamples, *batch)``; nan for a single one."""
    return values.std(0) if values.shape[0] > 1 and values.numel() else torch.full_like(values[0], torch.nan)
