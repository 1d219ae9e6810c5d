"""What somebody mistypes, mixes up or gives twice at the command line."""

import contextlib
import gzip
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torchclusteval as tce

COREFERENCE = Path(__file__).parents[2] / "docs" / "data"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = ["class,k,other", "a,0,1", "a,0,2", "b,1,2", "b,1|1,2"]
    (tmp_path / "labels.csv").write_text("\n".join(rows) + "\n")
    np.save(tmp_path / "labels.npy", [0, 0, 1, 1])
    return tmp_path


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
def test_an_option_of_one_value_is_given_once(command: str, flag: str, value: str, error: Any) -> None:
    said = error(command, "labels.csv", flag, value, flag, value)
    assert said.startswith(f"{flag}: expected once; got it twice")
    assert ("commas" in said) == (flag == "--measures")


def test_a_file_that_comes_twice_has_two_names(run: Any) -> None:
    out = run("score", "labels.npy", "labels.npy", "labels.npy", "--measures", "ari", "--format", "csv").out
    assert out == "clustering,adjusted_rand\nlabels.npy,1.0\nlabels.npy (2),1.0\n"
    out = run("compare", "labels.npy", "labels.npy", "--format", "csv").out
    assert out.splitlines()[0] == "clustering,labels.npy,labels.npy (2)"
    key, response = str(COREFERENCE / "key.conll"), str(COREFERENCE / "eager.conll")
    rows = run("score-coreference", key, response, response, "--format", "json").json
    assert {row["response"] for row in rows} == {response, f"{response} (2)"}
    Path("groups.tsv").write_text("1\tx\n2\ty\n2\tx\n")
    out = run("score-overlapping", *["groups.tsv"] * 3, "--measures", "omega_index", "--format", "csv").out
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == ["groups.tsv", "groups.tsv (2)"]


@pytest.mark.parametrize("suffix", ["npy", "npz", "parquet", "feather", "orc", "h5ad", "npy.gz"])
def test_a_file_that_is_none_by_its_first_bytes(suffix: str, error: Any) -> None:
    Path(f"bad.{suffix}").write_bytes(b"0\n1\n")
    said = error("compare", f"bad.{suffix}", "labels.npy")
    kind = suffix.removesuffix(".gz")
    assert said == f"bad.{suffix}: expected a .{kind} file, as its name says; got another or a damaged one"


def test_a_file_that_is_not_packed(run: Any) -> None:
    for name, packing in (("gz", "gzip"), ("bz2", "bz2"), ("zst", "zstd"), ("lz4", "lz4")):
        Path(f"plain.csv.{name}").write_bytes(Path("labels.csv").read_bytes())
        found = run("score", f"plain.csv.{name}", "--truth", "class", "--measures", "ari")
        assert found.err.startswith(f"torchclusteval: note: plain.csv.{name}: is no {packing} file")
        assert found.out.count("\n") == 3
    Path("labels.npy.gz").write_bytes(gzip.compress(Path("labels.npy").read_bytes()))
    assert run("compare", "labels.npy.gz", "labels.npy").err == ""


@pytest.mark.parametrize("kind", ["datetime64[D]", "timedelta64[D]", "complex128", "longdouble", "V4"])
def test_arrays_of_other_kinds(kind: str, error: Any) -> None:
    np.save("other.npy", np.zeros(3, kind))
    said = error("compare", "other.npy")
    assert said.startswith("other.npy: expected whole numbers, booleans or strings; got an array of ")
    assert (".astype(str)" in said) == (kind[0] in "dt")
    np.savez("other.npz", a=np.zeros(3, kind), b=np.zeros(3, kind))
    assert error("compare", "other.npz").startswith("other.npz: column 'a': expected")


def test_markdown(run: Any) -> None:
    words = ["labels.csv", "--truth", "class", "--measures", "purity", "--columns", "k"]
    out = run("score", *words, "--format", "markdown").out
    assert out == "| clustering | purity |\n| :-- | --: |\n| k | 1.0000 |\n"
    run("score", *words, "--per", "cluster", "--output", "scores.md")
    lines = Path("scores.md").read_text().splitlines()
    assert lines[5].startswith("| :-- | :-- | --: |")
    assert any(line.startswith("| k | 1\\|1 | 1 |") for line in lines)
    for more in (["--by", "other"], ["--per", "class"]):
        assert "| k" in run("score", *words, *more, "--format", "markdown").out
    for command in (["compare"], ["cluster-stability", "--reference", "class"]):
        out = run(command[0], "labels.csv", *command[1:], "--format", "markdown").out
        table = out.partition("\n\n")[2].splitlines()
        assert len({line.replace("\\|", "").count("|") for line in table}) == 1


