"""Measures of tracking and of diarization: tracks or speakers, and detections or speech that only one side has.

Sizes, identical sides and ``zero_division`` are those of ``one_sided``. Items are detections, frames or durations
(``ContingencyTables.from_intervals``).
"""

from functools import partial

import torch
from torch import Tensor

from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.measures.assignment import match_dense, match_sparse
from torchclusteval.measures.coreference import CEAF_M, ceaf_m_f, ceaf_m_precision, ceaf_m_recall, matched_items
from torchclusteval.measures.matching import largest_matching, majority_of_classes, majority_of_clusters
from torchclusteval.measures.one_sided import (
    check_zero_division,
    harmonic_mean,
    iou,
    lack,
    n_true,
    one_sided_ratio,
    pred_items,
    settled,
    true_items,
)
from torchclusteval.measures.record import FROM_ZERO, UNIT, measure
from torchclusteval.measures.sums import Sums, items
from torchclusteval.tables import ContingencyTables

__all__ = ["association_accuracy", "diarization_coverage", "diarization_error_rate", "diarization_purity"]
__all__ += ["diarization_purity_f", "idf1", "idp", "idr", "jaccard_error_rate", "jaccard_error_rate_pyannote"]

share = partial(measure, "tracking", range=UNIT, perfect=1.0, zero_division=True)
distance = partial(measure, "tracking", better="lower", perfect=0.0, zero_division=True)
_BREDIN = (
    "bredin2017",
    "Bredin (2017). pyannote.metrics: a toolkit for reproducible evaluation, diagnostic, and error analysis of speaker "
    "diarization systems. Interspeech. doi:10.21437/Interspeech.2017-411",
)


