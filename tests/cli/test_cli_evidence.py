"""The command line's intervals, p-values, pictures, and the command ``compare``."""

import csv
import re
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from torchclusteval import ContingencyTables
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


def test_score_adds_intervals_and_p_values(run: Any, file: str, labels: np.ndarray) -> None:
    asked = ["score", file, "--truth", "truth", "--measures", "ari,joint_entropy", "--seed", "4", "--format", "csv"]
    rows = list(csv.DictReader(run(*asked, "--confidence-level", "0.9", "--resamples", "300").out.splitlines()))
    tables = ContingencyTables.from_labels(labels[0], labels[1:])
    interval = bootstrap(tables, ["ari"], 300, 0.9, rng=4)["ari"]
    test = permutation_test(tables, ["ari"], 300, rng=4)["ari"]
    for key, values in (("low", interval.low), ("high", interval.high), ("p", test.p_value)):
        assert [float(row[f"adjusted_rand_{key}"]) for row in rows] == pytest.approx(values.tolist(), 0, 0, nan_ok=True)
    assert list(rows[0])[:5] == ["clustering", "adjusted_rand", *(f"adjusted_rand_{x}" for x in ("low", "high", "p"))]
    assert "joint_entropy_low" in rows[0]
    assert "joint_entropy_p" not in rows[0]  # it has no direction
    (row, *_) = csv.DictReader(run(*asked, "--confidence-level", "0.9").out.splitlines())
    assert float(row["adjusted_rand_low"]) == bootstrap(tables, ["ari"], 1000, 0.9, rng=4)["ari"].low[0]
    assert "adjusted_rand_p" not in row


def test_sorted_rows_keep_their_intervals(run: Any, file: str) -> None:
    asked = ["score", file, "--truth", "truth", "--measures", "vi", "--resamples", "50", "--format", "json"]
    plain, ranked = run(*asked).scores, run(*asked, "--sort", "vi", "--top", "2").scores
    assert list(ranked) == ["close", "far"]
    assert all(plain[name] == row for name, row in ranked.items())


def test_compare_in_every_format(run: Any, file: str, labels: np.ndarray) -> None:
    asked = ["compare", file, "--exclude", "truth", "--measure", "homogeneity"]
    values = pairwise(labels[1:], ["homogeneity"])["homogeneity"].tolist()
    found = run(*asked, "--format", "json").json
    assert found["clusterings"] == NAMES
    assert found["values"] == values
    record: Any = stability(labels[1:], ["homogeneity"])["homogeneity"]
    assert found["agreement"] == record.agreement.tolist()
    assert found["medoid"] == NAMES[record.medoid]
    rows = list(csv.reader(run(*asked, "--format", "csv").out.splitlines()))
    assert rows[0] == ["clustering", *NAMES]
    assert [[float(x) for x in row[1:]] for row in rows[1:]] == values
    text = run(*asked).out
    assert "homogeneity of 3 clusterings" in text
    assert f"{values[0][1]:.4f}" in text


def test_compare_takes_several_files(run: Any, error: Any, tmp_path: Path, labels: np.ndarray) -> None:
    paths = [str(tmp_path / f"{i}.npy") for i in range(2)]
    for path, row in zip(paths, labels, strict=False):
        np.save(path, row)
    found = run("compare", *paths, "--format", "json").json
    assert found["clusterings"] == paths
    assert found["values"][0][1] == float(pairwise(labels[:2])["ari"][0, 1])
    np.save(paths[1], labels[1][:-1])
    assert "expected 60 labels" in error("compare", *paths)


def test_many_clusterings_are_summed_up(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "many.npy"
    np.save(path, np.random.default_rng(0).integers(0, 3, (20, 30)))
    text = run("compare", str(path)).out
    assert "--format csv or json has all pairs" in text
    assert max(map(len, text.splitlines())) < 100


@pytest.mark.parametrize("command", [["score", "--truth", "t"], ["compare"], ["study", "nvi"]])
def test_a_picture_that_cannot_be_drawn_is_refused_before_the_work(command, monkeypatch, error) -> None:
    asked = [*command, *([] if command[0] == "study" else ["absent.csv"]), "--plot"]
    assert "--plot: expected a file that ends in .png" in error(*asked, "x.xyz")
    assert "--plot: expected a file in an existing folder" in error(*asked, "no such folder/x.png")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "torchclusteval[plots]" in error(*asked, "x.png")


PICTURES = [
    *(["score", "FILE", "--truth", "truth", "--picture", x] for x in ("scores", "table", "share", "flow")),
    *(["score", "FILE", "--truth", "truth", "--resamples", "30", "--picture", x] for x in ("scores", "chance")),
    *(["compare", "FILE", "--picture", x] for x in ("agreement", "flow", "transitions")),
    ["cluster-stability", "FILE", "--reference", "truth"],
]


@pytest.mark.parametrize("words", PICTURES, ids=" ".join)
def test_pictures(run: Any, error: Any, file: str, tmp_path: Path, words: list[str]) -> None:
    path, asked = tmp_path / "picture.svg", [file if x == "FILE" else x for x in words]
    plain = asked[: asked.index("--picture")] if "--picture" in asked else asked
    assert run(*asked, "--plot", str(path)).out == run(*plain).out
    assert path.read_text().endswith("</svg>\n")
    if plain != asked:
        assert "--picture: expected --plot" in error(*asked)
    if "chance" in asked:
        assert "--picture: expected --resamples R too" in error(*asked[:4], *asked[-2:], "--plot", str(path))


@pytest.mark.parametrize("words", [*PICTURES[1::3], ["study", "nvi", "--iterations", "2"]], ids=" ".join)
def test_size_and_fonts_of_pictures(run: Any, error: Any, file: str, tmp_path: Path, words: list[str]) -> None:
    png, pdf, asked = tmp_path / "x.png", tmp_path / "x.pdf", [file if x == "FILE" else x for x in words]
    run(*asked, "--plot", str(png), "--size", "8x5", "--dpi", "300")
    assert struct.unpack(">II", png.read_bytes()[16:24]) == (2400, 1500)
    run(*asked, "--plot", str(pdf), "--size", "8x5")
    assert b"/MediaBox [ 0 0 576 360 ]" in pdf.read_bytes()
    assert set(re.findall(rb"/Subtype /(Type\w+|CIDFont\w+)", pdf.read_bytes())) <= {b"Type0", b"CIDFontType2"}
    run(*asked, "--plot", str(pdf))
    assert b"/MediaBox [ 0 0 576 360 ]" not in pdf.read_bytes()  # of one call alone
    assert "layout" not in run(*asked, "--plot", str(png), "--size", "3.5x2.5").err
    assert "--size: expected WIDTHxHEIGHT in inches" in error(*asked, "--plot", str(pdf), "--size", "0x2")


@pytest.mark.parametrize("picture", ["flow", "transitions"])
def test_a_label_missing_and_items_without_one(run: Any, tmp_path: Path, picture: str) -> None:
    (tmp_path / "m.csv").write_text("a,b\nmissing,1\nmissing,1\n,2\n,2\nx,3\n")
    plot = tmp_path / "m.svg"
    run("compare", str(tmp_path / "m.csv"), "--missing", "label", "--plot", str(plot), "--picture", picture)
    assert {"missing", "(missing)", "x"} <= set(re.findall("<!-- (.*) -->", plot.read_text()))
