"""Measures are found by the names that other libraries give them."""

import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import torch

import torchclusteval as tce
from tests.support.processes import ROOT
from torchclusteval.measures.aliases import canonical, library_names

EVERY = {**tce.MEASURES, **tce.overlap.OVERLAP_MEASURES}
BY_LIBRARY = {library: list(rows) for library, rows in groupby(library_names(), lambda row: row.library)}


def test_the_table_names_measures_once() -> None:
    names = [str(row).lower() for row in library_names()]
    assert len(set(names)) == len(names) == sum(map(len, BY_LIBRARY.values()))
    assert {row.measure for row in library_names()} <= set(EVERY)
    assert {name: canonical(name) for name in EVERY if canonical(name) != name} == {}


@pytest.mark.parametrize("library", BY_LIBRARY)
def test_a_name_with_its_library(library: str, run: Any) -> None:
    for row in BY_LIBRARY[library]:
        assert canonical(str(row)) == canonical(str(row).upper()) == row.measure
    out = run("measures", str(row)).out
    assert out.startswith(f"{row.measure}\n")
    assert str(row) in out
    assert {*run("measures", f"{library}:").out.splitlines()} == {f"{x}: {x.measure}" for x in BY_LIBRARY[library]}


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("dscore:JER", "jaccard_error_rate"),
        ("dscore:GKT", "goodman_kruskal_tau_swapped"),
        ("pyannote:JER", "jaccard_error_rate_pyannote"),
        ("pyannote:DiarizationPurity", "diarization_purity"),
        ("pyannote:coverage", "diarization_coverage"),
        ("cellpose:average_precision", "object_ap_0.5"),
    ],
)
def test_names_that_are_easily_confused(name: str, measure: str) -> None:
    assert canonical(name) == measure


@pytest.mark.parametrize(
    "name",
    [
        *("cellpose:AJI", "stardist:AJI", "panoptica:AJI", "monai:AJI", "clusim:onmi"),  # other formulas
        *("graph-tool:reduced_mutual_information", "clusim:mi", "dscore:MI"),  # other units
        *("stardist:PQ", "panoptica:PQ"),  # another threshold
    ],
)
def test_functions_that_are_no_measure_here_have_no_name(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        tce.evaluate([0, 1], [0, 1], name)


def test_a_name_without_its_library(run: Any) -> None:
    out = run("measures", "precision").out
    assert "clusterCrit:Precision: pair_precision\n" in out
    assert "python-bcubed:precision: extended_bcubed_precision\n" in out
    for name in ("sokalSneath1", "precision"):
        assert canonical(name) == name
        with pytest.raises(ValueError, match=rf"{name}: \w+"):
            tce.evaluate([0, 1], [0, 1], name)


def test_scores_take_names_of_libraries() -> None:
    scores = tce.evaluate(
        [0, 0, 1], [0, 1, 1], ["permetrics:phi_score", "AdjustedRandScore", "scikit-learn:rand_score"]
    )
    assert scores.names == ("hubert_gamma_normalized", "adjusted_rand", "rand")
    assert scores["PERMETRICS:PHI_score"] == scores["hubert_gamma_normalized"]
    true, pred = tce.Memberships.from_lists([["a"], ["b"]]), tce.Memberships.from_lists([["x"], ["x"]])
    assert tce.evaluate_overlapping(true, pred, "cdlib:omega").names == ("omega_index",)
    with pytest.raises(ValueError, match=r"genieclust:ar: adjusted_rand; .*measures genieclust` lists all"):
        tce.evaluate([0, 1], [0, 1], "genieclust")


def test_the_table_is_read_when_asked_for() -> None:
    code = (
        "import torchclusteval as tce; from torchclusteval.measures.aliases import library_names as names;"
        "tce.evaluate([0, 1], [0, 1], 'ari'); assert names.cache_info().misses == 0;"
        "tce.evaluate([0, 1], [0, 1], 'aricode:NVI'); assert names.cache_info().misses == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_measures_of_the_other_kind_of_groups() -> None:
    for name in ("overlap", "clusim:omega_index", *tce.OVERLAP_MEASURES):
        with pytest.raises(ValueError, match="of overlapping groups: evaluate_overlapping, or torchclusteval score-"):
            tce.evaluate([0, 1], [0, 1], name)
    for name in ("ari", "NMI", "pairs", "adjusted_rand", "sklearn:rand_score", "coreference"):
        with pytest.raises(ValueError, match="of partitions: evaluate, or torchclusteval score"):
            tce.evaluate_overlapping({1: [1]}, {1: [1]}, [name])


def test_functions_have_the_names_of_their_measures() -> None:
    tables = tce.ContingencyTables([[2, 1], [0, 3]])
    for name in [*tce.measures.ALIASES, *tce.MEASURES]:
        if tce.MEASURES.get(canonical(name)) and not tce.MEASURES[canonical(name)].one_sided:
            scores = tce.evaluate_tables(tables, [name])
            torch.testing.assert_close(getattr(tce.measures, name)(tables), scores[name], equal_nan=True)
    from torchclusteval.measures import ari, vi

    assert ari is tce.measures.adjusted_rand
    assert vi is tce.measures.variation_of_information
    for wrong in ("arii", "_ari", "__ari__"):
        assert not hasattr(tce.measures, wrong)
    stub = Path(tce.measures.__file__).with_name("names.pyi").read_text()  # what type checkers know
    named = {name for name in [*tce.measures.ALIASES, *tce.MEASURES] if name.isidentifier()}
    assert {*re.findall(r"^(\w+)(?: =|:)", stub, re.MULTILINE)} == named - {*tce.measures.__all__}
