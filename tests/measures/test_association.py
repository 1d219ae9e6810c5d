"""Indices of pairs and association: independent sides, and the weights of Tversky."""

import pytest
import torch

from torchclusteval import MEASURES, ContingencyTables, measures


def test_independent_sides_have_exactly_no_association() -> None:
    tables = ContingencyTables(torch.outer(torch.tensor([7, 11, 13]), torch.tensor([2, 3, 5])) * 10**6)
    for name in ("chi_squared", "cramers_v", "tschuprows_t"):
        assert MEASURES[name](tables).item() == 0.0


def test_tversky_between_others() -> None:
    tables = ContingencyTables([[[5, 1, 0], [2, 3, 1], [0, 1, 4]], [[3, 0, 0], [0, 1, 0], [0, 0, 1]]])
    same = {(1, 1): "jaccard", (0.5, 0.5): "pair_f", (1, 0): "pair_precision", (0, 1): "pair_recall"}
    for weights, name in same.items():
        alpha, beta = weights
        value = measures.tversky(tables, alpha=alpha, beta=beta)
        assert value.tolist() == pytest.approx(MEASURES[name](tables).tolist(), rel=1e-15)
    assert measures.tversky(tables, alpha=0.25, beta=2)[0].item() == pytest.approx(20 / (20 + 21 / 4 + 2 * 20))
