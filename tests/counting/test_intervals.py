"""Tables of durations, of intervals with labels."""

import math
from datetime import datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import torchclusteval as tce
from tests.support.values import listed
from torchclusteval import ContingencyTables, evaluate_tables

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
    assert listed(tables.classes) == ["Ada", "Bo"]
    assert tables.coverage.item() == pytest.approx(7 / 12)
    scores = tce.evaluate_tables(tables, ["diarization_error_rate", "jaccard_error_rate", "purity", "idf1"])
    exact = {"diarization_error_rate": 5 / 9, "jaccard_error_rate": (9 / 16 + 1 / 8) / 2, "purity": 1, "idf1": 14 / 19}
    for name, value in exact.items():
        assert scores[name].item() == pytest.approx(value, rel=1e-14), name


def test_speech_of_one_side_counts() -> None:
    tables = ContingencyTables.from_intervals([(0, 6, "r")], [(0, 4, "a")])
    scores = tce.evaluate_tables(tables, ["pyannote:coverage", "pyannote:purity", "inverse_purity"])
    expected = {"diarization_coverage": 4 / 6, "diarization_purity": 1, "inverse_purity": 1}
    assert scores.to_dict() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("true", "pred", "least", "by_common_speech"),
    [
        ([(0, 10, "A")], [(0, 4, "x"), (4, 50, "y")], 0.6, 0.88),
        ([(0, 20, "A")], [(0, 3, "x"), (16, 28, "y")], 0.85, 6 / 7),
        ([(0, 2, "A"), (2, 9, "B")], [(0, 2, "y"), (2, 4, "x"), (4, 9, "y")], 5 / 7, 13 / 18),
    ],
)
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_speakers_by_jaccard_errors(layout: str, true: Any, pred: Any, least: float, by_common_speech: Any) -> None:
    tables = ContingencyTables.from_intervals(true, pred, layout=layout)
    scores = tce.evaluate_tables(tables, ["dscore:JER", "pyannote:JER"])
    expected = {"jaccard_error_rate": least, "jaccard_error_rate_pyannote": by_common_speech}
    assert scores.to_dict() == pytest.approx(expected)


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
    for name in set(scores[0]) - {"aggregated_jaccard"}:  # of equal ones it takes the first
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


NOON = 1_700_000_000_000_000_000  # nanoseconds: float64 holds multiples of 256 there


@settings(max_examples=40, deadline=None)
@given(
    true=intervals(), pred=intervals(), origin=st.integers(0, 2**70), kind=st.sampled_from([int, np.int64, np.uint64])
)
def test_whole_times_are_exact_wherever_time_begins(true: Intervals, pred: Intervals, origin: int, kind: Any) -> None:
    origin = origin if kind is int else origin % 2**62
    moved = [[(kind(a + origin), kind(b + origin), label) for a, b, label in side] for side in (true, pred)]
    found, expected = ContingencyTables.from_intervals(*moved), ContingencyTables.from_intervals(true, pred)
    for attribute in ("unmatched_by_class", "unmatched_by_cluster", "n_considered"):
        assert torch.equal(getattr(found, attribute), getattr(expected, attribute))
    assert [x.tolist() for x in found.cells()] == [x.tolist() for x in expected.cells()]


def test_nanoseconds() -> None:
    """By hand: 3 of both, 1 before and 2 after of the truth alone."""
    true, pred = [(NOON, NOON + 6, "Ada")], [(NOON + 1, NOON + 4, 0)]
    tables = ContingencyTables.from_intervals({"x": true, "y": [(0.5, 1, "Bo")]}, {"x": pred})
    assert tables.to_dense().counts.tolist() == [[[3.0]], [[0.0]]]
    assert tables.unmatched_by_class.tolist() == [[3.0], [0.5]]
    touching = [(NOON + 5, NOON + 6, "Bo"), (NOON, NOON + 5, "Ada")]
    assert ContingencyTables.from_intervals(touching, pred).whole_class_sizes.tolist() == [1, 5]


def test_ends_above_the_next_start_by_rounding() -> None:
    """0.1 + 0.2 is above 0.3."""
    turns = [(0.1, 0.1 + 0.2, "Ada"), (0.3, 0.8, "Bo"), (0.8 - 1e-10, 1.0, "Ada")]
    tables = ContingencyTables.from_intervals(turns, turns)
    assert tables.whole_class_sizes.tolist() == pytest.approx([0.4, 0.5], abs=1e-9)
    assert evaluate_tables(tables, ["diarization_error_rate"])["diarization_error_rate"].item() == 0
    for true, pred in (({1: turns}, {"1": turns}), ({1.0: turns}, {"1": turns})):
        with pytest.raises(ValueError, match="true, pred: expected names of one type on both sides; got others: 1"):
            ContingencyTables.from_intervals(true, pred)


