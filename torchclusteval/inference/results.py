"""Results of the statistics: a mapping of measure names to records of ``(*batch,)`` tensors."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, Self, TypeVar

import torch
from torch import Tensor

from torchclusteval.common.formatting import format_number
from torchclusteval.common.optional import DataFrame, import_optional
from torchclusteval.common.results import Printed, Shown
from torchclusteval.measures.aliases import ByMeasure

_MAX_LINES = 60
_ROUNDING = 1e-14  # what is printed as 0: differences of scores that are equal


@dataclass(frozen=True, eq=False, repr=False)
class Record(Printed):
    """Tensors of one shape, with one entry for each clustering."""

    clusterings: tuple[Hashable, ...] | None = field(default=None, kw_only=True)  # their names, where they are known

    def columns(self) -> dict[str, Tensor]:
        """The ``(*batch,)`` fields by name."""
        values = {x.name: getattr(self, x.name) for x in fields(self) if x.name != "resamples"}
        return {name: value for name, value in values.items() if isinstance(value, Tensor)}

    @property
    def batch_shape(self) -> torch.Size:
        return next(iter(self.columns().values())).shape

    def in_batch(self, shape: torch.Size, clusterings: tuple[Hashable, ...] | None) -> Self:
        """With names, and tensors of a flattened batch in its shape."""
        shaped = {name: x.reshape(shape) for name, x in self.columns().items()}
        if (resamples := getattr(self, "resamples", None)) is not None:
            shaped["resamples"] = resamples.reshape(len(resamples), *shape)
        changes: dict[str, Any] = {**shaped, "clusterings": clusterings}
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Fields as nested lists (one number for a single clustering)."""
        return {name: value.tolist() for name, value in self.columns().items()}

    def to_pandas(self) -> DataFrame:
        """One row per clustering, one column per field; needs pandas."""
        pandas = import_optional("pandas", "pandas")
        index = None if self.clusterings is None else pandas.Index(self.clusterings, tupleize_cols=False)
        columns = {name: value.reshape(-1).numpy(force=True) for name, value in self.columns().items()}
        return pandas.DataFrame(columns, index=index)

    def name_of(self, number: int) -> Hashable:
        """The name of a clustering, its number where names are not known."""
        return number if self.clusterings is None else self.clusterings[number]

    def lines(self) -> list[list[str]]:
        """Fields of each clustering as text."""
        flat = (value.reshape(-1).tolist() for value in self.columns().values())
        return [[_text(x) for x in row] for row in zip(*flat, strict=True)]

    def _shown(self) -> Shown:
        several = bool(self.batch_shape)  # one clustering needs no number
        rows = [[*[str(self.name_of(i))] * several, *row] for i, row in enumerate(self.lines()[:_MAX_LINES])]
        return Shown(["clustering"] * several + [*self.columns()], rows, words=range(several))


def _text(x: float | bool) -> str:
    if isinstance(x, bool):
        return "yes" if x else "no"
    return format_number(0.0 if abs(x) < _ROUNDING else float(x))


@dataclass(frozen=True, eq=False, repr=False)
class Interval(Record):
    """A score with its bootstrap interval.

    >>> found = tce.bootstrap(tce.ContingencyTables([[5, 0], [0, 5]]), ["purity"], n_resamples=100)["purity"]
    >>> found.estimate.item(), found.low.item(), found.high.item()
    (1.0, 1.0, 1.0)
    """

    estimate: Tensor  # (*batch,) value of the table itself
    low: Tensor  # (*batch,)
    high: Tensor  # (*batch,)
    standard_error: Tensor  # (*batch,) standard deviation of the resamples
    bias: Tensor  # (*batch,) mean of the resamples minus the estimate
    fallback: Tensor | None = None  # (*batch,) bool: BCa is undefined, the interval is the percentile one
    of_classes: Tensor | None = None  # (*batch,) bool: classes were drawn, not items; None: as the settings say
    resamples: Tensor | None = None  # (resamples, *batch)


