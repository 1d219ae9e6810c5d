"""The command line end to end. Expected scores come from scikit-learn, or by hand."""

import ast
import gzip
import io
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.metrics as sk

import torchclusteval as tce
from tests.support.processes import start
from torchclusteval.cli import COMMANDS, main
from torchclusteval.cli import declarations as known
from torchclusteval.cli.commands.demo import COMPARED, DATA, DRAWS, LEAD
from torchclusteval.cli.printing import Table, as_csv, as_json, as_text
from torchclusteval.inference.intervals import CORRECTIONS
from torchclusteval.labels.options import NOISE
from torchclusteval.overlap.files import LAYOUTS

PACKAGE = Path(tce.__file__).parent
PARTITION = [name for name, measure in tce.MEASURES.items() if measure.family in tce.measures.FAMILIES]

PEERS = {
    "adjusted_rand": sk.adjusted_rand_score,
    "nmi_arithmetic": sk.normalized_mutual_info_score,
    "ami_arithmetic": sk.adjusted_mutual_info_score,
    "homogeneity": sk.homogeneity_score,
    "completeness": sk.completeness_score,
    "v_measure": sk.v_measure_score,
    "rand": sk.rand_score,
    "mutual_information": sk.mutual_info_score,
}
PEER_LIST = ",".join(PEERS)


