"""Measures of segmentation of images or volumes: objects (groups) and background (no group).

Sizes, identical sides and ``zero_division`` are those of ``one_sided``. The overlap of two objects is their IoU, the
intersection over the union of whole objects, ``n_ij / (r_i + c_j - n_ij)``.
"""

import math
from functools import partial

import torch
from torch import Tensor

from torchclusteval.cells.quantities import CellQuantities, CellQuantity
from torchclusteval.common.checks import check_bools, check_number
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import smaller, sum_reproducible
from torchclusteval.measures.assignment import TIE_TOLERANCE
from torchclusteval.measures.matching import largest_matching
from torchclusteval.measures.one_sided import (
    check_zero_division,
    dice,
    iou,
    lack,
    n_pred,
    n_true,
    one_sided_ratio,
    true_items,
    whole_c,
    whole_class_sizes,
    whole_cluster_sizes,
    whole_r,
)
from torchclusteval.measures.pairs import PAIRS, pair_counts
from torchclusteval.measures.record import FROM_ZERO, UNIT, measure
from torchclusteval.measures.sums import Sums, items
from torchclusteval.tables import ContingencyTables

__all__ = ["adapted_rand_error", "aggregated_jaccard", "foreground_ari", "mean_best_overlap", "object_ap", "object_f"]
__all__ += ["panoptic_quality", "recognition_quality", "seg", "segmentation_quality", "symmetric_best_dice", "vi_merge"]
__all__ += ["vi_split"]

share = partial(measure, "segmentation", range=UNIT, perfect=1.0, zero_division=True)
distance = partial(measure, "segmentation", better="lower", perfect=0.0, zero_division=True)
cost = partial(distance, range=FROM_ZERO, source="nunez2013", combines="mean")


def _slack(tables: ContingencyTables) -> float:
    """What sums of masses may be off by rounding; whole numbers are compared exactly."""
    return 0.0 if tables.is_integer else TIE_TOLERANCE


@cached_on_tables
def best_ious(tables: ContingencyTables) -> Tensor:
    """Largest IoU of each class with a cluster, ``(*batch, R)``."""
    return tables.max_by_class(lambda cell: iou(cell, tables))


@cached_on_tables
def best_overlaps(tables: ContingencyTables) -> Tensor:
    """Largest IoU of each class with a cluster, summed."""
    return sum_reproducible(best_ious(tables))


def _mean_of_objects(total: Tensor, tables: ContingencyTables, zero_division: float | None) -> Tensor:
    """Mean over true objects; nan without any."""
    mean = one_sided_ratio(total, n_true(tables), tables, zero_division)
    return mean if zero_division is not None else mean.masked_fill(n_true(tables) == 0, torch.nan)


# --- pairs of foreground items ------------------------------------------------------------------------------


@cached_on_tables
def foreground_pairs(tables: ContingencyTables) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """SS, SD, DS, DD of the items of true objects; those without a cluster are one more cluster."""
    n_items = true_items(tables)
    sizes, missed = whole_class_sizes(tables), tables.unmatched_by_class.double()
    others, all_missed = n_items[..., None] - sizes, missed.sum(-1, keepdim=True)
    of_cells = tables._sums(
        lambda cell: cell.squares - cell.n,
        lambda cell: cell.n * cell.rest_of_cluster,
        lambda cell: cell.n * (cell.at_classes(sizes) - cell.n),
        lambda cell: cell.n * (cell.at_classes(others) - cell.rest_of_cluster),
    )
    of_missed = (missed - 1, all_missed - missed, sizes - missed, others - (all_missed - missed))
    ss, sd, ds, dd = ((x + sum_reproducible(missed * y)) * 0.5 for x, y in zip(of_cells, of_missed, strict=True))
    return ss if tables.is_integer else tables._as_of_items(ss, ss, "pair measures"), sd, ds, dd