GROUPED = ["class,k,j,part", "a,0,1,x", "a,0,0,x", "b,1,1,y", "b,1,0,y", "b,0,2,y"]


@pytest.fixture
def grouped(folder: Path) -> str:
    (folder / "grouped.csv").write_text("\n".join(GROUPED) + "\n")
    return "grouped.csv"


@pytest.mark.parametrize("name", ["mean_class_accuracy", "macro_f", "mean_iou"])
def test_sorting_by_the_means_of_classes(name: str, grouped: str, run: Any, error: Any) -> None:
    words = ["score", grouped, "--truth", "class", "--columns", "j,k", "--measures", "ari", "--sort", name]
    scores = run(*words, "--per", "class", "--format", "json").json["scores"]
    assert [row["clustering"] for row in scores] == ["k", "j"]
    assert scores[0][name] > scores[1][name]
    assert error(*words) == f"--sort: expected --per class too, as it computes {name}; got --sort alone"


@pytest.mark.parametrize("more", [["--per", "class"], ["--per", "cluster"]])
def test_notes_are_of_what_is_shown(more: list[str], grouped: str, run: Any) -> None:
    words = ["score", grouped, "--truth", "class", "--columns", "j,k", "--measures", "ari", *more]
    assert "'j' has several best matchings" in run(*words).err
    assert run(*words, "--top", "1").err == ""


def test_the_coverage_of_an_average_is_that_of_all_items(grouped: str, run: Any) -> None:
    words = ["--truth", "class", "--by", "part", "--columns", "k", "--measures", "purity", "--noise-label", "1"]
    scores = run("score", grouped, *words, "--format", "json").json["scores"]
    assert [row["coverage"] for row in scores] == [0.6, 0.6, 0.6]


def test_a_picture_says_what_it_shows(grouped: str, run: Any) -> None:
    words = ["score", grouped, "--truth", "class", "--columns", "j,k", "--plot", "x.svg"]
    assert "the picture shows ami_arithmetic; --sort" in run(*words).err
    assert run(*words, "--sort", "ari").err == ""
    assert run(*words, "--measures", "nmi").err == ""


def test_a_table_for_another_program_is_in_one_piece(grouped: str, run: Any, monkeypatch: Any) -> None:
    words = ["score", grouped, "--truth", "class", "--columns", "k"]
    assert len(run(*words).out.split("\n\n")) > 1
    monkeypatch.delenv("COLUMNS")
    (header, row) = run(*words).out.splitlines()
    assert len(header.split()) == len(row.split()) == 20


def test_the_usual_measures_and_one_more(grouped: str, run: Any) -> None:
    words = ["score", grouped, "--truth", "class", "--columns", "k", "--format", "csv"]
    plain, more, default = (
        run(*words, *x).out.splitlines()[0].split(",") for x in ([], ["--sort", "nid"], ["--measures", "default,nid"])
    )
    assert len(plain) == 20
    assert set(more) - set(plain) == {"normalized_information_distance"}
    assert default[:20] == plain


def paired_file(folder: Path) -> tuple[str, dict[str, np.ndarray]]:
    random = np.random.default_rng(0)
    true = random.integers(0, 3, 90)
    data = {"class": true} | {
        f"run{i}": np.where(random.random(90) < 0.1 + 0.2 * i, random.integers(0, 3, 90), true) for i in range(4)
    }
    path = folder / "paired.csv"
    path.write_text("\n".join([",".join(data), *(",".join(map(str, row)) for row in zip(*data.values(), strict=True))]))
    return str(path), data


