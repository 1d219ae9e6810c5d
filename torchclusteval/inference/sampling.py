"""Random tables for users, the seeds of resampling, and the checks of its arguments.

Permuting the labels of one side gives a random table with the same margins (the permutation model); drawing the items
again with replacement gives a multinomial sample over the cells (the bootstrap).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import check_cells_fit, check_count, check_dense
from torchclusteval.common.formatting import brief
from torchclusteval.common.threads import on_one_thread
from torchclusteval.inference.draws import fixed_margins, multinomial, random_keys
from torchclusteval.tables import ContingencyTables, check_tables

RESAMPLES_PER_BLOCK = 256  # resamples drawn by one generator
_MAX_RESAMPLES = 10_000_000
_MAX_ITEMS = 2**53  # draws are whole numbers in float64

Rng = int | torch.Generator | None


@on_one_thread
def random_tables(class_sizes: Tensor, cluster_sizes: Tensor, size: int, rng: Rng = None) -> ContingencyTables:
    """Random tables with fixed margins, as from permuting the labels of one side.

    Args:
        class_sizes: ``(*batch, R)`` integers; batch shapes broadcast.
        cluster_sizes: ``(*batch, C)`` integers with the same sums.
        size: tables to draw for each pair of margins.
        rng: source of the draws: a whole number (a seed), a ``torch.Generator``, or None for torch's own.

    Returns:
        Int64 tables, ``(size, *batch, R, C)``.

    Raises:
        ValueError: sizes are negative or not integers, their sums differ or pass 2**53, ``size`` is not from 1 to
            10,000,000, or the tables do not fit in memory.

    >>> sizes = torch.tensor([2, 2]), torch.tensor([1, 3])  # of the classes and of the clusters
    >>> tables = tce.random_tables(*sizes, 5, rng=0)
    >>> tables.cluster_sizes.tolist()[0], tables.class_sizes.tolist()[0]
    ([1, 3], [2, 2])
    """
    rows, columns = _check_margins(class_sizes, cluster_sizes)
    batch, shape = rows.shape[:-1], (rows.shape[-1], columns.shape[-1])
    rows, columns = rows.reshape(batch.numel(), shape[0]), columns.reshape(batch.numel(), shape[1])

    def draw(count: int, generator: torch.Generator) -> Tensor:
        return fixed_margins(rows, columns, random_keys((count, len(rows)), generator))

    return _drawn(size, (*batch, *shape), rows.device, rng, draw)


@on_one_thread
def multinomial_tables(tables: ContingencyTables, size: int, rng: Rng = None) -> ContingencyTables:
    """Tables of resampled items: as many as each table has, drawn with replacement.

    Args:
        tables: integer tables, ``(*batch, R, C)``.
        size: tables to draw for each.
        rng: as in :func:`random_tables`.

    Returns:
        Int64 tables, ``(size, *batch, R, C)``, dense.

    Raises:
        ValueError: float tables, more than 2**53 items, items that only one side groups (``without_margins()`` leaves
            these out), ``size`` is not from 1 to 10,000,000, or the tables do not fit in memory.

    >>> tables = tce.ContingencyTables([[20, 10], [0, 30]])
    >>> drawn = tce.multinomial_tables(tables, 5, rng=0)
    >>> drawn.n_items.tolist()
    [60, 60, 60, 60, 60]
    """
    check_integer(tables)
    tables._refuse_unmatched()

    def draw(count: int, generator: torch.Generator) -> Tensor:
        cells = tables.shape[-2] * tables.shape[-1]
        return multinomial(tables.to_dense().counts.reshape(tables.batch_shape.numel(), cells), count, generator)

    return _drawn(size, tables.shape, tables.device, rng, draw)


def _drawn(
    size: int, shape: Sequence[int], device: torch.device, rng: Rng, draw: Callable[[int, torch.Generator], Tensor]
) -> ContingencyTables:
    """Tables ``(size, *shape)`` from draws of so many of all of them."""
    count, (*batch, rows, columns) = check_resamples(size, "size"), shape
    given = f"{count} x {math.prod(batch)}" if batch else str(count)
    message = f"size: expected tables that fit in memory; got {given} of {rows} x {columns} (draw fewer at a time)"
    with check_cells_fit(count * math.prod(shape), message):
        drawn = torch.cat([draw(n, source) for source, n in seeded_blocks(count, device, seeded(rng))])
    return ContingencyTables(drawn.reshape(count, *shape), validate=False)


def seeded_blocks(
    resamples: int, device: torch.device, generator: torch.Generator | None
) -> list[tuple[torch.Generator, int]]:
    """A generator for each block of resamples, and its number of resamples; seeded from one seed."""
    seed = seed_of(generator, device)
    # Generators on the CPU read 32 bits of a seed; with an odd stride no seed of one call occurs twice.
    seeds = [(seed + 0x9E3779B9 * i) % (1 << 32) for i in range(-(-resamples // RESAMPLES_PER_BLOCK))]
    left = [min(RESAMPLES_PER_BLOCK, resamples - i * RESAMPLES_PER_BLOCK) for i in range(len(seeds))]
    return [(torch.Generator(device).manual_seed(x), size) for x, size in zip(seeds, left, strict=True)]


def seed_of(generator: torch.Generator | None, device: torch.device) -> int:
    """A seed drawn from the generator, or from torch's own of a device."""
    source = device if generator is None else generator.device
    return int(torch.randint(1 << 32, (), generator=generator, device=source))


