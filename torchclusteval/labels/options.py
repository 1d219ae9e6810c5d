"""The options of labels: one record, checked once and passed on by every function of labels."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, TypedDict

import torch

from torchclusteval.common.checks import COUNT, FLAG, MAX_CELLS, Kind, check_kinds, one_of, optional
from torchclusteval.common.formatting import brief
from torchclusteval.labels.inputs import check_device


class LabelKeywords(TypedDict, total=False):
    """The keywords of ``ContingencyTables.from_labels``, for functions that pass them on (``**options``)."""

    by: Any
    num_groups: int | None
    mask: Any
    weights: Any
    ignore_index: Any
    noise_label: Any
    noise: str
    absent_true: Any
    absent_pred: Any
    missing: str
    item_dims: int | None
    num_classes: int | None
    num_clusters: int | None
    validate: bool
    layout: str
    device: torch.device | str | None


NOISE = ("ignore", "cluster", "singletons")  # excluded; one extra last column; an extra column for each item
_KINDS: dict[str, Kind] = {
    "num_groups": optional(COUNT),
    "noise": one_of(*NOISE),
    "missing": one_of("error", "ignore"),
    "item_dims": optional(COUNT),
    "num_classes": optional(COUNT),
    "num_clusters": optional(COUNT),
    "validate": FLAG,
    "layout": one_of("auto", "dense", "sparse"),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelOptions:
    """The keywords of ``ContingencyTables.from_labels``; see there.

    Raises:
        ValueError: an option is not as described there, or two do not fit.
    """

    by: Any = None
    num_groups: int | None = None
    mask: Any = None
    weights: Any = None
    ignore_index: Any = None
    noise_label: Any = None
    noise: str = "ignore"
    absent_true: Any = None
    absent_pred: Any = None
    missing: str = "error"
    item_dims: int | None = None
    num_classes: int | None = None
    num_clusters: int | None = None
    validate: bool = True
    layout: str = "auto"
    device: torch.device | None = None

    def __post_init__(self) -> None:
        check_kinds(self.__dict__, _KINDS)
        if self.num_groups is not None and self.num_groups > MAX_CELLS:  # each has a table of one cell at least
            raise ValueError(f"num_groups: expected at most 2**32 tables; got {str(self.num_groups)[:40]}")
        if self.device is not None:
            object.__setattr__(self, "device", check_device(self.device))
        if self.noise != "ignore":
            self._check_noise()
        for name, other in (("absent_true", "ignore_index"), ("absent_pred", "noise_label")):
            label, excluded = getattr(self, name), getattr(self, other)
            both = label is not None and excluded is not None and isinstance(label, str) == isinstance(excluded, str)
            if both and label == excluded:
                got = f"{brief(label)} for both"
                raise ValueError(f"{name}: expected a label other than {other}, which excludes its items; got {got}")

    def _check_noise(self) -> None:
        if self.noise_label is None:
            raise ValueError(f"noise_label: expected the label of noise with noise={self.noise!r}; got None")
        if self.noise == "singletons" and self.num_clusters is not None:
            raise ValueError("num_clusters: expected None with noise='singletons' (a column an item); got a number")
        if self.absent_true is not None or self.absent_pred is not None:
            remedy = "items without a group are in the margins"
            raise ValueError(f"noise: expected 'ignore' with absent_true or absent_pred; got {self.noise!r} ({remedy})")

    @classmethod
    def of(cls, options: Mapping[str, Any], *, without: tuple[str, ...] = ()) -> "LabelOptions":
        """The options with these names; a TypeError on names that ``from_labels`` lacks, or among ``without``."""
        if not options:
            return DEFAULTS
        if not options.keys() <= _NAMES or without:
            check_names(options, [field.name for field in fields(cls) if field.name not in without])
        return cls(**options)

    @property
    def has_void(self) -> bool:
        """Whether ignored items are counted by cluster, next to the tables."""
        return self.ignore_index is not None and not (self.absent_true is None and self.absent_pred is None)

    @property
    def of_partitions(self) -> dict[str, Any]:
        """The given options that define a partition, except the mask."""
        given = {name: getattr(self, name) for name in ("noise_label", "noise", "absent_pred", "item_dims")}
        return {name: x for name, x in given.items() if x is not None and (name, x) != ("noise", "ignore")}

    def of_chunk(self, **checked: Any) -> "LabelOptions":
        """These options with changes for a chunk, without checking them all again, which would take time."""
        if torch.compiler.is_compiling():  # the compiler of torch 2.11 does not follow the lines below
            return replace(self, **checked)
        options = object.__new__(LabelOptions)
        options.__dict__.update(self.__dict__, **checked)
        return options


def check_names(options: Iterable[str], allowed: Collection[str]) -> None:
    """Raise a TypeError on keywords other than the allowed options of labels; it names the closest."""
    for name in options:
        if name not in allowed:
            near = get_close_matches(name, allowed, 1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise TypeError(f"{name}: expected one of the options {', '.join(allowed)}, or another argument{hint}")


DEFAULTS = LabelOptions()
_NAMES = {field.name for field in fields(LabelOptions)}
