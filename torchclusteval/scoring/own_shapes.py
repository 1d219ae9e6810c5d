"""Tables of groups of items, each in its own shape.

A batch has as many rows and columns as its largest table. The last bits of a sum depend on how many numbers there are,
zeros too: tables of one shape are evaluated together, in the shape and layout that each has alone.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from torchclusteval.tables import ContingencyTables

_MAX_CELLS = 1 << 20  # in a batch of tables of one shape


def by_own_shape(tables: ContingencyTables, values: Callable[[ContingencyTables], list[Tensor]]) -> list[Tensor]:
    """Values of each table.

    Args:
        tables: ``(*batch, R, C)``.
        values: of a batch of tables of one shape; tensors ``(*batch, ...)``.

    Returns:
        ``(*batch, ...)`` each.
    """
    own = tables.by
    if own is None or own.rows is None or own.columns is None or not tables.batch_shape.numel():
        return values(tables)
    keys = own.rows.reshape(-1) * (tables.shape[-1] + 1) + own.columns.reshape(-1)
    ordered, order = keys.sort(stable=True)
    found, counts = torch.unique_consecutive(ordered, return_counts=True)
    shapes = [divmod(key, tables.shape[-1] + 1) for key in found.tolist()]
    parts = [values(part) for part in _parts(tables, order.split(counts.tolist()), shapes)]
    joined = (torch.cat(column) for column in zip(*parts, strict=True))
    return [torch.empty_like(x).index_copy(0, order, x).reshape((*tables.batch_shape, *x.shape[1:])) for x in joined]


def _parts(
    tables: ContingencyTables, places: Sequence[Tensor], shapes: Sequence[tuple[int, int]]
) -> Iterator[ContingencyTables]:
    """Batches ``(B, R, C)`` of tables of one shape, from the places of those of each shape."""
    for keys, shape in zip(places, shapes, strict=True):
        for some in keys.split(max(1, _MAX_CELLS // (shape[0] * shape[1]))):
            yield tables._crop(some, shape)
