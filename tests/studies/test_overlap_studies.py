"""The two studies of overlapping clusterings: the paper's examples, and the cheat system."""

import json

import pytest
import torch

from tests.support import GOLDEN_FOLDER
from torchclusteval.studies import amigo_figures, overlap_cheat

GOLDEN = {row["id"]: row["expected"] for row in json.loads((GOLDEN_FOLDER / "overlap.json").read_text())["overlap"]}
FIGURES = {
    "14": "figure14",
    "14 correct": "figure14_correct",
    "15 case 1": "figure15_case1",
    "15 case 2": "figure15_case2",
    "15 case 3": "figure15_case3",
    **{str(number): f"figure{number}" for number in range(16, 22)},
    "22": "cheat",
    "23": "figure23_three_occurrences",
    "23 set F": "figure23_all_claims",
}


def test_every_figure_has_its_values() -> None:
    found = {finding.example.name: finding.values for finding in amigo_figures.run()}
    assert found.keys() == FIGURES.keys()
    for name, golden in FIGURES.items():
        for measure, expected in GOLDEN[golden].items():
            assert found[name][measure] == pytest.approx(expected, abs=1e-9), (name, measure)
    pairs = [(found[name]["multiplicity_precision"], found[name]["multiplicity_recall"]) for name in list(FIGURES)[2:5]]
    assert pairs == [(1, 1), (1, 1 / 2), (2 / 3, 1)]


def test_the_stated_directions_hold() -> None:
    for finding in amigo_figures.run():
        assert list(finding.holds.values()) == [True] * len(finding.holds) != []


def test_a_claim_can_fail() -> None:
    values = {finding.example.name: finding.values for finding in amigo_figures.run()}
    assert not amigo_figures.holds("P < 18", "17", values)
    assert not amigo_figures.holds("set_f = 1", "23", values)


@pytest.fixture(scope="module")
def cheat() -> overlap_cheat.Result:
    return overlap_cheat.run(iterations=8, seed=0)


def test_only_bcubed_puts_the_cheat_last(cheat: overlap_cheat.Result) -> None:
    ranks = {name: cheat.cheat_rank(name) for name in overlap_cheat.MEASURE_NAMES}
    last = len(cheat.systems)
    assert ranks["extended_bcubed_f"] == ranks["extended_bcubed_precision"] == last
    assert ranks["overlap_inverse_purity"] == ranks["extended_bcubed_recall"] == 1
    assert ranks["overlap_purity_f"] <= last // 2
    assert ranks["overlap_purity"] < last
    assert cheat.scores["overlap_inverse_purity"][-1] == 1


def test_the_quality_of_systems_is_known(cheat: overlap_cheat.Result) -> None:
    """Merging finds inverse purity more and more, so only the measures that weigh both errors know the order."""
    assert cheat.order_agreement("extended_bcubed_f") > 0.95
    assert cheat.order_agreement("overlap_purity_f") > 0.95
    assert cheat.order_agreement("overlap_inverse_purity") < 0.9


def test_the_gold_standard_looks_like_the_campaign() -> None:
    generator = torch.Generator().manual_seed(0)
    gold = torch.stack([overlap_cheat._draw_gold(generator) for _ in range(50)])
    people = gold.sum(-1)
    assert people.min() == 1
    assert people.max() == 3
    assert 0.1 < float((people > 1).double().mean()) < 0.2  # 5000 items, sd 0.005
    sizes = gold.sum(1).double().mean(0)
    assert sizes[0] > 4 * sizes[-1]


def test_the_number_of_names_scored_together_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = overlap_cheat.run(iterations=3).scores
    monkeypatch.setattr(overlap_cheat, "_GOLD_STANDARDS_PER_CALL", 1)
    found = overlap_cheat.run(iterations=3).scores
    for name, values in expected.items():
        assert found[name] == pytest.approx(values, abs=1e-14)
