"""``estimate``: what ``estimate_from_sample`` finds, and where the command line says that it is needed."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
import scipy.stats
import torch

import torchclusteval as tce

MEASURES = [*(f"{x}_{side}" for x in ("pair", "bcubed", "exact_cluster") for side in ("precision", "recall", "f"))]


@pytest.fixture
def sample() -> tuple[list[str], dict[str, list[int]]]:
    """A sample of eight of 30 entities, and two resolvers."""
    generator = torch.Generator().manual_seed(0)
    true = torch.arange(30).repeat_interleave(4)
    runs = [
        torch.where(
            torch.rand(120, generator=generator) < share, torch.randint(0, 30, (120,), generator=generator), true
        )
        for share in (0.1, 0.3)
    ]
    shown = [f"e{x}" if x % 4 == 1 else "" for x in true.tolist()]
    return shown, {"rules": runs[0].tolist(), "model": runs[1].tolist()}


@pytest.fixture
def file(tmp_path: Path, sample: Any) -> str:
    true, runs = sample
    lines = [
        ["id", "known", *runs],
        *([str(i), x, *map(str, y)] for i, (x, *y) in enumerate(zip(true, *runs.values(), strict=True))),
    ]
    path = tmp_path / "records.csv"
    path.write_text("\n".join(map(",".join, lines)) + "\n")
    return str(path)


@pytest.mark.parametrize("how", ["uniform", "size", "file"])
def test_estimates(run: Any, file: str, sample: Any, tmp_path: Path, how: str) -> None:
    true, runs = sample
    given: Any = how
    asked = ["estimate", file, "--truth", "known", "--exclude", "id", "--format", "json", "--weights", how]
    if how == "file":
        given = {label: 1.0 + i for i, label in enumerate(sorted({*true} - {""}))}
        asked[-1] = str(tmp_path / "weights.csv")
        Path(asked[-1]).write_text("entity,weight\n" + "".join(f"{x},{w}\n" for x, w in given.items()))
    tables = {name: tce.ContingencyTables.from_labels(true, x, absent_true="") for name, x in runs.items()}
    found = run(*asked)
    assert "note: a sample of 8 classes, 32 of 120 items" in found.err
    assert [(row["clustering"], row["measure"]) for row in found.json["estimates"]] == [
        (name, measure) for name in runs for measure in MEASURES
    ]
    for row in found.json["estimates"]:
        record = tce.estimate_from_sample(tables[row["clustering"]], given)[row["measure"]]
        assert row["estimate"] == pytest.approx(record.estimate.item(), rel=1e-12)
        assert row["standard_error"] == pytest.approx(record.standard_error.item(), rel=1e-12)
        if row["standard_error"]:  # else no sampled class differs from the others
            ends = scipy.stats.t.interval(0.95, 7, row["estimate"], row["standard_error"])
            assert [row["low"], row["high"]] == pytest.approx([*np.clip(ends, 0, 1)], rel=1e-12)
        assert (row["low"] is None) == (not row["standard_error"])
    rows = run(*asked, "--against", "rules", "--measures", "pair_f").json["estimates"]
    other: Any = tce.estimate_from_sample(tables["model"], given, against=tables["rules"])["pair_f"]
    assert [row["clustering"] for row in rows] == ["model"]
    assert rows[0]["difference"] == pytest.approx(other.difference.item(), rel=1e-12)
    assert rows[0]["difference_error"] == pytest.approx(other.difference_error.item(), rel=1e-12)
    p = 2 * scipy.stats.t.sf(abs(rows[0]["difference"] / rows[0]["difference_error"]), 7)
    assert rows[0]["p"] == pytest.approx(p, rel=1e-12)


def test_mistakes(error: Any, file: str, tmp_path: Path) -> None:
    weights = tmp_path / "weights.csv"
    asked = ["estimate", file, "--truth", "known", "--exclude", "id"]
    for text, message in (
        ("e1,2\n", "weights.csv: expected a weight for each class; got none for 'e5', but for 'e1'"),
        ("e1,2\ne1,3\n", "weights.csv: line 2: expected each class once; got 'e1' again"),
        ("a,b\ne1\n", "line 2: expected 2 cells, as in the first line; got 1"),
        ("e1,2,8\ne5,2,9\n", "weights.csv: expected lines class,weight; got 3 cells"),
        ("e1,1_0\n", "weights.csv: line 1: expected a positive number after 'e1'; got '1_0'"),
        ("c;w\ne1;0,5\n", "line 2: expected a positive number; got '0,5' (a decimal comma? write 0.5)"),
        ("e5,1\ne1,inf\n", "weights.csv: line 2: expected a positive number; got 'inf'"),
        ("e5,1\ne1,NA\n", "weights.csv: line 2: expected a positive number; got a missing one"),
        ("".join(f"e{x},0\n" for x in range(30)), "weights.csv: line 1: expected a positive number; got '0'"),
    ):
        weights.write_text(text)
        assert message in error(*asked, "--weights", str(weights))
    weights.write_text("e1,2\n", encoding="utf-16")
    assert "weights.csv: expected UTF-8 text; got UTF-16" in error(*asked, "--weights", str(weights))
    assert "--weights: expected uniform, size or a file" in error(*asked, "--weights", "equal")
    assert "--weights" in error(*asked)
    assert "--measures: expected names of" in error(*asked, "--weights", "size", "--measures", "")
    assert "--measures: expected names of pair_precision" in error(*asked, "--weights", "size", "--measures", "ari")
    assert "--against: expected a clustering other than 'rules'" in error(
        *asked, "--weights", "size", "--columns", "rules", "--against", "rules"
    )


def test_it_is_named_where_it_is_needed(run: Any, error: Any, file: str, sample: Any) -> None:
    asked = ["score", file, "--truth", "known", "--exclude", "id"]
    assert "if only a sample has a known class: torchclusteval estimate" in error(*asked)
    for measures, noted in (("pair_precision", True), ("purity", True), ("pair_recall", False)):
        err = run(*asked, "--missing", "ignore", "--measures", measures).err
        assert ("torchclusteval estimate" in err) == noted
    with pytest.raises(ValueError, match=r"labels_true: .*absent_true= and tce.estimate_from_sample"):
        tce.evaluate([None, "a", "a"], [0, 1, 1])


def test_noise_stays_in_the_sample(run: Any, tmp_path: Path) -> None:
    """By hand: of the pairs of c1 and c2 one of two is found, as an item of c1 is in no cluster."""
    path = tmp_path / "noise.csv"
    path.write_text("truth,a\nc1,1\nc1,-1\nc2,2\n,3\nc2,2\n")
    asked = ["--truth", "truth", "--weights", "uniform", "--noise-label", "-1", "--format", "json"]
    rows = {row["measure"]: row["estimate"] for row in run("estimate", str(path), *asked).json["estimates"]}
    assert (rows["pair_precision"], rows["pair_recall"]) == (1.0, 0.5)


@pytest.mark.parametrize("scale", [1.0, 1e307, 1e-300])
@pytest.mark.parametrize("kind", ["csv", "semicolons", "numbers", "parquet"])
def test_files_of_weights(run: Any, tmp_path: Path, kind: str, scale: float) -> None:
    """By hand: of three classes a factor of all weights changes nothing; a class without items is named."""
    labels = {"a": "1", "b": "2", "c": "3"} if kind == "numbers" else {x: x for x in "abc"}
    records = tmp_path / "records.csv"
    records.write_text("t,k\n" + "".join(f"{labels[x]},{k}\n" for x, k in ("a1", "a1", "b2", "b2", "c3", "c4")))
    rows = [(labels[x], w * scale) for x, w in (("a", 0.5), ("b", 1.5), ("c", 2.0))] + [("zz", 1.0)]
    path = tmp_path / ("weights.parquet" if kind == "parquet" else "weights.csv")
    if kind == "parquet":
        pyarrow.parquet.write_table(pyarrow.table({"entity": [x for x, _ in rows], "w": [w for _, w in rows]}), path)
    else:
        text = "".join(f"{'0' * (kind == 'numbers') + x},{w!r}\n" for x, w in rows)
        path.write_text("entity;w\n" + text.replace(",", ";") if kind == "semicolons" else text)
    asked = ["--truth", "t", "--measures", "exact_cluster_recall", "--format", "json", "--weights", str(path)]
    found = run("estimate", str(records), *asked)
    assert "1 of 4 classes have no items, such as" in found.err
    # Weighted share of whole clusters, (.5 + 1.5) / 4, and its correction of the bias of a ratio.
    mean = 4 / 3
    residuals = [(w * (found_whole - 0.5)) / mean for w, found_whole in ((0.5, 1), (1.5, 1), (2.0, 0))]
    bias = sum(w * r for w, r in zip((0.5, 1.5, 2.0), residuals, strict=True)) / 3 / (2 * mean)
    assert found.json["estimates"][0]["estimate"] == pytest.approx(0.5 + bias, rel=1e-12)


def test_no_truth_and_advice_that_fits(error: Any, tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    asked = ["estimate", str(path), "--truth", "t", "--weights", "uniform"]
    path.write_text("t,a,b\n,1,1\n,1,2\n")
    assert error(*asked) == "--truth: expected a column with the labels of some items; 't' has none"
    path.write_text("t,a,b\nx,1,1\n,,2\n")
    message = error(*asked)
    assert "column 'a', line 3: expected a label" in message
    assert "--noise-label NA says that they are in no cluster" in message
    assert "--missing" not in message
