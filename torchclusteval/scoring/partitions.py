"""Which clusterings of a batch are the same partition of the items, by fingerprints of 64 bits."""

import math
from typing import Any

import torch
from torch import Tensor

from torchclusteval.labels.encoding import argument_names, encode
from torchclusteval.labels.keeping import count_considered
from torchclusteval.labels.options import LabelOptions
from torchclusteval.labels.sources import Names
from torchclusteval.tables import ContingencyTables

_CODES_AT_A_TIME = 1 << 20


def same_partitions(
    labels_pred: Any, names: Names | None = None, items: tuple[Tensor, Tensor] | None = None, **options: Any
) -> list[int]:
    """For each clustering the number of the first that is the same partition, whatever the names of its clusters.

    Items without a label, or left out by the ``options`` of labels, are in no cluster. ``names`` are the expected
    names of clusterings that have names, ``items`` ``(B,)`` the fewest and most items (or their weight) of each.
    """
    of_tables = ("by", "num_groups", "num_classes", "num_clusters", "ignore_index", "absent_true")
    own_options = LabelOptions.of({**options, "missing": "ignore"}, without=of_tables)
    with argument_names(labels_true="labels_pred"):
        pair = encode(labels_pred, labels_pred, own_options)
    if len(pair.batch_shape) != 1:
        got = (*pair.batch_shape, pair.n_items)
        raise ValueError(f"labels_pred: expected several clusterings (B, N); got shape {got}")
    for own, expected in zip(pair.names or (), names or (), strict=False):
        if own != expected:
            raise ValueError(f"labels_pred: expected the clusterings in the order of {expected!r}; got {own!r} there")
    kept = count_considered(pair.mask, pair.weights, pair.n_items, pair.device).double().expand(pair.batch_shape)
    if items is not None and items[0].shape == kept.shape:
        remedy = "mask= without items that have no class, weights= and noise_label= as for evaluate"
        for n, least, most in zip(*(x.tolist() for x in (kept, *items)), strict=True):
            if not least <= n <= most and not math.isclose(n, least):
                raise ValueError(f"labels_pred: expected the {least:g} scored items; got {n:g} ({remedy})")
    codes = (pair.pred.codes.long() - pair.pred.offset).expand(*pair.batch_shape, pair.n_items)
    return same_codes(codes, torch.ones_like(codes).bool() if pair.mask is None else pair.mask.expand(codes.shape))


def same_codes(codes: Tensor, keep: Tensor) -> list[int]:
    """The same for codes ``(B, N)`` of clusters from 0, among the items to keep, ``(B, N)`` bool."""
    first, places = distinct(of_labels(codes, keep))
    found: list[int] = first[places].tolist()
    return found


def distinct(fingerprints: Tensor) -> tuple[Tensor, Tensor]:
    """Places of the first of each ``(B,)``, in their order, and for each of the batch the number among them."""
    values, inverse = fingerprints.unique(return_inverse=True)
    place = torch.arange(len(inverse), device=inverse.device)
    first = torch.full_like(values, len(inverse)).scatter_reduce(0, inverse, place, "amin")
    order = first.argsort()
    return first[order], order.argsort()[inverse]


def of_tables(tables: ContingencyTables) -> Tensor:
    """Fingerprints ``(B,)``, the same for tables whose columns are in another order."""
    size, clusters = tables.batch_shape.numel(), tables.shape[-1]
    if size == 1:
        return torch.zeros(1, dtype=torch.int64, device=tables.device)
    batch, row, column, count = tables.cells()
    cells = mix(mix(row + 1) + (count.view(torch.int64) if count.is_floating_point() else count))
    columns = cells.new_zeros(size * clusters).index_add(0, batch * clusters + column, cells)
    if tables.has_unmatched:
        alone = tables.unmatched_by_cluster.reshape(-1)
        bits = alone.view(torch.int64) if alone.is_floating_point() else alone
        columns += torch.where(alone > 0, mix(bits + mix(torch.full_like(bits, -1))), 0)
    return mix(columns).reshape(size, clusters).sum(-1)


def of_labels(codes: Tensor, keep: Tensor | None) -> Tensor:
    """Fingerprints ``(B,)`` of codes ``(B, N)`` of the kept items, the same if clusters are numbered otherwise."""
    items = codes.shape[-1]
    place = torch.arange(items, device=codes.device)
    some = codes if keep is None else codes.masked_fill(~keep, 0)
    size = int(some.max()) + 1 if some.numel() else 1
    found = torch.zeros(len(codes), dtype=torch.int64, device=codes.device)
    for rows in torch.arange(len(codes), device=codes.device).split(max(1, _CODES_AT_A_TIME // max(size, items, 1))):
        own = some[rows]
        where = place.expand(own.shape) if keep is None else place.expand(own.shape).masked_fill(~keep[rows], items)
        first = where.new_full((len(rows), size), items).scatter_reduce(1, own, where, "amin")
        hashed = mix(mix(place + 1) + first.gather(1, own))
        found[rows] = hashed.masked_fill(where == items, 0).sum(-1)
    return found


def mix(x: Tensor) -> Tensor:
    """Scrambles whole numbers, 0 to 0; products wrap around. Steele, Lea and Flood (2014), SplitMix."""
    x = (x ^ (x >> 30)).mul_(-4658895280553007687)
    x = (x ^ (x >> 27)).mul_(-7723592293110705685)
    return (x >> 31).bitwise_xor_(x)
