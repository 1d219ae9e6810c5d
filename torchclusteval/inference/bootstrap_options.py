"""The options of every bootstrap, what it draws, and its resamples."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import check_choice, check_chunk_size
from torchclusteval.common.formatting import brief
from torchclusteval.inference import intervals
from torchclusteval.inference.class_resampling import (
    FEW_WRONG_CLASSES,
    ClassHalves,
    grows_with_items,
    wrong_classes,
)
from torchclusteval.inference.item_resampling import ItemResampler
from torchclusteval.inference.resampling import JackknifeResampler, Progress, Values, score_resamples
from torchclusteval.inference.sampling import check_integer, check_resamples
from torchclusteval.measures.record import Measure
from torchclusteval.tables import ContingencyTables


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
        estimates: Values,
        generator: torch.Generator | None,
        progress: Progress | None,
        *,
        items: ItemResampler | None = None,
    ) -> "Resamples":
        """Score draws of cells or groups or, where given, of the items of the same tables."""
        source = cells if items is None else items
        values = score_resamples(source, measures, self.n_resamples, generator, self.chunk_size, progress)
        skew = cells.accelerations(measures) if self.method == "bca" else {}
        return Resamples(self, values, skew, source.drawn, _bias(values, estimates))

    def halve(
        self,
        halves: ClassHalves,
        measures: Sequence[Measure],
        estimates: Values,
        generator: torch.Generator | None,
        progress: Progress | None,
    ) -> "Resamples":
        """Score halves of the classes.

        Raises:
            ValueError: the method is BCa, which has no jackknife over classes here.
        """
        if self.method == "bca":
            raise ValueError("method: expected 'percentile' or 'basic' where classes are drawn; got 'bca'")
        values = score_resamples(halves, measures, self.n_resamples, generator, self.chunk_size, progress)
        return Resamples(self, halves.around(values, estimates), {}, halves.drawn, _bias(values, estimates))

    def settings_dict(self, resampled: str) -> dict[str, Any]:
        keys = ("n_resamples", "confidence_level", "method")
        return {key: getattr(self, key) for key in keys} | {"resampled": resampled}


def _bias(values: Values, estimates: Values) -> Values:
    return {name: value.mean(0) - estimates[name].reshape(-1) for name, value in values.items()}


@dataclass(frozen=True, eq=False)
class Resamples:
    """Values of the measures on what was drawn."""

    options: BootstrapOptions
    values: Values  # (resamples, B); of halves of the classes around the estimate
    accelerations: Values  # (B,), for BCa
    drawn: str  # what
    bias: Values  # (B,) mean of the draws less the estimate

    def of_measure(self, name: str, shape: torch.Size) -> Tensor:
        """``(resamples, *batch)``"""
        return self.values[name].reshape(self.options.n_resamples, *shape)

    def interval(self, name: str, estimate: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """The interval of a measure, as ``intervals.interval`` returns it."""
        skew = self.accelerations.get(name)
        skew = torch.zeros_like(estimate) if skew is None else skew.reshape(estimate.shape)
        values = self.of_measure(name, estimate.shape)
        return intervals.interval(values, estimate, self.options.confidence_level, self.options.method, skew)

    def biased(self, counted: Tensor) -> list[str]:
        """Measures with a bias of more than one standard error in some of the tables that count, ``(B,)`` bool."""
        if not self.values:
            return []
        errors = {name: sample_std(value) for name, value in self.values.items()}
        far = [(self.bias[name].abs() > x + intervals.rounding_tolerance(x)) & counted for name, x in errors.items()]
        return [name for name, found in zip(errors, torch.stack(far).any(1).tolist(), strict=True) if found]


def sample_std(values: Tensor) -> Tensor:
    """Standard deviation over the resamples ``(resamples, *batch)``; nan for a single one."""
    return values.std(0) if values.shape[0] > 1 and values.numel() else torch.full_like(values[0], torch.nan)


# --- what is drawn ----------------------------------------------------------------------------------------

UNITS = ("items", "classes")
_FEW_ITEMS = 20  # with so many the mean of the draws says little
_GROWS = "grows with the number of items, of which a half has half as many (resample='items' draws as many)"


@dataclass(frozen=True, eq=False)
class Drawer:
    """Draws of tables, or of pairs of tables."""

    tables: Sequence[ContingencyTables]  # (*batch, R, C); of pairs those of both sides
    items: Callable[[], tuple[JackknifeResampler, ItemResampler | None]]
    halves: Callable[[], ClassHalves]
    estimates: Values  # (*batch,)
    options: BootstrapOptions
    generator: torch.Generator | None
    progress: Progress | None

    def draw(
        self, resample: str, kept: Sequence[Measure], chosen: Mapping[Measure, bool]
    ) -> tuple[Resamples, dict[str, str]]:
        """Resamples of items or of classes, and the measures of a set that are left out, with the reason.

        Raises:
            ValueError: items of float tables are to be drawn, or classes for a measure that grows with the items.
        """
        if resample == "items":
            for tables in self.tables:
                check_integer(tables)
            cells, items = self.items()
            found = self.options.resample(cells, kept, self.estimates, self.generator, self.progress, items=items)
            return found, {}
        left_out = {measure.name: _GROWS for measure in kept if grows_with_items(measure)}
        if named := next((measure.name for measure in kept if measure.name in left_out and chosen[measure]), None):
            raise ValueError(
                f"measures: expected measures that halves of the classes have; got {named!r}, which {_GROWS}"
            )
        measures = [measure for measure in kept if measure.name not in left_out]
        return self.options.halve(self.halves(), measures, self.estimates, self.generator, self.progress), left_out

    def warn(self, found: Resamples) -> None:
        """Warn where intervals are not what they seem: biased draws, or few classes with an error."""
        if not self.tables[0].batch_shape.numel():
            return
        if found.drawn == ClassHalves.drawn:
            fewest = min(int(wrong_classes(tables).min()) for tables in self.tables)
            if fewest < FEW_WRONG_CLASSES:
                few = f"got {fewest} such classes, expected at least {FEW_WRONG_CLASSES}"
                _warn(f"halves of the classes give intervals that are too short where few have an error; {few}")
        elif biased := found.biased(self.tables[0].n_items.reshape(-1) > _FEW_ITEMS):
            cause = "copies of an item agree with each other, so draws of items are wrong where clusters are small"
            remedy = "tce.bootstrap(..., resample='classes') draws classes"
            far = f"more than one standard error from the estimate of {', '.join(biased)}"
            _warn(f"the mean of the draws ({found.drawn}) is {far}: {cause} ({remedy})")


def _warn(message: str) -> None:
    warnings.warn(f"bootstrap: {message}", UserWarning, stacklevel=5)