@share(range=(-0.5, 1.0), source="greff2019", chance_corrected=True, sums=Sums((foreground_pairs, 4), true_items))
def foreground_ari(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Adjusted Rand index of the items of true objects (FG-ARI).

    Items of true objects predicted as background form one more predicted object.

    Range: -0.5 to 1, higher is better.
    Degenerate: 1 where both sides group the items of true objects alike; nan without true objects.
    Source: Greff et al. (2019); Hubert and Arabie (1985).
    Example: 0.0909
    """
    check_zero_division(zero_division)
    ss, sd, ds, dd = foreground_pairs(tables)
    numerator, same = 2 * (ss * dd - sd * ds), (sd == 0) & (ds == 0)
    denominator = (ss + sd) * (sd + dd) + (ss + ds) * (ds + dd)
    undefined = denominator == 0
    value = (numerator / denominator.masked_fill(undefined, 1.0)).masked_fill(undefined, zero_division or 0.0)
    if zero_division is not None:
        return value
    return value.masked_fill(same, 1.0).masked_fill((true_items(tables) > 0).logical_not(), torch.nan)


# --- best overlaps ------------------------------------------------------------------------------------------


@share(source="ponttuset2017", sums=Sums(best_overlaps, n_true))
def mean_best_overlap(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean over true objects of the largest IoU with a predicted object (mBO).

    Degenerate: nan without true objects, so that a mean over images leaves those without objects out.
    Source: Pont-Tuset et al. (2017); Seitzer et al. (2023).
    Example: 0.4583
    """
    return _mean_of_objects(best_overlaps(tables), tables, zero_division)


@cached_on_tables
def best_dices(tables: ContingencyTables) -> tuple[Tensor, Tensor]:
    """Largest Dice coefficients of classes and of clusters, summed."""
    of_classes = tables.max_by_class(lambda cell: dice(cell, tables))
    of_clusters = tables.max_by_cluster(lambda cell: dice(cell, tables))
    return sum_reproducible(of_classes), sum_reproducible(of_clusters)


@share(symmetric=True, source="scharr2016", sums=Sums((best_dices, 2), n_true, n_pred))
def symmetric_best_dice(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean over objects of the largest Dice coefficient with one of the other side; the smaller mean of both sides.

        SBD = min(mean_i max_j 2 n_ij / (r_i + c_j), mean_j max_i 2 n_ij / (r_i + c_j))

    Degenerate: 0/0 without objects of a side; nan without items.
    Example: 0.6000
    """
    sides = zip(best_dices(tables), (n_true(tables), n_pred(tables)), strict=True)
    return smaller(*(one_sided_ratio(*side, tables, zero_division) for side in sides))


# --- matched objects ----------------------------------------------------------------------------------------


def _is_half(cell: CellQuantities, tables: ContingencyTables) -> Tensor:
    return 3 * cell.n > (whole_r(cell, tables) + whole_c(cell, tables)) * (1 + _slack(tables))


@cached_on_tables
def halves(tables: ContingencyTables) -> tuple[Tensor, Tensor]:
    """Pairs with an IoU above one half, which are one to one: their IoU, and their number."""
    overlap, number = tables._sums(
        lambda cell: iou(cell, tables) * _is_half(cell, tables), lambda cell: _is_half(cell, tables).double()
    )
    return overlap, number


@cached_on_tables
def n_counted(tables: ContingencyTables) -> Tensor:
    """Predicted objects, less those without a match and more than half void."""
    void, sizes = tables._void_by_cluster, whole_cluster_sizes(tables)
    if void is None:
        return n_pred(tables)
    alone = tables.max_by_cluster(lambda cell: _is_half(cell, tables).double()) == 0
    return n_pred(tables) - ((void > sizes) & (sizes > 0) & alone).sum(-1)


def _share_of_objects(
    numerator: Tensor, denominator: Tensor, tables: ContingencyTables, zero_division: float | None
) -> Tensor:
    """As ``one_sided_ratio``; nan where the void leaves no object on either side."""
    value = one_sided_ratio(numerator, denominator, tables, zero_division)
    none = n_true(tables) + n_counted(tables) == 0
    return value if zero_division is not None else value.masked_fill(none, torch.nan)


PANOPTIC = Sums((halves, 2), n_true, n_counted)


@share(symmetric=True, source="kirillov2019", sums=PANOPTIC)
def panoptic_quality(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Segmentation quality times recognition quality (PQ).

        PQ = sum of the IoU of matched objects / (TP + FP / 2 + FN / 2)

    Objects match (TP) where their IoU is above one half; FP are predicted objects without a match, FN true ones.
    Where ``from_labels`` has ``ignore_index`` and ``absent_true`` or ``absent_pred``, the ignored items are void: they
    are in no union, and a predicted object without a match is no FP if more than half of it is void. ``tables.mT``
    does not keep void items: it counts what is left of every predicted object.

    Example: 0.3333
    """
    overlap, _ = halves(tables)
    return _share_of_objects(2 * overlap, n_true(tables) + n_counted(tables), tables, zero_division)


@share(symmetric=True, source="kirillov2019", sums=PANOPTIC)
def segmentation_quality(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean IoU of matched objects (SQ), matched as for :func:`panoptic_quality`.

    Range: 0 to 1, higher is better; above one half where any objects match.
    Degenerate: 0/0 where none match; nan without items.
    Example: 0.6667
    """
    return _share_of_objects(*halves(tables), tables, zero_division)


@share(symmetric=True, source="kirillov2019", sums=PANOPTIC)
def recognition_quality(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """F of the detection of objects, ``TP / (TP + FP / 2 + FN / 2)`` (RQ), matched as for :func:`panoptic_quality`.

    Example: 0.5000
    """
    _, number = halves(tables)
    return _share_of_objects(2 * number, n_true(tables) + n_counted(tables), tables, zero_division)


def n_matched(tables: ContingencyTables, threshold: float) -> Tensor:
    """Most pairs of objects, one to one, with an IoU of at least ``threshold``; below 0.5 the host finds them."""
    check_number(threshold, "threshold", 0, 1)
    return half_matched(tables) if threshold == 0.5 else _n_matched(tables, threshold)


@cached_on_tables
def half_matched(tables: ContingencyTables) -> Tensor:
    return _n_matched(tables, 0.5)


def _n_matched(tables: ContingencyTables, threshold: float) -> Tensor:
    least = threshold - _slack(tables)

    def matches(cell: CellQuantities) -> Tensor:
        return ((iou(cell, tables) >= least) & (cell.n > 0)).double()

    if threshold >= 0.5:
        # An object with two matches is exactly covered by them, or they by it: stars, of one matched pair each.
        rows, columns = tables.max_by_class(matches).sum(-1), tables.max_by_cluster(matches).sum(-1)
        return rows + columns - tables.sum(matches)
    return largest_matching(tables, lambda cell: matches(cell).long()).double()


HALF_MATCHED = Sums(half_matched, n_true, n_pred)


@share(symmetric=True, source="schmidt2018", sums=HALF_MATCHED, variants={"object_ap_0.5": {"threshold": 0.5}})
def object_ap(tables: ContingencyTables, threshold: float = 0.5, zero_division: float | None = None) -> Tensor:
    """Share of matched objects among all, ``TP / (TP + FP + FN)``: average precision (AP) of cells and nuclei.

    Args:
        threshold: least IoU of matched objects, 0 to 1; as many as possible are matched, one to one.

    Degenerate: nan without items. Thresholds below 0.5 synchronise with the device.
    Example: 0.3333
    """
    matched = n_matched(tables, threshold)
    return one_sided_ratio(matched, n_true(tables) + n_pred(tables) - matched, tables, zero_division)


@share(symmetric=True, source="caicedo2019", sums=HALF_MATCHED, variants={"object_f_0.5": {"threshold": 0.5}})
def object_f(tables: ContingencyTables, threshold: float = 0.5, zero_division: float | None = None) -> Tensor:
    """F of the detection of objects, ``2 TP / (2 TP + FP + FN)``, matched as for :func:`object_ap`.

    Args:
        threshold: least IoU of matched objects, 0 to 1.

    Degenerate: nan without items. Thresholds below 0.5 synchronise with the device.
    Example: 0.5000
    """
    return one_sided_ratio(2 * n_matched(tables, threshold), n_true(tables) + n_pred(tables), tables, zero_division)


@cached_on_tables
def covered(tables: ContingencyTables) -> Tensor:
    """IoU of each class with the cluster that has more than half of it, summed."""
    slack = _slack(tables)
    return tables.sum(lambda cell: iou(cell, tables) * (2 * cell.n > whole_r(cell, tables) * (1 + slack)))


@share(source="maska2014", sums=Sums(covered, n_true))
def seg(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean over true objects of the IoU with the predicted object that covers more than half of it, 0 without one.

    Degenerate: nan without true objects.
    Source: Maska et al. (2014), the cell tracking challenge.
    Example: 0.3333
    """
    return _mean_of_objects(covered(tables), tables, zero_division)


def first_column(tables: ContingencyTables, hit: CellQuantity) -> Tensor:
    """The lowest column of each row among the cells that are hit, ``(*batch, R)``; ``C`` without any."""
    columns = tables.shape[-1]
    # The largest distance from the end is the lowest column; distances are never negative.
    distances = torch.arange(columns, 0, -1, device=tables.device).expand(*tables.batch_shape, columns)
    return columns - tables.max_by_class(lambda cell: torch.where(hit(cell), cell.at_clusters(distances), 0))


@cached_on_tables
def best_clusters(tables: ContingencyTables) -> Tensor:
    """The column of the largest IoU of each class, ``(*batch, R)``: the first of equals; ``C`` where all are 0."""
    best = best_ious(tables).detach()
    return first_column(tables, lambda cell: (iou(cell, tables) == cell.at_classes(best)) & (cell.n > 0))


@cached_on_tables
def aggregated(tables: ContingencyTables) -> tuple[Tensor, Tensor]:
    """Intersections of best pairs, and their unions with the unused clusters."""
    best, columns = best_clusters(tables), tables.shape[-1]
    sizes, objects = whole_cluster_sizes(tables), whole_class_sizes(tables)
    places = torch.arange(columns, device=tables.device).expand(*tables.batch_shape, columns)
    common = tables.sum_by_class(
        lambda cell: torch.where(cell.at_clusters(places) == cell.at_classes(best), cell.n, 0.0)
    )
    padded = torch.nn.functional.pad(sizes, (0, 1))  # one more column, for true objects without overlap
    unions = objects + padded.gather(-1, best) - common
    used = torch.zeros_like(padded).scatter(-1, best, 1.0)
    unused = sum_reproducible(padded * (1 - used))
    return sum_reproducible(common), sum_reproducible(unions) + unused


@share(source="kumar2017", sums=Sums((aggregated, 2)))
def aggregated_jaccard(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Intersections of each true object and its best predicted object over their unions and the unused objects (AJI).

        AJI = sum_i n_ib / (sum_i (r_i + c_b - n_ib) + sum of c_j of the objects j that are best for none)

    The best object b of i has the largest IoU with i; a predicted object can be best for several. Of equals the first
    is taken, so the order of the labels matters for ties, as in the code of the paper. A true object without overlap
    adds its size to the unions.

    Example: 0.4286
    """
    return one_sided_ratio(*aggregated(tables), tables, zero_division)


# --- splits and merges --------------------------------------------------------------------------------------


@cached_on_tables
def split_nats(tables: ContingencyTables) -> Tensor:
    return tables.sum(lambda cell: cell.n * cell.surprisal_given_class)


@cached_on_tables
def merge_nats(tables: ContingencyTables) -> Tensor:
    return tables.sum(lambda cell: cell.n * cell.surprisal_given_cluster)


def _item_mean(nats: Tensor, tables: ContingencyTables, base: float, zero_division: float | None) -> Tensor:
    check_zero_division(zero_division)
    check_number(base, "base", 1, exclusive=True)
    n, value = items(tables), torch.nan if zero_division is None else zero_division
    without = (n > 0).logical_not()
    return (nats / n.masked_fill(without, 1.0) / math.log(base)).masked_fill(without, value)


@cost(sums=Sums(split_nats, items), variants={"vi_split_bits": {"base": 2.0, "swapped": "vi_merge_bits"}})
def vi_split(tables: ContingencyTables, base: float = 2.0, zero_division: float | None = None) -> Tensor:
    """Entropy of predicted objects given the true ones, H(pred | true): the cost of splits.

    Only items with an object on both sides count; the options that make the tables decide which, as for
    :func:`adapted_rand_error`.

    Args:
        base: of the logarithm; 2 gives bits.
        zero_division: None, or the value without such items.

    Degenerate: nan where no item has an object on both sides.
    Source: Meila (2007); Nunez-Iglesias et al. (2013).
    Example: 0.6887
    """
    return _item_mean(split_nats(tables), tables, base, zero_division)


@cost(sums=Sums(merge_nats, items), variants={"vi_merge_bits": {"base": 2.0, "swapped": "vi_split_bits"}})
def vi_merge(tables: ContingencyTables, base: float = 2.0, zero_division: float | None = None) -> Tensor:
    """Entropy of true objects given the predicted ones, H(true | pred): the cost of merges; as :func:`vi_split`.

    Args:
        base: of the logarithm; 2 gives bits.
        zero_division: None, or the value without such items.

    Degenerate: nan where no item has an object on both sides.
    Source: Meila (2007); Nunez-Iglesias et al. (2013).
    Example: 0.5000
    """
    return _item_mean(merge_nats(tables), tables, base, zero_division)


@distance(
    range=UNIT,
    symmetric=True,
    source="arganda2015",
    variants={
        "adapted_rand_error": {"sums": PAIRS},
        "adapted_rand_error_self_pairs": {"self_pairs": True, "sums": Sums((pair_counts, 4), items)},
    },
)
def adapted_rand_error(
    tables: ContingencyTables, self_pairs: bool = False, zero_division: float | None = None
) -> Tensor:
    """One minus the F of pairs of items with an object on both sides.

    Args:
        self_pairs: False: pairs of different items, ``1 - 2 SS / (2 SS + SD + DS)``; True: ordered pairs, those of an
            item with itself too, ``1 - 2 sum n_ij^2 / (sum r_i^2 + sum c_j^2)``.
        zero_division: None, or the value of 0/0, and so of tables without items.

    The options that make the tables decide which items have an object: ``absent_true`` leaves out true background,
    ``absent_pred`` predicted background; without them all items have one.

    Degenerate: 0/0 where no side joins a pair is 0 for identical sides, else 1; nan without items.
    Example: 0.6000
    """
    check_bools(self_pairs=self_pairs)
    ss, sd, ds, _ = pair_counts(tables)
    joined = ss + items(tables) * 0.5 if self_pairs else ss
    return lack(sd + ds, 2 * joined + sd + ds, tables, zero_division)