@share(swapped="idr", source="ristani2016", on_host=True, combines="mean", sums=CEAF_M)
def idp(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of the predicted detections with the right identity, ``IDTP / sum_j c_j``.

    IDTP are the detections in the best one-to-one matching of tracks; equals mention-based CEAF precision.

    Degenerate: 0/0 without predicted tracks; nan without items.
    Example: 0.6000
    """
    return ceaf_m_precision(tables, zero_division)


@share(swapped="idp", source="ristani2016", on_host=True, combines="mean", sums=CEAF_M)
def idr(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Share of the true detections with the right identity, ``IDTP / sum_i r_i``, as :func:`idp`.

    Degenerate: 0/0 without true tracks; nan without items.
    Example: 0.6000
    """
    return ceaf_m_recall(tables, zero_division)


@share(symmetric=True, source="ristani2016", on_host=True, sums=CEAF_M)
def idf1(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """F of identities, ``2 IDTP / (sum_i r_i + sum_j c_j)``, as :func:`idp`; equals mention-based CEAF F.

    Example: 0.6000
    """
    return ceaf_m_f(tables, zero_division)


@cached_on_tables
def associated(tables: ContingencyTables) -> Tensor:
    """Jaccard index of the two tracks of each matched detection, summed."""
    return tables.sum(lambda cell: cell.n * iou(cell, tables))


@share(symmetric=True, source="luiten2021", combines="mean", sums=Sums(associated, items))
def association_accuracy(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean over matched detections of the Jaccard index of their two tracks (AssA, the association part of HOTA).

        AssA = sum_ij n_ij^2 / (r_i + c_j - n_ij) / sum_ij n_ij

    Degenerate: 0/0 where no detection is on both sides; nan without items.
    Example: 0.4458
    """
    return one_sided_ratio(associated(tables), items(tables), tables, zero_division)


@cached_on_tables
def wrong_items(tables: ContingencyTables) -> Tensor:
    """Missed, invented and confused items."""
    confused = (tables.n_items - matched_items(tables)).double()
    missed, invented = tables.unmatched_by_class.sum(-1), tables.unmatched_by_cluster.sum(-1)
    return missed.double() + invented.double() + confused


@distance(range=FROM_ZERO, source="fiscus2006", on_host=True, combines="mean", sums=Sums(wrong_items, true_items))
def diarization_error_rate(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Missed, invented and confused speech over the speech of the reference (DER), for one speaker at a time.

        DER = (missed + false alarm + confusion) / sum_i r_i

    Confused speech is on both sides but outside the best one-to-one matching of speakers.

    Degenerate: infinite for predicted speech without any in the reference; nan without items.
    Source: Fiscus et al. (2006), the rich transcription evaluation.
    Example: 0.6000
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


PURITY = Sums(majority_of_clusters, majority_of_classes, pred_items, true_items)


@share(swapped="diarization_coverage", source=_BREDIN, combines="mean", sums=PURITY)
def diarization_purity(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Speech of the most common reference speaker of each predicted one, over all predicted speech.

        purity = sum_j max_i n_ij / sum_j c_j

    Predicted speech where the reference has none counts as wrong; :func:`~torchclusteval.measures.purity` leaves it
    out.

    Degenerate: 0/0 without predicted speech; nan without items.
    Example: 0.6000
    """
    return one_sided_ratio(majority_of_clusters(tables), pred_items(tables), tables, zero_division)


@share(swapped="diarization_purity", source=_BREDIN[0], combines="mean", sums=PURITY)
def diarization_coverage(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Speech of the most common predicted speaker of each reference one, over all reference speech.

        coverage = sum_i max_j n_ij / sum_i r_i

    Missed speech counts as wrong; :func:`~torchclusteval.measures.inverse_purity` leaves it out.

    Degenerate: 0/0 without speech in the reference; nan without items.
    Example: 0.6000
    """
    return one_sided_ratio(majority_of_classes(tables), true_items(tables), tables, zero_division)


@share(symmetric=True, source=_BREDIN[0], sums=PURITY)
def diarization_purity_f(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Harmonic mean of :func:`diarization_purity` and :func:`diarization_coverage`.

    Degenerate: 0 where both are 0; nan without items.
    Example: 0.6000
    """
    return harmonic_mean(diarization_purity(tables, zero_division), diarization_coverage(tables, zero_division))


@cached_on_tables
def best_ious(tables: ContingencyTables) -> Tensor:
    """The largest sum of Jaccard indexes of speakers that are matched one to one."""
    return largest_matching(tables, lambda cell: iou(cell, tables))


@distance(range=UNIT, source="ryant2019", on_host=True, sums=Sums(best_ious, n_true))
def jaccard_error_rate(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """Mean over reference speakers of one minus the Jaccard index with the matched speaker, 1 without a match (JER).

    Speakers are matched one to one so that this mean is least, as in the scorer of the challenge.

    Degenerate: 1 for predicted speech without any in the reference; nan without items. Synchronises with the device.
    Source: Ryant et al. (2019), the second DIHARD challenge.
    Example: 0.5417
    """
    return lack(n_true(tables) - best_ious(tables), n_true(tables), tables, zero_division)


def _matched_cells(weights: Tensor, tables: ContingencyTables) -> Tensor:
    """Where classes and clusters are matched one to one, of the shape of a cell quantity."""
    if tables.layout == "sparse":
        return match_sparse(*tables.cells()[:3], weights, tables.batch_shape.numel())[0]
    columns, _ = match_dense(weights)
    return columns.unsqueeze(-1) == torch.arange(tables.shape[-1], device=tables.device)


@cached_on_tables
def matched_ious(tables: ContingencyTables) -> Tensor:
    """Jaccard indexes of the speakers that are matched one to one by the most common speech, summed."""
    cell = tables._cell_quantities
    x = iou(cell, tables)
    # Of equal matchings that with the largest sum, so that the order of the groups does not matter.
    unit = torch.ones_like(items(tables)) if tables.is_integer else 1e-9 * items(tables)
    unit = cell.at_classes(unit.unsqueeze(-1).expand(tables.shape[:-1]))
    matched = _matched_cells(cell.n + x * unit / (2 * min(tables.shape[-2:])), tables)
    return tables._cells.sum(torch.where(matched, x, 0.0))


@distance(range=UNIT, source=_BREDIN[0], on_host=True, sums=Sums(matched_ious, n_true))
def jaccard_error_rate_pyannote(tables: ContingencyTables, zero_division: float | None = None) -> Tensor:
    """The :func:`jaccard_error_rate` of speakers matched by the most common speech, as pyannote.metrics computes it.

    Speakers are matched as for :func:`diarization_error_rate`; of equal matchings the one with the least error counts.

    Degenerate: 1 for predicted speech without any in the reference; nan without items. Synchronises with the device.

    >>> tables = tce.ContingencyTables.from_intervals([(0, 10, "A")], [(0, 4, "x"), (4, 50, "y")])
    >>> tce.measures.jaccard_error_rate_pyannote(tables), tce.measures.jaccard_error_rate(tables)
    (tensor(0.8800, dtype=torch.float64), tensor(0.6000, dtype=torch.float64))
    """
    return lack(n_true(tables) - matched_ious(tables), n_true(tables), tables, zero_division)
