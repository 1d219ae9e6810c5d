"""Batches and steps that are the same for torchmetrics' metric objects and ours."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def labels(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Predictions and targets that agree in part."""
    generator = torch.Generator().manual_seed(seed)
    target, other = torch.randint(4, (n,), generator=generator), torch.randint(5, (n,), generator=generator)
    return torch.where(torch.rand(n, generator=generator) < 0.6, target, other), target


BATCHES = [labels(60, seed) for seed in range(6)]


def updated(metric: Any, steps: int = 3) -> Any:
    for preds, target in BATCHES[:steps]:
        metric.update(preds, target)
    return metric


def forwarded(metric: Any, steps: int = 3) -> list[Any]:
    return [metric(preds, target) for preds, target in BATCHES[:steps]]


def flags(metric: Any) -> list[Any]:
    """What torchmetrics remembers of the state of an object."""
    names = ("update_count", "_is_synced", "_should_unsync", "_to_sync", "_enable_grad", "compute_on_cpu", "_computed")
    return [getattr(metric, name) for name in names]
