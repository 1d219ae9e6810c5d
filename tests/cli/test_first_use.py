"""What somebody mistypes, mixes up or gives twice at the command line."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torchclusteval as tce
from torchclusteval.cli import main

COREFERENCE = Path(__file__).parents[2] / "docs" / "data"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    rows = ["class,k,other", "a,0,1", "a,0,2", "b,1,2", "b,1|1,2"]
    (tmp_path / "labels.csv").write_text("\n".join(rows) + "\n")
    np.save(tmp_path / "labels.npy", [0, 0, 1, 1])
    return tmp_path


def run(capsys: Any, *words: str, status: int = 0) -> tuple[str, str]:
    """What is printed on standard output and standard error."""
    assert main(words) == status, capsys.readouterr().err
    captured = capsys.readouterr()
    return captured.out, captured.err


def error(capsys: Any, *words: str) -> str:
    out, err = run(capsys, *words, status=2)
    assert out == ""
    last: str = err.splitlines()[-1]
    return last.removeprefix("torchclusteval: error: ")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["scor", "labels.csv"], "(did you mean score?) (see torchclusteval --help)"),
        (["score", "labels.csv", "--truht", "class"], "(did you mean --truth or"),
        (["score", "labels.csv", "--truht=class"], "(see torchclusteval score --help)"),
        (["--verison"], "(did you mean --version?) (see torchclusteval --help)"),
        (["study", "kishda"], "(did you mean kishida?)"),
        (["measures", "ari", "nmi"], "unrecognized arguments: nmi (see torchclusteval measures --help)"),
    ],
)
def test_the_closest_word_is_named(words: list[str], hint: str, capsys: Any) -> None:
    assert hint in error(capsys, *words)


@pytest.mark.parametrize(
    ("command", "flag", "value"),
    [
        ("score", "--truth", "class"),
        ("score", "--measures", "ari"),
        ("score", "--top", "1"),
        ("score", "--format", "csv"),
        ("compare", "--measure", "ari"),
        ("consensus", "--start", "k"),
    ],
)
def test_an_option_of_one_value_is_given_once(command: str, flag: str, value: str, capsys: Any) -> None:
    said = error(capsys, command, "labels.csv", flag, value, flag, value)
    assert said.startswith(f"{flag}: expected once; got it twice")
    assert ("commas" in said) == (flag == "--measures")


def test_options_that_add_up_are_given_again(capsys: Any) -> None:
    words = ["--truth", "class", "--measures", "ari", "--format", "csv"]
    out, _ = run(capsys, "score", "labels.csv", *words, "--columns", "k", "--columns", "other")
    assert [line.split(",")[0] for line in out.splitlines()] == ["clustering", "k", "other"]


def test_a_file_that_comes_twice_has_two_names(capsys: Any) -> None:
    out, _ = run(capsys, "score", "labels.npy", "labels.npy", "labels.npy", "--measures", "ari", "--format", "csv")
    assert out == "clustering,adjusted_rand\nlabels.npy,1.0\nlabels.npy (2),1.0\n"
    out, _ = run(capsys, "compare", "labels.npy", "labels.npy", "--format", "csv")
    assert out.splitlines()[0] == "clustering,labels.npy,labels.npy (2)"
    key, response = str(COREFERENCE / "key.conll"), str(COREFERENCE / "eager.conll")
    out, _ = run(capsys, "score", key, response, response, "--format", "json")
    assert {row["response"] for row in json.loads(out)} == {response, f"{response} (2)"}
    Path("groups.tsv").write_text("1\tx\n2\ty\n2\tx\n")
    out, _ = run(capsys, "score", "--overlapping", *["groups.tsv"] * 3, "--measures", "omega_index", "--format", "csv")
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == ["groups.tsv", "groups.tsv (2)"]


@pytest.mark.parametrize("suffix", ["npy", "npz", "parquet", "feather", "orc", "h5ad", "npy.gz"])
def test_a_file_that_is_none_by_its_first_bytes(suffix: str, capsys: Any) -> None:
    Path(f"bad.{suffix}").write_bytes(b"0\n1\n")
    said = error(capsys, "compare", f"bad.{suffix}", "labels.npy")
    kind = suffix.removesuffix(".gz")
    assert said == f"bad.{suffix}: expected a .{kind} file, as its name says; it is another, or damaged"


def test_a_file_that_is_not_packed(capsys: Any) -> None:
    for name, packing in (("gz", "gzip"), ("bz2", "bz2"), ("zst", "zstd"), ("lz4", "lz4")):
        Path(f"plain.csv.{name}").write_bytes(Path("labels.csv").read_bytes())
        out, err = run(capsys, "score", f"plain.csv.{name}", "--truth", "class", "--measures", "ari")
        assert err.startswith(f"torchclusteval: note: plain.csv.{name}: is no {packing} file")
        assert out.count("\n") == 3
    Path("labels.npy.gz").write_bytes(gzip.compress(Path("labels.npy").read_bytes()))
    assert run(capsys, "compare", "labels.npy.gz", "labels.npy")[1] == ""


@pytest.mark.parametrize("kind", ["datetime64[D]", "timedelta64[D]", "complex128", "V4"])
def test_arrays_of_other_kinds(kind: str, capsys: Any) -> None:
    np.save("other.npy", np.zeros(3, kind))
    said = error(capsys, "compare", "other.npy")
    assert said.startswith("other.npy: expected whole numbers or text; got an array of ")
    assert ("array.astype(str)" in said) == (kind[0] in "dt")
    np.savez("other.npz", a=np.zeros(3, kind), b=np.zeros(3, kind))
    assert error(capsys, "compare", "other.npz").startswith("other.npz: column 'a': expected")


def test_consensus_of_no_labels(capsys: Any) -> None:
    Path("none.csv").write_text("id,a,b\n1,,\n2,,NA\n")
    assert error(capsys, "consensus", "none.csv", "--exclude", "id") == (
        "none.csv: expected labels; all are missing or noise"
    )


def test_markdown(capsys: Any) -> None:
    words = ["labels.csv", "--truth", "class", "--measures", "purity", "--columns", "k"]
    out, _ = run(capsys, "score", *words, "--format", "markdown")
    assert out == "| clustering | purity |\n| :-- | --: |\n| k | 1.0000 |\n"
    run(capsys, "score", *words, "--per-cluster", "--output", "scores.md")
    lines = Path("scores.md").read_text().splitlines()
    assert lines[5].startswith("| :-- | :-- | --: |")
    assert any(line.startswith("| k | 1\\|1 | 1 |") for line in lines)
    for more in (["--by", "other"], ["--match"]):
        assert "| k" in run(capsys, "score", *words, *more, "--format", "markdown")[0]
    for command in (["compare"], ["cluster-stability", "--reference", "class"]):
        out, _ = run(capsys, command[0], "labels.csv", *command[1:], "--format", "markdown")
        table = out.partition("\n\n")[2].splitlines()
        assert len({line.replace("\\|", "").count("|") for line in table}) == 1
    assert "ends in .json" in error(capsys, "score", *words, "--format", "json", "--output", "x.md")


GROUPED = ["class,k,j,part", "a,0,1,x", "a,0,0,x", "b,1,1,y", "b,1,0,y", "b,0,2,y"]


@pytest.fixture
def grouped(folder: Path) -> str:
    (folder / "grouped.csv").write_text("\n".join(GROUPED) + "\n")
    return "grouped.csv"


@pytest.mark.parametrize("name", ["mean_class_accuracy", "macro_f", "mean_iou"])
def test_sorting_by_the_means_of_classes(name: str, grouped: str, capsys: Any) -> None:
    words = ["score", grouped, "--truth", "class", "--columns", "j,k", "--measures", "ari", "--sort", name]
    out, _ = run(capsys, *words, "--per-class", "--format", "json")
    scores = json.loads(out)["scores"]
    assert [row["clustering"] for row in scores] == ["k", "j"]
    assert scores[0][name] > scores[1][name]
    assert error(capsys, *words) == f"--sort: expected --per-class too, which computes {name}; got it alone"


@pytest.mark.parametrize("more", [["--match"], ["--per-class"], ["--per-cluster"]])
def test_notes_are_of_what_is_shown(more: list[str], grouped: str, capsys: Any) -> None:
    words = ["score", grouped, "--truth", "class", "--columns", "j,k", "--measures", "ari", *more]
    assert "'j' has several best matchings" in run(capsys, *words)[1]
    assert run(capsys, *words, "--top", "1")[1] == ""


def test_the_coverage_of_an_average_is_that_of_all_items(grouped: str, capsys: Any) -> None:
    words = ["--truth", "class", "--by", "part", "--columns", "k", "--measures", "purity", "--noise-label", "1"]
    out, _ = run(capsys, "score", grouped, *words, "--format", "json")
    assert [row["coverage"] for row in json.loads(out)["scores"]] == [0.6, 0.6]


def test_a_picture_says_what_it_shows(grouped: str, capsys: Any) -> None:
    pytest.importorskip("matplotlib")
    words = ["score", grouped, "--truth", "class", "--columns", "j,k", "--plot", "x.svg"]
    assert "the picture is by adjusted_rand; --sort" in run(capsys, *words)[1]
    assert run(capsys, *words, "--sort", "ari")[1] == ""
    assert run(capsys, *words, "--measures", "nmi")[1] == ""


def test_a_table_for_another_program_is_in_one_piece(grouped: str, capsys: Any, monkeypatch: Any) -> None:
    words = ["score", grouped, "--truth", "class", "--columns", "k"]
    assert len(run(capsys, *words)[0].split("\n\n")) > 1
    monkeypatch.delenv("COLUMNS")
    (header, row) = run(capsys, *words)[0].splitlines()
    assert len(header.split()) == len(row.split()) == 20


def test_the_usual_measures_and_one_more(grouped: str, capsys: Any) -> None:
    words = ["score", grouped, "--truth", "class", "--columns", "k", "--format", "csv"]
    plain = run(capsys, *words)[0].splitlines()[0].split(",")
    assert len(plain) == 20
    more = run(capsys, *words, "--sort", "nid")[0].splitlines()[0].split(",")
    assert set(more) - set(plain) == {"normalized_information_distance"}
    assert run(capsys, *words, "--measures", "default,nid")[0].splitlines()[0].split(",")[:20] == plain


def paired_file(folder: Path) -> tuple[str, dict[str, np.ndarray]]:
    random = np.random.default_rng(0)
    true = random.integers(0, 3, 90)
    data = {"class": true} | {
        f"run{i}": np.where(random.random(90) < 0.1 + 0.2 * i, random.integers(0, 3, 90), true) for i in range(4)
    }
    path = folder / "paired.csv"
    path.write_text("\n".join([",".join(data), *(",".join(map(str, row)) for row in zip(*data.values(), strict=True))]))
    return str(path), data


def test_against_is_the_paired_bootstrap(folder: Path, capsys: Any) -> None:
    path, data = paired_file(folder)
    words = ["score", path, "--truth", "class", "--against", "run1", "--measures", "ari,vi", "--seed", "3"]
    out, err = run(capsys, *words, "--correction", "holm", "--format", "json", "--sort", "vi")
    assert err == "torchclusteval: note: differences, with 95 % intervals, are to 'run1'\n"
    rows = {row["clustering"]: row for row in json.loads(out)["scores"]}
    assert list(rows) == ["run0", "run2", "run3"]
    others = np.stack([data[name] for name in rows])
    found = tce.paired_bootstrap(
        *(data["class"], others, data["run1"], ["ari", "vi"]), rng=3, n_resamples=1000, correction="holm"
    )
    for name, record in found.items():
        for key, field in {
            "": "estimate_a",
            "_difference": "difference",
            "_difference_low": "low",
            "_difference_high": "high",
            "_p": "p_value",
            "_p_adjusted": "p_adjusted",
        }.items():
            assert [row[name + key] for row in rows.values()] == pytest.approx(getattr(record, field).tolist())
    assert "run0  " in run(capsys, *words, "--top", "1")[0]


def test_intervals_of_differences_are_named_so(folder: Path, capsys: Any) -> None:
    path, _ = paired_file(folder)
    words = ["score", path, "--truth", "class", "--measures", "ari", "--confidence", "0.9", "--resamples", "50"]
    names = ["clustering", *(f"adjusted_rand{end}" for end in ("", "_difference", "_difference_low"))]
    names += ["adjusted_rand_difference_high", "adjusted_rand_p"]
    for form in ("csv", "markdown", "json"):
        out, err = run(capsys, *words, "--against", "run1", "--format", form)
        first = list(json.loads(out)["scores"][0]) if form == "json" else re.findall(r"\w+", out.splitlines()[0])
        assert first == names
        assert "differences, with 90 % intervals, are to 'run1'" in err
    assert "adjusted_rand_low" in run(capsys, *words, "--format", "csv")[0]


def test_against_leaves_out_what_one_of_both_leaves_out(folder: Path, capsys: Any) -> None:
    path, data = paired_file(folder)
    words = ["score", path, "--truth", "class", "--against", "run1", "--measures", "ari", "--columns", "run3"]
    out, _ = run(capsys, *words, "--noise-label", "2", "--ignore", "0", "--format", "json")
    kept = (data["run1"] != 2) & (data["run3"] != 2) & (data["class"] != 0)
    (row,) = json.loads(out)["scores"]
    assert row["coverage"] == kept.mean()
    score = tce.evaluate(data["class"][kept], data["run3"][kept], ["ari"])["ari"].item()
    assert row["adjusted_rand"] == pytest.approx(score)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--correction", "holm"], "--correction: expected --against COLUMN too"),
        (["--against", "k", "--match"], "--match: expected scores of each clustering alone; got --against too"),
        (["--against", "k", "--columns", "k"], "--against: expected another clustering beside 'k'; got none"),
        (["--against", "kk"], "labels.csv: --against: expected a column that the file has; got 'kk'"),
    ],
)
def test_against_what_is_not_there(words: list[str], said: str, capsys: Any) -> None:
    assert error(capsys, "score", "labels.csv", "--truth", "class", *words).startswith(said)


def test_too_few_resamples_for_a_correction_are_noted(folder: Path, capsys: Any) -> None:
    path, _ = paired_file(folder)
    words = ["--truth", "class", "--against", "run1", "--correction", "holm", "--resamples", "20"]
    assert "note: n_resamples: expected at least" in run(capsys, "score", path, *words)[1]


def test_the_reference_is_no_run_of_its_own(folder: Path, capsys: Any) -> None:
    words = ["cluster-stability", "labels.csv", "--reference", "k", "--format", "json", "--columns"]
    (folder / "labels.csv").write_text("class,k,k2\na,0,0\na,0,1\nb,1,1\nb,1,1\n")
    found = [json.loads(run(capsys, *words, columns)[0]) for columns in ("k2", "k*", "k2,k")]
    assert found[0] == found[1] == found[2]
    assert found[0]["n_runs"] == 1
    assert [row["mean_jaccard"] for row in found[0]["clusters"]] == pytest.approx([1 / 2, 2 / 3])
    assert error(capsys, *words, "k").startswith("clusterings: expected a column beside that of --reference; got none")


@pytest.mark.parametrize(
    "words",
    [
        ["score", "--truth", "class"],
        ["score", "--truth", "class", "--by", "donor"],
        ["relabel", "--truth", "class", "--output", "new.csv"],
        ["compare"],
        ["consensus"],
        ["cluster-stability", "--reference", "class"],
    ],
)
def test_columns_of_ids_are_noted(words: list[str], folder: Path, capsys: Any) -> None:
    (folder / "labels.csv").write_text("id,class,donor,k\n7,a,x,0\n8,a,x,0\n9,b,y,1\n")
    command, *options = words
    _, err = run(capsys, command, "labels.csv", *options)
    assert "note: in 'id' every item is a cluster of its own; if it holds ids, --exclude it" in err


def test_files_with_ids_are_told_what_to_do(folder: Path, capsys: Any) -> None:
    (folder / "truth.csv").write_text("id,class\n1,a\n2,b\n")
    (folder / "runs.csv").write_text("id,run\n1,0\n2,1\n")
    assert "if one holds ids of the items: --id 'id'; for items in several groups: --overlapping" in error(
        capsys, "score", "truth.csv", "runs.csv"
    )
    assert "2 files, the first of which has the truth alone (or beside --id COLUMN)" in error(
        capsys, "score", "truth.csv", "runs.csv", "--truth", "class"
    )


def test_one_clustering_compares_with_nothing(folder: Path, capsys: Any) -> None:
    (folder / "runs.csv").write_text("run,other\n0,0\n1,1\n")
    assert error(capsys, "compare", "runs.csv", "--columns", "run") == "clusterings: expected at least two; got 1"


def test_a_pattern_that_fits_nothing_lists_what_there_is(folder: Path, capsys: Any) -> None:
    (folder / "runs.csv").write_text("run,other\n0,0\n1,1\n")
    assert "got 'x*' (there are run, other)" in error(capsys, "compare", "runs.csv", "--columns", "x*")
