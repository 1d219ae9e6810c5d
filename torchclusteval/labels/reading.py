"""Step 1 of 3, from labels to codes: both sides as whole numbers of one shape, with mask and weights."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.warn import warn
from torchclusteval.labels.inputs import as_mask, as_numbers, check_nonnegative, resolve_device, tensor_of
from torchclusteval.labels.integers import IntegerLabels, to_integers
from torchclusteval.labels.options import DEFAULTS, LabelOptions
from torchclusteval.labels.shapes import check_indexes, item_shape, joint_names, joint_shape
from torchclusteval.labels.sources import Names, pandas_index, read_labels

_CPU = torch.device("cpu")
_PLAIN = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}


class LabelPair(NamedTuple):
    """Labels of the same items, with their dimensions flattened."""

    true: IntegerLabels
    pred: IntegerLabels
    mask: Tensor | None  # (*some_batch, N) bool; None: all items count
    weights: Tensor | None  # (*some_batch, N) int64 or float64
    shape: tuple[int, ...]  # (*batch, N)
    item_shape: tuple[int, ...] | None  # of the items before they were flattened; None: (N,)
    names: Names | None  # (B,) of the clusterings, where they are known
    indexes: list[tuple[str, Any]]  # of pandas objects, by argument
    device: torch.device


def read(labels_true: Any, labels_pred: Any, options: LabelOptions) -> LabelPair:
    """Read both sides, mask and weights; raise where they are not as described, or do not fit together."""
    if options is DEFAULTS:
        one, other = _plain(labels_true), _plain(labels_pred)
        if one is not None and other is not None and other.shape[-1:] == one.shape:
            return LabelPair(IntegerLabels(one), IntegerLabels(other), None, None, other.shape, None, None, [], _CPU)
    given = {"labels_true": labels_true, "labels_pred": labels_pred, "mask": options.mask, "weights": options.weights}
    device = resolve_device(options.device, given if options.by is None else given | {"by": options.by})
    sources = {name: read_labels(given[name], name) for name in ("labels_true", "labels_pred")}
    mask = None if options.mask is None else as_mask(options.mask, device)
    weights = None if options.weights is None else as_numbers(options.weights, "weights").to(device)
    if weights is not None:
        weights = weights.double() if weights.is_floating_point() else weights.long()
    dims, items = options.item_dims or 1, None
    if dims > 1:
        named = next((name for name, source in sources.items() if source.names or source.columns), None)
        if named is not None:
            raise ValueError(f"item_dims: expected None or 1 with {named} as columns or by name; got {dims}")
        items = item_shape(_shapes(sources, mask, weights), dims)
        sources = {name: source.flatten(dims) for name, source in sources.items()}
        mask, weights = (None if x is None else x.flatten(-dims) for x in (mask, weights))
    true, pred = sources.values()
    meant = options.item_dims is not None or true.names is not None or pred.names is not None
    shape = joint_shape(_shapes(sources, mask, weights), meant=meant)
    indexes = [(name, index) for name, source in sources.items() for index in source.indexes]
    indexes += [(name, pandas_index(given[name])) for name in ("mask", "weights")]
    check_indexes(indexes, shape[-1])
    if weights is not None and options.validate:
        _check_weights(weights, mask)
    ids = [
        to_integers(source, name, device, validate=options.validate, mask=mask).squeezed()
        for name, source in sources.items()
    ]
    if options.validate and not meant and all(x.vocabulary is None and _is_one_hot(x.values) for x in ids):
        remedy = "of one-hot rows take argmax(-1); of clusterings of few items: item_dims=1"
        warn(f"labels_true, labels_pred: each row, a single 1 and else 0, is read as a clustering ({remedy})")
    names = joint_names(true, pred, shape[:-1], mask=given["mask"], weights=given["weights"])
    return LabelPair(ids[0], ids[1], mask, weights, shape, items, names, indexes, device)


def _plain(labels: Any) -> Tensor | None:
    """Whole numbers ``(*batch, N)`` on the CPU that are codes as they are; None: other labels."""
    if type(labels) is np.ndarray and labels.dtype.kind in "iu":
        labels = tensor_of(labels)
    known = type(labels) is Tensor and labels.dtype in _PLAIN and labels.layout == torch.strided and labels.is_cpu
    return labels if known and not labels.is_nested and labels.dim() and labels.is_contiguous() else None


def _shapes(sources: Any, mask: Tensor | None, weights: Tensor | None) -> dict[str, tuple[int, ...]]:
    shapes = {name: source.shape for name, source in sources.items()}
    shapes |= {name: tuple(x.shape) for name, x in (("mask", mask), ("weights", weights)) if x is not None}
    if () in shapes.values():
        name = next(name for name, shape in shapes.items() if not shape)
        raise ValueError(f"{name}: expected labels of shape (*batch, N); got a single value")
    return shapes


def _is_one_hot(x: Tensor) -> bool:
    """Whether each of the rows has a single 1 and else 0, and there are more rows than columns."""
    tall = x.dim() == 2 and len(x) > x.shape[1] > 1
    return tall and all(bool((rows >= 0).all() and (rows.sum(-1) == 1).all()) for rows in (x[:9], x))


def _check_weights(weights: Tensor, mask: Tensor | None) -> None:
    """Raise on negative or missing weights, except those of masked items."""
    if mask is not None:
        weights = torch.where(mask, weights.detach(), 0)
    check_nonnegative(weights, "weights", (-1,))
    count = weights.numel() if mask is None else int(mask.expand(weights.shape).sum())
    if weights.is_floating_point() and count and weights.detach().sum() < count:
        warn("weights: pair measures read weights as frequencies, and their mean is below 1; rescale to mean 1")
