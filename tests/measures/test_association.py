"""Indices of pairs and association: large tables in exact arithmetic, options, names of other libraries."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

import torchclusteval as tce
from tests.support.strategies import LAYOUTS
from torchclusteval import MEASURES, ContingencyTables, measures

both_layouts = pytest.mark.parametrize("layout", LAYOUTS)
Table = Sequence[Sequence[int]]


def test_independent_sides_have_exactly_no_association() -> None:
    tables = ContingencyTables(torch.outer(torch.tensor([7, 11, 13]), torch.tensor([2, 3, 5])) * 10**6)
    for name in ("chi_squared", "cramers_v", "tschuprows_t"):
        assert MEASURES[name](tables).item() == 0.0


def test_tversky_between_others() -> None:
    tables = ContingencyTables([[[5, 1, 0], [2, 3, 1], [0, 1, 4]], [[3, 0, 0], [0, 1, 0], [0, 0, 1]]])
    for weights, name in {
        (1, 1): "jaccard",
        (0.5, 0.5): "pair_f",
        (1, 0): "pair_precision",
        (0, 1): "pair_recall",
    }.items():
        alpha, beta = weights
        value = measures.tversky(tables, alpha=alpha, beta=beta)
        assert value.tolist() == pytest.approx(MEASURES[name](tables).tolist(), rel=1e-15)
    assert measures.tversky(tables, alpha=0.25, beta=2)[0].item() == pytest.approx(20 / (20 + 21 / 4 + 2 * 20))
    for bad in (-1, float("nan"), "1"):
        with pytest.raises(ValueError, match="alpha: expected"):
            measures.tversky(tables, alpha=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("dice", "pair_f"),
        ("russell_rao", "hubert_gamma"),
        ("gower_legendre", "sokal_sneath_2"),
        ("split_join", "van_dongen"),
        ("partitionComparison:sokalSneath1", "sokal_sneath_4"),
        ("clusterCrit:Sokal_Sneath1", "sokal_sneath_1"),
        ("clustercrit:phi", "pearson_unrooted"),
    ],
)
def test_names_of_other_libraries(name: str, meant: str) -> None:
    assert list(tce.evaluate([0, 0, 1, 2], [0, 1, 1, 2], name).names) == [meant]


def test_unqualified_names_that_libraries_disagree_on_are_not_known() -> None:
    for name in ("phi", "pearson", "sokal_sneath1"):
        with pytest.raises(ValueError, match="expected the name of a measure"):
            tce.evaluate([0, 0, 1, 2], [0, 1, 1, 2], name)
