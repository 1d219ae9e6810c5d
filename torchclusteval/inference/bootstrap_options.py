"""The options of every bootstrap, the unit that it draws of each table for each measure, and its resamples."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cells.parts import TableParts
from torchclusteval.common.checks import check_choice, check_chunk_size
from torchclusteval.common.formatting import brief
from torchclusteval.common.warn import warn
from torchclusteval.inference import intervals
from torchclusteval.inference.cell_resampling import CellResampler, resampled_cells
from torchclusteval.inference.class_resampling import (
    ClassResampler,
    PairedClassResampler,
    grows_with_items,
    items_with_an_error,
    joined_classes,
    trimmed,
    wrong_classes,
)
from torchclusteval.inference.group_resampling import GroupResampler
from torchclusteval.inference.resampling import JackknifeResampler, Progress, Values, score_resamples
from torchclusteval.inference.sampling import check_integer, check_resamples, seed_of
from torchclusteval.measures.pairs import adjusted_rand
from torchclusteval.measures.record import Measure
from torchclusteval.tables import ContingencyTables

UNITS = ("items", "classes")
POPULATIONS = {
    "items": "new items of the same classes",
    "classes": "new classes (entities) like these, with their items",
    "groups": "new groups of items like these",
    "documents": "new documents like these",
}
FEW_CLASSES, LEAST_CLASSES = 30, 10  # below the first classes are taken as fixed; below the second they are not drawn
FEW = 2  # classes with an error, and with a right pair, below which an interval says little
FEW_ERRORS = 5  # the same of items, if items are drawn
_FEW_ITEMS = 10  # of a table, about which there are notes, not warnings
_SURE = 4.0  # errors of a bias that it must be away from where it decides
_DECIDING = 1000  # draws of one seed, at least
_NEAR_CHANCE = 0.1  # of the adjusted Rand index
_FAR = "the mean of the draws of items is more than {} standard error from the estimate of {}{}"
_CHANCE = "near chance, draws agree more than the items do (permutation_test compares a score with chance)"
_LARGE = 10  # items in the class, and in the cluster, of an item: draws seldom repeat their pairs
_SMALL = (
    "an item drawn twice agrees with itself, which matters in small clusters or cells "
    "(score more items; resample='classes' draws classes, if they are a sample)"
)
_LISTED = 5  # tables that a note names
_GROWS = "grows with the number of items, and a draw of classes has fewer items (resample='items' keeps the number)"


@dataclass(frozen=True)
class BootstrapOptions:
    """How to resample, checked."""

    n_resamples: int
    confidence_level: float
    method: str | None
    chunk_size: int | None
    resample: str | None = None  # what is drawn; None: what ``Drawer.draw`` chooses

    def __post_init__(self) -> None:
        if check_resamples(self.n_resamples, "n_resamples") < 2:
            raise ValueError("n_resamples: expected at least 2, as an interval comes from the spread of draws; got 1")
        check_chunk_size(self.chunk_size)
        level: Any = self.confidence_level
        if isinstance(level, np.timedelta64) or not isinstance(level, Real) or not 0 < float(level) < 1:
            raise ValueError(f"confidence_level: expected a number between 0 and 1; got {brief(self.confidence_level)}")
        check_choice(self.method, "method", (*intervals.METHODS, None))
        if self.resample is not None:
            check_choice(self.resample, "resample", (*UNITS, "groups"))
        if self.resample == "classes" and self.method is not None:
            remedy = "None for draws of classes (resample='items' draws items)"
            raise ValueError(f"method: expected {remedy}; got {self.method!r}")

    def settings_dict(self, drawn: str, units: Sequence[str] = ()) -> dict[str, Any]:
        """The options as results show them, for draws of these units (by default of one)."""
        own = {"n_resamples": self.n_resamples, "confidence_level": self.confidence_level}
        method, units = "normal" if drawn == "classes" else self.method or "percentile", units or (drawn,)
        return own | {"method": method, "resampled": drawn, "population": "; ".join(POPULATIONS[x] for x in units)}

    def resample_by(
        self,
        source: JackknifeResampler,
        measures: Sequence[Measure],
        estimates: Values,
        generator: torch.Generator | None,
        progress: Progress | None,
    ) -> "Resamples":
        """Score draws of items or groups."""
        widths = [cells for cells, _ in source.sizes] if isinstance(source, CellResampler) else None
        values = score_resamples(source, measures, self.n_resamples, generator, self.chunk_size, progress, widths)
        notes = list[str]()
        if isinstance(source, GroupResampler):  # those without a score were drawn
            values = {name: torch.where(x.isnan(), estimates[name].reshape(-1), x) for name, x in values.items()}
            notes = intervals.note_few_groups(source.n_elements, self.confidence_level)
        skew = source.accelerations(measures) if self.method == "bca" else {}
        bias = {name: value.mean(0) - estimates[name].reshape(-1) for name, value in values.items()}
        return Resamples(self, values, skew, bias, _flags(bias), _flags(bias), notes=tuple(notes))


@dataclass(frozen=True, eq=False)
class Resamples:
    """Values of the measures on what was drawn."""

    options: BootstrapOptions
    values: Values  # (resamples, B); of classes around the estimate
    accelerations: Values  # (B,), for BCa
    bias: Values  # (B,) mean of the draws less the estimate
    by_classes: Values  # (B,) bool: classes were drawn
    missing: Values  # (B,) bool: no interval
    left_out: Mapping[str, str] = field(default_factory=dict)  # measures of a set, with the reason
    notes: tuple[str, ...] = ()

    @cached_property
    def errors(self) -> Values:
        """Standard errors, ``(B,)``."""
        return {name: sample_std(value) for name, value in self.values.items()}

    def interval(self, name: str, estimate: Tensor, measure: Measure | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """The interval of scores ``(B,)``, or differences without a measure, as ``intervals.interval`` returns it."""
        level, method = self.options.confidence_level, self.options.method or "percentile"
        skew = self.accelerations.get(name, torch.zeros_like(estimate))
        low, high, fallback = intervals.interval(self.values[name], estimate, level, method, skew)
        perfect, bounds = (None, (-torch.inf, torch.inf)) if measure is None else (measure.perfect, measure.range)
        ends = zip(intervals.normal(estimate, self.errors[name], level, perfect), (low, high), strict=True)
        low, high = (
            torch.where(self.by_classes[name], own.clamp(*bounds), x).masked_fill(self.missing[name], torch.nan)
            for own, x in ends
        )
        return low, high, fallback

    @cached_property
    def units(self) -> dict[str, str]:
        """What was drawn for each measure, in words."""
        flags = torch.stack([*self.by_classes.values()]) if self.by_classes else torch.zeros(0, 0)
        found = zip(self.by_classes, *torch.stack([flags.any(1), flags.all(1)]).tolist(), strict=True)
        return {n: ("classes" if every else "items or classes") if some else "items" for n, some, every in found}

    def mixed(self) -> dict[str, Tensor]:
        """``by_classes`` of the measures for which classes are drawn of some tables, and items of others."""
        return {name: x for name, x in self.by_classes.items() if self.units[name] == "items or classes"}

    def settings(self) -> dict[str, Any]:
        """What was drawn and how, in words."""
        by_unit: dict[str, list[str]] = {}
        for name, unit in self.units.items():
            by_unit.setdefault(unit, []).append(name)
        order = sorted(by_unit, key=lambda unit: -len(by_unit[unit])) or ["items"]
        others = "".join(f"; {unit} for {', '.join(by_unit[unit])}" for unit in order[1:])
        units = dict.fromkeys(unit for words in order for unit in words.split(" or "))
        return self.options.settings_dict(order[0] + others, [*units])

    def away(self) -> Values:
        """Standard errors between the mean of the draws and the estimate, ``(B,)``."""
        exact, tolerance = intervals.without_rounding, intervals.rounding_tolerance
        return {name: exact(self.bias[name], tolerance(x)).abs() / x for name, x in self.errors.items()}


def sample_std(values: Tensor) -> Tensor:
    """Standard deviation over the resamples ``(resamples, *batch)``; nan for a single one."""
    return values.std(0) if values.shape[0] > 1 and values.numel() else torch.full_like(values[0], torch.nan)


@dataclass(frozen=True, eq=False)
class Source:
    """A batch of tables, or of pairs of tables of the same items, to draw from."""

    tables: Sequence[ContingencyTables]  # (B, R, C); of pairs those of both sides

    def select(self, places: Tensor) -> "Source":
        """The tables at these places of the flattened batch."""
        return replace(self, tables=[ContingencyTables._of(TableParts(x._cells.select(places))) for x in self.tables])

    def items(self) -> JackknifeResampler:
        """Draws of items."""
        return resampled_cells(trimmed(self.tables[0]))

    def classes(self, count: int) -> ClassResampler:
        """Draws of the classes, of which each table has so many."""
        a, *b = (ClassResampler(trimmed(x), count) for x in self.tables)
        return PairedClassResampler(a.whole, count, *b) if b else a

    def wrong(self) -> Tensor:
        """``(B,)`` classes with an error; of pairs those on which the two differ."""
        return wrong_classes(self.tables[0])


@dataclass(eq=False)
class Drawer:
    """Draws of each table by itself: neither its unit nor its draws depend on the others."""

    source: Source
    estimates: Values  # (B,)
    options: BootstrapOptions
    generator: torch.Generator | None
    progress: Progress | None
    places: Tensor  # where each of the batch that was asked for is among the tables
    names: Callable[[], Sequence[str]]  # of the batch that was asked for

    def __post_init__(self) -> None:
        tables, options = self.source.tables[0], self.options
        self.paired, self.device = len(self.source.tables) > 1, tables.device
        self.n_classes, self.n_items = tables.n_classes, tables.n_items
        self.named = options.resample or ("items" if options.method else None)
        few = (self.n_classes < FEW_CLASSES) | (self.n_classes == 0)
        self.small = few if self.named is None else torch.full_like(few, self.named == "items")
        self.notes = list[str]()

    def draw(self, kept: Sequence[Measure], chosen: Mapping[Measure, bool]) -> Resamples:
        """Draw the unit that the options name or, by default, the one that each table allows for each measure.

        By default tables with fewer than ``FEW_CLASSES`` classes have their items drawn; a named method means items.
        Classes are drawn by default too where few items have an error, or where the mean of draws of items is more than
        a quarter of a standard error from the estimate. Fewer than ``LEAST_CLASSES`` are not: there is no interval
        where the mean is more than half a standard error away (of a measure without draws of classes: one).
        Raise where items of float tables are to be drawn, or classes for a measure that grows with the items.
        """
        self.seed = seed_of(self.generator, self.device)
        left_out = self._without_classes(kept, chosen)
        kept = [measure for measure in kept if measure.name not in left_out]
        bias = {m.name: torch.full_like(self.estimates[m.name], torch.nan) for m in kept}
        values = {name: x.repeat(self.options.n_resamples, 1) for name, x in bias.items()}
        found = Resamples(self.options, values, {}, bias, _flags(bias), _flags(bias), left_out)
        growing = [measure for measure in kept if grows_with_items(measure)]
        self._by_items(found, self.small, kept)
        self._by_items(found, ~self.small, growing)
        others = [measure for measure in kept if measure not in growing or self.named == "classes"]
        many = self.n_classes >= LEAST_CLASSES
        self.away, self.few = found.away(), torch.zeros_like(self.small)
        if bool(self.small.any()) and not self.paired and any(measure.perfect is not None for measure in kept):
            self.few = (items_with_an_error(self.source.tables[0]) < FEW_ERRORS) & self.small & (self.n_items > 0)
        most = {m.name: 0.5 + many.double() * (-0.25 if m in others else 0.5) for m in kept}
        if self.named is None and kept:
            self._settle(kept, most)
        far = {name: x > most[name] for name, x in self.away.items()}
        for measure in others:
            doubtful = far[measure.name] | self.few & (measure.perfect is not None)
            found.by_classes[measure.name] |= ~self.small | (doubtful & many & (self.named is None))
        self._note_far(found, far)
        self._by_classes(found, others)
        return self._at_places(found)

    def _without_classes(self, kept: Sequence[Measure], chosen: Mapping[Measure, bool]) -> dict[str, str]:
        """Measures that draws of classes do not have, where items cannot be drawn instead."""
        sizes = self.n_classes[~self.small]
        if self.named == "classes" and len(sizes) and 0 < (most := int(sizes.max())) < 2:
            raise ValueError(f"tables: expected at least two classes to draw from; got {most}")
        if bool(self.small.all()) or (self.named is None and all(x.is_integer for x in self.source.tables)):
            return {}
        growing = [measure for measure in kept if grows_with_items(measure)]
        if called := next((measure.name for measure in growing if chosen[measure]), None):
            raise ValueError(f"measures: expected measures that suit draws of classes; got {called!r}, which {_GROWS}")
        return {measure.name: _GROWS for measure in growing}

    def _fresh(self) -> torch.Generator:
        """A new generator: draws of a table are the same next to any others."""
        return torch.Generator().manual_seed(self.seed)

    def _select(self, which: Tensor) -> tuple[Source, Tensor]:
        places = which.nonzero().squeeze(-1)
        return self.source if len(places) == len(which) else self.source.select(places), places

    def _by_items(self, found: Resamples, which: Tensor, measures: Sequence[Measure]) -> None:
        if not measures or not (bool(which.any()) or not len(which)):
            return
        source, places = self._select(which)
        for tables in source.tables:
            check_integer(tables)
        estimates = {measure.name: self.estimates[measure.name][places] for measure in measures}
        own = self.options.resample_by(source.items(), measures, estimates, self._fresh(), self.progress)
        for name, values in own.values.items():
            found.values[name][:, places], found.bias[name][places] = values, own.bias[name]
        for name, skew in own.accelerations.items():
            found.accelerations[name] = torch.full_like(found.bias[name], torch.nan).index_copy(0, places, skew)

    def _settle(self, measures: Sequence[Measure], edges: Values) -> None:
        """Take the bias from draws of one seed where it is so near an edge that the given seed would decide."""
        count = self.options.n_resamples
        near = {
            name: (x - edges[name]).abs() <= _SURE * ((1 + x**2 / 2) / count).sqrt() for name, x in self.away.items()
        }
        source, places = self._select(torch.stack([*near.values()]).any(0))
        if not len(places):
            return
        options = replace(self.options, n_resamples=max(_DECIDING, count))
        estimates = {name: x[places] for name, x in self.estimates.items()}
        fixed = options.resample_by(source.items(), measures, estimates, torch.Generator().manual_seed(0), None).away()
        for name, x in self.away.items():
            x[places] = torch.where(near[name][places], fixed[name], x[places])

    def _note_far(self, found: Resamples, far: Values) -> None:
        """Say where draws of items are biased or errors few; by default give no interval where ``far`` says so."""
        drawn = {name: ~x & (self.n_items > 0) for name, x in found.by_classes.items()}
        some, one = ({name: x & (self.away[name] > edge) for name, x in drawn.items()} for edge in (0.25, 1.0))
        tiny = self.n_items <= _FEW_ITEMS
        for said, cause in self._causes({name: x & ~tiny for name, x in one.items()}):
            self._warn(f"{_FAR.format('one', *said)}: {cause}")
        for said, cause in self._causes({name: x & (tiny | ~one[name]) for name, x in some.items()}):
            self.notes.append(f"{_FAR.format('a quarter of a', *said)}: {cause}")
        few = self.few & torch.stack([torch.zeros_like(self.few), *drawn.values()]).any(0)
        if bool(few.any()):
            least = int(items_with_an_error(self.source.tables[0])[few].min())
            needed = f"an interval from draws of items needs {FEW_ERRORS} or more"
            self.notes.append(f"only {least} items have an error{self._of(few)}, and {needed}")
        if self.named is not None:
            return
        found.missing.update({name: x & far[name] for name, x in drawn.items()})
        for names, where in _alike(found.missing):
            self.notes.append(f"no interval of {names}{self._of(where)}: too much bias (resample='items' gives all)")

    def _by_classes(self, found: Resamples, measures: Sequence[Measure]) -> None:
        """Draw classes of the tables, and for the measures, that ``found.by_classes`` has."""
        flags = {measure: found.by_classes[measure.name] for measure in measures}
        some = torch.stack([*flags.values()]).any(1).tolist() if flags else []
        measures = [measure for measure, one in zip(flags, some, strict=True) if one]
        if not measures:
            return
        drawn = torch.stack([flags[measure] for measure in measures])
        which = drawn.any(0) & (self.n_classes > 0)
        of_pairs = [m for m in measures if not self.paired and (m.family == "pairs" or m.chance_corrected)]
        wrong, joined = torch.zeros_like(self.n_classes), torch.zeros_like(self.n_classes)
        draws, step = self.options.n_resamples, self.options.chunk_size
        for count in self.n_classes[which].unique().tolist():
            source, places = self._select(which & (self.n_classes == count))
            wrong[places] = source.wrong()
            if of_pairs:
                joined[places] = joined_classes(source.tables[0])
            own = [m for m, some in zip(measures, drawn[:, places].any(1).tolist(), strict=True) if some]
            resampler = source.classes(count)
            values = score_resamples(resampler, own, draws, self._fresh(), step, self.progress)
            for name, value in values.items():
                at = found.by_classes[name][places]
                estimate, value, target = self.estimates[name][places][at], value[:, at], places[at]
                around = estimate + resampler.scale * (value - value.nanmean(0)).nan_to_num(0.0)
                found.values[name][:, target], found.bias[name][target] = around, 0.0
                fixed = sample_std(around) <= intervals.rounding_tolerance(estimate)
                if self.paired:
                    fixed &= estimate != 0
                elif any(measure.name == name for measure in of_pairs):
                    fixed |= joined[target] == 0
                found.missing[name][target] = fixed
        what = "tell the clusterings apart" if self.paired else "have an error"
        needs = [(wrong, FEW, what, which & (wrong > 0) if self.paired else which)]
        if of_pairs:
            where = torch.stack([found.by_classes[measure.name] for measure in of_pairs]).any(0)
            needs += [(joined, FEW, "have items that both sides join", where)]
        needs += [(self.n_classes, LEAST_CLASSES, "are there", which)]
        said = list[str]()
        for counts, least, what, where in needs:
            few = where & (counts < least) & (self.n_classes > 0)
            if bool(few.any()):
                number = int(counts[few].min())
                said.append(f"only {number} classes {what}{self._of(few)}, and {least} or more are needed")
        for names, where in _alike({name: x & found.by_classes[name] for name, x in found.missing.items()}):
            said.append(f"no interval of {names}{self._of(where)}, as the draws do not differ")
        if said:
            self._warn(f"classes are drawn: {'; '.join(said)} (score more classes; resample='items' if these are all)")

    def _at_places(self, found: Resamples) -> Resamples:
        empty = self.n_items == 0
        for which in found.by_classes.values():  # tables without items have no unit of their own
            which.copy_(torch.where(empty, which.any() & (which | empty).all(), which))
        for names, where in _alike(found.mixed()):
            self.notes.append(f"intervals of {names}{self._of(where)} draw classes, the others items")
        found = replace(found, notes=tuple(self.notes))
        if len(self.places) == len(self.n_classes):
            return found
        parts = ("values", "accelerations", "bias", "by_classes", "missing")
        own: Any = {part: {name: x[..., self.places] for name, x in getattr(found, part).items()} for part in parts}
        return replace(found, **own)

    def _warn(self, note: str) -> None:
        warn(f"bootstrap: {note}")
        self.notes.append(note)

    def _of(self, where: Tensor) -> str:
        """The names of tables, where these are not all."""
        asked = where[self.places]
        if bool((asked | (self.n_items == 0)[self.places]).all()):
            return ""
        numbers, names = asked.nonzero().squeeze(-1).tolist(), self.names()
        more = f" and {len(numbers) - _LISTED} more" if len(numbers) > _LISTED else ""
        return f" for {', '.join(names[i] for i in numbers[:_LISTED])}{more}"

    def _causes(self, far: Mapping[str, Tensor]) -> Iterator[tuple[tuple[str, str], str]]:
        """Measures and tables of which draws of items are biased for one reason, with what to do."""
        where = torch.stack([torch.zeros_like(self.small), *far.values()]).any(0)
        if not bool(where.any()):
            return
        near = torch.stack([adjusted_rand(tables) for tables in self.source.tables]).amin(0) < _NEAR_CHANCE
        sizes = [x.double() for tables in self.source.tables for x in (tables.class_sizes, tables.cluster_sizes)]
        near &= torch.stack([x.square().sum(-1) for x in sizes]).amin(0) >= _LARGE * self.n_items
        for which, cause in ((near, _CHANCE), (~near, _SMALL)):
            if bool((which & where).any()):
                names = [name for name, x in far.items() if bool((x & which).any())]
                yield (", ".join(names), self._of(which & where)), cause


def _flags(values: Values) -> Values:
    return {name: torch.zeros_like(x, dtype=torch.bool) for name, x in values.items()}


def _alike(flags: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Names with equal ``(B,)`` flags, at least one set, and these flags."""
    names: dict[tuple[bool, ...], list[str]] = {}
    rows = torch.stack([*flags.values()]).tolist() if flags else []
    for name, row in zip(flags, rows, strict=True):
        if any(row):
            names.setdefault(tuple(row), []).append(name)
    for together in names.values():
        yield ", ".join(together), flags[together[0]]
