"""The two studies of overlapping clusterings: the paper's examples, and the cheat system."""

from __future__ import annotations

import json
from pathlib import Path

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
    assert not amigo_figures.holds("extended_bcubed_precision < its value in 18", "17", values)
    assert not amigo_figures.holds("overlap_set_f = 1", "23", values)


def test_figures_are_reported(tmp_path: Path) -> None:
    result = amigo_figures.run()
    rows = amigo_figures.rows(result)
    assert [row["figure"] for row in rows] == list(FIGURES)
    assert all(row["holds"] for row in rows)
    text = amigo_figures.report(result)
    assert "FAILS" not in text
    assert "0.8619" in text
    pytest.importorskip("matplotlib", reason="the plots extra is not installed")
    amigo_figures.plot(result, tmp_path / "figures.png")
    assert (tmp_path / "figures.png").stat().st_size > 1000


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


def test_a_system_without_errors_is_the_gold_standard() -> None:
    gold, systems = overlap_cheat._draw([("merges", 0.0), ("splits", 0.0)], torch.Generator().manual_seed(1))
    assert torch.equal(systems[0][:, : overlap_cheat.PEOPLE], gold[0])
    assert not systems[0][:, overlap_cheat.PEOPLE :].any()
    assert systems[-1].sum(-1).unique().tolist() == [2]
    assert sorted(systems[-1].sum(0).unique().tolist()) == [0, 1, overlap_cheat.ITEMS]


def test_seeds_and_blocks() -> None:
    def scores(seed: int) -> dict[str, tuple[float, ...]]:
        return dict(overlap_cheat.run(iterations=2, seed=seed).scores)

    assert scores(3) == scores(3)
    assert scores(3) != scores(4)
    with pytest.raises(ValueError, match="iterations: expected a whole number of at least 1; got 0"):
        overlap_cheat.run(iterations=0)


def test_the_number_of_names_scored_together_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = overlap_cheat.run(iterations=3).scores
    monkeypatch.setattr(overlap_cheat, "_GOLD_STANDARDS_PER_CALL", 1)
    found = overlap_cheat.run(iterations=3).scores
    for name, values in expected.items():
        assert found[name] == pytest.approx(values, abs=1e-14)


@pytest.mark.slow
def test_the_cheat_is_reported(cheat: overlap_cheat.Result, tmp_path: Path) -> None:
    rows = overlap_cheat.rows(cheat)
    assert rows[-1]["system"] == "cheat"
    assert rows[-1]["error_rate"] is None
    assert rows[-1]["extended_bcubed_f_rank"] == len(rows)
    text = overlap_cheat.report(cheat)
    assert "last of 17 under: BCubed P, BCubed F" in text
    pytest.importorskip("matplotlib", reason="the plots extra is not installed")
    overlap_cheat.plot(cheat, tmp_path / "cheat.png")
    assert (tmp_path / "cheat.png").stat().st_size > 1000