def test_difference_is_the_paired_bootstrap(folder: Path, run: Any) -> None:
    path, data = paired_file(folder)
    words = ["difference", path, "--truth", "class", "--against", "run1", "--measures", "ari,vi", "--seed", "3"]
    shown = run(*words, "--correction", "holm", "--format", "json", "--sort", "vi")
    assert shown.err == (
        "torchclusteval: note: drawn: items; intervals hold for new items of the same classes\n"
        "torchclusteval: note: p-values stop at 0.002: --resamples 1999 take them to 0.001\n"
        "torchclusteval: note: differences, with 95 % intervals, are to 'run1'\n"
    )
    rows = shown.scores
    assert list(rows) == ["run0", "run2", "run3"]
    others = np.stack([data[name] for name in rows])
    found = tce.paired_bootstrap(data["class"], others, data["run1"], ["ari", "vi"], 1000, rng=3, correction="holm")
    fields = ["estimate_a", "difference", "low", "high", "p_value", "p_adjusted"]
    keys = ["", "_difference", "_difference_low", "_difference_high", "_p", "_p_adjusted"]
    for name, record in found.items():
        for key, field in zip(keys, fields, strict=True):
            assert [row[name + key] for row in rows.values()] == pytest.approx(getattr(record, field).tolist())
    assert "run0  " in run(*words, "--top", "1").out
    narrow = run(*words[:-4], "--measures", "ari", "--confidence-level", "0.9", "--resamples", "50", "--format", "csv")
    assert "differences, with 90 % intervals, are to 'run1'" in narrow.err
    assert narrow.out.splitlines()[0].split(",") == ["clustering", *(f"adjusted_rand{key}" for key in keys[:5])]


def test_a_difference_leaves_out_what_one_of_both_leaves_out(folder: Path, run: Any) -> None:
    path, data = paired_file(folder)
    words = ["difference", path, "--truth", "class", "--against", "run1", "--measures", "ari", "--columns", "run3"]
    (row,) = run(*words, "--noise-label", "2", "--ignore", "0", "--format", "json").scores.values()
    kept = (data["run1"] != 2) & (data["run3"] != 2) & (data["class"] != 0)
    assert row["coverage"] == kept.mean()
    score = tce.evaluate(data["class"][kept], data["run3"][kept], ["ari"])["ari"].item()
    assert row["adjusted_rand"] == pytest.approx(score)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["score", "--against", "k"], "unrecognized arguments: --against k (an option of difference, estimate)"),
        (["difference"], "--against: expected a column, as --truth CLASS --against CLUSTERING; got none of 'class'"),
        (["difference", "--against", "k", "--exclude", "other"], "clusterings: expected at least one column other"),
        (["difference", "--against", "k", "--columns", "k"], "--against: expected a clustering other than 'k'"),
        (["difference", "--against", "kk"], "labels.csv: --against: expected a column that the file has; got 'kk'"),
    ],
)
def test_differences_to_what_is_not_there(words: list[str], said: str, error: Any) -> None:
    assert error(words[0], "labels.csv", "--truth", "class", *words[1:]).startswith(said)


def test_too_few_resamples_for_a_correction_are_noted(folder: Path, run: Any) -> None:
    path, _ = paired_file(folder)
    words = ["--truth", "class", "--against", "run1", "--correction", "holm", "--resamples", "20"]
    assert "note: n_resamples: expected at least" in run("difference", path, *words).err


def test_the_reference_is_no_run_of_its_own(folder: Path, run: Any, error: Any) -> None:
    words = ["cluster-stability", "labels.csv", "--reference", "k", "--format", "json", "--columns"]
    (folder / "labels.csv").write_text("class,k,k2\na,0,0\na,0,1\nb,1,1\nb,1,1\n")
    found = [run(*words, columns).json for columns in ("k2", "k*", "k2,k")]
    assert found[0] == found[1] == found[2]
    assert found[0]["n_runs"] == 1
    assert [row["mean_jaccard"] for row in found[0]["clusters"]] == pytest.approx([1 / 2, 2 / 3])
    assert error(*words, "k").startswith("clusterings: expected a column other than that of --reference; got none")


@pytest.mark.parametrize(
    "words",
    [
        ["score", "--truth", "class"],
        ["score", "--truth", "class", "--by", "donor"],
        ["relabel", "--truth", "class", "--output", "new.csv"],
        ["report", "--truth", "class", "--output", "new.html", "--resamples", "50"],
        ["compare"],
        ["consensus"],
        ["cluster-stability", "--reference", "class"],
    ],
)
def test_columns_of_ids_are_noted(words: list[str], folder: Path, run: Any) -> None:
    (folder / "labels.csv").write_text("id,class,donor,k\n7,a,x,0\n8,a,x,0\n9,b,y,1\n")
    command, *options = words
    err = run(command, "labels.csv", *options).err
    assert "note: in 'id' every item is a cluster of its own; if it holds ids, --exclude it" in err


