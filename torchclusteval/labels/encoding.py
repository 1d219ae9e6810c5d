"""Step 3 of 3, and all steps: from labels to codes.

A *code* is the index of a row (column) of a table. Labels become codes by the cheapest way that keeps tables small:
subtracting the smallest label, a lookup table over the range of labels, or a sort. Codes are numbered over the whole
batch, or in each of its rows if their labels have little in common.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.threads import on_one_thread
from torchclusteval.labels.absent import AbsentGroup, find_group, group_among_codes, repeat_last
from torchclusteval.labels.codes import SHIFT_BEYOND, bounds, bounds_of_both, compact_codes, is_filled_range, restrict
from torchclusteval.labels.group_labels import GroupLabels, append_label
from torchclusteval.labels.integers import IntegerLabels, check_codes
from torchclusteval.labels.keeping import all_of, count_considered, keep_items, negate
from torchclusteval.labels.options import DEFAULTS, LabelOptions
from torchclusteval.labels.reading import LabelPair, read
from torchclusteval.labels.sources import Names

_SMALL_TABLE_CELLS = 4096  # up to this size padding costs less than looking labels up
_FEW_LABELS = 1 << 17  # so many stay in the cache between the search for their range and counting
_SAMPLED_LABELS = 1 << 12  # at least one of each row: in short rows padding costs more
_MOST_GUESSED_CELLS = 1 << 15  # tables of more are not counted in narrow types


@contextmanager
def argument_names(**names: str) -> Iterator[None]:
    """Rename ``encode``'s arguments in error messages to the caller's names."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        for name, known in names.items():
            message = message.replace(name, known)
        for known in filter(str.isidentifier, set(names.values())):
            message = message.replace(f"{known}, {known}", known)
        raise ValueError(message) from None


@dataclass(eq=False, slots=True)
class EncodedLabels:
    """The codes of one side. Excluded items may have any code."""

    codes: Tensor  # (*side_batch, N) integer, offset .. offset + size - 1
    offset: int
    size: int
    labels: GroupLabels | Callable[[], GroupLabels] | None  # of each code: (size,) or (*batch, size); made when asked
    absent: AbsentGroup | None = None  # the code, without the offset, of items without a group; None: they have none

    @property
    def group_labels(self) -> GroupLabels | None:
        return self.labels() if callable(self.labels) else self.labels


@dataclass(eq=False, slots=True)
class EncodedPair:
    """Both sides, ready to be counted. Shapes broadcast to ``(*batch, N)``."""

    true: EncodedLabels
    pred: EncodedLabels
    batch_shape: torch.Size
    n_items: int
    mask: Tensor | None  # (*some_batch, N) bool: items that count; None: all
    weights: Tensor | None  # (*some_batch, N) int64 or float64
    codes_in_range: bool | None  # False: codes out of range are possible, and excluded; None: the range is a guess
    n_considered: Tensor | None  # (*some_batch,) unmasked items or weight; None: all of them are in the table
    item_shape: tuple[int, ...] | None = None  # of the items before they were flattened; None: (N,)
    names: Names | None = None  # (B,) of the clusterings, where they are known
    has_margins: bool = False  # whether items that only one side groups have codes
    has_void: bool = False  # whether the last class is that of ignored items, counted for their clusters alone
    user_mask: Tensor | None = None  # (*some_batch, N) bool: items that the user's mask includes; None: all
    indexes: tuple[tuple[str, Any], ...] = ()  # of pandas objects, by argument
    exactly: "Callable[[], EncodedPair] | None" = None  # makes the pair without a guess, from what was read

    @property
    def device(self) -> torch.device:
        return self.true.codes.device


