"""Batches and steps that are the same for torchmetrics' metric objects and ours."""

from typing import Any

import pytest
import torch
from torch import Tensor


def labels(n: int = 300, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Predictions and targets that agree in part."""
    generator = torch.Generator().manual_seed(seed)
    target, other = torch.randint(4, (n,), generator=generator), torch.randint(5, (n,), generator=generator)
    return torch.where(torch.rand(n, generator=generator) < 0.6, target, other), target


SIZES: dict[str, dict[str, Any]] = {"no sizes": {}, "sizes": {"num_classes": 5, "num_clusters": 5}}
every_state = pytest.mark.parametrize("options", SIZES.values(), ids=SIZES)
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


def assert_same(found: Any, expected: Any) -> None:
    """Theirs are float32."""
    if isinstance(expected, Tensor):
        assert found.shape == expected.shape
        assert found.double().tolist() == pytest.approx(expected.double().tolist(), rel=1e-4, abs=1e-6)
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            assert_same(found[name], value)
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)
    elif isinstance(expected, torch.nn.Module):
        assert type(found).__name__ == type(expected).__name__
    else:
        assert found == expected