_REPLACE = ["score", "cells.csv", "--truth", "class", "--overwrite", "--output"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["scor", "labels.csv"], "(did you mean score?) (see torchclusteval --help)"),
        (["score", "labels.csv", "--truht", "class"], "(did you mean --truth or"),
        (["score", "labels.csv", "--truht=class"], "(see torchclusteval score --help)"),
        (["--verison"], "(did you mean --version?) (see torchclusteval --help)"),
        (["study", "kishda"], "(did you mean kishida?)"),
        (["measures", "ari", "nmi"], "unrecognized arguments: nmi (see torchclusteval measures --help)"),
        (
            ["score", "cells.csv", "runs.csv"],
            "cells.csv: expected one column, the truth; got 2: 'id', 'class' (--truth COLUMN",
        ),
        (
            ["score", "runs.csv", "cells.csv", "--truth", "x"],
            "2 files: --truth: expected a column that one of them has",
        ),
        (["score", "runs.csv", "runs.csv", "--truth", "run"], "got 'run' ('runs.csv:run' or 'runs.csv:run (2)'?)"),
        (["compare", "runs.csv", "--columns", "run"], "clusterings: expected at least two; got 1"),
        (["compare", "runs.csv", "--columns", "x*"], "got 'x*' (there are 'id', 'run', 'other')"),
        (["consensus", "none.csv", "--exclude", "id"], "none.csv: expected labels; got only missing ones and noise"),
        (["score", "parts", "--truth", "run"], "one with the directory parts/sub"),
        ([*_REPLACE, "cells.csv"], "--output: expected a file other than the inputs; got cells.csv"),
    ],
)
def test_what_to_do_is_said(words: list[str], said: str, error: Any) -> None:
    Path("cells.csv").write_text("id,class\n1,a\n2,b\n")
    Path("runs.csv").write_text("id,run,other\n1,0,0\n2,1,1\n")
    Path("none.csv").write_text("id,a,b\n1,,\n2,,NA\n")
    Path("parts/sub").mkdir(parents=True)
    Path("parts/a.csv").write_text("run,other\n0,0\n1,1\n")
    shown = error(*words)
    assert said in shown
    assert shown.count("score-overlapping") < 2


OUTPUTS = {
    "scores.csv": ["score", "--truth", "class", "--measures", "all", "--overwrite", "--output"],
    "page.html": ["report", "--truth", "class", "--resamples", "20", "--overwrite", "--output"],
    "new.csv": ["relabel", "--truth", "class", "--overwrite", "--output"],
    "new.parquet": ["relabel", "--truth", "class", "--overwrite", "--output"],
    "agreed.csv": ["consensus", "--exclude", "class", "--overwrite", "--output"],
    "picture.svg": ["score", "--truth", "class", "--plot"],
}


def check_no_room(path: str, error: Any) -> None:
    rows = "".join(f"{i % 3},{i % 4},{i % 5}\n" for i in range(2000))
    Path("many.csv").write_text(f"class,a,b\n{rows}")
    command, *options = OUTPUTS[Path(path).name]
    assert re.match(rf"{path}: .*no space left on device", error(command, "many.csv", *options, path), re.IGNORECASE)
    assert not [path for path in Path(path).parent.iterdir() if path.name.startswith(".")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device without room")
@pytest.mark.parametrize("name", OUTPUTS)
def test_a_device_without_room_is_named(name: str, error: Any) -> None:
    Path(name).symlink_to("/dev/full")
    check_no_room(name, error)


@pytest.fixture
def disk(folder: Path) -> Iterator[Path]:
    """A disk of 64 kB."""
    (place := folder / "disk").mkdir()
    asked = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(asked, capture_output=True, check=False).returncode:
        pytest.skip("mounting a disk is refused")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_an_old_output_survives_a_full_disk(disk: Path, error: Any) -> None:
    for name in OUTPUTS:
        (disk / name).write_text("old")
    with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(256))
    for name in OUTPUTS:
        check_no_room(f"disk/{name}", error)
        assert all((disk / old).read_text() == "old" for old in OUTPUTS)
