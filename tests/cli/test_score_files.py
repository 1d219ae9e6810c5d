"""Options of ``score`` and ``compare`` about what files hold; files read in blocks, and by several processes."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
import sklearn.metrics

from tests.support.memory import can_measure, measured_twice, peak_megabytes
from tests.support.processes import finish, start_group
from torchclusteval.cli.reading import csv_table, sources

TEXT = np.array(["ant", "bee", "cat", "dog", "eel"])


def write_labels(path: Path, n: int = 500, *, words: bool = False) -> np.ndarray:
    """Columns ``id, class, a, b``, the first without use; returns the last three."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, n)
    columns = np.stack([truth, np.where(rng.random(n) < 0.7, truth, rng.integers(0, 5, n)), rng.integers(-1, 4, n)])
    shown = [TEXT[columns[0]], TEXT[columns[1]], columns[2]] if words else columns
    lines = [",".join(map(str, (i, *row))) for i, row in enumerate(zip(*shown, strict=True))]
    path.write_text("\n".join(["id,class,a,b", *lines]) + "\n")
    return columns


@pytest.fixture
def scores(run: Any) -> Callable[..., dict[str, Any]]:
    return lambda *arguments: run("score", *arguments, "--format", "json").json


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--exclude", "id", "--measures", "all"],
        ["--columns", "b", "--noise-label", "-1", "--noise", "cluster", "--sort", "vi"],
        ["--columns", "a,b", "--noise-label", "-1", "--noise", "singletons"],
        ["--columns", "a,b", "--noise-label", "3", "--ignore", "1"],
    ],
    ids=" ".join,
)
def test_blocks_do_not_matter(tmp_path: Path, scores: Any, monkeypatch: Any, words: bool, options: list[str]) -> None:
    path = tmp_path / "labels.csv"
    write_labels(path, words=words)
    complete = scores(str(path), "--truth", "class", *options)
    monkeypatch.setattr(csv_table, "_BLOCK_BYTES", 700)
    monkeypatch.setattr(csv_table, "_ROWS_PER_BLOCK", 1)
    assert scores(str(path), "--truth", "class", *options) == complete


NUMBERS = {  # each column by blocks of lines; the first 40 lines hold whole numbers only
    "words": (["07", "7"], ["x", "07", "7"]),  # 07 is a label of its own, and in every block
    "numbers": (["07", "7", "+7"], ["8", "8.0"]),  # 07 is 7
    "late": (["1", "2"], ["007", "2"], ["7", "y"]),
    "far": (["3", "003"], ["09999999999999999999", "3"], ["9999999999999999999", "3e0"]),  # beyond 64 bits
    "quoted": (['"07"', " 7 "], ["-0", "0", "z"]),
}


