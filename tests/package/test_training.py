"""Soft clusterings as losses: right gradients, finite ones at empty cells."""

import pytest
import torch
from torch import Tensor, nn

from torchclusteval import MEASURES, ContingencyTables

LOSSES = [name for name, measure in MEASURES.items() if not (measure.on_host or measure.integer_only)]

# Items of three classes; zeros are assignments that stay impossible, so that cells (1, 0) and (2, 1) stay empty.
CLASSES = torch.tensor([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2])
POSSIBLE = torch.tensor([[1, 1, 1], [0, 1, 1], [1, 0, 1]], dtype=torch.float64)


def soft_tables(scores: Tensor) -> ContingencyTables:
    """Tables ``(2, 3, 3)`` of soft assignments with impossible ones, from unbounded scores ``(2, 12, 3)``."""
    possible = POSSIBLE[CLASSES]
    weights = scores.exp() * possible
    return ContingencyTables.from_probabilities(
        nn.functional.one_hot(CLASSES, 3), weights / weights.sum(-1, keepdim=True)
    )


def random_scores(seed: int = 0) -> Tensor:
    return torch.randn(2, 12, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_the_slopes(name: str) -> None:
    """Against finite differences; two cells of each table are exactly 0."""
    scores = random_scores().requires_grad_()
    assert int((soft_tables(scores).counts == 0).sum()) == 4
    assert torch.autograd.gradcheck(lambda x: MEASURES[name](soft_tables(x)), scores, eps=1e-6, atol=1e-6, rtol=1e-4)