@on_one_thread
def encode(
    labels_true: Any,
    labels_pred: Any,
    options: LabelOptions = DEFAULTS,
    *,
    margins: bool = False,
    void: bool = False,
    guess: bool = False,
) -> EncodedPair:
    """Encode two sets of labels.

    With ``margins``, items that only one side groups get codes (``EncodedLabels.absent``); else they are excluded.
    With ``void`` too, so do ignored items, of the class after the last one, where items can be without a cluster.
    With ``guess``, the range of many labels may be that of a sample: counting then checks that all are in range.
    """
    return _encoded(read(labels_true, labels_pred, options), options, margins, void, guess)


@on_one_thread
def _encoded(pair: LabelPair, options: LabelOptions, margins: bool, void: bool, guess: bool) -> EncodedPair:
    kept = keep_items(pair, options, margins=margins, void=void)
    classes = _Side(pair.true, options.num_classes, kept.absent_true, "labels_true", "num_classes", "absent_true")
    clusters = _Side(pair.pred, options.num_clusters, kept.absent_pred, "labels_pred", "num_clusters", "absent_pred")
    codable = all_of(kept.keep, negate(kept.noisy))  # counted noise gets codes of its own
    sizes = options.num_classes, options.num_clusters
    in_range = options.validate or sizes == (None, None)
    ends: list[tuple[int, int] | None] = [None, None]
    if guess and in_range and pair.weights is None and all(x is None for x in kept):
        rows, columns = (side.likely_size(pair.shape) for side in (classes, clusters))
        if 0 < rows * columns <= min(_MOST_GUESSED_CELLS, pair.shape[-1] // 4):  # few more cells are little work
            ends = [(0, rows - 1), (0, columns - 1)]
    guessed = ends[0] is not None
    if not guessed and (options.validate or None in sizes):
        ends = bounds_of_both(pair.true.values, pair.pred.values)
    low, high = classes.code_range(kept.keep, options.validate, ends[0])
    first, last = clusters.code_range(codable, options.validate, ends[1])
    # If tables over the whole range of labels were large, a lookup of labels pays.
    wide = (high - low + 1) * (last - first + 1) > max(_SMALL_TABLE_CELLS, pair.shape[-1])
    true = classes.with_absent(classes.encode(kept.keep, low, high, wide), in_range)
    counted = codable if codable is None or kept.void is None else codable | kept.void
    pred = clusters.with_absent(clusters.encode(counted, first, last, wide), in_range)
    if kept.void is not None:
        true = replace(true, codes=_at_end(true, kept.void, 0, 1, in_range), size=true.size + 1)
    if kept.noisy is not None:
        each = options.noise == "singletons"
        pred = _with_noise(pred, all_of(kept.noisy, kept.keep), options.noise_label, each, in_range)
    has_margins = kept.absent_true is not None or kept.absent_pred is not None
    considered = None
    if kept.keep is not pair.mask or not in_range or has_margins:
        considered = count_considered(kept.considered, pair.weights, pair.shape[-1], pair.device)
    return EncodedPair(
        true=true,
        pred=pred,
        batch_shape=torch.Size(pair.shape[:-1]),
        n_items=pair.shape[-1],
        mask=kept.keep if kept.void is None else counted,
        weights=pair.weights,
        codes_in_range=None if guessed else in_range,
        n_considered=considered,
        item_shape=pair.item_shape,
        names=pair.names,
        has_margins=has_margins,
        has_void=kept.void is not None,
        user_mask=pair.mask,
        indexes=tuple(pair.indexes),
        exactly=partial(_encoded, pair, options, margins, void, False) if guessed else None,
    )


class _Side(NamedTuple):
    """One side's labels, and how they become codes."""

    ids: IntegerLabels
    size: int | None  # labels are then codes 0 .. size - 1
    absent: Any  # the label of items without a group, where they get a code
    name: str
    size_name: str
    absent_name: str

    def likely_size(self, shape: tuple[int, ...]) -> int:
        """The size if given; else an upper bound guessed from a sample of many labels; 0: all labels must be read."""
        x = self.ids.values
        few = math.prod(shape) <= _FEW_LABELS or shape[-1] <= _SAMPLED_LABELS
        if few or not x.is_cpu or torch.compiler.is_compiling():  # counting checks labels on the CPU alone
            return 0
        if self.size is not None or x.element_size() < 4 or self.ids.vocabulary is not None:
            return int(self.size or 0)
        sample = x.numpy()[..., :: max(1, x.numel() // _SAMPLED_LABELS)]
        low, high = int(np.minimum.reduce(sample, None)), int(np.maximum.reduce(sample, None))
        step = 1 << max(0, high.bit_length() - 3)  # room for larger ones
        return 0 if low < 0 else (high // step + 1) * step

    def code_range(self, keep: Tensor | None, validate: bool, ends: tuple[int, int] | None) -> tuple[int, int]:
        """First and last code: given by the size, or the range of all labels, excluded ones too (``ends`` if known)."""
        ids, size = self.ids, self.size
        if size is None:
            return ends or bounds(ids.values, None)
        absent = None if self.absent is None or ids.kind == "text" else self.absent
        if validate and absent is not None and not group_among_codes(absent, size, self.absent_name).stays:
            keep = all_of(keep, negate(ids.where(absent, self.absent_name)))
        check_codes(ids, keep, size, self.name, self.size_name, ends if validate else (0, 0))
        return 0, int(size) - 1

    def encode(self, keep: Tensor | None, low: int, high: int, wide: bool) -> EncodedLabels:
        ids, values = self.ids, self.ids.values
        if self.size is not None:
            return EncodedLabels(values, 0, int(self.size), None)
        count = high - low + 1
        if wide and values.numel():
            kept = None if keep is None else restrict(keep, values.shape)
            if not is_filled_range(values, kept, low, high):
                codes, groups = compact_codes(values, kept, low, count)
                return EncodedLabels(codes, 0, groups.shape[-1], ids.decode(groups))
        labels = ids.decode_range(low, count)
        if max(-low, high) >= SHIFT_BEYOND:
            return EncodedLabels(values - low, 0, count, labels)
        return EncodedLabels(values, low, count, labels)

    def with_absent(self, side: EncodedLabels, in_range: bool) -> EncodedLabels:
        """Set the code of items without a group; where labels are codes, or differ by row, add a code."""
        if self.absent is None:
            return side
        group = None if self.size is None else group_among_codes(self.absent, self.size, self.absent_name)
        if group is not None and group.stays:
            return replace(side, absent=group)
        labels = side.group_labels
        if labels is not None and labels.ndim == 1:
            number = self.ids.code_of(self.absent, self.absent_name)
            return side if number is None else replace(side, absent=find_group(labels, number, self.ids))
        codes = _at_end(side, self.ids.where(self.absent, self.absent_name), 0, 1, in_range)
        return EncodedLabels(codes, side.offset, side.size + 1, repeat_last(labels), AbsentGroup(side.size, False))


def _with_noise(side: EncodedLabels, noisy: Tensor | None, label: Any, each: bool, in_range: bool) -> EncodedLabels:
    """Give noise codes after the last one: one code for all of it, or one for each item of a row."""
    assert noisy is not None
    numbers: Tensor | int = noisy.long().cumsum(-1) - 1 if each else 0
    extra = 1
    if isinstance(numbers, Tensor):
        extra = int(numbers.amax()) + 1 if numbers.numel() else 0
    labels = None if side.group_labels is None else append_label(side.group_labels, label, extra)
    return EncodedLabels(_at_end(side, noisy, numbers, extra, in_range), side.offset, side.size + extra, labels)


def _at_end(side: EncodedLabels, at: Tensor | None, numbers: Tensor | int, extra: int, in_range: bool) -> Tensor:
    """Codes with some items ``at`` one of the ``extra`` codes after the last; one out of range stays out of range."""
    codes, end = side.codes, side.offset + side.size
    if not in_range or end + extra > torch.iinfo(codes.dtype).max:
        codes = codes.long()
    if not in_range:
        codes = codes.masked_fill(codes >= end, end + extra)
    return codes if at is None else torch.where(at, numbers + end, codes)
