"""Restarts of a method, some of which are the same partition."""

import torch


def restarts(items: int = 60) -> tuple[torch.Tensor, torch.Tensor]:
    """Three partitions under names of their own, a table that is the same for two of them, and one of four clusters."""
    generator = torch.Generator().manual_seed(0)
    true = torch.arange(items) % 3
    a = torch.where(
        torch.rand(items, generator=generator) < 0.2, torch.randint(0, 3, (items,), generator=generator), true
    )
    b = true.clone()
    b[:3] = torch.tensor([1, 2, 0])
    swapped = b.clone()
    swapped[:6] = torch.tensor([0, 1, 2, 1, 2, 0])  # other items of the same classes: the same table
    four = torch.arange(items) % 4
    names = [torch.randperm(9, generator=generator) for _ in range(8)]
    return true, torch.stack([name[x] for name, x in zip(names, (a, b, a, four, swapped, b, b, true), strict=True)])
