"""An accumulator is the tables of all its items at once, whatever happens to it between chunks."""

import copy
import io
import pickle
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from torch import Tensor

from tests.support.streams import KINDS, cells_by_label, margins_by_label
from torchclusteval import ContingencyAccumulator, ContingencyTables

STREAMS = [  # sizes that are given, and kind of the labels
    ("both", "small"),
    ("both", "uint8"),
    ("classes", "lists"),
    ("clusters", "int32"),
    ("none", "small"),
    ("none", "huge and negative"),
    ("none", "uint64"),
    ("none", "text"),
    ("none", "text"),
]
SIZES = {"both": (4, 5), "classes": (6, None), "clusters": (None, 6), "none": (None, None)}
WEIGHTS = {"none": [1.0], "integers": [0.0, 1.0, 2.0, 5.0], "floats": [1.0, 1.25, 2.5]}  # quarters: exact sums
NOISE: list[dict[str, Any]] = [
    {},
    {"noise_label": 3},
    {"noise_label": 3, "noise": "cluster"},
    {"noise_label": 3, "noise": "singletons"},
    {"absent_true": 1, "absent_pred": 3},
    {"absent_true": 5, "noise_label": 3},
]

Item = tuple[int, tuple[int, int], bool, int]  # class, cluster in each of two clusterings, mask, number of its weight
ITEMS = st.lists(
    st.tuples(st.integers(0, 5), st.tuples(st.integers(0, 5), st.integers(0, 5)), st.booleans(), st.integers(0, 11)),
    max_size=8,
)


@dataclass(frozen=True)
class Stream:
    """What all chunks of a stream have in common."""

    kind: str  # of labels, as in KINDS
    sizes: str
    weights: str
    batched: bool
    options: dict[str, Any]

    def accumulator(self) -> ContingencyAccumulator:
        num_classes, num_clusters = SIZES[self.sizes]
        shape = (2,) if self.batched else ()
        floats = self.weights == "floats"
        # With both sizes labels outside the codes are excluded, not refused.
        return ContingencyAccumulator(
            num_classes, num_clusters, batch_shape=shape, weights=floats, validate=self.sizes != "both", **self.options
        )

    def arguments(self, items: list[Item]) -> dict[str, Any]:
        """The arguments of ``update`` and of ``from_labels`` that hold these items."""
        choices = WEIGHTS[self.weights]
        dtype = torch.float64 if self.weights == "floats" else torch.int64
        weights = torch.tensor([choices[number % len(choices)] for *_, number in items], dtype=dtype)
        true, pred = self.labels(items)
        return {
            "labels_true": KINDS[self.kind](true),
            "labels_pred": KINDS[self.kind](pred),
            "mask": torch.tensor([item[2] for item in items], dtype=torch.bool),
            "weights": None if self.weights == "none" else weights,
        }

    def labels(self, items: list[Item]) -> tuple[Tensor, Tensor]:
        true = torch.tensor([item[0] for item in items], dtype=torch.int64)
        pred = torch.tensor([item[1] for item in items], dtype=torch.int64).reshape(-1, 2).T
        return true, pred if self.batched else pred[0]

    def tables(self, items: list[Item]) -> ContingencyTables:
        num_classes, num_clusters = SIZES[self.sizes]
        sizes: dict[str, Any] = {"num_classes": num_classes, "num_clusters": num_clusters}
        # With both sizes labels outside the codes are excluded, not refused.
        return ContingencyTables.from_labels(
            **self.arguments(items), **sizes, **self.options, validate=self.sizes != "both"
        )


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    sizes, kind = draw(st.sampled_from(STREAMS))
    options = dict(draw(st.sampled_from(NOISE)))
    if sizes in ("both", "clusters") and options.get("noise") == "singletons":
        options = {}
    if draw(st.booleans()):
        options["ignore_index"] = 2
    for name in {"ignore_index", "noise_label", "absent_true", "absent_pred"} & set(options):
        (label,) = KINDS[kind](torch.tensor([options[name]]))
        options[name] = label.item() if isinstance(label, Tensor) else label
    weights = "none" if options.get("noise") == "singletons" else draw(st.sampled_from(list(WEIGHTS)))
    return Stream(kind=kind, sizes=sizes, weights=weights, batched=draw(st.booleans()), options=options)


def columns(tables: ContingencyTables) -> list[list[list[float]]]:
    """Non-empty columns of each table in sorted order; noise singletons of a table may change places."""
    counts = tables.to_dense().counts
    shape = (max(1, tables.batch_shape.numel()), *counts.shape[-2:])
    return [sorted(x for x in table if any(x)) for table in counts.reshape(shape).mT.tolist()]


