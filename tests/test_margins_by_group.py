"""Groups of items, some of which only one side groups: values by hand, and what is empty."""

import pytest
import torch

import torchclusteval as tce
from torchclusteval import ContingencyTables


def test_items_without_a_group_at_all() -> None:
    tables = ContingencyTables.from_labels([0, 0, 0], [0, 0, 0], by=[1, 1, 2], absent_true=0, absent_pred=0)
    assert tables.batch_shape == (2,)
    assert tables.n_items.tolist() == [0, 0]
    assert tables.n_considered.tolist() == [0, 0]
    assert tables.whole_class_sizes.sum() == tables.whole_cluster_sizes.sum() == 0


def test_pooled_documents_add_up() -> None:
    """By hand: documents a (classes xy and z, clusters xw) and b (one class and cluster of two)."""
    documents = {"a": [{"x", "y"}, {"z"}], "b": [{1, 2}]}, {"a": [{"x", "w"}], "b": [{1, 2}]}
    pooled = tce.pooled(ContingencyTables.from_documents(*documents), "coreference")
    found = {name: round(pooled[name].item(), 12) for name in ("muc_recall", "muc_precision", "coref_bcubed_recall")}
    assert found == {"muc_recall": 0.5, "muc_precision": 0.5, "coref_bcubed_recall": 0.5}
    assert pooled["merge_distance"].item() == 2
    nothing = ContingencyTables.from_documents({"a": []}, {"a": []})
    assert tce.pooled(nothing, "muc_f")["muc_f"].isnan()
    assert tce.pooled(nothing, "muc_f", zero_division=0.0)["muc_f"].item() == 0
    with pytest.raises(ValueError, match="zero_division: expected None, as no measure"):
        tce.evaluate_tables(nothing, "rand", zero_division=0.0)


def test_pooled_gradients_are_finite_without_objects() -> None:
    counts = torch.zeros(2, 2, 2, dtype=torch.float64, requires_grad=True)
    for name, value in tce.pooled(ContingencyTables(counts), ["segmentation", "tracking"]).items():
        if value.requires_grad:
            (gradient,) = torch.autograd.grad(value, counts, retain_graph=True)
            assert gradient.isfinite().all(), name
