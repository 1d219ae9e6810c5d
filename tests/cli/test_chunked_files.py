"""Files read in chunks, and by several processes, give what the whole file gives."""

from __future__ import annotations

import copy
import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st

from tests.support.memory import can_measure, measured_twice, peak_megabytes
from tests.support.processes import finish, start_group
from torchclusteval.cli import main
from torchclusteval.cli.reading.chunks import ChunkedTable, Numbering
from torchclusteval.cli.reading.files import LabelFile, Labels


def column(chunk: LabelFile) -> list[int]:
    return chunk.labels("n").values.tolist()


@given(
    numbers=st.lists(st.integers(0, 10**12), min_size=1, max_size=40),
    ranks=st.integers(1, 5),
    block=st.integers(1, 60),
    end=st.sampled_from(["", "\n", "\n\n"]),
)
def test_every_line_is_read_once(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int], ranks: int, block: int, end: str
) -> None:
    path = tmp_path_factory.mktemp("lines") / "numbers.csv"
    path.write_text("n,m\n" + "\n".join(f"{x},0" for x in numbers) + end)
    parts = [ChunkedTable(str(path), rank, ranks, block).read(column) for rank in range(ranks)]
    assert [x for part in parts for chunk in part for x in chunk] == numbers


def test_quoted_lines_stay_together(tmp_path: Path) -> None:
    path = tmp_path / "quoted.csv"
    path.write_text('n,text\n1,"a\nb"\n2,"c,\n""d"\n3,e\n')
    for block in (1, 5, 12, 100):
        assert [x for chunk in ChunkedTable(str(path), block=block).read(column) for x in chunk] == [1, 2, 3]


def test_a_lone_quote_is_part_of_a_label(tmp_path: Path) -> None:
    """It costs a longer read, never the whole rest of the file."""
    path = tmp_path / "inches.csv"
    path.write_text('n,text\n1,5" pipe\n' + "2,pipe\n" * 50_000)
    chunks = list(ChunkedTable(str(path), block=100).read(column))
    assert [x for chunk in chunks for x in chunk] == [1] + [2] * 50_000
    assert len(chunks) > 4


@pytest.mark.parametrize(("rank", "ranks"), [(0, 1), (0, 3), (1, 3), (2, 3)])
def test_errors_name_the_line_of_the_file(tmp_path: Path, rank: int, ranks: int) -> None:
    """Line 1 is the header, so that number i is on line i + 2."""
    wrong = {0: 20, 1: 150, 2: 280}[rank if ranks > 1 else 1]
    path = tmp_path / "wrong.csv"
    path.write_text("n,m\n" + "".join("5\n" if i == wrong else "1000,7\n" for i in range(300)))
    with pytest.raises(ValueError, match=f"wrong.csv: line {wrong + 2}: expected 2 cells"):
        list(ChunkedTable(str(path), rank, ranks, block=100).read(column))
    path.write_text("n,m\n" + "".join(",1\n" if i == wrong else "1000,7\n" for i in range(300)))
    with pytest.raises(ValueError, match=f"wrong.csv: column 'n', line {wrong + 2}: expected a label; got an empty"):
        list(ChunkedTable(str(path), rank, ranks, block=100).read(column))


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (b"n,m\n", "expected rows of labels below the header"),
        (b"\x93NUMPY", r"expected CSV or TSV text to read in chunks; got \.npy"),
        (b"n,m\n1,\xff\n", "expected UTF-8 text"),
        (gzip.compress(b"n,m\n1,2\n" * 99)[:-9], "expected a whole gzip file; it is damaged"),
        (b"\x1f\x8bnot gzip", "expected a whole gzip file; it is damaged"),
    ],
)
def test_files_that_are_no_tables(tmp_path: Path, content: bytes, match: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=match):
        list(ChunkedTable(str(path)).read(column))


def test_processes_cannot_share_a_gzip_file(tmp_path: Path) -> None:
    path = tmp_path / "n.csv.gz"
    path.write_bytes(gzip.compress(b"n,m\n1,2\n"))
    assert list(ChunkedTable(str(path)).read(column)) == [[1]]
    with pytest.raises(ValueError, match="expected a plain file for 2 processes; got a gzip file"):
        list(ChunkedTable(str(path), 0, 2).read(column))


