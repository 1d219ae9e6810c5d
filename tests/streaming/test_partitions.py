"""An accumulator for each partition of a frame: workers send them, and one is merged from all."""

import pickle
import pickletools
from functools import reduce

import pytest
import torch

import torchclusteval as tce
from tests.support.processes import ROOT
from torchclusteval import ContingencyAccumulator


def counted(number: int) -> ContingencyAccumulator:
    """The accumulator of a partition, as a worker makes it."""
    items = torch.arange(100 * number, 100 * number + 100)
    words = [f"group {x}" for x in (items % 7).tolist()]
    return ContingencyAccumulator(batch_shape=(2,)).update(words, torch.stack([items % 5, items % 11]))


def test_accumulators_of_workers_are_merged() -> None:
    dask = pytest.importorskip("dask")
    delayed = [dask.delayed(counted)(number) for number in range(4)]
    parts = dask.compute(*delayed, scheduler="processes", num_workers=2)
    items = torch.arange(400)
    scores = reduce(ContingencyAccumulator.merge, parts).scores(["ami", "nca"])
    expected = tce.evaluate(items % 7, torch.stack([items % 5, items % 11]), ["ami", "nca"])
    assert scores.n_items.tolist() == [400, 400]
    for name in expected:
        torch.testing.assert_close(scores[name], expected[name], rtol=1e-12, atol=1e-12)


def test_pickles_are_small_and_name_no_private_module() -> None:
    """32 bytes for each cell, and about 1 KB."""
    few, many = (pickle.dumps(ContingencyAccumulator().update(torch.arange(n), torch.arange(n))) for n in (1, 10_001))
    assert len(few) < 1500
    assert len(many) < len(few) + 33 * 10_000
    names = {argument for _, argument, _ in pickletools.genops(few) if isinstance(argument, str)}
    assert {name for name in names if name.startswith("torchclusteval")} == {"torchclusteval"}


def test_a_pickle_of_an_earlier_version_loads() -> None:
    accumulator = pickle.loads((ROOT / "tests" / "golden" / "accumulator.pickle").read_bytes())
    accumulator.update(["b"], {"k2": ["y"], "k3": ["?"]})
    tables = accumulator.tables()
    assert tables.names == ("k2", "k3")
    assert tables.classes.tolist() == ["a", "b", "c"]
    assert tables.clusters.tolist() == ["x", "y", "z", "?"]
    assert tables.to_dense().counts.tolist() == [
        [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 1]],
        [[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]],
    ]


@pytest.mark.parametrize("options", [{}, {"num_classes": 3, "num_clusters": 3}, {"weights": True, "absent_true": -1}])
def test_copies_go_on_alone(options: dict[str, object]) -> None:
    accumulator = ContingencyAccumulator(**options).update([0, 1, 2], [0, 0, 1])  # type: ignore[arg-type]
    loaded = pickle.loads(pickle.dumps(accumulator)).update([2], [1])
    assert float(loaded.n_considered) == 4
    assert float(accumulator.n_considered) == 3
    assert f"n_considered={accumulator.n_considered.item()}, device" in repr(accumulator)
    expected = pytest.approx(1 - 4 / 21)  # (0, 0) twice and (1, 0) twice
    assert loaded.merge(accumulator).scores("rand")["rand"].item() == expected