@dataclass(frozen=True, eq=False, repr=False)
class Significance(Record):
    """A score against its distribution over all permutations of one side.

    >>> found = tce.permutation_test(tce.ContingencyTables([[5, 0], [0, 5]]), ["ari"], n_resamples=100)["ari"]
    >>> found.observed.item(), bool(found.p_value < 0.05)
    (1.0, True)
    """

    observed: Tensor  # (*batch,) value of the table itself
    null_mean: Tensor  # (*batch,) mean of the permutations
    null_sd: Tensor  # (*batch,) standard deviation of the permutations
    z: Tensor  # (*batch,) (observed - null_mean) / null_sd; nan where permuting changes nothing
    p_value: Tensor  # (*batch,) (hits + 1) / (permutations + 1)
    expected: Tensor  # (*batch,) exact mean over all permutations where it is known, else null_mean
    adjusted: Tensor  # (*batch,) (observed - expected) / (perfect - expected); nan without a perfect value
    p_adjusted: Tensor | None = None  # (*batch,) p_value adjusted for the size of the batch
    resamples: Tensor | None = None  # (permutations, *batch)


@dataclass(frozen=True, eq=False, repr=False)
class Difference(Record):
    """The scores of two clusterings of the same items, and their difference.

    >>> found = tce.paired_bootstrap([0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1], ["purity"], n_resamples=100)
    >>> found["purity"].difference.item()
    0.5
    """

    estimate_a: Tensor  # (*batch,)
    estimate_b: Tensor  # (*batch,)
    difference: Tensor  # (*batch,) a - b
    low: Tensor  # (*batch,)
    high: Tensor  # (*batch,)
    standard_error: Tensor  # (*batch,) of the difference
    p_value: Tensor  # (*batch,) two-sided, of no difference
    fallback: Tensor | None = None  # (*batch,) bool: BCa is undefined, the interval is the percentile one
    of_classes: Tensor | None = None  # (*batch,) bool: classes were drawn, not items; None: as the settings say
    p_adjusted: Tensor | None = None  # (*batch,)
    resamples: Tensor | None = None  # (resamples, *batch) of the difference


R = TypeVar("R", bound=Record)


@dataclass(frozen=True, eq=False, repr=False)
class ResultsByMeasure(Printed, ByMeasure[R], Generic[R]):
    """A mapping of names of measures to records; aliases work as keys.

    >>> found = tce.bootstrap(tce.ContingencyTables([[5, 0], [0, 5]]), ["purity", "ari"], n_resamples=100)
    >>> list(found), found["ari"].estimate.item()
    (['purity', 'adjusted_rand'], 1.0)
    """

    _field = "records"

    records: Mapping[str, R]  # of a flattened batch too
    settings: Mapping[str, Any]  # options of the computation: method, resamples ...
    batch_shape: torch.Size
    skipped: Mapping[str, str]  # members of a set that do not apply -> the reason
    clusterings: tuple[Hashable, ...] | None = None  # names of the clusterings, where they are known
    notes: tuple[str, ...] = ()  # what is wrong with some of the results, as the warnings said

    def __post_init__(self) -> None:
        records = {name: x.in_batch(self.batch_shape, self.clusterings) for name, x in self.records.items()}
        object.__setattr__(self, "records", records)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Names to the fields of their records."""
        return {name: record.to_dict() for name, record in self.items()}

    def to_pandas(self) -> DataFrame:
        """One row per measure and clustering, one column per field; needs pandas."""
        pandas = import_optional("pandas", "pandas")
        frames = {name: record.to_pandas() for name, record in self.items()}
        return pandas.concat(frames, names=["measure", "clustering"])

    def _shown(self) -> Shown:
        settings = {name: f"{x:.4g}" if isinstance(x, float) else x for name, x in self.settings.items()}
        words, several = {"population": "intervals hold for"}, bool(self.batch_shape)
        head = ", ".join(f"{words.get(name, name)} {value}" for name, value in settings.items())
        header = ["measure", *["clustering"] * several, *next(iter(self.values()), Record()).columns()]
        numbered = ((name, found, i, row) for name, found in self.items() for i, row in enumerate(found.lines()))
        rows = [[name, *[str(found.name_of(i))] * several, *row] for name, found, i, row in numbered]
        notes = [f"note: {note}" for note in self.notes]
        notes += [f"left out: {name}, which {reason}" for name, reason in self.skipped.items()]
        if len(rows) > _MAX_LINES:
            notes.insert(0, f"{len(rows) - _MAX_LINES} more rows: to_pandas() has them")
        return Shown(header, rows[:_MAX_LINES], head, notes, words=range(1 + several))
