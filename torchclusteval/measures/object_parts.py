"""As ``one_sided_parts``, for measures of segmentation and of tracking."""

from functools import partial

import torch
from torch import Tensor

from torchclusteval.common.numerics import at_most, smaller
from torchclusteval.measures import segmentation, tracking
from torchclusteval.measures.one_sided import n_pred, n_true, true_items
from torchclusteval.tables import ContingencyTables


def _stacked(*sums: Tensor) -> Tensor:
    return torch.stack([x.double() for x in sums], dim=-1)


def share(sums: Tensor, zero_division: float = 0.0) -> Tensor:
    """The first sum over the second, at most 1."""
    return at_most(rate(sums, zero_division), 1.0)


def error(sums: Tensor, zero_division: float = 1.0) -> Tensor:
    """As :func:`share`, of a distance."""
    return share(sums, zero_division)


def rate(sums: Tensor, zero_division: float = 0.0) -> Tensor:
    """The first sum over the second, infinite where only the second is 0."""
    part, whole = sums.unbind(-1)
    without = whole == 0
    value = part / whole.masked_fill(without, 1.0)  # a gradient of a division by 0 would be nan
    return value.masked_fill(without, torch.inf).masked_fill(without & (part == 0), zero_division)


def mean_of_objects(sums: Tensor, zero_division: float = torch.nan) -> Tensor:
    """As :func:`share`, of true objects: nan without any."""
    return share(sums, zero_division)


def mean_of_items(sums: Tensor, zero_division: float = torch.nan) -> Tensor:
    """As :func:`rate`, of items with an object on both sides: nan without any."""
    return rate(sums, zero_division)


def foreground_sums(tables: ContingencyTables) -> Tensor:
    """SS, SD, DS and DD of the items of true objects, and these items."""
    return _stacked(*segmentation.foreground_pairs(tables), true_items(tables))


def foreground_ari(sums: Tensor, zero_division: float | None = None) -> Tensor:
    ss, sd, ds, dd, items = sums.unbind(-1)
    denominator = (ss + sd) * (sd + dd) + (ss + ds) * (ds + dd)
    undefined = denominator == 0
    value = 2 * (ss * dd - sd * ds) / denominator.masked_fill(undefined, 1.0)
    if zero_division is not None:
        return value.masked_fill(undefined, zero_division)
    return value.masked_fill(undefined, 1.0).masked_fill(items == 0, torch.nan)


def adapted_rand_sums(tables: ContingencyTables) -> Tensor:
    """Pairs that one side joins, and those of both sides together."""
    ss, sd, ds, _ = tables.pairs
    return _stacked(sd + ds, 2 * ss + sd + ds)


def adapted_rand_self_sums(tables: ContingencyTables) -> Tensor:
    """As :func:`adapted_rand_sums`, with pairs of an item and itself."""
    ss, sd, ds, _ = tables.pairs
    return _stacked(sd + ds, 2 * ss + tables._n_items_f64 + sd + ds)


def vi_split_sums(tables: ContingencyTables) -> Tensor:
    """Bits of all items, and items."""
    return _stacked(segmentation.vi_split(tables, zero_division=0.0) * tables._n_items_f64, tables.n_items)


def vi_merge_sums(tables: ContingencyTables) -> Tensor:
    """Bits of all items, and items."""
    return _stacked(segmentation.vi_merge(tables, zero_division=0.0) * tables._n_items_f64, tables.n_items)


def best_overlap_sums(tables: ContingencyTables) -> Tensor:
    """Largest IoU of true objects, and these objects."""
    return _stacked(segmentation.best_ious(tables).sum(-1), n_true(tables))


def dice_sums(tables: ContingencyTables) -> Tensor:
    """Largest Dice coefficients of true objects and of predicted ones, and the numbers of both."""
    return _stacked(*segmentation.best_dices(tables), n_true(tables), n_pred(tables))


def symmetric_best_dice(sums: Tensor, zero_division: float = 0.0) -> Tensor:
    return smaller(share(sums[..., ::2], zero_division), share(sums[..., 1::2], zero_division))


def seg_sums(tables: ContingencyTables) -> Tensor:
    """IoU of the objects that have more than half of a true one, and true objects."""
    return _stacked(segmentation.covered(tables), n_true(tables))


def aggregated_jaccard_sums(tables: ContingencyTables) -> Tensor:
    """Intersections and unions."""
    return _stacked(*segmentation.aggregated(tables))


def panoptic_sums(tables: ContingencyTables) -> Tensor:
    """IoU of matched objects, their number, and half the number of all objects."""
    return _stacked(*segmentation.halves(tables), 0.5 * (n_true(tables) + n_pred(tables)))


def panoptic_quality(sums: Tensor, zero_division: float = 0.0) -> Tensor:
    return share(sums[..., ::2], zero_division)


def segmentation_quality(sums: Tensor, zero_division: float = 0.0) -> Tensor:
    return share(sums[..., :2], zero_division)


def recognition_quality(sums: Tensor, zero_division: float = 0.0) -> Tensor:
    return share(sums[..., 1:], zero_division)


def _ap_sums(tables: ContingencyTables, threshold: float) -> Tensor:
    matched = segmentation.n_matched(tables, threshold)
    return _stacked(matched, n_true(tables) + n_pred(tables) - matched)


def _f_sums(tables: ContingencyTables, threshold: float) -> Tensor:
    return _stacked(2 * segmentation.n_matched(tables, threshold), n_true(tables) + n_pred(tables))


ap_sums, f_sums = (partial(sums, threshold=0.5) for sums in (_ap_sums, _f_sums))


def association_sums(tables: ContingencyTables) -> Tensor:
    """Jaccard indexes of matched detections, and these detections."""
    return _stacked(tracking.associated(tables), tables.n_items)


def diarization_sums(tables: ContingencyTables) -> Tensor:
    """Missed, invented and confused items, and those of the reference."""
    return _stacked(tracking.wrong_items(tables), true_items(tables))


def jaccard_error_sums(tables: ContingencyTables) -> Tensor:
    """One minus the Jaccard index of each reference speaker, and these speakers."""
    return _stacked(n_true(tables) - tracking.matched_ious(tables), n_true(tables))
