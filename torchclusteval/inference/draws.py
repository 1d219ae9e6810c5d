"""Random tables drawn from a table or its margins, batched over tables and resamples.

Each table is drawn by a binary tree of hypergeometric or binomial draws, so the cost does not depend on the number of
items. Every draw is batched over tables, resamples and the nodes of a level of the tree, and follows its law exactly
up to rounding.
"""

import torch
from torch import Tensor

from torchclusteval.inference.hypergeometric import LogFactorials, hypergeometric


def fixed_margins(rows: Tensor, columns: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Random tables ``(count, B, R, C)`` int64 with margins ``(B, R)`` and ``(B, C)`` int64.

    Rows are halved until each node is one row; at each node a multivariate hypergeometric draw decides how many items
    of every column belong to the left half.
    """
    logs = LogFactorials(rows)
    levels = _pyramid(rows.double())  # from single rows to their sum
    node = columns.double().expand(count, *columns.shape).unsqueeze(-2)  # (count, B, 1, C)
    for level in reversed(levels[:-1]):
        wanted = level[..., 0::2].expand(count, *level[..., 0::2].shape)
        left = _multivariate_hypergeometric(node, wanted, generator, logs)
        node = torch.stack([left, node - left], -2).flatten(-3, -2)[..., : level.shape[-1], :]
    return node.long()


def _multivariate_hypergeometric(
    available: Tensor, wanted: Tensor, generator: torch.Generator, logs: LogFactorials
) -> Tensor:
    """How many items of each kind are among ``wanted`` ``(...)`` items drawn from the ``available`` ``(..., C)``."""
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
    """``x``, the sums of its neighbouring pairs, the sums of neighbouring pairs of these ..., the sum of all."""
    levels = [x]
    while levels[-1].shape[-1] > 1:
        pairs = _even(levels[-1])
        levels.append(pairs[..., 0::2] + pairs[..., 1::2])
    return levels


def _even(x: Tensor) -> Tensor:
    """``x`` with a zero after an odd number of entries."""
    return torch.nn.functional.pad(x, (0, 1)) if x.shape[-1] % 2 else x
