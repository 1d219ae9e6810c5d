"""Measures are found by the names that other libraries give them."""

from __future__ import annotations

import argparse
import json
import re

import pytest

import torchclusteval as tce
from tests.support import GOLDEN_FOLDER
from torchclusteval.cli import main
from torchclusteval.cli.commands.measures import measures as explain
from torchclusteval.measures.aliases import ALIASES, canonical, elsewhere
from torchclusteval.measures.library_names import LIBRARY_NAMES
from torchclusteval.measures.other_functions import OTHER_FUNCTIONS, WORDS
from torchclusteval.measures.registry import OF_COVERS

EVERY = {**tce.MEASURES, **tce.overlap.OVERLAP_MEASURES}
LISTED = json.loads((GOLDEN_FOLDER / "names_elsewhere.json").read_text())["names"]
FIELDS = {
    "labels_true",
    "labels_pred",
    "best_f",
    "mean_iou",
    "absent_true",
    "absent_pred",
    "zero_division",
    "cluster_of_class",
    "vi_bits",
}
QUALIFIED = [(library, name, meant) for library, names in LIBRARY_NAMES.items() for name, meant in names.items()]


def explained(name: str) -> str:
    """What ``torchclusteval measures NAME`` prints."""
    return explain(argparse.Namespace(name=name))


@pytest.mark.parametrize("library", LIBRARY_NAMES)
def test_a_name_with_its_library(library: str) -> None:
    for name, meant in LIBRARY_NAMES[library].items():
        assert meant in EVERY
        for asked in (f"{library}:{name}", f"{library}:{name}".upper()):
            assert canonical(asked) == meant
            out = explained(asked)
            assert out.startswith(f"{meant}\n")
            assert f"{library}:{name}" in out


@pytest.mark.parametrize("library", LISTED)
def test_every_function_of_other_libraries_is_found(library: str) -> None:
    """As a measure, or with what it needs or does its work; with its library and without."""
    for name in LISTED[library].split():
        asked = f"{library}:{name}"
        assert canonical(asked) in EVERY or elsewhere(asked), asked
        assert explained(asked)
        assert explained(name)


def test_what_is_no_measure_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    for asked, answer in {
        "networkit:GraphStructuralRandMeasure": "networkit:GraphStructuralRandMeasure: needs edges\n",
        "GraphStructuralRand": "networkit:GraphStructuralRandMeasure: needs edges\n",
        "skimage:hausdorff_pair": "scikit-image:hausdorff_pair: needs coordinates\n",
        "clue:symdiff": "clue:symdiff: half of mirkin\n",
        "scib:kBET": "scib:kBET: needs embeddings\nscib:kbet: needs embeddings\n",
    }.items():
        assert main(["measures", asked]) == 0
        assert capsys.readouterr().out == answer
    main(["measures", "precision"])
    out = capsys.readouterr().out
    assert "clusterCrit:Precision: pair_precision\n" in out
    assert "python-bcubed:precision: extended_bcubed_precision\n" in out
    with pytest.raises(ValueError, match="needs edges"):
        tce.evaluate([0, 1], [0, 1], "networkit:GraphStructuralRandMeasure")


def test_a_function_is_one_thing() -> None:
    both = [(library, name) for library in OTHER_FUNCTIONS for name in OTHER_FUNCTIONS[library]]
    assert [x for x in both if x[1].lower() in map(str.lower, LIBRARY_NAMES.get(x[0], ()))] == []


def test_answers_name_what_is_here() -> None:
    """Each dotted name is an attribute of the package, and each word with an underscore one or part of one."""
    answers = {answer for names in OTHER_FUNCTIONS.values() for answer in names.values()}
    for dotted in {x for answer in answers for x in re.findall(r"\b(?:tce|overlap|plots)\.[\w.]+", answer)}:
        found: object = tce
        for part in dotted.removeprefix("tce.").split("."):
            found = getattr(found, part)
    for word in {
        x for answer in answers for x in re.findall(r"(?<![\w.'=])[a-z]+_[a-z_0-9.]*[a-z0-9](?![\w(=*])", answer)
    }:
        assert word in EVERY or word in FIELDS, word


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
    scores = tce.evaluate([0, 0, 1], [0, 1, 1], ["permetrics:phi_score", "normalizedLermanIndex", "ari"])
    assert scores.names == ("hubert_gamma_normalized", "lerman_normalized", "adjusted_rand")
    assert scores["PERMETRICS:PHI_score"] == scores["hubert_gamma_normalized"]
    true, pred = tce.Memberships.from_lists([["a"], ["b"]]), tce.Memberships.from_lists([["x"], ["x"]])
    assert tce.evaluate_overlapping(true, pred, "cdlib:omega").names == ("omega_index",)


@pytest.mark.parametrize("library", ["genieclust", "genieclust:", "Scikit-Learn", "mclustcomp"])
def test_the_name_of_a_library_lists_its_functions(library: str) -> None:
    known = {"Scikit-Learn": "sklearn"}.get(library, library.removesuffix(":"))
    every = {**LIBRARY_NAMES[known], **OTHER_FUNCTIONS.get(known, {})}
    assert explained(library).splitlines() == [f"{known}:{name}: {meant}" for name, meant in every.items()]
    with pytest.raises(ValueError, match="a library: `torchclusteval measures"):
        tce.evaluate([0, 1], [0, 1], library)


def test_words_that_are_no_names() -> None:
    for word in WORDS:
        assert word not in ALIASES
        assert word not in EVERY
        assert explained(word).startswith(f"{word}: one_to_one_accuracy")
    with pytest.raises(ValueError, match="one_to_one_accuracy"):
        tce.evaluate([0, 1], [0, 1], "Hungarian")


def test_measures_of_the_other_kind_of_groups() -> None:
    assert set(OF_COVERS) == set(tce.overlap.OVERLAP_MEASURES)
    for name in ("overlap", "OMEGA", *OF_COVERS):
        with pytest.raises(ValueError, match="of overlapping groups: evaluate_overlapping, or score --overlapping"):
            tce.evaluate([0, 1], [0, 1], name)
    for name in ("ari", "NMI", "pairs", "adjusted_rand", "sklearn:rand_score", "coreference"):
        with pytest.raises(ValueError, match="of partitions: evaluate, or score without --overlapping"):
            tce.evaluate_overlapping({1: [1]}, {1: [1]}, [name])