def columns(seed: int = 0, n: int = 120) -> dict[str, np.ndarray]:
    """A truth of three classes, and clusterings that follow it less and less."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, 3, n)
    found = {"truth": truth, "same": 7 - 2 * truth}
    for name, noise in (("good", 0.2), ("fair", 0.5), ("bad", 0.95)):
        found[name] = np.where(generator.random(n) < noise, generator.integers(-1, 4, n), truth)
    return found


def write(path: Path, table: dict[str, Any], separator: str = ",") -> str:
    rows = [list(table), *zip(*(list(column) for column in table.values()), strict=True)]
    path.write_text("".join(separator.join(map(str, row)) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def table(tmp_path: Path) -> str:
    return write(tmp_path / "table.csv", columns())


def test_scores_are_those_of_scikit_learn(run: Any, table: str) -> None:
    data = columns()
    result = run("score", table, "--truth", "truth", "--measures", PEER_LIST, "--format", "json")
    assert result.err == ""
    assert (result.json["n_items"], result.json["truth"]) == (120, "truth")
    assert list(result.scores) == ["same", "good", "fair", "bad"]
    for name, row in result.scores.items():
        assert list(row) == ["clustering", *PEERS]
        for measure, peer in PEERS.items():
            assert row[measure] == pytest.approx(peer(data["truth"], data[name]), abs=1e-12)


def test_formats_hold_the_same_numbers(run: Any, table: str, tmp_path: Path) -> None:
    command = ("score", table, "--truth", "truth", "--measures", "ari,vi", "--format")
    expected = [list(row.values()) for row in run(*command, "json").json["scores"]]
    out = run(*command, "csv").out
    for text, close in ((out.replace(",", " "), 0), (run(*command, "table").out, 5e-4)):
        header, *lines = (line.split() for line in text.splitlines())
        assert header == ["clustering", "adjusted_rand", "variation_of_information"]
        assert [line[0] for line in lines] == [row[0] for row in expected]
        for line, row in zip(lines, expected, strict=True):
            assert list(map(float, line[1:])) == pytest.approx(row[1:], abs=close, rel=10 * close)
    saved = tmp_path / "scores.csv"
    assert run(*command, "csv", "--output", str(saved)).out == ""
    assert saved.read_text() == out


def test_default_measures_and_all_of_them(run: Any, table: str) -> None:
    pairs = [name for name, measure in tce.MEASURES.items() if measure.family == "pairs"]
    every = {"default": tce.measures.DEFAULT, "all": PARTITION, "pairs,nmi": [*pairs, "nmi_arithmetic"]}
    for asked, names in every.items():
        words = ["score", table, "--truth", "truth", "--columns", "good", "--measures", asked, "--format", "json"]
        assert set(run(*words).scores["good"]) == {"clustering", *names}
    assert list(run(*words[:6], *words[8:]).scores["good"])[1:] == list(tce.measures.DEFAULT)


@pytest.mark.parametrize("kind", ["npy", "npz", "txt", "csv"])
def test_label_files_score_like_columns(kind: str, run: Any, table: str, tmp_path: Path) -> None:
    data = columns()
    paths = {name: str(tmp_path / f"{name}.{kind}") for name in data}
    save: dict[str, Any] = {"npy": np.save, "npz": np.savez, "txt": np.savetxt}
    for name, labels in data.items():
        if kind == "csv":
            write(Path(paths[name]), {"labels": labels})
        else:
            save[kind](paths[name], labels)
    result = run("score", *paths.values(), "--measures", "ari,nmi", "--format", "json")
    expected = run("score", table, "--truth", "truth", "--measures", "ari,nmi", "--format", "json")
    assert result.json["truth"] == paths["truth"]
    for name in ("same", "good", "fair", "bad"):
        row = {**expected.scores[name], "clustering": paths[name]}
        assert result.scores[paths[name]] == pytest.approx(row, abs=1e-12)


def test_standard_input(run: Any, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = run("score", table, "--truth", "truth")
    stream = io.TextIOWrapper(io.BytesIO(Path(table).read_bytes()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert run("score", "-", "--truth", "truth").out == expected.out


def test_a_clustering_without_items_has_no_score(run: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", {"truth": [1, 1], "a": [1, 2]})
    command = ("score", path, "--truth", "truth", "--ignore", "1", "--measures", "ari", "--format")
    assert run(*command, "json").scores["a"] == {"clustering": "a", "coverage": 0.0, "adjusted_rand": None}
    assert run(*command, "csv").out == "clustering,coverage,adjusted_rand\na,0.0,nan\n"
    assert run(*command, "table").out.splitlines()[1].split() == ["a", "0.0000", "nan"]


def test_missing_and_infinite_numbers() -> None:
    table = Table(["clustering", "x"], [["a", np.nan], ["b", np.inf], ["c", -np.inf]])
    assert json.loads(as_json({"x": [row[1] for row in table.cells()]})) == {"x": [None, "inf", "-inf"]}
    assert as_csv(table) == "clustering,x\na,nan\nb,inf\nc,-inf\n"
    assert [line.split() for line in as_text(table).splitlines()[1:]] == [["a", "nan"], ["b", "inf"], ["c", "-inf"]]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--columns", "bad,good"], ["bad", "good"]),
        (["--columns", "bad", "--columns", "good"], ["bad", "good"]),
        (["--columns", "*a*"], ["same", "fair", "bad"]),
        (["--exclude", "same,bad"], ["good", "fair"]),
        (["--columns", "*a*", "--exclude", "b*"], ["same", "fair"]),
    ],
)
def test_choice_of_columns(options: list[str], names: list[str], run: Any, table: str) -> None:
    result = run("score", table, "--truth", "truth", "--measures", "ari", "--format", "json", *options)
    assert list(result.scores) == names


def test_names_with_commas_and_brackets(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('truth,"k=2, s[0]","k=2, s[1]"\n1,1,2\n2,1,1\n')
    command = ("score", str(path), "--truth", "truth", "--measures", "ari", "--format", "json")
    assert list(run(*command, "--columns", "k=2, s[1]").scores) == ["k=2, s[1]"]
    assert list(run(*command, "--columns", "*s[0]").scores) == ["k=2, s[0]"]


def test_columns_that_are_left_out_may_hold_anything(run: Any, error: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", {"truth": [1, 2, 2], "x": [0.5, "", "?"], "a": [1, 2, 2]})
    wrong = error("score", path, "--truth", "truth")
    assert "line 3: expected a label; got an empty cell" in wrong
    assert "--exclude 'x'" in wrong
    assert run("score", path, "--truth", "truth", "--exclude", "x").out


@pytest.mark.parametrize(("measure", "ascending"), [("ari", False), ("vi", True), ("nmi", False), ("van_dongen", True)])
def test_sorted_in_the_direction_of_the_measure(measure: str, ascending: bool, run: Any, table: str) -> None:
    data = columns()
    result = run("score", table, "--truth", "truth", "--sort", measure, "--measures", "rand", "--format", "json")
    values = [list(row.values())[1] for row in result.json["scores"]]
    assert values == sorted(values, reverse=not ascending)
    assert len(set(values)) == 4
    assert next(iter(result.scores)) == "same"  # the truth under other names is best by any measure
    assert set(result.scores) == set(data) - {"truth"}
    top = run("score", table, "--truth", "truth", "--sort", measure, "--measures", "rand", "--top", "2")
    assert [line.split()[0] for line in top.out.splitlines()[1:]] == list(result.scores)[:2]
    assert list(run("score", table, "--truth", "truth", "--top", "1", "--format", "json").scores) == ["same"]


def test_equal_scores_keep_their_order_and_nan_comes_last(run: Any, tmp_path: Path) -> None:
    truth = [1, 1, 2, 2]
    data = {"truth": truth, "none": [-1] * 4, "one": [1] * 4, "b": [5, 5, 3, 3], "a": truth}
    path = write(tmp_path / "a.csv", data)
    result = run("score", path, "--truth", "truth", "--noise-label", "-1", "--sort", "ari", "--format", "json")
    assert list(result.scores) == ["b", "a", "one", "none"]
    assert result.scores["none"]["adjusted_rand"] is None


def test_ignored_classes(run: Any, table: str) -> None:
    data = columns()
    kept = data["truth"] != 0
    result = run("score", table, "--truth", "truth", "--ignore", "0", "--measures", PEER_LIST, "--format", "json")
    for name, row in result.scores.items():
        assert row["coverage"] == pytest.approx(kept.mean())
        for measure, peer in PEERS.items():
            assert row[measure] == pytest.approx(peer(data["truth"][kept], data[name][kept]), abs=1e-12)


@pytest.mark.parametrize("text", [False, True], ids=["numbers", "kinds mixed"])
@pytest.mark.parametrize("policy", ["ignore", "cluster", "singletons"])
def test_noise(policy: str, text: bool, run: Any, tmp_path: Path) -> None:
    data: dict[str, Any] = columns()
    if text:
        data["fair"] = [str(x) if x == -1 else f"g{x}" for x in data["fair"]]
    path = write(tmp_path / "a.csv", data)
    command = ("score", path, "--truth", "truth", "--measures", "ari,nmi", "--format", "json")
    result = run(*command, "--noise-label", "-1", "--noise", policy)
    for name in ("good", "fair", "bad"):
        labels = np.array([str(x) for x in data[name]], object)
        noise = labels == "-1"
        assert noise.any()
        kept = ~noise if policy == "ignore" else np.ones(len(noise), bool)
        if policy == "singletons":
            labels[noise] = [f"single {i}" for i in range(noise.sum())]
        assert result.scores[name].get("coverage", 1.0) == pytest.approx(kept.mean())
        expected = sk.adjusted_rand_score(data["truth"][kept], labels[kept].astype(str))
        assert result.scores[name]["adjusted_rand"] == pytest.approx(expected, abs=1e-12)


def test_a_label_that_never_occurs_is_noted(run: Any, table: str) -> None:
    plain = run("score", table, "--truth", "truth")
    for options in (["--ignore", "77"], ["--noise-label", "77", "--noise", "cluster"]):
        noted = run("score", table, "--truth", "truth", *options)
        assert noted.out == plain.out
        assert re.fullmatch(rf"torchclusteval: note: {options[0]}: no item has the label '77'\n", noted.err)


@pytest.mark.parametrize("width", [40, 60, 80, 132, 1000])
def test_tables_fit_the_terminal_and_lose_nothing(width: int, run: Any, table: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = run("score", table, "--truth", "truth").out
    assert max(map(len, out.splitlines())) <= width
    rows = [line.split() for line in out.splitlines()]
    shown = sum(len(row) - 1 for row in rows if row and row[0] == "good")
    assert shown == len(tce.measures.DEFAULT)
    assert (len(out.split("\n\n")) == 1) == (width == 1000)


def test_headers_are_wrapped_before_columns_are_moved() -> None:
    table = Table(["name", "variation_of_information", "rand"], [["a", "1.0000", "2.0000"]])
    assert as_text(table, 26).splitlines() == [
        "       variation_",
        "              of_",
        "name  information    rand",
        "a          1.0000  2.0000",
    ]


def test_long_names_keep_both_ends() -> None:
    text = as_text(Table(["clustering", "rand"], [["x" * 50 + "1", "1.0"], ["x" * 50 + "2", "2.0"]]), 30)
    assert max(map(len, text.splitlines())) <= 30
    assert [line.split()[0][-1] for line in text.splitlines()[1:]] == ["1", "2"]
    two = Table(["clustering", "class", "x"], [{"clustering": "a", "class": "b|", "x": 0.5}, {"clustering": "long"}], 2)
    assert as_text(two).splitlines() == ["clustering  class       x", "a           b|     0.5000", "long"]
    assert as_text(two, form="markdown").splitlines()[1:3] == ["| :-- | :-- | --: |", "| a | b\\| | 0.5000 |"]


def test_names_cannot_move_the_cursor(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('truth,"two\nlines","\x1b[31mred"\n1,1,1\n2,2,1\n')
    out = run("score", str(path), "--truth", "truth", "--measures", "ari").out
    assert [line.split()[0] for line in out.splitlines()] == ["clustering", "two?lines", "?[31mred"]


def test_measures_lists_the_registry(run: Any) -> None:
    out = run("measures").out
    rows: dict[str, str] = defaultdict(str)  # a table that is too wide goes on below, with the same names
    for line in filter(str.strip, out.splitlines()):
        rows[line.split()[0].rstrip("*")] += line + " "
    for name, measure in tce.MEASURES.items():
        assert measure.family in rows[name]
        assert measure.source in rows[name]
        assert (measure.better or " - ") in rows[name]
        assert ("*" in rows[name]) == (name in tce.measures.DEFAULT)
    assert max(map(len, out.splitlines())) <= 80
    for alias in tce.measures.ALIASES:
        assert f"{alias}={tce.measures.ALIASES[alias]}" in out


@pytest.mark.parametrize("name", [*tce.MEASURES, *tce.measures.ALIASES])
def test_a_measure_is_explained(name: str, run: Any) -> None:
    result = run("measures", name)
    measure = tce.MEASURES[tce.measures.ALIASES.get(name, name)]
    assert result.out.startswith(f"{measure.name}\n")
    assert "Degenerate:" in result.out
    assert tce.measures.REFERENCES[measure.source][:20] in result.out


def test_demo(run: Any) -> None:
    """The winner, its interval and who ties with it are those of the functions in Python; lines of 80 columns."""
    out = run("demo").out
    assert max(map(len, out.splitlines())) <= 80
    assert f"{len(PARTITION)} measures" in out
    with gzip.open(DATA, "rt") as file:
        held = dict(zip(file.readline().strip().split(","), np.loadtxt(file, int, delimiter=",").T, strict=True))
    runs = {name: labels for name, labels in held.items() if name.startswith("kmeans")}
    top = tce.evaluate(held["truth"], runs, [LEAD]).top(COMPARED)
    values = dict(zip(map(str, top.clusterings or ()), top[LEAD].tolist(), strict=True))
    rows = re.findall(r"^(kmeans\S+) +(\S+)  (\S+) to (\S+)  .*(best|tie|worse)$", out, re.MULTILINE)
    best, *others = values
    assert [name for name, *_ in rows] == [best, *others[:5]]
    tables = tce.ContingencyTables.from_labels(held["truth"], [runs[name] for name in values])
    interval = tce.bootstrap(tables, [LEAD], DRAWS, rng=0, resample="items")[LEAD]
    compared = {name: runs[name] for name in others}
    options: dict[str, Any] = {"n_resamples": DRAWS, "rng": 0, "correction": "holm", "resample": "items"}
    found: Any = tce.paired_bootstrap(held["truth"], runs[best], compared, [LEAD], **options)[LEAD]
    verdicts = ["best", *("tie" if p >= 0.05 else "worse" for p in found.p_adjusted.tolist())]
    for i, (name, *shown, verdict) in enumerate(rows):
        expected = [values[name], interval.low[i].item(), interval.high[i].item()]
        assert [*map(float, shown)] == pytest.approx(expected, abs=5e-5)
        assert verdict == verdicts[i]
    ties = [name for name, verdict in zip(values, verdicts, strict=True) if verdict == "tie"]
    said = " ".join(out.split())
    assert LEAD == "ami_arithmetic"
    assert f"best run is {best}. It ties with {ties[0]} and {len(ties) - 1} more: " in said
    assert said.count("new items of the same classes.") == 1
    assert set(re.findall(r"^  torchclusteval (\S+)", out, re.MULTILINE)) <= {command.name for command in COMMANDS}


LIGHT = """
import contextlib, io, sys
from torchclusteval.cli import COMMANDS, main
from torchclusteval.cli import declarations as known
said = {}
for words in [["--version"], *([command.name, "--help"] for command in COMMANDS), []]:
    with contextlib.redirect_stdout(io.StringIO()) as said[" ".join(words)], contextlib.suppress(SystemExit):
        main(words)