def check_resamples(count: int, name: str) -> int:
    """A positive whole number of resamples, small enough to keep all of them."""
    check_count(count, name)
    if count > _MAX_RESAMPLES:
        raise ValueError(f"{name}: expected a whole number of at most {_MAX_RESAMPLES:,}; got {str(count)[:40]}")
    return int(count)


def seeded(rng: Any) -> torch.Generator | None:
    """The generator of a seed; a generator and None as they are; raise on anything else."""
    if rng is None or isinstance(rng, torch.Generator):
        return rng
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)) or not 0 <= rng < 2**63:
        expected = "expected a whole number from 0 to 2**63 - 1, a torch.Generator or None"
        raise ValueError(f"rng: {expected}; got {brief(rng)}")
    return torch.Generator().manual_seed(int(rng))


def check_integer(tables: ContingencyTables) -> None:
    """Raise on float tables: items, not weights, are resampled or permuted."""
    check_tables(tables)
    if not tables.is_integer:
        remedy = "whole items are drawn: count without weights, or with weights of a whole-number type"
        raise ValueError(f"tables: expected integer counts to resample; got float64 masses ({remedy})")
    _check_items(tables.class_sizes, "tables")


def _check_items(sizes: Tensor, name: str) -> None:
    """Raise on more items than float64 can count; ``sizes`` is ``(*batch, groups)``."""
    items = sizes.double().sum(-1)
    if items.numel() and float(items.max()) > _MAX_ITEMS:
        raise ValueError(f"{name}: expected at most 2**53 items a table to draw from; got {float(items.max()):.3g}")


def _check_margins(class_sizes: Tensor, cluster_sizes: Tensor) -> tuple[Tensor, Tensor]:
    for name, sizes in (("class_sizes", class_sizes), ("cluster_sizes", cluster_sizes)):
        if not isinstance(sizes, Tensor):
            raise ValueError(f"{name}: expected a tensor of integers; got {type(sizes).__name__}")
        check_dense(sizes, name, "a dense tensor of integers")
        if sizes.is_floating_point() or sizes.is_complex() or sizes.dim() == 0:
            raise ValueError(f"{name}: expected integers of shape (*batch, groups); got {sizes.dtype}")
        if bool((sizes < 0).any()):
            raise ValueError(f"{name}: expected sizes of at least 0; got {int(sizes.min())}")
        _check_items(sizes, name)
    batch = torch.broadcast_shapes(class_sizes.shape[:-1], cluster_sizes.shape[:-1])
    rows, columns = (x.long().expand(*batch, x.shape[-1]) for x in (class_sizes, cluster_sizes))
    differ = rows.sum(-1) != columns.sum(-1)
    if bool(differ.any()):
        given = f"{int(rows.sum(-1)[differ][0])} and {int(columns.sum(-1)[differ][0])}"
        raise ValueError(f"cluster_sizes: expected the sum of class_sizes; got {given}")
    return rows, columns
