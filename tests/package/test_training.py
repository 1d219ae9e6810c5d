"""Soft clusterings as losses: right gradients, finite ones at empty cells, and training that improves hard scores."""

from collections.abc import Callable

import pytest
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

import torchclusteval as tce
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


def digits() -> tuple[Tensor, Tensor]:
    images, classes = load_digits(return_X_y=True)
    return torch.tensor(images / 16, dtype=torch.float32), torch.tensor(classes)


OBJECTIVES: dict[str, Callable[[ContingencyTables], Tensor]] = {
    "nmi": lambda tables: 1 - tce.measures.nmi(tables),
    "adjusted_rand": lambda tables: 1 - tce.measures.adjusted_rand(tables),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_measure_as_the_loss_improves_the_hard_score(name: str) -> None:
    """A linear layer on digits, from a random start; items that it has not seen improve as well."""
    torch.manual_seed(0)
    images, classes = digits()
    seen, unseen = slice(0, 1200), slice(1200, None)
    model = nn.Linear(64, 10)

    def hard_score() -> float:
        with torch.no_grad():
            return float(tce.evaluate(classes[unseen], model(images[unseen]).argmax(1), name)[name])

    before = hard_score()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    truth = nn.functional.one_hot(classes[seen], 10)
    for _ in range(60):
        loss = OBJECTIVES[name](ContingencyTables.from_probabilities(truth, model(images[seen]).softmax(-1)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert hard_score() - before > 0.3