heavy = [name for name in ("torch", "scipy", "numpy", "pyarrow", "matplotlib") if name in sys.modules]
print([heavy, {words: text.getvalue() for words, text in said.items()}])
"""


def test_help_loads_nothing() -> None:
    with start("-c", LIGHT) as running:
        heavy, said = ast.literal_eval(running.communicate()[0])
    assert heavy == []
    assert said["--version"] == f"torchclusteval {tce.__version__}\n"
    assert re.findall(r"^    ([a-z-]+)(?:\s|$)", said[""], re.MULTILINE) == [command.name for command in COMMANDS]
    for command in COMMANDS:
        text = said[f"{command.name} --help"]
        assert command.summary[1:20] in text
        assert len({flag for option in command.options for flag in option.flags if flag.startswith("-")}) <= 25
        assert len(re.findall(r"^  -", text, re.MULTILINE)) <= 26
        assert (PACKAGE / "cli" / "commands" / f"{command.name.replace('-', '_')}.py").exists()


def test_help_names_what_the_package_knows() -> None:
    assert known.FAMILIES.split(", ") == [*tce.measures.FAMILIES, *tce.measures.ONE_SIDED]
    assert (NOISE, CORRECTIONS, LAYOUTS) == (known.NOISE_POLICIES, known.CORRECTIONS, known.LAYOUTS)


SCORE = ("score", "TABLE", "--truth", "truth")
WRONG = {
    "no file": (["score"], ["FILE", "--help"]),
    "missing file": (["score", "none.csv", "--truth", "t"], ["none.csv: no such file or directory"]),
    "a folder": (["score", "EMPTY", "--truth", "t"], ["EMPTY: expected a file or a directory with files of labels"]),
    "an output of two formats": ([*SCORE, "--output", "x.csv", "--format", "json"], ["--output:", ".json"]),
    "an unknown id": ([*SCORE, "--id", "cell"], ["--id: expected a column that the file has; got 'cell'"]),
    "no truth": (["score", "TABLE"], ["--truth: expected the column", "'truth', 'same', 'good'"]),
    "unknown truth": (["score", "TABLE", "--truth", "trut"], ["'trut'", "did you mean 'truth'"]),
    "unknown column": ([*SCORE, "--columns", "god"], ["--columns", "mean 'good'"]),
    "nothing left": ([*SCORE, "--exclude", "*"], ["expected at least one column other than 'truth'; got none"]),
    "unknown measure": ([*SCORE, "--measures", "adjusted_rnd"], ["--measures:", "mean adjusted_rand"]),
    "no measure": ([*SCORE, "--measures", ","], ["--measures: expected at least one"]),
    "sort without direction": ([*SCORE, "--sort", "joint_entropy"], ["--sort:", "direction"]),
    "top without direction": ([*SCORE, "--measures", "joint_entropy", "--top", "1"], ["--top:", "--sort"]),
    "top 0": ([*SCORE, "--top", "0"], ["--top: expected a whole number of at least 1; got '0'"]),
    "a level of 95": ([*SCORE, "--confidence-level", "95"], ["--confidence-level: expected a number between 0 and 1"]),
    "resamples in words": ([*SCORE, "--resamples", "x"], ["--resamples: expected items, classes, groups or a number"]),
    "seed 2**63": ([*SCORE, "--seed", str(2**63)], ["--seed: expected a whole number below 2**63"]),
    "noise of another kind": ([*SCORE, "--noise-label", "x"], ["--noise-label: expected a whole number"]),
    "unknown device": ([*SCORE, "--device", "quantum"], ["--device: expected", "'quantum'"]),
    "output in no folder": ([*SCORE, "--output", "none/x.csv"], ["--output: expected a file in an existing folder"]),
    "standard input twice": (["score", "-", "-"], ["'-' once"]),
    "a measure that is none": (["measures", "arii"], ["did you mean ari"]),
    "an option of another command, nearly": ([*SCORE, "--measure", "ari"], ["did you mean --measures?"]),
    "an output that is no text": ([*SCORE, "--output", "x.xlsx"], ["--output: expected a file of text", ".csv"]),
    "one document": (["score-coreference", "CONLL", "CONLL", "--resamples", "9"], ["--resamples: expected at least"]),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_in_one_line(case: str, error: Any, table: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("short.npy", [1, 2])
    Path("empty").mkdir()
    Path("k.conll").write_text("#begin document (d);\nx (1)\n#end document\n")
    places = {"CONLL": "k.conll", "TABLE": table, "EMPTY": "empty", "SHORT": "short.npy"}
    command, words = WRONG[case]
    said = error(*(places.get(argument, argument) for argument in command))
    for word in words:
        for name, place in places.items():
            word = word.replace(name, place)
        assert word in said


def test_output_can_only_hold_what_the_terminal_can_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text("truth,größe\n1,1\n2,2\n", encoding="utf-8")
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="ascii"))
    assert main(["score", str(path), "--truth", "truth", "--measures", "ari"]) == 0
    assert shown.getvalue().splitlines()[1].split() == [rb"gr\xf6\xdfe", b"1.0000"]


@pytest.mark.slow
def test_as_a_module(run: Any, table: str) -> None:
    with start("-m", "torchclusteval", "score", table, "--truth", "truth") as running:
        out, err = running.communicate()
    assert (running.returncode, err) == (0, "")
    assert out == run("score", table, "--truth", "truth").out


@pytest.mark.slow
def test_a_reader_that_stops_is_no_error(table: str) -> None:
    running = start("-m", "torchclusteval", "score", table, "--truth", "truth")
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.close()
    with running.stderr:
        assert running.stderr.read() == ""
    assert running.wait() == 141


def test_closed_standard_output_is_one_line(run: Any, table: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("sys.stdout", None)
    stderr = io.StringIO()
    monkeypatch.setattr("sys.stderr", stderr)
    assert main(["measures", "ari"]) == 2
    assert stderr.getvalue() == "torchclusteval: error: standard output: expected an open one; got a closed one\n"
    assert main(["score", table, "--truth", "truth", "--output", str(tmp_path / "scores.txt")]) == 0


def test_interruption_is_one_line(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Interrupted()))
    assert main(["score", "-", "--truth", "truth"]) == 130
    assert capsys.readouterr() == ("", "torchclusteval: interrupted\n")


def test_compare_a_single_item_and_none(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("truth,k\na,1\n")
    assert run("compare", str(path)).out
    path.write_text("truth,k\na,\nb,\n")
    out = run("compare", str(path), "--missing", "ignore").out
    assert "mean nan" in out
    assert "most like" not in out
