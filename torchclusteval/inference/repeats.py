"""Equal clusterings of a batch, by fingerprints of 64 bits: they are drawn once, so that they get equal intervals."""

import torch
from torch import Tensor

from torchclusteval.tables import ContingencyTables


def distinct(fingerprints: Tensor) -> tuple[Tensor, Tensor]:
    """Places of the first of each ``(B,)``, in their order, and for each of the batch the number among them."""
    values, inverse = fingerprints.unique(return_inverse=True)
    place = torch.arange(len(inverse), device=inverse.device)
    first = torch.full_like(values, len(inverse)).scatter_reduce(0, inverse, place, "amin")
    order = first.argsort()
    return first[order], order.argsort()[inverse]


def of_tables(tables: ContingencyTables) -> Tensor:
    """``(B,)``, the same for tables whose columns are in another order."""
    size, clusters = tables.batch_shape.numel(), tables.shape[-1]
    if size == 1:
        return torch.zeros(1, dtype=torch.int64, device=tables.device)
    batch, row, column, count = tables.cells()
    cells = _mix(_mix(row + 1) + (count.view(torch.int64) if count.is_floating_point() else count))
    columns = cells.new_zeros(size * clusters).index_add(0, batch * clusters + column, cells)
    return _mix(columns).reshape(size, clusters).sum(-1)


def of_labels(codes: Tensor, keep: Tensor | None) -> Tensor:
    """``(B,)`` of codes ``(B, N)`` in the kept items, the same for other numbers of the same clusters."""
    place = torch.arange(codes.shape[-1], device=codes.device)
    found = []
    for row, kept in zip(codes, [None] * len(codes) if keep is None else keep, strict=True):
        some, where = (row, place) if kept is None else (row[kept], place[kept])
        size = int(some.max()) + 1 if len(some) else 1
        first = torch.full((size,), len(row), device=codes.device).scatter_reduce(0, some, where, "amin")
        found.append(_mix(_mix(where + 1) + first[some]).sum())
    return torch.stack(found) if found else place.new_zeros(0)


def _mix(x: Tensor) -> Tensor:
    """Scrambles whole numbers, 0 to 0; products wrap around. Steele, Lea and Flood (2014), SplitMix."""
    x = (x ^ (x >> 30)) * -4658895280553007687
    x = (x ^ (x >> 27)) * -7723592293110705685
    return x ^ (x >> 31)
