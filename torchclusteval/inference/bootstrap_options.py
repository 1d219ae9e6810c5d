"""The options of every bootstrap, the unit that it draws, and its resamples."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import check_choice, check_chunk_size
from torchclusteval.common.formatting import brief
from torchclusteval.common.lazy import lazy_property
from torchclusteval.common.warn import warn
from torchclusteval.inference import intervals
from torchclusteval.inference.class_resampling import ClassResampler, grows_with_items, joined_classes
from torchclusteval.inference.item_resampling import ItemResampler
from torchclusteval.inference.resampling import JackknifeResampler, Progress, Values, score_resamples
from torchclusteval.inference.sampling import check_integer, check_resamples
from torchclusteval.measures.pairs import adjusted_rand
from torchclusteval.measures.record import Measure
from torchclusteval.tables import ContingencyTables

UNITS = ("items", "classes")
POPULATIONS = {
    "items": "more items of the same classes",
    "classes": "more classes (entities) like these, with their items",
    "groups": "more groups of items like these",
}
FEW_CLASSES, LEAST_CLASSES = 30, 10  # below the first classes are taken as fixed; below the second they are not drawn
FEW_WRONG, FEW_JOINED = 3, 10  # classes with an error, and with a right pair, below which an interval says little
_FEW_ITEMS = 20  # with so many the mean of the draws says little
_NEAR_CHANCE = 0.1  # of the adjusted Rand index
_FAR = "the mean of the draws of items is more than {} standard error from the estimate of {}"
_GROWS = "grows with the number of items, of which a draw of classes has fewer (resample='items' draws as many)"


@dataclass(frozen=True)
class BootstrapOptions:
    """How to resample, checked."""

    n_resamples: int
    confidence_level: float
    method: str | None
    chunk_size: int | None
    resample: str | None = None  # what is drawn; None: what ``Drawer.draw`` chooses

    def __post_init__(self) -> None:
        check_resamples(self.n_resamples, "n_resamples")
        check_chunk_size(self.chunk_size)
        level: Any = self.confidence_level
        if isinstance(level, np.timedelta64) or not isinstance(level, Real) or not 0 < float(level) < 1:
            raise ValueError(f"confidence_level: expected a number between 0 and 1; got {brief(self.confidence_level)}")
        check_choice(self.method, "method", (*intervals.METHODS, None))
        if self.resample is not None:
            check_choice(self.resample, "resample", (*UNITS, "groups"))

    def settings_dict(self, drawn: str) -> dict[str, Any]:
        """Options of draws of groups, or of other units, as results show them."""
        own = {"n_resamples": self.n_resamples, "confidence_level": self.confidence_level}
        method = "normal" if drawn == "classes" else self.method or "percentile"
        units = [unit for unit in POPULATIONS if unit in drawn.split("; ")[0] or f"; {unit} for" in drawn]
        units.sort(key=drawn.find)
        return own | {"method": method, "resampled": drawn, "population": "; ".join(POPULATIONS[x] for x in units)}

    def resample_by(
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
        if source.drawn == "groups":  # those without a score were drawn
            values = {name: torch.where(x.isnan(), estimates[name].reshape(-1), x) for name, x in values.items()}
        skew = cells.accelerations(measures) if self.method == "bca" else {}
        bias = {name: value.mean(0) - estimates[name].reshape(-1) for name, value in values.items()}
        unit = "groups" if source.drawn == "groups" else "items"
        return Resamples(self, values, skew, bias, dict.fromkeys(values, unit))


@dataclass(frozen=True, eq=False)
class Resamples:
    """Values of the measures on what was drawn."""

    options: BootstrapOptions
    values: Values  # (resamples, B); of classes around the estimate
    accelerations: Values  # (B,), for BCa
    bias: Values  # (B,) mean of the draws less the estimate
    units: dict[str, str]  # what was drawn for each measure
    missing: Values = field(default_factory=dict)  # (B,) bool: no interval, by name, where there are such tables
    left_out: Mapping[str, str] = field(default_factory=dict)  # measures of a set, with the reason
    notes: tuple[str, ...] = ()
    _memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @lazy_property
    def errors(self) -> Values:
        """Standard errors, ``(B,)``."""
        return {name: sample_std(value) for name, value in self.values.items()}

    def of_measure(self, name: str, shape: torch.Size) -> Tensor:
        """``(resamples, *batch)``"""
        return self.values[name].reshape(self.options.n_resamples, *shape)

    def interval(self, name: str, estimate: Tensor, measure: Measure | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """The interval of a score or, without a measure, of a difference, as ``intervals.interval`` returns it."""
        values, level = self.of_measure(name, estimate.shape), self.options.confidence_level
        skew = self.accelerations.get(name)
        skew = torch.zeros_like(estimate) if skew is None else skew.reshape(estimate.shape)
        if self.units[name] == "classes":
            low, high = intervals.normal(
                estimate, self.errors[name].reshape(estimate.shape), level, None if measure is None else measure.perfect
            )
            low, high = (x if measure is None else x.clamp(*measure.range) for x in (low, high))
            fallback = None
        else:
            low, high, fallback = intervals.interval(values, estimate, level, self.options.method or "percentile", skew)
        if name in self.missing:
            low, high = (x.masked_fill(self.missing[name].reshape(x.shape), torch.nan) for x in (low, high))
        return low, high, fallback

    def settings(self) -> dict[str, Any]:
        """What was drawn and how, in words."""
        by_unit: dict[str, list[str]] = {}
        for name, unit in self.units.items():
            by_unit.setdefault(unit, []).append(name)
        most = max(by_unit, key=lambda unit: len(by_unit[unit])) if by_unit else "items"
        others = "".join(f"; {unit} for {', '.join(names)}" for unit, names in by_unit.items() if unit != most)
        return self.options.settings_dict(most + others)

    def far(self, errors: float, counted: Tensor) -> dict[str, Tensor]:
        """Tables ``(B,)`` whose draws have a mean more than so many standard errors from the estimate, by measure.

        Args:
            errors: how many.
            counted: ``(B,)`` bool, the tables that count.
        """
        if not self.values:
            return {}
        bias, error = (torch.stack([x[name] for name in self.values]) for x in (self.bias, self.errors))
        far = (bias.abs() > errors * error + intervals.rounding_tolerance(error)) & counted
        return {name: x for name, x, some in zip(self.values, far, far.any(1).tolist(), strict=True) if some}

    def without(self, measures: Sequence[Measure]) -> "Resamples":
        """Those of the other measures."""
        if not measures:
            return self
        values = {name: x for name, x in self.values.items() if name not in {measure.name for measure in measures}}
        return replace(self, values=values, units={name: self.units[name] for name in values})


def sample_std(values: Tensor) -> Tensor:
    """Standard deviation over the resamples ``(resamples, *batch)``; nan for a single one."""
    return values.std(0) if values.shape[0] > 1 and values.numel() else torch.full_like(values[0], torch.nan)


@dataclass(frozen=True, eq=False)
class Drawer:
    """Draws of a flattened batch of tables, or of pairs of tables."""

    tables: Sequence[ContingencyTables]  # (B, R, C); of pairs those of both sides
    items: Callable[[], tuple[JackknifeResampler, ItemResampler | None]]
    classes: Callable[[], ClassResampler]
    wrong: Callable[[], Tensor]  # (B,) classes with an error; of pairs those on which the two differ
    estimates: Values  # (B,)
    options: BootstrapOptions
    generator: torch.Generator | None
    progress: Progress | None
    places: Tensor  # where each of the batch that was asked for is among the tables

    @property
    def _named(self) -> str | None:
        return self.options.resample or ("items" if self.options.method else None)

    @property
    def _fewest_classes(self) -> int:
        sizes = self.tables[0].n_classes
        return int(sizes[sizes > 0].min()) if bool((sizes > 0).any()) else 0

    @property
    def by_items(self) -> bool:
        """Whether items are drawn, for all measures that this does not bias."""
        return self._named == "items" or (self._named is None and self._fewest_classes < FEW_CLASSES)

    def draw(self, kept: Sequence[Measure], chosen: Mapping[Measure, bool]) -> Resamples:
        """Draw the unit that the options name or, by default, the one that the tables allow.

        By default fewer than ``FEW_CLASSES`` classes are fixed and items are drawn, as where a method is named.
        Measures for which the mean of the draws is more than half a standard error from the estimate are drawn by
        classes or, with fewer than ``LEAST_CLASSES``, have no interval where it is more than one.

        Raises:
            ValueError: items of float tables are to be drawn, or classes for a measure that grows with the items.
        """
        named, by_items, classes = self._named, self.by_items, self._fewest_classes
        counted = self.tables[0].n_items > _FEW_ITEMS
        integer = all(tables.is_integer for tables in self.tables)
        of_items = [m for m in kept if by_items or (named is None and integer and grows_with_items(m))]
        of_classes = [m for m in kept if m not in of_items]
        parts = list[Resamples]()
        if of_items or not kept:
            found = self._by_items(of_items)
            if named is None and classes >= LEAST_CLASSES:
                far = found.far(0.5, counted)
                of_classes += [m for m in of_items if m.name in far and not grows_with_items(m)]
            found = found.without(of_classes)
            if far := found.far(1.0, counted):
                found = self._noted(found, f"{_FAR.format('one', ', '.join(far))}: {self._cause(far)}", warns=True)
                if named is None:
                    note = f"no interval of {', '.join(far)} for such clusterings (resample='items' gives them all)"
                    found = self._noted(replace(found, missing=far), note)
            elif named is None and (far := found.far(0.5, counted)):
                found = self._noted(found, f"{_FAR.format('half a', ', '.join(far))}: {self._cause(far)}")
            parts.append(found)
        if of_classes:
            parts.append(self._by_classes(of_classes, chosen))
        if len(parts) == 1 and len(self.places) == len(self.tables[0]):
            return parts[0]
        return _joined(parts, [measure.name for measure in kept], self.places)

    def _by_items(self, measures: Sequence[Measure]) -> Resamples:
        for tables in self.tables:
            check_integer(tables)
        cells, items = self.items()
        options = self.options
        return options.resample_by(cells, measures, self.estimates, self.generator, self.progress, items=items)

    def _by_classes(self, measures: Sequence[Measure], chosen: Mapping[Measure, bool]) -> Resamples:
        options, left_out = self.options, {m.name: _GROWS for m in measures if grows_with_items(m)}
        if called := next((m.name for m in measures if m.name in left_out and chosen[m]), None):
            raise ValueError(f"measures: expected measures that draws of classes have; got {called!r}, which {_GROWS}")
        if options.method is not None:
            remedy = "None where classes are drawn (resample='items' draws items)"
            raise ValueError(f"method: expected {remedy}; got {options.method!r}")
        if (rows := self.tables[0].shape[-2]) < 2 and len(self.places):
            raise ValueError(f"tables: expected at least two classes to draw from; got {rows}")
        measures, source = [m for m in measures if m.name not in left_out], self.classes()
        drawn = score_resamples(
            source, measures, options.n_resamples, self.generator, options.chunk_size, self.progress
        )
        values, missing, paired = {}, {}, len(self.tables) > 1
        counted, wrong = self.tables[0].n_items > 0, self.wrong()
        joined = wrong if paired else joined_classes(self.tables[0])
        of_pairs = [] if paired else [m for m in measures if m.family == "pairs" or m.chance_corrected]
        for name, value in drawn.items():
            estimate = self.estimates[name].reshape(-1)
            values[name] = estimate + source.scale * (value - value.nanmean(0)).nan_to_num(0.0)
            fixed = sample_std(values[name]) <= intervals.rounding_tolerance(estimate)
            missing[name] = fixed & counted & ((estimate != 0) if paired else True)
        for measure in of_pairs:
            missing[measure.name] |= counted & (joined == 0)
        zeros = {name: torch.zeros_like(value[0]) for name, value in values.items()}
        found = Resamples(options, values, {}, zeros, dict.fromkeys(values, "classes"), missing, left_out)
        what = "tell the clusterings apart" if paired else "have an error"
        needs = [(wrong[counted & (wrong > 0) if paired else counted], FEW_WRONG, what)]
        needs += [(joined[counted], FEW_JOINED, "have items that both sides join")] if of_pairs else []
        needs += [(torch.tensor([self._fewest_classes]), LEAST_CLASSES, "are there")] if counted.any() else []
        fewest = [(int(counts.min()), least, what) for counts, least, what in needs if counts.numel()]
        said = [f"only {n} classes {what}, which should be {least} or more" for n, least, what in fewest if n < least]
        if without := [name for name, x in missing.items() if bool(x.any())]:
            said.append(f"no interval of {', '.join(without)} for some clusterings, as the draws do not differ")
        if said:
            remedy = "(score more classes; resample='items' if these are all)"
            found = self._noted(found, f"classes are drawn: {'; '.join(said)} {remedy}", warns=True)
        return found

    def _noted(self, found: Resamples, note: str, *, warns: bool = False) -> Resamples:
        if warns:
            warn(f"bootstrap: {note}")
        return replace(found, notes=(*found.notes, note))

    def _cause(self, far: Mapping[str, Tensor]) -> str:
        """Why draws of items are biased in these tables, and what to do."""
        where = torch.stack([*far.values()]).any(0)
        near = [adjusted_rand(tables)[where].min() for tables in self.tables]
        if float(torch.stack(near).min()) < _NEAR_CHANCE:
            return "near chance draws agree more than the items do (permutation_test says whether a score is better)"
        cause = "an item drawn twice agrees with itself, which counts where clusters or cells are small"
        if int(self.tables[0].n_classes[where].min()) >= LEAST_CLASSES:
            return f"{cause} (resample='classes' draws classes, where these are a sample)"
        return f"{cause} (score more items, or by a measure that is not biased, such as adjusted_rand)"


def _joined(parts: Sequence[Resamples], names: Sequence[str], places: Tensor) -> Resamples:
    """Resamples of all measures, in this order, at these places of the tables."""
    units = {name: part.units[name] for name in names for part in parts if name in part.units}

    def chosen(values: Sequence[Values]) -> Values:
        return {name: some[name][..., places] for name in units for some in values if name in some}

    return Resamples(
        parts[0].options,
        chosen([part.values for part in parts]),
        chosen([part.accelerations for part in parts]),
        chosen([part.bias for part in parts]),
        units,
        chosen([part.missing for part in parts]),
        {name: reason for part in parts for name, reason in part.left_out.items()},
        tuple(note for part in parts for note in part.notes),
    )
