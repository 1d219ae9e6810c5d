"""Tables of durations, of intervals with labels."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import torchclusteval as tce
from torchclusteval import ContingencyTables

Intervals = list[tuple[int, int, str]]
SPEECH = [(0, 4, "Ada"), (5, 9, "Bo"), (9, 10, "Ada")]
FOUND = [(1, 5, 0), (5, 8.5, 1), (9.5, 12, 0)]


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_by_hand(layout: str) -> None:
    tables = ContingencyTables.from_intervals(SPEECH, FOUND, layout=layout)
    assert tables.layout == layout
    assert tables.to_dense().counts.tolist() == [[3.5, 0], [0, 3.5]]
    assert tables.unmatched_by_class.tolist() == [1.5, 0.5]
    assert tables.unmatched_by_cluster.tolist() == [3, 0]
    assert tables.classes is not None
    assert tables.classes.tolist() == ["Ada", "Bo"]
    assert tables.coverage.item() == pytest.approx(7 / 12)
    scores = tce.evaluate_tables(tables, ["diarization_error_rate", "jaccard_error_rate", "purity", "idf1"])
    expected = {
        "diarization_error_rate": 5 / 9,
        "jaccard_error_rate": (9 / 16 + 1 / 8) / 2,
        "purity": 1,
        "idf1": 14 / 19,
    }
    for name, value in expected.items():
        assert scores[name].item() == pytest.approx(value, rel=1e-14), name


@st.composite
def intervals(draw: st.DrawFn) -> Intervals:
    bounds = sorted(draw(st.lists(st.integers(0, 30), max_size=10)))
    pieces = [(a, b, draw(st.sampled_from("abc"))) for a, b in zip(bounds[::2], bounds[1::2], strict=False)]
    return draw(st.permutations(pieces))


def frames(listed: Intervals) -> list[str]:
    return [next((label for start, end, label in listed if start <= frame < end), "") for frame in range(30)]


@settings(max_examples=60, deadline=None)
@given(true=intervals(), pred=intervals())
def test_as_frames(true: Intervals, pred: Intervals) -> None:
    """Whole seconds count as that many frames of a second, by every measure."""
    found = ContingencyTables.from_intervals(true, pred)
    expected = ContingencyTables.from_labels(frames(true), frames(pred), absent_true="", absent_pred="")
    assert found.whole_class_sizes.sum() == expected.whole_class_sizes.sum()
    assert sorted(found.cells()[3].tolist()) == sorted(expected.cells()[3].tolist())
    names = ["tracking", "segmentation", "purity", "v_measure", "adjusted_rand"]
    scores = [tce.evaluate_tables(tables, names) for tables in (found, expected)]
    for name in set(scores[0]) - {"aggregated_jaccard", "jaccard_error_rate"}:  # of equal ones they take the first
        torch.testing.assert_close(scores[0][name], scores[1][name], equal_nan=True, rtol=1e-12, atol=1e-14)


def test_the_unit_of_time_does_not_matter() -> None:
    scaled = [[(a / 7, b / 7, label) for a, b, label in side] for side in (SPEECH, FOUND)]
    scores = [tce.evaluate_tables(ContingencyTables.from_intervals(*x), "tracking") for x in ((SPEECH, FOUND), scaled)]
    for name, value in scores[0].items():
        assert value.item() == pytest.approx(scores[1][name].item(), rel=1e-12), name


def test_recordings() -> None:
    true, pred = {"x": SPEECH, "y": [(0, 1, "Cy")]}, {"x": FOUND, "z": [(2, 4, "?")]}
    tables = ContingencyTables.from_intervals(true, pred)
    assert tables.names == ("x", "y", "z")
    assert tables.whole_class_sizes.tolist() == [[5, 4], [1, 0], [0, 0]]
    rates = tce.evaluate_tables(tables, "diarization_error_rate")["diarization_error_rate"]
    assert rates.tolist() == [pytest.approx(float(Fraction(5, 9)), rel=1e-14), 1, math.inf]
    assert ContingencyTables.from_intervals({}, {}).batch_shape == (0,)
    assert ContingencyTables.from_intervals([], []).n_items == 0
    assert ContingencyTables.from_intervals([(1, 1, "a")], []).whole_class_sizes.tolist() == [0]


BAD: dict[str, tuple[Any, str]] = {
    "overlap": (
        [(0, 4, "Ada"), (3, 5, "Bo")],
        r"intervals that do not overlap; got 'Ada' \(0 to 4\) and 'Bo' \(3 to 5\)",
    ),
    "inside": (
        [(2, 3, "Bo"), (0, 9, "Ada"), (9, 10, "Bo")],
        r"intervals that do not overlap; got 'Ada' \(0 to 9\) and 'Bo' \(2 to 3\)",
    ),
    "own overlap": ([(0, 4, "Ada"), (3, 5, "Ada")], "intervals that do not overlap"),
    "negative": ([(-1, 4, "Ada")], "times of at least 0; got -1 in interval 0"),
    "reversed": ([(0, 1, "Ada"), (4, 3, "Ada")], "a start before the end; got 4 to 3 in interval 1"),
    "missing time": ([(0, math.nan, "Ada")], "times that are numbers; got nan"),
    "infinite": ([(0, math.inf, "Ada")], "times that are numbers; got inf"),
    "text": ([("0", "1", "Ada")], "times that are numbers; got '0'"),
    "no label": ([(0, 1, None)], "a label; got None"),
    "unhashable": ([(0, 1, [])], "labels that can be keys"),
    "two fields": ([(0, 1)], r"\(start, end, label\); got \(0, 1\) as interval 0"),
    "a word": ("abc", r"a list of \(start, end, label\); got str"),
    "a number": (3, r"a list of \(start, end, label\); got int"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_intervals(case: str) -> None:
    bad, message = BAD[case]
    with pytest.raises(ValueError, match=f"true: expected {message}"):
        ContingencyTables.from_intervals(bad, FOUND)
    with pytest.raises(ValueError, match=f"pred: expected {message}.* of recording 'x'"):
        ContingencyTables.from_intervals({"x": SPEECH}, {"x": bad})


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="true, pred: expected two lists"):
        ContingencyTables.from_intervals(SPEECH, {"x": FOUND})
    with pytest.raises(ValueError, match="layout: expected one of"):
        ContingencyTables.from_intervals(SPEECH, FOUND, layout="thin")
