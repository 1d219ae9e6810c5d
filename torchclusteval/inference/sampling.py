"""Random tables for users, the seeds of resampling, and the checks of its arguments.

Permuting the labels of one side gives a random table with the same margins (the permutation model); drawing the items
again with replacement gives a multinomial sample over the cells (the bootstrap).
"""

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import check_cells_fit, check_count, check_dense
from torchclusteval.common.formatting import brief
from torchclusteval.common.threads import on_one_thread
from torchclusteval.inference.draws import fixed_margins, multinomial
from torchclusteval.tables import ContingencyTables, check_tables

REPLICATES_PER_BLOCK = 256  # replicates drawn by one generator
_MAX_REPLICATES = 10_000_000
_MAX_ITEMS = 2**53  # draws are whole numbers in float64


@on_one_thread
def random_tables(
    class_sizes: Tensor, cluster_sizes: Tensor, count: int, generator: torch.Generator | None = None
) -> ContingencyTables:
    """Tables with fixed margins, as permuting the labels of one side gives them.

    Args:
        class_sizes: ``(*batch, R)`` integers; batch shapes broadcast.
        cluster_sizes: ``(*batch, C)`` integers with the same sums.
        count: tables to draw for each pair of margins.
        generator: source of the one seed; by default torch's own.

    Returns:
        Int64 tables, ``(count, *batch, R, C)``.

    Raises:
        ValueError: sizes are negative or not integers, their sums differ or pass 2**53, ``count`` is not from 1 to
            10,000,000, or the tables do not fit in memory.

    >>> sizes = torch.tensor([2, 2]), torch.tensor([1, 3])  # of the classes and of the clusters
    >>> tables = tce.random_tables(*sizes, 5, generator=torch.Generator().manual_seed(0))
    >>> tables.cluster_sizes.tolist()[0], tables.class_sizes.tolist()[0]
    ([1, 3], [2, 2])
    """
    rows, columns = _check_margins(class_sizes, cluster_sizes)
    batch, shape = rows.shape[:-1], (rows.shape[-1], columns.shape[-1])
    rows, columns = rows.reshape(batch.numel(), shape[0]), columns.reshape(batch.numel(), shape[1])
    with _explain_size(check_replicates(count, "count"), batch, shape):
        blocks = seeded_blocks(count, rows.device, generator)
        drawn = torch.cat([fixed_margins(rows, columns, size, source) for source, size in blocks])
    return ContingencyTables(drawn.reshape(count, *batch, *shape), validate=False)


@on_one_thread
def multinomial_tables(
    tables: ContingencyTables, count: int, generator: torch.Generator | None = None
) -> ContingencyTables:
    """Tables of resampled items: as many as each table has, drawn with replacement.

    Args:
        tables: integer tables, ``(*batch, R, C)``.
        count: tables to draw for each.
        generator: source of the one seed; by default torch's own.

    Returns:
        Int64 tables, ``(count, *batch, R, C)``, dense.

    Raises:
        ValueError: float tables or more than 2**53 items, ``count`` is not from 1 to 10,000,000, or the tables do
            not fit in memory.

    >>> tables = tce.ContingencyTables([[20, 10], [0, 30]])
    >>> drawn = tce.multinomial_tables(tables, 5, generator=torch.Generator().manual_seed(0))
    >>> drawn.n_items.tolist()
    [60, 60, 60, 60, 60]
    """
    check_integer(tables)
    with _explain_size(check_replicates(count, "count"), tables.batch_shape, (tables.shape[-2], tables.shape[-1])):
        counts = tables.to_dense().counts
        flat = counts.reshape(tables.batch_shape.numel(), tables.shape[-2] * tables.shape[-1])
        blocks = seeded_blocks(count, flat.device, generator)
        drawn = torch.cat([multinomial(flat, size, source) for source, size in blocks])
    return ContingencyTables(drawn.reshape(count, *counts.shape), validate=False)


