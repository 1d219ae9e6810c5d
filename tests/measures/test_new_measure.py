"""A new measure of an existing family is a function and its decorator; all else follows."""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from torch import Tensor

import torchclusteval as tce
from torchclusteval import ContingencyTables
from torchclusteval.measures.matching import majority_of_clusters, matched_items
from torchclusteval.measures.record import _TEXTS, MADE, UNIT, measure
from torchclusteval.measures.sums import Sums, ratio

COMPLETED = """\
Items of the best matching for each item of the largest class of its cluster.

Args:
    power: of the quotient.

Range: 0 to 1, higher is better.
Degenerate: nan without items.
Source: Nobody (2026).

>>> tce.measures.matched_majority(tce.ContingencyTables([[2, 1], [0, 3]]))
tensor(1., dtype=torch.float64)"""


@pytest.fixture
def throw_away() -> Iterator[str]:
    @measure(
        "matching", range=UNIT, source=("nobody2026", "Nobody (2026)"), sums=Sums(matched_items, majority_of_clusters)
    )
    def matched_majority(tables: ContingencyTables, power: float = 1.0) -> Tensor:
        """Items of the best matching for each item of the largest class of its cluster.

        Args:
            power: of the quotient.

        Example: 1.
        """
        return ratio(matched_items(tables), majority_of_clusters(tables).double(), tables) ** power

    assert inspect.getdoc(matched_majority) == COMPLETED
    yield "matched_majority"
    del MADE["matched_majority"], _TEXTS["nobody2026"]


def test_a_throw_away_measure(throw_away: str, run: Any) -> None:
    true, pred, by = [0, 0, 1, 1, 0, 1, 1], [0, 0, 1, 0, 0, 1, 2], [0, 0, 0, 0, 1, 1, 1]
    assert tce.MEASURES[throw_away].source == "nobody2026"
    assert tce.evaluate(true, pred, throw_away)[throw_away].item() == 5 / 6
    assert throw_away in tce.evaluate(true, pred, "matching")
    groups = ContingencyTables.from_labels(true, pred, by=by)
    assert tce.evaluate_tables(groups, throw_away)[throw_away].tolist() == [1, 2 / 3]
    assert tce.pooled(groups, throw_away)[throw_away].item() == 5 / 6
    assert "Nobody (2026)" in run("measures", throw_away).out
    assert throw_away in run("measures").out


def test_it_is_gone_again_and_no_name_is_given_twice(throw_away: str) -> None:
    with pytest.raises(ValueError, match=f"name: expected a name that no measure has; got '{throw_away}'"):
        measure("matching", range=UNIT, variants={throw_away: {}})(tce.measures.purity)
