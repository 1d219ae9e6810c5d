"""Random tables: with fixed margins (the permutation model), or of items drawn again (the bootstrap).

Permuting the labels of one side gives a random table with the same margins; drawing the items again with
replacement gives a multinomial sample over the cells. Both are drawn from the table itself, by a binary tree of
hypergeometric or binomial draws, so the number of items costs nothing. Every draw is batched over tables,
replicates and the nodes of a level of the tree, and follows its law exactly up to rounding.

Each hypergeometric draw is a ratio of uniforms under a table-mountain hat (Stadlober 1990): with ``a`` the mean
plus 1/2 and ``h`` a width, ``x = floor(a + h (v - 1/2) / u)`` is kept where ``u^2`` is at most the probability of
``x`` relative to the mode.
"""

from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor

from torchclusteval.common.checks import explain_out_of_memory
from torchclusteval.inference.hypergeometric import LogFactorials, hypergeometric
from torchclusteval.tables import ContingencyTables, check_tables

BLOCK = 256  # replicates that share a generator
_MOST_REPLICATES = 10_000_000
_MOST_CELLS = 2**32  # of all tables that are drawn
_MOST_ITEMS = 2**53  # draws are whole numbers in float64


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
    """
    rows, columns = _check_margins(class_sizes, cluster_sizes)
    batch, shape = rows.shape[:-1], (rows.shape[-1], columns.shape[-1])
    rows, columns = rows.reshape(batch.numel(), shape[0]), columns.reshape(batch.numel(), shape[1])
    with _room(check_replicates(count, "count"), batch, shape):
        blocks = seeded_blocks(count, rows.device, generator)
        drawn = torch.cat([fixed_margins(rows, columns, size, source) for source, size in blocks])
    return ContingencyTables(drawn.reshape(count, *batch, *shape), validate=False)


def multinomial_tables(
    tables: ContingencyTables, count: int, generator: torch.Generator | None = None
) -> ContingencyTables:
    """Tables of items drawn again with replacement, as many as each table has.

    Args:
        tables: integer tables, ``(*batch, R, C)``.
        count: tables to draw for each.
        generator: source of the one seed; by default torch's own.

    Returns:
        Int64 tables, ``(count, *batch, R, C)``, dense.

    Raises:
        ValueError: float tables or more than 2**53 items, ``count`` is not from 1 to 10,000,000, or the tables do
            not fit in memory.
    """
    check_integer(tables)
    with _room(check_replicates(count, "count"), tables.batch_shape, (tables.shape[-2], tables.shape[-1])):
        counts = tables.to_dense().counts
        flat = counts.reshape(tables.batch_shape.numel(), tables.shape[-2] * tables.shape[-1])
        blocks = seeded_blocks(count, flat.device, generator)
        drawn = torch.cat([multinomial(flat, size, source) for source, size in blocks])
    return ContingencyTables(drawn.reshape(count, *counts.shape), validate=False)


def seeded_blocks(
    replicates: int, device: torch.device, generator: torch.Generator | None
) -> list[tuple[torch.Generator, int]]:
    """Blocks of replicates with a generator each, from one seed and the number of the block."""
    check_generator(generator)
    place = device if generator is None else generator.device
    seed = int(torch.randint(1 << 32, (), generator=generator, device=place))
    # Generators on the CPU read 32 bits of a seed; an odd stride keeps the blocks of one call apart.
    seeds = [(seed + 0x9E3779B9 * i) % (1 << 32) for i in range(-(-replicates // BLOCK))]
    left = [min(BLOCK, replicates - i * BLOCK) for i in range(len(seeds))]
    return [(torch.Generator(device).manual_seed(x), size) for x, size in zip(seeds, left, strict=True)]


def check_count(count: int, name: str) -> int:
    """A positive whole number."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"{name}: expected a whole number of at least 1; got {count!r}")
    return count


def check_replicates(count: int, name: str) -> int:
    """A positive whole number of replicates, which all are kept."""
    if check_count(count, name) > _MOST_REPLICATES:
        raise ValueError(f"{name}: expected a whole number of at most {_MOST_REPLICATES:,}; got {str(count)[:40]}")
    return count


def check_generator(generator: Any) -> None:
    """Raise on what is no generator, such as a seed."""
    if generator is not None and not isinstance(generator, torch.Generator):
        raise ValueError(f"generator: expected a torch.Generator or None; got {type(generator).__name__}")


def check_integer(tables: ContingencyTables) -> None:
    """Raise on tables of masses: items, not weights, are drawn again or permuted."""
    check_tables(tables)
    if not tables.is_integer:
        raise ValueError("tables: expected integer counts to resample; got float64 masses")
    _check_items(tables.class_sizes, "tables")


def _check_items(sizes: Tensor, name: str) -> None:
    """Raise on more items than draws in float64 can count; ``sizes`` is ``(*batch, groups)``."""
    items = sizes.double().sum(-1)
    if items.numel() and float(items.max()) > _MOST_ITEMS:
        raise ValueError(f"{name}: expected at most 2**53 items a table to draw from; got {float(items.max()):.3g}")