@pytest.mark.parametrize("truth", NUMBERS)
def test_a_column_is_numbers_or_text_for_all_of_the_file(
    tmp_path: Path, scores: Any, monkeypatch: pytest.MonkeyPatch, truth: str
) -> None:
    path, rng = tmp_path / "labels.csv", np.random.default_rng(0)
    columns = [[x for block in blocks for x in rng.choice(block, 120 // len(blocks))] for blocks in NUMBERS.values()]
    path.write_text("\n".join(map(",".join, [list(NUMBERS), *zip(*columns, strict=True)])) + "\n")
    texts = {name: [x.strip('" ') for x in column] for name, column in zip(NUMBERS, columns, strict=True)}
    for name in ("numbers", "far"):
        texts[name] = [str(int(x.removesuffix(".0").removesuffix("e0"))) for x in texts[name]]
    for block in (200, 700, 10**6):
        monkeypatch.setattr(csv_table, "_BLOCK_BYTES", block)
        monkeypatch.setattr(csv_table, "_ROWS_PER_BLOCK", 1)
        for row in scores(str(path), "--truth", truth, "--measures", "ari")["scores"]:
            expected = sklearn.metrics.adjusted_rand_score(texts[truth], texts[row["clustering"]])
            assert row["adjusted_rand"] == pytest.approx(expected, abs=1e-12)


def test_missing_labels(tmp_path: Path, error: Any, scores: Any) -> None:
    path = tmp_path / "a.csv"
    path.write_text("t,a\n1,x\n1,x\n2,NA\n2,y\n,y\n")
    asked = (str(path), "--truth", "t", "--measures", "ari")
    said = error("score", *asked)
    assert "column 't', line 6: expected a label" in said
    assert "--missing ignore" in said
    (row,) = scores(*asked, "--missing", "ignore")["scores"]
    assert (row["coverage"], row["adjusted_rand"]) == (0.6, 1.0)
    (row,) = scores(*asked, "--missing", "label")["scores"]
    expected = sklearn.metrics.adjusted_rand_score([1, 1, 2, 2, 3], [1, 1, 3, 2, 2])
    assert row["adjusted_rand"] == pytest.approx(expected)
    (row,) = scores(*asked, "--ignore", "NA", "--noise-label", "", "--noise", "cluster")["scores"]
    assert row["adjusted_rand"] == pytest.approx(sklearn.metrics.adjusted_rand_score([1, 1, 2, 2], [1, 1, 3, 2]))
    (row,) = scores(*asked, "--na-values", "y", "--missing", "ignore")["scores"]
    assert (row["coverage"], row["adjusted_rand"]) == (0.6, 1.0)


def test_a_missing_label_of_an_item_that_is_left_out(tmp_path: Path, run: Any, error: Any) -> None:
    """It is no error, whether blocks are counted or columns are held."""
    path = tmp_path / "a.csv"
    path.write_text("t,a,b\nx,,1\ny,1,1\ny,-1,1\nz,1,2\nz,1,-1\n,1,-1\n")
    asked = (str(path), "--truth", "t", "--measures", "ari", "--ignore", "x", "--noise-label", "-1", "--columns")
    for more in ((), ("--per", "class")):
        (row,) = run("score", *asked, "b", *more, "--format", "json").json["scores"]
        assert (row["coverage"], row["adjusted_rand"]) == (0.5, 1.0)
        said = error("score", *asked, "a", *more)  # the last item counts there
        assert "column 't', line 7: expected a label" in said


def test_compare_leaves_items_out_pair_by_pair(tmp_path: Path, run: Any, error: Any) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,c\n0,0,0\n0,0,1\n1,1,0\n1,1,1\n-1,1,1\n1,,0\n")
    asked = ["compare", str(path), "--format", "json", "--measure", "ari"]
    assert "column 'b', line 7" in error(*asked)
    data: dict[str, list[int | None]] = {"a": [0, 0, 1, 1, -1, 1], "b": [0, 0, 1, 1, 1, None], "c": [0, 1, 0, 1, 1, 0]}

    def expected(first: str, second: str) -> float:
        one, two = data[first], data[second]
        kept = [i for i in range(6) if not {one[i], two[i]} & {-1, None}]
        return float(sklearn.metrics.adjusted_rand_score([one[i] for i in kept], [two[i] for i in kept]))

    values = run(*asked, "--noise-label", "-1", "--missing", "ignore").json["values"]
    assert values == [[pytest.approx(expected(x, y), abs=1e-12) for y in data] for x in data]
    values = run(*asked, "--noise-label", "-1", "--noise", "singletons", "--missing", "label").json["values"]
    assert values[0][1] == pytest.approx(sklearn.metrics.adjusted_rand_score([0, 0, 1, 1, 2, 1], [0, 0, 1, 1, 1, 2]))


def test_the_suffix_decides_the_format_and_files_are_kept(tmp_path: Path, run: Any, error: Any) -> None:
    write_labels(tmp_path / "a.csv")
    asked = ["score", str(tmp_path / "a.csv"), "--truth", "class", "--columns", "a", "--measures", "ari", "--output"]
    for name, start in (("x.csv", "clustering,adjusted_rand\n"), ("x.json", "{"), ("x.txt", "clustering  adj")):
        run(*asked, str(tmp_path / name))
        assert (tmp_path / name).read_text().startswith(start)
        assert "--overwrite replaces it" in error(*asked, str(tmp_path / name))
        run(*asked, str(tmp_path / name), "--overwrite")


def test_tables_of_many_kinds_of_codes(tmp_path: Path, scores: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few labels, more with every block, ids, missing ones and the ends of int64, counted in arrays and in lists."""
    rng, n = np.random.default_rng(0), 3000
    truth = rng.integers(0, 6, n)
    columns = {
        "few": truth // 2,
        "below": truth + np.iinfo(np.int64).min + 1,
        "growing": np.sort(rng.integers(0, 5000, n)) - 2500,
        "ids": rng.permutation(n) * 10**15,
    }
    cells = {name: column.astype(str) for name, column in columns.items()}
    cells["gaps"] = np.where(rng.random(n) < 0.2, "", truth.astype(str))
    path = tmp_path / "a.csv"
    rows = zip(truth.astype(str), *cells.values(), strict=True)
    path.write_text("\n".join(map(",".join, [["class", *cells], *rows])) + "\n")
    for block in (500, 3000, 10**6):
        monkeypatch.setattr(csv_table, "_BLOCK_BYTES", block)
        monkeypatch.setattr(csv_table, "_ROWS_PER_BLOCK", 1)
        asked = ("--truth", "class", "--measures", "ari", "--missing", "label")
        for row in scores(str(path), *asked)["scores"]:
            expected = sklearn.metrics.adjusted_rand_score(truth, cells[row["clustering"]])
            assert row["adjusted_rand"] == pytest.approx(expected, abs=1e-12)


def test_reading_loads_no_pandas(tmp_path: Path) -> None:
    write_labels(tmp_path / "a.csv", words=True)
    pyarrow.parquet.write_table(pyarrow.table({"class": [1, 1, 2], "a": [0.0, None, 1.0]}), tmp_path / "a.parquet")
    code = """
import sys
from torchclusteval.cli import main
assert main(sys.argv[1:]) == 0
assert "pandas" not in sys.modules
"""
    for name in ("a.csv", "a.parquet"):
        asked = ["score", str(tmp_path / name), "--truth", "class", "--missing", "ignore", "--measures", "ari"]
        subprocess.run([sys.executable, "-c", code, *asked], check=True, capture_output=True)


def test_options_without_effect_are_refused(tmp_path: Path, error: Any) -> None:
    path, plain = tmp_path / "a.csv", tmp_path / "b.txt"
    path.write_text("t,a\n1,2\n2,3\n")
    plain.write_text("1\n2\n")
    one, two = ["score", str(path), "--truth", "t"], ["score", str(plain), str(plain)]
    for asked, words in (
        ([*one, "--join", "shared"], "--join: expected several files"),
        ([*two, "--join", "shared"], "--join: expected at least two files with names of rows; got 0 of 2"),
        ([*one, "--id", "t"], "--id: expected a column other than that of --truth"),
        ([*one, "--seed", "1"], "--seed: expected --confidence-level or --resamples too"),
        ([*one, "--overwrite"], "--overwrite: expected --output too"),
        ([*one, "--dpi", "300"], "--dpi: expected --plot FILE too; got --dpi alone"),
        ([*one, "--size", "3x2"], "--size: expected --plot FILE too"),
        ([*one, "--noise", "cluster"], "--noise-label: expected the label of noise"),
    ):
        assert words in error(*asked)


def test_files_as_people_have_them(tmp_path: Path, run: Any, error: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows in different orders, the truth in any of the files, joined by ids; scores of scikit-learn."""
    rng, ari = np.random.default_rng(0), sklearn.metrics.adjusted_rand_score
    data: dict[str, Any] = {"cell": np.arange(60) * 7, "class": rng.choice(TEXT, 60), "donor": rng.integers(0, 3, 60)}
    data |= {"leiden_0.5": np.where(rng.random(60) < 0.6, data["class"], "x")}
    data |= {"kmeans": rng.integers(0, 4, 60), "kmeans again": rng.integers(0, 5, 60)}
    monkeypatch.chdir(tmp_path)
    for name in ("cell,class,donor", "cell,leiden_0.5,kmeans", "kmeans again,cell", "donor,kmeans"):
        rows = [",".join(str(data[column][i]) for column in name.split(",")) for i in rng.permutation(60)]
        Path(f"{name.split(',')[1]}.csv").write_text("\n".join([name.replace(" again", ""), *rows]) + "\n")
    asked = ["--truth", "class", "--measures", "ari", "--format", "json", "--columns"]
    titles = {"leiden_0.5": "leiden_0.5", "leiden_0.5.csv:kmeans": "kmeans", "cell.csv": "kmeans again"}
    for files in (["class.csv", "leiden_0.5.csv", "cell.csv"], ["cell.csv", "leiden_0.5.csv", "class.csv"]):
        shown = run("score", *files, *asked, "leiden_0.5,kmeans")
        assert shown.err.endswith("joined by 'cell', which names each item once (--join position ignores it)\n")
        expected = {title: pytest.approx(ari(data["class"], data[name]), abs=1e-12) for title, name in titles.items()}
        assert {title: row["adjusted_rand"] for title, row in shown.scores.items()} == expected
        (row, *_) = run("score", *files, *asked, "leiden*", "--by", "donor").json["scores"]
        of_donors = [ari(*(data[name][data["donor"] == i] for name in ("class", "leiden_0.5"))) for i in range(3)]
        assert row["adjusted_rand"] == pytest.approx(np.mean(of_donors), abs=1e-12)
    (row,) = run("difference", *files[1:], *asked, "leiden*", "--against", "kmeans").json["scores"]
    assert row["adjusted_rand"] == expected["leiden_0.5"]
    page = ["--measures", "ari", "--resamples", "50", "--output", "a.html"]
    assert "best by adjusted_rand is leiden_0.5" in run("report", *files[1:], *asked[:2], *page).out
    assert "leiden_0.5.csv, class.csv" in Path("a.html").read_text()
    assert "(there are 'leiden_0.5', 'kmeans', 'class', 'donor')" in error("score", *files[1:], *asked, "zzz")
    said = run("score", "class.csv", "kmeans.csv", *asked, "kmeans").err
    assert "of these files none has names of rows: files are joined by position (--id COLUMN" in said
    Path("twice.csv").write_text("\n".join([Path("cell.csv").read_text().strip(), "0,7"]) + "\n")
    refused = error("score", "class.csv", "twice.csv", *asked, "kmeans")
    assert refused.startswith("twice.csv: column 'cell': expected different names of rows; got 7 2 times (--join")
    ids = {name: [f"{letter}{i}" for i in rng.permutation(60)] for name, letter in (("one", "c"), ("two", "x"))}
    for name, own in ids.items():
        Path(f"{name}.csv").write_text("\n".join([f"{name},k", *(f"{x},{x[-1]}" for x in own)]) + "\n")
    got = "got 'one' of one.csv and 'two' of two.csv (--id COLUMN"
    assert got in error("score", "one.csv", "two.csv", "--truth", "one.csv:k")
    Path("three.csv").write_text(
        "\n".join(["rank,one,r", *(f"{59 - i},{x},{x[-1]}" for i, x in enumerate(ids["one"]))])
    )
    same = "three.csv", "--truth", "one.csv:k", "--columns", "r", "--measures", "ari", "--format", "json"
    assert run("score", "one.csv", *same).json["scores"][0]["adjusted_rand"] == 1
    assert "the same ids in all 3 files" in error("score", "one.csv", "two.csv", *same, "--exclude", "two")
    Path("renamed.csv").write_text("item,run\na,1\nb,2\n")
    refused = error("score", "cell.csv", "renamed.csv", "--truth", "renamed.csv:run", "--id", "cell")
    assert "renamed.csv: --id: expected a column 'cell' in each file; got 'item', 'run' (--join position" in refused


IDS, MIXED = [*range(100, 160)], [f"A{i}" if i % 3 else str(i) for i in range(60)]


@pytest.mark.parametrize(
    ("ids", "others", "names", "joined"),
    [
        (IDS, IDS, ("id", "id"), True),
        (IDS, IDS, ("id", "key"), True),
        (IDS, [i + 50 for i in IDS], ("id", "id"), False),
        (IDS[:12], IDS[:12], ("id", "id"), True),
        (IDS, [f"{i}.0" for i in IDS], ("id", "id"), True),
        ([f"{i:04d}" for i in IDS], IDS, ("id", "id"), True),
        (MIXED, MIXED, ("id", "item"), True),
        (MIXED, MIXED, (",id", ",item"), True),  # next to an index 1, 2, 3 ..., as R writes it
        (IDS, IDS, ("id", ",id"), True),
        (MIXED, [f"{i}x" for i in MIXED], ("id", "id"), False),
    ],
)
def test_ids_join_or_are_refused(
    ids: list[Any], others: list[Any], names: tuple[str, str], joined: bool, tmp_path: Path, run: Any, error: Any
) -> None:
    files, rng = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")], np.random.default_rng(0)
    for file, own, name in zip(files, (ids, others), names, strict=True):
        rows = [f"{n + 1}," * (name[0] == ",") + f"{own[i]},{i % 4}" for n, i in enumerate(rng.permutation(len(own)))]
        Path(file).write_text("\n".join([f"{name},label", *rows]))
    asked = ["score", *files, "--truth", f"{files[0]}:label", "--measures", "ari", "--format", "json"]
    if joined:
        assert [row["adjusted_rand"] for row in run(*asked).json["scores"]] == [1]
    else:
        assert "--join position ignores" in error(*asked)


MET = {  # the truth and a clustering in files, options, labels that meet, a note
    "ids repeat": (",id,t/0,w,0/1,x,0/2,x,0/3,z,1", ",id,k/0,x,0/1,z,1/2,w,0/3,x,0", "0001 0100", "so by position"),
    "index in disorder": (",id,t/3,w,0/0,x,0/1,y,1", ",id,k/1,x,0/3,y,1/0,w,0", "001 001", "by 'id', which"),
    "names of one": (
        ",t/r2,a/r1,b/r3,b",
        "cell,k/r3,1/r2,0/r1,1",
        "abb 011",
        "by the first column of a.csv, 'cell' of b.csv",
    ),
    "names of one alone": (",t/r2,a/r1,b/r3,b", "j,k/0,0/0,1/0,1", "abb 011", "a.csv alone has names of rows"),
    "zeros": ("id,t/01,0/02,0/03,1", "id,k/03,1/x,7/02,0/01,1 --join shared", "001 101", "joined by 'id'"),
    "header 0": ("0/0/0/1/1", "0/1/1/0/0", "00011 01100", "the first line, '0', is taken as a label; otherwise"),
    "header 0, 1": ("t/5/0/1/1", "0,1/0,0/1,1/0,1", "5011 0010", "b.csv: the first line, 0,1, is taken as labels"),
    "quotes": ('"t"/"NA"/"NA"/"b"', '"k"/"x"/"x"/"y"', "NNb xxy", ""),
}


@pytest.mark.parametrize("case", MET)
def test_which_rows_meet_is_as_expected_or_said(case: str, tmp_path: Path, run: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    one, (two, *options), (true, pred) = MET[case][0], MET[case][1].split(" "), MET[case][2].split()
    for name, rows in (("a.csv", one), ("b.csv", two)):
        Path(name).write_text(rows.replace("/", "\n") + "\n")
    asked = [*options, *["--truth", "t", "--columns", "k"] * (",k" in two), "--measures", "ari", "--format", "json"]
    shown = run("score", "a.csv", "b.csv", *asked)
    expected = sklearn.metrics.adjusted_rand_score([*true], [*pred])
    assert shown.json["scores"][0]["adjusted_rand"] == pytest.approx(expected, abs=1e-12)
    assert MET[case][3] in shown.err


@pytest.mark.parametrize("names", [("confidence", "confidence"), ("probability", "score")])
def test_measurements_and_clusterings_of_many_groups_are_no_ids(
    names: tuple[str, str], tmp_path: Path, run: Any
) -> None:
    rng, expected = np.random.default_rng(0), []
    for number, name in enumerate(names):
        groups, many, sure = rng.integers(0, 4, 40), rng.integers(0, 50, 40), rng.random(40).round(6)
        rows = [",".join(map(str, row)) for row in zip(groups, many, sure, strict=True)]
        (tmp_path / f"{number}.csv").write_text("\n".join([f"cluster,many,{name}", *rows]))
        expected.append(groups)
    files = (str(tmp_path / f"{number}.csv") for number in range(2))
    shown = run("compare", *files, "--exclude", ",".join({*names, "many"}), "--format", "json")
    ari = sklearn.metrics.adjusted_rand_score(*expected)
    assert shown.json["values"][0][1] == pytest.approx(ari, abs=1e-12)


def test_options_of_text_are_named_where_they_have_no_effect(tmp_path: Path, run: Any) -> None:
    np.save(tmp_path / "a.npy", np.array([0, 0, 1]))
    (tmp_path / "b.csv").write_text("x;y\n1;2\n1;3\n2;4\n")
    found = run("score", str(tmp_path / "a.npy"), str(tmp_path / "b.csv"), "--header", "yes")
    assert "a.npy: --header has no effect" in found.err


@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.npy"])
def test_a_file_that_grows_while_it_is_read(name: str, tmp_path: Path, error: Any, monkeypatch: Any) -> None:
    """Its last line may be half of a label."""
    path, unpacked = tmp_path / name, sources._unpack
    if name == "a.npy":
        np.save(path, np.array([[0, 0, 1], [1, 1, 0]]))
    else:
        path.write_text("t,a\n1,2\n2,3\n2,4" if name == "a.csv" else "1\n2\n1")
    opened: list[str] = []

    def grow(raw: Any, packing: str | None) -> Any:
        opened.append(str(path))
        if len(opened) == 2:  # after its head was read
            with path.open("ab") as file:
                file.write(b"5\n")
        return unpacked(raw, packing)

    monkeypatch.setattr(sources, "_unpack", grow)
    asked = ["--truth", "t"] if name == "a.csv" else [str(path)]
    assert "it changed while it was read" in error("score", str(path), *asked)


def run_ranks(arguments: list[str], ranks: int) -> list[tuple[int, str, str]]:
    return [finish(process) for process in start_group(ranks, "-m", "torchclusteval", "score", *arguments)]


@pytest.mark.slow
@pytest.mark.distributed
def test_processes_share_a_file(tmp_path: Path, scores: Any) -> None:
    path, output = tmp_path / "labels.csv", tmp_path / "scores.json"
    write_labels(path, words=True)
    path.write_text(path.read_text() + "x,ant,wolf,03\ny,fox,ant,-1\n")  # the last process alone sees these words
    arguments = [str(path), "--truth", "class", "--exclude", "id", "--noise-label", "-1"]
    complete = scores(*arguments)
    assert run_ranks([*arguments, "--output", str(output)], 3) == [(0, "", "")] * 3
    assert json.loads(output.read_text()) == complete
    packed = tmp_path / "labels.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    asked = [str(packed), *arguments[1:], "--output", str(output), "--overwrite"]
    assert run_ranks(asked, 2) == [(0, "", "")] * 2
    assert json.loads(output.read_text()) == complete
    with path.open("a") as file:
        file.write("1,2\n")
    for status, out, said in run_ranks(arguments, 2):  # the second finds it, both say it
        assert (status, out) == (2, "")
        assert said == f"torchclusteval: error: {path}: line 504: expected 4 cells, as in the first line; got 2\n"


@pytest.mark.slow
@pytest.mark.memory
@pytest.mark.skipif(not can_measure(), reason="this system keeps no peak of memory that can be set back")
@measured_twice
def test_memory_does_not_follow_the_file(tmp_path: Path, scores: Any) -> None:
    """20 MB of copies of 1 MB: the V-measure is that of one copy, and the peak not much above that for 6 MB."""
    path = tmp_path / "large.csv"
    options = ["--truth", "class", "--columns", "a,b", "--measures", "v_measure"]
    write_labels(path)
    scores(str(path), *options)  # runs the code once
    truth, a, _ = write_labels(path, 100_000)
    expected = sklearn.metrics.v_measure_score(truth, a)
    header, body = path.read_text().split("\n", 1)
    peaks = []
    for copies in (6, 20):
        path.write_text(header + "\n" + body * copies)
        peak, found = peak_megabytes(lambda: scores(str(path), *options))
        assert found["n_items"] == copies * 100_000
        assert found["scores"][0]["v_measure"] == pytest.approx(expected, abs=1e-12)
        peaks.append(peak)
    assert path.stat().st_size > 20e6
    print(peaks)
    assert peaks[1] < 50
    assert peaks[1] - peaks[0] < 10