def assert_same(tables: ContingencyTables, expected: ContingencyTables, singletons: bool = False) -> None:
    assert tables.batch_shape == expected.batch_shape
    assert torch.equal(tables.n_items, expected.n_items)
    assert torch.equal(tables.coverage.nan_to_num(-1), expected.coverage.nan_to_num(-1))
    if singletons:
        assert columns(tables) == columns(expected)
    else:
        assert cells_by_label(tables) == cells_by_label(expected)
        assert margins_by_label(tables) == margins_by_label(expected)


@dataclass
class Part:
    """An accumulator and all its items."""

    accumulator: ContingencyAccumulator
    items: list[Item] = field(default_factory=list)


class AccumulatorMachine(RuleBasedStateMachine):
    """Three accumulators of one stream, a saved state and a snapshot of tables."""

    NUMBERS = st.integers(0, 2)

    @initialize(stream=streams(), first=ITEMS, second=ITEMS)
    def begin(self, stream: Stream, first: list[Item], second: list[Item]) -> None:
        self.stream = stream
        self.parts = [Part(stream.accumulator()) for _ in range(3)]
        self.update(0, first)
        self.update(1, second)
        self.save(0)
        self.take_snapshot(0)

    @rule(number=NUMBERS, items=ITEMS)
    def update(self, number: int, items: list[Item]) -> None:
        part = self.parts[number]
        assert part.accumulator.update(**self.stream.arguments(items)) is part.accumulator
        part.items = part.items + items

    @rule(number=NUMBERS, other=NUMBERS)
    def merge(self, number: int, other: int) -> None:
        part, more = self.parts[number], self.parts[other]
        assert part.accumulator.merge(more.accumulator) is part.accumulator
        part.items = part.items + more.items

    @rule(number=NUMBERS)
    def reset(self, number: int) -> None:
        self.parts[number].accumulator.reset()
        self.parts[number].items = []

    @rule(number=NUMBERS)
    def move(self, number: int) -> None:
        assert self.parts[number].accumulator.to("cpu").device == torch.device("cpu")

    @rule(number=NUMBERS)
    def save(self, number: int) -> None:
        file = io.BytesIO()
        torch.save(self.parts[number].accumulator.state_dict(), file)
        file.seek(0)
        self.saved = torch.load(file, weights_only=True), self.parts[number].items

    @rule(number=NUMBERS)
    def load(self, number: int) -> None:
        self.parts[number].accumulator.load_state_dict(self.saved[0])
        self.parts[number].items = self.saved[1]

    @rule(number=NUMBERS, other=NUMBERS, way=st.sampled_from([copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]))
    def copy(self, number: int, other: int, way: Any) -> None:
        self.parts[other] = Part(way(self.parts[number].accumulator), self.parts[number].items)

    @rule(number=NUMBERS)
    def take_snapshot(self, number: int) -> None:
        self.snapshot = self.parts[number].accumulator.tables(), self.parts[number].items

    @invariant()
    def all_tables_are_those_of_their_items(self) -> None:
        singletons = self.stream.options.get("noise") == "singletons"
        for part in self.parts:
            tables, expected = part.accumulator.tables(), self.stream.tables(part.items)
            assert_same(tables, expected, singletons)
            assert self.stream.sizes != "both" or tables.shape == expected.shape
        assert_same(self.snapshot[0], self.stream.tables(self.snapshot[1]), singletons)


AccumulatorMachine.TestCase.settings = settings(max_examples=60, phases=[Phase.generate], stateful_step_count=10)
TestAccumulator = pytest.mark.slow(AccumulatorMachine.TestCase)


@pytest.mark.slow
@given(streams(), st.tuples(ITEMS, ITEMS, ITEMS))
def test_merging_is_associative_and_commutative(stream: Stream, chunks: tuple[list[Item], ...]) -> None:
    a, b, c = (stream.accumulator().update(**stream.arguments(items)) for items in chunks)
    left, right, back = copy.deepcopy(a).merge(b).merge(c), copy.deepcopy(b).merge(c), copy.deepcopy(c).merge(b)
    expected = left.tables()
    for other in (copy.deepcopy(a).merge(right), back.merge(a)):
        tables = other.tables()
        assert torch.equal(tables.to_dense().counts, expected.to_dense().counts)  # rows in the same order
        assert np.array_equal(np.asarray(tables.classes), np.asarray(expected.classes))
        assert torch.equal(other.n_considered, left.n_considered)
