"""The record of a measure is checked when it is made."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

import torchclusteval as tce
from torchclusteval import MEASURES, OVERLAP_MEASURES, Measure

TABLES = tce.ContingencyTables([[1, 2], [3, 4]])


def record(**changes: Any) -> Measure:
    given: dict[str, Any] = {"name": "own", "family": "pairs", "function": tce.measures.rand, "range": (0, 1)}
    return Measure(**(given | changes))


BAD: dict[str, list[Any]] = {
    "name": ["", 3, None, "two words", " own", "own\n", "1st", "a,b"],
    "family": ["mine", None, "Pairs", 0],
    "function": [None, "rand", 0.5],
    "range": [(1, 0), (0, 0), [0, 1], (0, math.nan), (0,), "01", None, (0, "1"), (False, True)],
    "better": ["max", "up", "Higher", "", True, ["higher"], 1],
    "perfect": [2, -1, "1", math.nan, True],
    "swapped": ["", 3, "two words"],
    "source": [None, 1971],
    "chance_corrected": ["yes", 1, None],
    "integer_only": [0, "no"],
    "on_host": [1, "cpu"],
    "linear_in": ["pair", "", 1],
    "metric": [None, 1],
    "combines": ["max", 0],
    "parts": [3, "pairs", len],  # and no function that combines them
    "combine": [3, len],
    "zero_division": [None, 0.0],
    "batch_terms": [[len], (3,), len, None],
}


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in BAD.items() for value in values])
def test_a_field_that_is_not_as_described_is_refused(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{field}: expected .*; got "):
        record(**{field: value})


def test_every_field_has_a_wrong_value_above() -> None:
    assert set(BAD) == set(Measure.__dataclass_fields__)


def test_records_that_are_as_described() -> None:
    for measure in (*MEASURES.values(), *OVERLAP_MEASURES.values()):
        assert replace(measure) == measure
    own = record(name="_v-2.5", better=None, range=(-math.inf, math.inf), swapped="rand", linear_in="pairs")
    assert tce.evaluate_tables(TABLES, own)["_v-2.5"] == tce.evaluate_tables(TABLES, "rand")["rand"]
    low = record(better="lower", range=(0, math.inf), perfect=0)
    assert tce.evaluate([0, 0, 1], [[0, 1, 1], [0, 0, 1]], low).best("own") == 0  # a Rand index of 1/3, the lower


def test_measures_of_the_other_kind_of_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="expected measures of tables; got 'omega_index' of family 'overlap'"):
        tce.evaluate([0], [0], OVERLAP_MEASURES["omega_index"])
    with pytest.raises(ValueError, match="measures: expected measures of overlapping groups; got 'rand'"):
        tce.evaluate_overlapping({"a": [1]}, {"a": [1]}, [MEASURES["rand"]])


def test_a_measure_of_ones_own_is_not_linear_in_squares() -> None:
    own = record(perfect=1, linear_in="squares")
    with pytest.raises(ValueError, match=r"linear_in: expected 'pairs', 'information' or 'sizes'.*'own'"):
        tce.evaluate_tables(TABLES, tce.adjusted_for_chance(own))


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_whole_numbers_keep_their_digits_in_measures_of_ones_own(compiled: bool) -> None:
    """torch divides int64 by int64 in float32: 2/3 would be .6666666865."""

    def largest(tables: Any) -> Any:
        share = tables.cluster_sizes.amax(-1) / tables.n_items
        return share * torch.ones((), dtype=torch.float64) + 0 * tables.n_items.sqrt()

    measure = tce.Measure("largest", "matching", largest, range=(0, 1))
    tables = tce.ContingencyTables([[2, 1], [0, 0]])
    evaluator = tce.compile([measure], backend="eager") if compiled else None
    scores = tce.evaluate_tables(tables, [measure]) if evaluator is None else evaluator(tables)
    assert scores["largest"].item() == 2 / 3
