"""The command line's intervals, p-values, pictures, and the command ``compare``."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from torchclusteval import ContingencyTables
from torchclusteval.cli import main
from torchclusteval.inference import bootstrap, pairwise, permutation_test, stability

pytestmark = pytest.mark.slow

NAMES = ["close", "far", "odd"]


@pytest.fixture
def labels() -> np.ndarray:
    random = np.random.default_rng(0)
    true = random.integers(0, 3, 60)
    noisy = [np.where(random.uniform(size=60) < share, random.integers(0, 4, 60), true) for share in (0.1, 0.6, 0.9)]
    return np.stack([true, *noisy])


@pytest.fixture
def file(labels: np.ndarray, tmp_path: Path) -> str:
    path = tmp_path / "runs.csv"
    rows = [["truth", *NAMES], *labels.T.tolist()]
    path.write_text("".join(f"{','.join(map(str, row))}\n" for row in rows))
    return str(path)


def output_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 2
    return capsys.readouterr().err


def test_score_adds_intervals_and_p_values(capsys: pytest.CaptureFixture[str], file: str, labels: np.ndarray) -> None:
    asked = ["score", file, "--truth", "truth", "--measures", "ari,joint_entropy", "--format", "csv"]
    text = output_of(capsys, *asked, "--confidence", "0.9", "--resamples", "300", "--permutations", "99", "--seed", "4")
    rows = list(csv.DictReader(io.StringIO(text)))
    tables = ContingencyTables.from_labels(labels[0], labels[1:])
    source = torch.Generator()
    interval = bootstrap(tables, ["ari"], 300, 0.9, rng=source.manual_seed(4))["ari"]
    test = permutation_test(tables, ["ari"], 99, rng=source.manual_seed(4))["ari"]
    for key, values in (("low", interval.low), ("high", interval.high), ("p", test.p_value)):
        assert [float(row[f"adjusted_rand_{key}"]) for row in rows] == values.tolist()
    assert list(rows[0])[:5] == ["clustering", "adjusted_rand", *(f"adjusted_rand_{x}" for x in ("low", "high", "p"))]
    assert "joint_entropy_low" in rows[0]
    assert "joint_entropy_p" not in rows[0]  # it has no direction


def test_seeds_make_runs_repeatable(capsys: pytest.CaptureFixture[str], file: str) -> None:
    asked = ["score", file, "--truth", "truth", "--measures", "vi", "--resamples", "50", "--format", "json", "--seed"]
    first, again, other = (output_of(capsys, *asked, seed) for seed in ("1", "1", "2"))
    assert first == again != other
    assert "variation_of_information_low" in json.loads(first)["scores"][0]


def test_sorted_rows_keep_their_intervals(capsys: pytest.CaptureFixture[str], file: str) -> None:
    asked = ["score", file, "--truth", "truth", "--measures", "vi", "--resamples", "50", "--format", "csv"]
    plain = {row["clustering"]: row for row in csv.DictReader(io.StringIO(output_of(capsys, *asked)))}
    ranked = list(csv.DictReader(io.StringIO(output_of(capsys, *asked, "--sort", "vi", "--top", "2"))))
    assert [row["clustering"] for row in ranked] == ["close", "far"]
    assert all(row == plain[row["clustering"]] for row in ranked)


def test_compare_in_every_format(capsys: pytest.CaptureFixture[str], file: str, labels: np.ndarray) -> None:
    asked = ["compare", file, "--exclude", "truth", "--measure", "homogeneity"]
    values = pairwise(labels[1:], ["homogeneity"])["homogeneity"].tolist()
    found = json.loads(output_of(capsys, *asked, "--format", "json"))
    assert found["clusterings"] == NAMES
    assert found["values"] == values
    record = stability(labels[1:], ["homogeneity"])["homogeneity"]
    assert found["agreement"] == record.agreement.tolist()
    assert record.medoid is not None
    assert found["medoid"] == NAMES[record.medoid]
    rows = list(csv.reader(io.StringIO(output_of(capsys, *asked, "--format", "csv"))))
    assert rows[0] == ["clustering", *NAMES]
    assert [[float(x) for x in row[1:]] for row in rows[1:]] == values
    text = output_of(capsys, *asked)
    assert "homogeneity of 3 clusterings" in text
    assert f"{values[0][1]:.4f}" in text


def test_compare_takes_several_files(capsys: pytest.CaptureFixture[str], tmp_path: Path, labels: np.ndarray) -> None:
    paths = [str(tmp_path / f"{i}.npy") for i in range(2)]
    for path, row in zip(paths, labels, strict=False):
        np.save(path, row)
    found = json.loads(output_of(capsys, "compare", *paths, "--format", "json"))
    assert found["clusterings"] == paths
    assert found["values"][0][1] == float(pairwise(labels[:2])["ari"][0, 1])
    np.save(paths[1], labels[1][:-1])
    assert "expected 60 labels" in error_of(capsys, "compare", *paths)


def test_many_clusterings_are_summed_up(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "many.npy"
    np.save(path, np.random.default_rng(0).integers(0, 3, (20, 30)))
    text = output_of(capsys, "compare", str(path))
    assert "--format csv or json has all pairs" in text
    assert max(map(len, text.splitlines())) < 100


@pytest.mark.parametrize("more", [[], ["--resamples", "30"], ["--permutations", "30"]])
def test_score_draws_pictures(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path, more: list[str]) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "scores.png"
    output_of(capsys, "score", file, "--truth", "truth", "--plot", str(picture), *more)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_compare_draws_pictures(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("scipy")
    picture = tmp_path / "pairs.png"
    output_of(capsys, "compare", file, "--plot", str(picture))
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "--plot: expected a file that ends in .png" in error_of(capsys, "compare", file, "--plot", "pairs.xyz")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--confidence", "95"], "--confidence: expected a number between 0 and 1; got '95'"),
        (["--resamples", "0"], "--resamples: expected a whole number of at least 1; got '0'"),
        (["--permutations", "x"], "--permutations: expected a whole number of at least 1; got 'x'"),
        (["--seed", "-1"], "--seed: expected a whole number of at least 0; got '-1'"),
        (["--seed", str(2**63)], "--seed: expected a whole number below 2**63; got '9223372036854775808'"),
    ],
)
def test_wrong_options_are_named(
    capsys: pytest.CaptureFixture[str], file: str, arguments: list[str], message: str
) -> None:
    assert message in error_of(capsys, "score", file, "--truth", "truth", *arguments)


@pytest.mark.parametrize("command", [["score", "--truth", "t"], ["compare"], ["study", "nvi"]])
def test_a_picture_that_cannot_be_drawn_is_refused_before_the_work(command, monkeypatch, capsys) -> None:
    files = [] if command[0] == "study" else ["absent.csv"]
    assert main([*command, *files, "--plot", "x.xyz"]) == 2
    assert "--plot: expected a file that ends in .png" in capsys.readouterr().err
    assert main([*command, *files, "--plot", "no such folder/x.png"]) == 2
    assert "--plot: expected a file in a folder that exists" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main([*command, *files, "--plot", "x.png"]) == 2
    error = capsys.readouterr().err
    assert "torchclusteval[plots]" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("picture", ["scores", "table", "share", "flow"])
def test_score_draws_the_best_clustering(
    capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path, picture: str
) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "best.svg"
    plain = output_of(capsys, "score", file, "--truth", "truth", "--measures", "ari")
    drawn = output_of(
        capsys, "score", file, "--truth", "truth", "--measures", "ari", "--plot", str(path), "--picture", picture
    )
    assert drawn == plain
    assert path.read_text().endswith("</svg>\n")
    assert "--picture: expected --plot" in error_of(capsys, "score", file, "--truth", "truth", "--picture", picture)


@pytest.mark.parametrize("picture", ["agreement", "flow", "transitions"])
def test_compare_draws_pictures_of_runs(
    capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path, picture: str
) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("scipy")
    path = tmp_path / "runs.svg"
    output_of(capsys, "compare", file, "--plot", str(path), "--picture", picture)
    assert path.read_text().endswith("</svg>\n")


def test_cluster_stability_draws_a_picture(capsys: pytest.CaptureFixture[str], file: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "stable.svg"
    output_of(capsys, "cluster-stability", file, "--reference", "truth", "--plot", str(path))
    assert path.read_text().endswith("</svg>\n")