def test_labels_keep_their_numbers_from_chunk_to_chunk() -> None:
    numbering = Numbering()
    first = numbering.encode([Labels(np.array([7, -1])), Labels(np.array([1, 0]), ("7", "b"))])
    second = numbering.encode([Labels(np.array([0, 1, 2]), ("-1", "7", "b")), Labels(np.array([7, 8, 9]))])
    assert first[0].tolist() == [7, -1]
    assert first[1, 1] == 7
    assert second.tolist() == [[-1, 7, first[1, 0]], [7, 8, 9]]
    assert numbering.number(" b ") == first[1, 0]
    assert numbering.number("07") not in (7, first[1, 0])
    far = numbering.encode([Labels(np.array([2**62, -(2**63), 5])), Labels(np.array([0, 1, 0]), ("5", str(2**62)))])
    assert (far[0, 2], far[1, 0], far[1, 1]) == (5, 5, far[0, 0])
    assert len(set(far[0].tolist()) & set(first.flatten().tolist())) == 0


def test_processes_agree_on_words() -> None:
    """Words have a number by the order in which a process met them, and then one by their own order."""
    mine, other = Numbering(), Numbering()
    before = mine.encode([Labels(np.array([0, 1, 2]), ("b", "c", "8"))])
    other.encode([Labels(np.array([0, 1]), ("a", "b"))])
    words = {*mine.words, *other.words}
    after, _ = mine.settle(words)(before)[0], other.settle(words)
    assert after.tolist() == [other.number("b"), other.number("c"), 8]
    assert other.number("a") < other.number("b") < other.number("c")


# the command ----------------------------------------------------------------------------------------------

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


def scores(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["score", *arguments, "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Rows of tables may be in another order, and sums differ in their last bits."""
    assert {**found, "scores": None} == {**expected, "scores": None}
    for row, other in zip(found["scores"], expected["scores"], strict=True):
        assert row.pop("clustering") == other.pop("clustering")
        assert row == pytest.approx(other, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--exclude", "id", "--measures", "all"],
        ["--columns", "b", "--noise-label", "-1", "--noise", "cluster", "--sort", "vi"],
        ["--columns", "a,b", "--noise-label", "-1", "--noise", "singletons"],
        ["--columns", "a,b", "--noise-label", "bee", "--ignore", "ant"],
    ],
    ids=" ".join,
)
def test_streamed_scores_are_those_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: bool, options: list[str]
) -> None:
    if not words and "ant" in options:
        pytest.skip("words are asked for")
    path = tmp_path / "labels.csv"
    write_labels(path, words=words)
    whole = scores(capsys, str(path), "--truth", "class", *options)
    monkeypatch.setattr(ChunkedTable.__init__, "__defaults__", (0, 1, 700))
    assert_same(scores(capsys, str(path), "--truth", "class", "--stream", *options), whole)


ZEROS = {  # each column by blocks of lines; the first 40 lines hold whole numbers only
    "words": (["07", "7"], ["x", "07", "7"]),  # 07 is a label of its own, and in every block
    "numbers": (["07", "7", "+7"], ["8", "8.0"]),  # 07 is 7
    "late": (["1", "2"], ["007", "2"], ["7", "y"]),
    "far": (["3", "003"], ["09999999999999999999", "3"], ["9999999999999999999", "3e0"]),  # beyond 64 bits
    "quoted": (['"07"', " 7 "], ["-0", "0", "z"]),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--noise-label", "7", "--noise", "cluster"],
        ["--noise-label", "07", "--noise", "singletons"],
        ["--noise-label", "7", "--ignore", "07"],
        ["--ignore", "7.0"],
        ["--ignore", "7", "--noise-label", "09999999999999999999"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("truth", ZEROS)
def test_numbers_with_zeros_mean_the_same_in_every_chunk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, truth: str, options: list[str]
) -> None:
    """A chunk of numbers alone does not show whether the column has words elsewhere."""
    path, rng = tmp_path / "labels.csv", np.random.default_rng(0)
    columns = [[x for block in blocks for x in rng.choice(block, 120 // len(blocks))] for blocks in ZEROS.values()]
    path.write_text("\n".join(map(",".join, [list(ZEROS), *zip(*columns, strict=True)])) + "\n")
    arguments = [str(path), "--truth", truth, "--measures", "ari,v_measure,purity,bcubed_f", *options]
    whole = scores(capsys, *arguments)
    for block in (200, 700, 10**6):
        monkeypatch.setattr(ChunkedTable.__init__, "__defaults__", (0, 1, block))
        assert_same(scores(capsys, *arguments, "--stream"), copy.deepcopy(whole))
    for name in ("words", "late"):  # else there would be nothing to tell apart
        assert len(set(columns[list(ZEROS).index(name)])) > len(
            {x.lstrip("0") for x in columns[list(ZEROS).index(name)]}
        )


def test_streams_from_standard_input_and_gzip(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    truth, a, _ = write_labels(tmp_path / "labels.csv")
    expected = sklearn.metrics.adjusted_rand_score(truth, a)
    data = (tmp_path / "labels.csv").read_bytes()
    (tmp_path / "labels.csv.gz").write_bytes(gzip.compress(data))
    for source, stdin in (("-", data), ("-", gzip.compress(data)), (str(tmp_path / "labels.csv.gz"), b"")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))))
        found = scores(capsys, source, "--truth", "class", "--stream", "--columns", "a", "--measures", "ari")
        assert found["scores"] == [{"clustering": "a", "adjusted_rand": pytest.approx(expected, abs=1e-12)}]
        assert found["n_items"] == 500


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["FILE", "--stream"], "--stream: expected one FILE and --truth COLUMN"),
        (["FILE", "FILE", "--stream", "--truth", "class"], "--stream: expected one FILE"),
        (["FILE", "--stream", "--truth", "klass"], "did you mean 'class'"),
        (["FILE", "--stream", "--truth", "class", "--columns", "z"], "--columns: expected a column of the input"),
    ],
)
def test_wrong_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], match: str) -> None:
    write_labels(tmp_path / "labels.csv")
    arguments = [str(tmp_path / "labels.csv") if x == "FILE" else x for x in arguments]
    assert main(["score", *arguments]) == 2
    error = capsys.readouterr().err
    assert match in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("name", ["labels.csv", "labels.csv.gz"])