def _room(count: int, batch: torch.Size, shape: tuple[int, int]) -> AbstractContextManager[None]:
    tables = f"{count} x {batch.numel()}" if batch else str(count)
    found = f"{tables} of {shape[0]} x {shape[1]}"
    message = f"count: expected tables that fit in memory; got {found} (draw fewer at a time)"
    if count * batch.numel() * shape[0] * shape[1] > _MOST_CELLS:
        raise ValueError(message)
    return explain_out_of_memory(message)


def _check_margins(class_sizes: Tensor, cluster_sizes: Tensor) -> tuple[Tensor, Tensor]:
    for name, sizes in (("class_sizes", class_sizes), ("cluster_sizes", cluster_sizes)):
        if not isinstance(sizes, Tensor):
            raise ValueError(f"{name}: expected a tensor of integers; got {type(sizes).__name__}")
        if sizes.is_floating_point() or sizes.is_complex() or sizes.dim() == 0:
            raise ValueError(f"{name}: expected integers of shape (*batch, groups); got {sizes.dtype}")
        if bool((sizes < 0).any()):
            raise ValueError(f"{name}: expected sizes of at least 0; got {int(sizes.min())}")
    try:
        batch = torch.broadcast_shapes(class_sizes.shape[:-1], cluster_sizes.shape[:-1])
    except RuntimeError:
        found = f"{tuple(class_sizes.shape)} and {tuple(cluster_sizes.shape)}"
        raise ValueError(f"cluster_sizes: expected a batch shape that broadcasts; got {found}") from None
    for name, sizes in (("class_sizes", class_sizes), ("cluster_sizes", cluster_sizes)):
        _check_items(sizes, name)
    rows, columns = (x.long().expand(*batch, x.shape[-1]) for x in (class_sizes, cluster_sizes))
    differ = rows.sum(-1) != columns.sum(-1)
    if bool(differ.any()):
        found = f"{int(rows.sum(-1)[differ][0])} and {int(columns.sum(-1)[differ][0])}"
        raise ValueError(f"cluster_sizes: expected the sum of class_sizes; got {found}")
    return rows, columns


# --- trees of draws ---------------------------------------------------------------------------------------


def fixed_margins(rows: Tensor, columns: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Random tables ``(count, B, R, C)`` int64 with margins ``(B, R)`` and ``(B, C)`` int64.

    Rows are halved until each node is one row; the items of every column go to the left half of a node by a
    multivariate hypergeometric draw.
    """
    logs = LogFactorials(rows)
    levels = _pyramid(rows.double())  # from single rows to all of them
    node = columns.double().expand(count, *columns.shape).unsqueeze(-2)  # (count, B, 1, C)
    for level in reversed(levels[:-1]):
        wanted = level[..., 0::2].expand(count, *level[..., 0::2].shape)
        left = _share_out(node, wanted, generator, logs)
        node = torch.stack([left, node - left], -2).flatten(-3, -2)[..., : level.shape[-1], :]
    return node.long()


def _share_out(available: Tensor, wanted: Tensor, generator: torch.Generator, logs: "LogFactorials") -> Tensor:
    """How many of the ``available`` items ``(..., C)`` of each kind are among ``wanted`` drawn ones ``(...)``."""
    levels = _pyramid(available)
    drawn = wanted.unsqueeze(-1)
    for level in reversed(levels[:-1]):
        pairs = _even(level)
        left = hypergeometric(pairs[..., 0::2], pairs[..., 1::2], drawn, generator, logs)
        drawn = torch.stack([left, drawn - left], -1).flatten(-2)[..., : level.shape[-1]]
    return drawn


def multinomial(counts: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Multinomial samples ``(count, B, Z)`` int64 of the sums of ``counts`` ``(B, Z)``, in their proportions."""
    levels = _pyramid(counts.double())
    drawn = levels[-1].expand(count, *levels[-1].shape)
    for level in reversed(levels[:-1]):
        pairs = _even(level)
        share = pairs[..., 0::2] / (pairs[..., 0::2] + pairs[..., 1::2]).clamp(min=1)
        left = torch.binomial(drawn.contiguous(), share.expand(drawn.shape).contiguous(), generator=generator)
        drawn = torch.stack([left, drawn - left], -1).flatten(-2)[..., : level.shape[-1]]
    return drawn.long()


def _pyramid(x: Tensor) -> list[Tensor]:
    """``x`` and its sums over neighbours, over neighbours of those ..., down to the sum of all, ``(..., 1)``."""
    levels = [x]
    while levels[-1].shape[-1] > 1:
        pairs = _even(levels[-1])
        levels.append(pairs[..., 0::2] + pairs[..., 1::2])
    return levels


def _even(x: Tensor) -> Tensor:
    return torch.nn.functional.pad(x, (0, 1)) if x.shape[-1] % 2 else x


# --- one draw ---------------------------------------------------------------------------------------------
