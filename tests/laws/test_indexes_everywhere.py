"""What carries an index besides labels: probabilities, memberships; and keys that never meet."""

from typing import Any

import numpy as np
import pandas
import pytest
import torch

import torchclusteval as tce
from torchclusteval import ContingencyTables, Memberships

ORDER, TURNED = list("abcd"), list("acbd")
SHARES = pandas.DataFrame([[1.0, 0], [1, 0], [0, 1], [0, 1]], index=ORDER)
ONES = SHARES.astype(int)


def test_probabilities_are_of_the_same_items() -> None:
    accumulator = tce.ContingencyAccumulator(num_classes=2, num_clusters=2, weights=True)
    for call in (ContingencyTables.from_probabilities, accumulator.update_soft):
        with pytest.raises(ValueError, match="p_pred: expected the index of p_true; got the same labels in another"):
            call(SHARES, SHARES.loc[TURNED])
    assert ContingencyTables.from_probabilities(SHARES, SHARES).counts.tolist() == [[2, 0], [0, 2]]


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (Memberships.from_matrix, ONES),
        (Memberships.from_lists, pandas.Series([[1], [1], [2], [2]], index=ORDER)),
        (Memberships.from_dict, pandas.Series([[1], [1], [2], [2]], index=ORDER)),
        (Memberships.from_labels, pandas.Series([1, 1, 2, 2], index=ORDER)),
        (Memberships.from_hierarchy, pandas.Series([["x", 1], ["x", 1], ["x", 2], ["x", 2]], index=ORDER)),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_an_index_names_the_items_of_memberships(make: Any, given: Any) -> None:
    true, pred = make(given), make(given.loc[TURNED])
    assert true.items == tuple(ORDER)
    assert tce.evaluate_overlapping(true, pred, "omega_index")["omega_index"].item() == 1
    with pytest.raises(ValueError, match="items: expected each name once"):
        make(given.set_axis(["a", "a", "b", "c"]))


def test_tensors_are_no_names() -> None:
    """Two tensors with one value are two keys: nothing would be in common, without a word."""
    items = [set(torch.tensor([1, 2])), set(torch.tensor([3]))]
    one = torch.tensor(1)
    for call in (
        lambda: ContingencyTables.from_groups(items, items),
        lambda: ContingencyTables.from_groups(items, [{1, 2}, {3}]),
        lambda: ContingencyTables.from_documents({"d": items}, {"d": items}),
        lambda: ContingencyTables.from_documents({one: [[1]]}, {one: [[1]]}),
        lambda: ContingencyTables.from_intervals([(0, 1, one), (1, 2, torch.tensor(1))], [(0, 2, "a")]),
    ):
        with pytest.raises(ValueError, match="tensor"):
            call()
    groups = [torch.tensor([1, 2]), torch.tensor([3])]
    assert ContingencyTables.from_groups(groups, [{1, 2}, {3}]).counts.tolist() == [[2, 0], [0, 1]]
    years: Any = np.array(["2020", "2021"], "M8[Y]")
    assert ContingencyTables.from_groups([years], [list(years)]).counts.tolist() == [[2]]