def test_progress_ends_with_the_file(tmp_path: Path, name: str) -> None:
    write_labels(tmp_path / "labels.csv")
    data = (tmp_path / "labels.csv").read_bytes()
    (tmp_path / "labels.csv.gz").write_bytes(gzip.compress(data))
    seen: list[tuple[int, int]] = []
    table = ChunkedTable(str(tmp_path / name), block=1000)
    assert sum(table.read(lambda chunk: len(chunk.labels("a")), lambda *state: seen.append(state))) == 500
    size = (tmp_path / name).stat().st_size
    assert len(seen) >= len(data) // 1200
    assert seen == sorted(seen)
    assert seen[-1] == (size, size)


def run_ranks(arguments: list[str], ranks: int) -> list[tuple[int, str, str]]:
    """Exit status, output and errors of each process."""
    return [finish(process) for process in start_group(ranks, "-m", "torchclusteval", "score", *arguments)]


@pytest.mark.slow
@pytest.mark.distributed
def test_processes_share_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, output = tmp_path / "labels.csv", tmp_path / "scores.json"
    write_labels(path, words=True)
    path.write_text(path.read_text() + "x,ant,wolf,03\ny,fox,ant,-1\n")  # the last process alone sees these words
    arguments = [str(path), "--truth", "class", "--exclude", "id", "--noise-label", "-1"]
    whole = scores(capsys, *arguments)
    assert run_ranks([*arguments, "--format", "json", "--output", str(output)], 3) == [(0, "", "")] * 3
    assert_same(json.loads(output.read_text()), whole)
    with path.open("a") as file:
        file.write("1,2\n")
    for status, out, error in run_ranks(arguments, 2):  # the second finds it, both say it
        assert (status, out) == (2, "")
        assert error == f"torchclusteval: error: {path}: line 504: expected 4 cells, as in the first line; got 2\n"


@pytest.mark.slow
@pytest.mark.memory
@pytest.mark.skipif(not can_measure(), reason="this system keeps no peak of memory that can be set back")
@measured_twice
def test_memory_does_not_follow_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """20 MB of copies of 1 MB: the V-measure is that of one copy, and the peak not much above that for 6 MB."""
    path = tmp_path / "large.csv"
    options = ["--truth", "class", "--columns", "a,b", "--measures", "v_measure", "--stream"]
    write_labels(path)
    scores(capsys, str(path), *options)  # runs the code once
    truth, a, _ = write_labels(path, 100_000)
    expected = sklearn.metrics.v_measure_score(truth, a)
    header, body = path.read_text().split("\n", 1)
    peaks = []
    for copies in (6, 20):
        path.write_text(header + "\n" + body * copies)
        peak, found = peak_megabytes(lambda: scores(capsys, str(path), *options))
        assert found["n_items"] == copies * 100_000
        assert found["scores"][0]["v_measure"] == pytest.approx(expected, abs=1e-12)
        peaks.append(peak)
    assert path.stat().st_size > 20e6
    assert peaks[1] < 50
    assert peaks[1] - peaks[0] < 10
