"""Values of each object of a segmentation."""

import math

import torch

from torchclusteval.common.threads import on_one_thread
from torchclusteval.labels.group_labels import labels_at
from torchclusteval.measures.segmentation import best_clusters, best_ious
from torchclusteval.scoring.breakdown import GroupScores
from torchclusteval.tables import ContingencyTables, check_tables


@on_one_thread
def per_object(tables: ContingencyTables) -> GroupScores:
    """Values of each true object; of each predicted one with ``tables.mT``.

    Args:
        tables: contingency tables, ``(*batch, R, C)``, with ``absent_true`` and ``absent_pred`` as the background.

    Returns:
        ``(*batch, R)`` tensors by name: ``size`` (items of the whole object), ``missed`` (share of them that is
        background on the other side), ``iou`` (largest intersection over union with an object of the other side),
        ``vi_bits`` (its share of ``vi_split_bits``, which these add up to; of ``vi_merge_bits`` with ``tables.mT``),
        ``best_match`` (the label of the object with that IoU, the first of equals; -1 or, for text, None where nothing
        overlaps). Rows without items have nan. ``match_positions`` has the columns of the matches.

    Example:
        >>> tables = tce.ContingencyTables.from_labels(
        ...     [0, 1, 1, 1, 2, 2], [0, 7, 7, 0, 7, 8], absent_true=0, absent_pred=0
        ... )
        >>> print(tce.per_object(tables))
        label  size  missed     iou  vi_bits  best_match
        1         3  0.3333  0.5000   0.0000           7
        2         2  0.0000  0.5000   0.5000           8
    """
    check_tables(tables)
    sizes = tables.whole_class_sizes
    empty, best = sizes == 0, best_clusters(tables)
    items = tables._n_items_f64.unsqueeze(-1) * math.log(2)
    values = {
        "missed": tables.unmatched_by_class.double() / sizes,
        "iou": best_ious(tables),
        "vi_bits": tables.sum_by_class(lambda cell: cell.n * cell.surprisal_given_class) / items,
    }
    values = {name: value.masked_fill(empty, torch.nan) for name, value in values.items()}
    positions = torch.where(best < tables.shape[-1], best, -1)
    named = {"size": sizes, **values, "best_match": labels_at(tables.clusters, positions)}
    return GroupScores(named, tables.classes, tables.clusters, positions, tables.names, tables.groups)
