"""Step 2 of 3: which items count, by mask, missing labels and the special labels (ignored, noise, absent)."""

from functools import reduce
from operator import and_
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from torchclusteval.labels.integers import IntegerLabels, check_missing
from torchclusteval.labels.options import DEFAULTS, LabelOptions
from torchclusteval.labels.reading import LabelPair

Mask = TypeVar("Mask", Tensor, np.ndarray)


class KeptItems(NamedTuple):
    """The items of a pair that count, and those among them with special labels."""

    keep: Tensor | None  # (*some_batch, N) bool: items in the table; None: all
    considered: Tensor | None  # (*some_batch, N) bool: those that coverage counts; None: all
    noisy: Tensor | None  # (*batch, N) bool: items of noise that is counted; None: there are no columns of noise
    absent_true: Any = None  # the label of items without a class, where they get a code; None: no item has one
    absent_pred: Any = None  # likewise, without a cluster
    void: Tensor | None = None  # (*some_batch, N) bool: items of the ignored class that have a cluster; None: none


def keep_items(pair: LabelPair, options: LabelOptions, *, margins: bool, void: bool = False) -> KeptItems:
    """Which items count; ``margins`` keeps those that only one side groups too, ``void`` ignored ones.

    Raise where a label that counts is missing, or an option is a label of another kind than the labels.
    """
    true, pred = pair.true, pair.pred
    if options is DEFAULTS and true.missing is None and pred.missing is None:
        return KeptItems(None, None, None)
    noisy = pred.where(options.noise_label, "noise_label")
    ignored = true.where(options.ignore_index, "ignore_index")
    keep = all_of(pair.mask, negate(ignored))
    if not void or not options.has_void:
        ignored = None
    elif ignored is None:  # no item can have this label, but tables have its row
        ignored = torch.zeros_like(true.values, dtype=torch.bool)
    else:
        inside = None if options.num_clusters is None else (pred.values >= 0) & (pred.values < options.num_clusters)
        ignored = all_of(pair.mask, ignored, negate(noisy), negate(pred.missing), inside)
    if options.noise == "ignore":
        keep, noisy = all_of(keep, negate(noisy)), None
    elif noisy is None and options.noise == "cluster":  # no item can have this label, but tables have its column
        noisy = torch.zeros_like(pred.values, dtype=torch.bool)
    if true.missing is not None or pred.missing is not None:
        keep = _without_missing(keep, true, pred, options)
    absent = (options.absent_true, options.absent_pred)
    if margins or absent == (None, None):
        return KeptItems(keep, pair.mask, noisy, *absent, ignored)
    without = true.where(absent[0], "absent_true"), pred.where(absent[1], "absent_pred")
    considered = pair.mask
    if without[0] is not None and without[1] is not None:
        considered = all_of(considered, negate(all_of(keep, *without)))
    return KeptItems(all_of(keep, *map(negate, without)), considered, noisy)


def _without_missing(
    keep: Tensor | None, true: IntegerLabels, pred: IntegerLabels, options: LabelOptions
) -> Tensor | None:
    if options.missing == "error":
        remedy = 'leave such items out by missing="ignore" or mask='
        of_sample = "; where the truth is of a sample, absent_true= and tce.estimate_from_sample"
        check_missing(true, keep, "labels_true", remedy + of_sample)
        check_missing(pred, keep, "labels_pred", remedy)
    # Without checks, a fraction is a label outside the codes, if there are codes.
    excluded = [
        ids.missing
        for ids, size in ((true, options.num_classes), (pred, options.num_clusters))
        if options.missing == "ignore" or options.validate or size is None
    ]
    return all_of(keep, *map(negate, excluded))


def negate(x: Tensor | None) -> Tensor | None:
    return None if x is None else x.logical_not()


def all_of(*masks: Mask | None) -> Mask | None:
    """Where all given masks are true; None if none is given."""
    given = [mask for mask in masks if mask is not None]
    return reduce(and_, given) if given else None


def count_considered(mask: Tensor | None, weights: Tensor | None, n: int, device: torch.device) -> Tensor:
    """Unmasked items, or their weight, ``(*some_batch,)``."""
    if weights is None:
        if mask is not None and mask.device.type == "cpu" and not torch.compiler.is_compiling():
            return torch.as_tensor(mask.numpy().sum(-1, dtype=np.int64))  # torch would make an int64 copy of the mask
        return torch.full((), n, device=device) if mask is None else mask.sum(-1)
    return (weights if mask is None else torch.where(mask, weights, 0)).sum(-1)