def seeded_blocks(
    replicates: int, device: torch.device, generator: torch.Generator | None
) -> list[tuple[torch.Generator, int]]:
    """A generator for each block of replicates, and its number of replicates; seeded from one seed."""
    check_generator(generator)
    source = device if generator is None else generator.device
    seed = int(torch.randint(1 << 32, (), generator=generator, device=source))
    # Generators on the CPU read 32 bits of a seed; with an odd stride no seed of one call occurs twice.
    seeds = [(seed + 0x9E3779B9 * i) % (1 << 32) for i in range(-(-replicates // REPLICATES_PER_BLOCK))]
    left = [min(REPLICATES_PER_BLOCK, replicates - i * REPLICATES_PER_BLOCK) for i in range(len(seeds))]
    return [(torch.Generator(device).manual_seed(x), size) for x, size in zip(seeds, left, strict=True)]


def check_replicates(count: int, name: str) -> int:
    """A positive whole number of replicates, small enough to keep all of them."""
    check_count(count, name)
    if count > _MAX_REPLICATES:
        raise ValueError(f"{name}: expected a whole number of at most {_MAX_REPLICATES:,}; got {str(count)[:40]}")
    return int(count)


def check_generator(generator: Any) -> None:
    """Raise on an argument other than a generator, such as a seed."""
    if generator is not None and not isinstance(generator, torch.Generator):
        raise ValueError(f"generator: expected a torch.Generator or None; got {type(generator).__name__}")


def seeded(generator: Any, seed: Any) -> torch.Generator | None:
    """The generator, or one of this seed.

    Raises:
        ValueError: both are given, or they are not as described.
    """
    if isinstance(generator, int):
        raise ValueError("generator: expected a torch.Generator or None; got int (seed= takes a number)")
    check_generator(generator)
    if seed is None:
        known: torch.Generator | None = generator
        return known
    if generator is not None:
        raise ValueError("seed: expected None beside generator=; got both")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**63:
        raise ValueError(f"seed: expected a whole number from 0 to 2**63 - 1; got {brief(seed)}")
    return torch.Generator().manual_seed(int(seed))


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


def _explain_size(count: int, batch: torch.Size, shape: tuple[int, int]) -> AbstractContextManager[None]:
    tables = f"{count} x {batch.numel()}" if batch else str(count)
    given = f"{tables} of {shape[0]} x {shape[1]}"
    message = f"count: expected tables that fit in memory; got {given} (draw fewer at a time)"
    return check_cells_fit(count * batch.numel() * shape[0] * shape[1], message)


def _check_margins(class_sizes: Tensor, cluster_sizes: Tensor) -> tuple[Tensor, Tensor]:
    for name, sizes in (("class_sizes", class_sizes), ("cluster_sizes", cluster_sizes)):
        if not isinstance(sizes, Tensor):
            raise ValueError(f"{name}: expected a tensor of integers; got {type(sizes).__name__}")
        check_dense(sizes, name, "a dense tensor of integers")
        if sizes.is_floating_point() or sizes.is_complex() or sizes.dim() == 0:
            raise ValueError(f"{name}: expected integers of shape (*batch, groups); got {sizes.dtype}")
        if bool((sizes < 0).any()):
            raise ValueError(f"{name}: expected sizes of at least 0; got {int(sizes.min())}")
    try:
        batch = torch.broadcast_shapes(class_sizes.shape[:-1], cluster_sizes.shape[:-1])
    except RuntimeError:
        given = f"{tuple(class_sizes.shape)} and {tuple(cluster_sizes.shape)}"
        raise ValueError(f"cluster_sizes: expected a batch shape that broadcasts; got {given}") from None
    for name, sizes in (("class_sizes", class_sizes), ("cluster_sizes", cluster_sizes)):
        _check_items(sizes, name)
    rows, columns = (x.long().expand(*batch, x.shape[-1]) for x in (class_sizes, cluster_sizes))
    differ = rows.sum(-1) != columns.sum(-1)
    if bool(differ.any()):
        given = f"{int(rows.sum(-1)[differ][0])} and {int(columns.sum(-1)[differ][0])}"
        raise ValueError(f"cluster_sizes: expected the sum of class_sizes; got {given}")
    return rows, columns
