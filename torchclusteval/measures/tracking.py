"""Measures of tracking and of diarization: tracks or speakers, and detections or speech that only one side has.

Sizes, identical sides and ``zero_division`` are those of ``one_sided``. Items are detections, frames or durations
(``ContingencyTables.from_intervals``).
"""

import torch
from torch import Tensor

from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.measures.assignment import match_dense, match_sparse
from torchclusteval.measures.coreference import ceaf_m_f, ceaf_m_precision, ceaf_m_recall, matched_items
from torchclusteval.measures.one_sided import (
    check_zero_division,
    n_true,
    one_sided_ratio,
    settled,
    true_items,
)
from torchclusteval.measures.segmentation import iou
from torchclusteval.tables import ContingencyTables


def idp(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of the predicted detections that are of the right identity, ``IDTP / sum_j c_j``.

    IDTP are the detections in the best one-to-one matching of tracks; equals mention-based CEAF precision.

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0/0 without predicted tracks; nan without items.
    Source: Ristani et al. (2016).

    >>> tce.measures.idp(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.6000, dtype=torch.float64)
    """
    return ceaf_m_precision(tables, zero_division)


def idr(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of the true detections that are of the right identity, ``IDTP / sum_i r_i``, as :func:`idp`.

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0/0 without true tracks; nan without items.
    Source: Ristani et al. (2016).

    >>> tce.measures.idr(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.6000, dtype=torch.float64)
    """
    return ceaf_m_recall(tables, zero_division)


def idf1(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """F of identities, ``2 IDTP / (sum_i r_i + sum_j c_j)``, as :func:`idp`; equals mention-based CEAF F.

    Args:
        zero_division: None, or the value of a precision or recall that is 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: nan without items.
    Source: Ristani et al. (2016).

    >>> tce.measures.idf1(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.6000, dtype=torch.float64)
    """
    return ceaf_m_f(tables, zero_division)


def association_accuracy(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean over matched detections of the Jaccard index of their two tracks (AssA, the association part of HOTA).

        AssA = sum_ij n_ij^2 / (r_i + c_j - n_ij) / sum_ij n_ij

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, higher is better.
    Degenerate: 0/0 where no detection is on both sides; nan without items.
    Source: Luiten et al. (2021).

    >>> tce.measures.association_accuracy(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.4458, dtype=torch.float64)
    """
    return one_sided_ratio(associated(tables), tables._n_items_f64, tables, zero_division)


@cached_on_tables
def associated(tables: ContingencyTables) -> Tensor:
    """Jaccard index of the two tracks of each matched detection, summed."""
    return tables.sum(lambda cell: cell.n * iou(cell, tables))


def diarization_error_rate(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Missed, invented and confused speech over the speech of the reference (DER), for one speaker at a time.

        DER = (missed + false alarm + confusion) / sum_i r_i

    Confused speech is that on both sides, outside the best one-to-one matching of speakers.

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 or more, lower is better.
    Degenerate: infinite for predicted speech without any in the reference; nan without items.
    Source: Fiscus et al. (2006), the rich transcription evaluation.

    >>> tce.measures.diarization_error_rate(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.6000, dtype=torch.float64)
    """
    check_zero_division(zero_division)
    reference = true_items(tables)
    wrong = wrong_items(tables)
    without = reference == 0
    value = wrong / reference.masked_fill(without, 1)  # a gradient of a division by 0 would be nan
    value = value.masked_fill(without & (wrong > 0), torch.inf).masked_fill(without & (wrong == 0), torch.nan)
    if zero_division is not None:
        return value.masked_fill((reference == 0) & (wrong == 0), zero_division)
    return settled(value, tables, None, same=0.0)


@cached_on_tables
def wrong_items(tables: ContingencyTables) -> Tensor:
    """Missed, invented and confused items."""
    confused = (tables.n_items - matched_items(tables)).double()
    missed, invented = tables.unmatched_by_class.sum(-1), tables.unmatched_by_cluster.sum(-1)
    return missed.double() + invented.double() + confused


@cached_on_tables
def matched_ious(tables: ContingencyTables) -> Tensor:
    """Jaccard indexes of the speakers that are matched one to one by the most common speech, summed."""
    x = iou(tables._cell_quantities, tables)
    return tables._cells.sum(torch.where(_matched_cells(tables), x, 0.0))


def _matched_cells(tables: ContingencyTables) -> Tensor:
    """Where classes and clusters are matched one to one by the most common items, of the shape of a cell quantity."""
    if tables.layout == "sparse":
        batch, row, column, count = tables.cells()
        chosen, _ = match_sparse(batch, row, column, count.detach(), tables.batch_shape.numel(), *tables.shape[-2:])
        return chosen
    columns, *_ = match_dense(tables.counts.detach())
    return columns.unsqueeze(-1) == torch.arange(tables.shape[-1], device=tables.device)


def jaccard_error_rate(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean over reference speakers of one minus the Jaccard index with the matched speaker, 1 without one (JER).

    Speakers are matched as for :func:`diarization_error_rate`, by the most common speech; of equal matchings that which
    ``tce.match`` gives.

    Args:
        zero_division: None, or the value of 0/0.

    Range: 0 to 1, lower is better.
    Degenerate: 1 for predicted speech without any in the reference; nan without items. Synchronises with the device.
    Source: Ryant et al. (2019), the second DIHARD challenge.

    >>> tce.measures.jaccard_error_rate(tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]))
    tensor(0.5417, dtype=torch.float64)
    """
    speakers = n_true(tables)
    zero = 1.0 if zero_division is None else zero_division
    value = one_sided_ratio(speakers - matched_ious(tables), speakers, tables, zero)
    return settled(value, tables, zero_division, same=0.0)
