"""Measures are found by the names that other libraries give them."""

from __future__ import annotations

import pytest

import torchclusteval as tce
from torchclusteval.cli import main
from torchclusteval.measures.aliases import canonical
from torchclusteval.measures.library_names import LIBRARY_NAMES

EVERY = {**tce.MEASURES, **tce.overlap.OVERLAP_MEASURES}
QUALIFIED = [(library, name, meant) for library, names in LIBRARY_NAMES.items() for name, meant in names.items()]


@pytest.mark.parametrize(("library", "name", "meant"), QUALIFIED)
def test_a_name_with_its_library(library: str, name: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert meant in EVERY
    for asked in (f"{library}:{name}", f"{library}:{name}".upper()):
        assert canonical(asked) == meant
        assert main(["measures", asked]) == 0
        out = capsys.readouterr().out
        assert out.startswith(f"{meant}\n")
        assert f"{library}:{name}" in out


def test_names_of_the_registry_are_their_own() -> None:
    assert {name: canonical(name) for name in EVERY if canonical(name) != name} == {}


def test_bare_names_mean_one_formula() -> None:
    for library, name, meant in QUALIFIED:
        word = name.lower().replace("_", "")
        others = {measure for _, same, measure in QUALIFIED if same.lower().replace("_", "") == word}
        own = {alias.lower(): measure for alias, measure in tce.measures.ALIASES.items()}.get(name.lower())
        if own is not None:
            assert canonical(name) == own
        elif len(others) > 1:
            assert canonical(name) == name, (library, name)
        else:
            assert canonical(name) in (name, meant)
    assert canonical("Rogers_Tanimoto") == "rogers_tanimoto"
    assert canonical("normalizedLermanIndex") == "lerman_normalized"
    assert canonical("sokalSneath1") == "sokalSneath1"  # that of clusterCrit is another
    assert canonical("precision") == "precision"  # too many things


def test_scores_take_names_of_libraries() -> None:
    scores = tce.evaluate([0, 0, 1], [0, 1, 1], ["clue:KP", "normalizedLermanIndex", "ari"])
    assert scores.names == ("hubert_gamma_normalized", "lerman_normalized", "adjusted_rand")
    assert scores["CLUE:kp"] == scores["hubert_gamma_normalized"]
    true, pred = tce.Memberships.from_lists([["a"], ["b"]]), tce.Memberships.from_lists([["x"], ["x"]])
    assert tce.evaluate_overlapping(true, pred, "cdlib:omega").names == ("omega_index",)