BAD: dict[str, tuple[Any, str]] = {
    "overlap by a nanosecond": (
        [(NOON + 4, NOON + 6, "Bo"), (NOON, NOON + 5, "Ada")],
        rf"intervals that do not overlap; got 'Ada' \({NOON} to {NOON + 5}\) and 'Bo' \({NOON + 4} to {NOON + 6}\)",
    ),
    "reversed by a nanosecond": ([(np.int64(NOON + 1), np.uint64(NOON), "Ada")], "a start before the end"),
    "whole and fractions": ([(0.5, NOON + 1, "Ada")], f"times that float64 holds, next to fractions; got {NOON + 1}"),
    "beyond floats": ([(0.5, 10**400, "Ada")], "times that float64 holds, next to fractions; got 1000"),
    "beyond 64 bits": ([(0, 1, "Ada"), (1, 2**63, "Bo")], r"whole times that differ by less than 2\*\*63; got more"),
    "dates": ([(datetime(2024, 1, 1), datetime(2024, 1, 2), "Ada")], "times that are numbers; got datetime"),
    "dates of NumPy": ([(np.datetime64("2024"), np.datetime64("2025"), "Ada")], "times that are numbers; got np"),
    "a boolean": ([(False, True, "Ada")], "times that are numbers; got False"),
    "tensors": ([(torch.tensor(0.0), torch.tensor(1.0), "Ada")], r"times that are numbers; got tensor\(0\.\)"),
    "masked time": (np.ma.array([[0, 1, 2]], mask=[[False, True, False]]), "times that are numbers; got masked"),
    "masked label": (np.ma.array([[0, 1, 2]], mask=[[False, False, True]]), "a label; got masked"),
    "a single tensor": (torch.tensor(1), r"a list of \(start, end, label\); got Tensor"),
    "a vector": (torch.tensor([1, 2, 3]), r"\(start, end, label\); got tensor\(1\) as interval 0"),
    "overlap": ([(0, 4, "Ada"), (3, 5, "Bo")], r"intervals .*; got 'Ada' \(0 to 4\) and 'Bo' \(3 to 5\)"),
    "overlap by more than rounding": ([(0, 1 + 1e-8, "Ada"), (1, 2, "Bo")], "intervals that do not overlap"),
    "negative": ([(-1, 4, "Ada")], "times of at least 0; got -1 in interval 0"),
    "reversed": ([(0, 1, "Ada"), (4, 3, "Ada")], "a start before the end; got 4 to 3 in interval 1"),
    "text": ([("0", "1", "Ada")], "times that are numbers; got '0'"),
    "no label": ([(0, 1, None)], "a label; got None"),
    "a label with a list": ([(0, 1, ("Ada", [1]))], r"a label; got \('Ada', \[1\]\) in interval 0"),
    "a set": (set(SPEECH), r"a list of \(start, end, label\); got set"),
    "two fields": ([(0, 1)], r"\(start, end, label\); got \(0, 1\) as interval 0"),
    "a word": ("abc", r"a list of \(start, end, label\); got str"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_intervals(case: str) -> None:
    bad, message = BAD[case]
    with pytest.raises(ValueError, match=f"true: expected {message}"):
        ContingencyTables.from_intervals(bad, SPEECH)
    with pytest.raises(ValueError, match=f"pred: expected {message}.* of recording 'x'"):
        ContingencyTables.from_intervals({"x": SPEECH}, {"x": bad})


def test_remedies_of_bad_times() -> None:
    for bad, remedy in (
        ([(datetime(2024, 1, 1), datetime(2024, 1, 2), "Ada")], "pass seconds, or all times as whole numbers"),
        ([(0, 4, "Ada"), (3, 5, "Ada")], r"'Ada' \(3 to 5\) \(join them to one\)"),
        ([(0.5, NOON + 1, "Ada")], "make all times of the recording whole, or subtract its first start"),
    ):
        with pytest.raises(ValueError, match=remedy):
            ContingencyTables.from_intervals(bad, SPEECH)


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="true, pred: expected two lists"):
        ContingencyTables.from_intervals(SPEECH, {"x": FOUND})
    with pytest.raises(ValueError, match="layout: expected one of"):
        ContingencyTables.from_intervals(SPEECH, FOUND, layout="thin")
