"""Coreference files: what is read, what is refused, and the table of the reference scorer."""

import csv
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

import torchclusteval as tce
from tests.support import GOLDEN_FOLDER

CASES = json.loads((GOLDEN_FOLDER / "coreference.json").read_text())["cases"]
NAMES = {"muc": "MUC", "bcub": "B3", "ceafm": "CEAF-m", "ceafe": "CEAF-e", "blanc": "BLANC", "lea": "LEA"}

NESTED = """\
#begin document (nw/a); part 000
nw/a 0 0 The DT (1|(2
nw/a 0 1 dog DT 1)|(1)

nw/a 0 0 of DT (3[1/2])
nw/a 0 1 it DT 2)
nw/a 0 2 now DT (3[2/2]
nw/a 0 3 then DT 3[2/2])
#end document
#begin document (nw/a); part 001
x (0)
y -
#end document
"""


def written(tmp_path: Path, text: str, name: str = "key.conll") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_documents_nested_and_discontinuous_mentions(tmp_path: Path) -> None:
    assert tce.read_conll(written(tmp_path, NESTED)) == {
        "(nw/a); part 000": [{(0, 1), (1, 1)}, {(0, 3)}, {(2, 2, 4, 5)}],
        "(nw/a); part 001": [{(0, 0)}],
    }
    text = "#begin document a\nx (0|(0\ny -\nz 0)\nz 0)\n#end document\n"
    assert tce.read_conll(written(tmp_path, text)) == {"a": [{(0, 2), (0, 3)}]}


BEGIN, END = "#begin document (a); part 000\n", "#end document\n"
BAD = {
    "no end of a mention": (f"{BEGIN}x (0\ny (1\nz 1)\n{END}", r"line 2: expected an end 0\) of the mention"),
    "no begin": (f"{BEGIN}x -\ny 0)\n{END}", r"line 3: expected a mention of entity 0 that is open; got the end '0\)'"),
    "outside": (f"x (0)\n{BEGIN}{END}", r"line 1: expected mentions inside a document .*; got '\(0\)'"),
    "no mention": (f"{BEGIN}x word\n{END}", r"line 2: expected mentions such as .*; got 'word'"),
    "a number": (f"{BEGIN}x 3\n{END}", r"line 2: expected mentions such as .*; got '3'"),
    "no end of a document": (f"{BEGIN}x -\n", r"line 2: expected #end document"),
    "begin in a document": (f"{BEGIN}{BEGIN}", r"line 2: expected #end document before the next document"),
    "end alone": (END, r"line 1: expected #begin document before"),
    "twice": (f"{BEGIN}{END}{BEGIN}{END}", r"line 3: expected a new document name; got '\(a\); part 000'"),
    "no name": (f"#begin document\n{END}", r"line 1: expected a new document name"),
    "part": (f"{BEGIN}x (1[2/2])\n{END}", r"line 2: expected part 1/2 of a mention; got 2/2"),
    "parts": (f"{BEGIN}x (1[1/2])\n{END}", r"expected 2 parts of entity 1"),
    "two entities": (
        f"{BEGIN}x (4)|(7)\n{END}",
        r"line 2: expected every mention in one entity; got \(0, 0\) in entities 4 and 7 of '\(a\); part 000'",
    ),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_damaged_files(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message) as error:
        tce.read_conll(written(tmp_path, text))
    assert str(error.value).startswith(f"{tmp_path / 'key.conll'}: line ")


def test_marks_without_bars(tmp_path: Path) -> None:
    """As in the files TC-A-7 to TC-A-9 of the CoNLL scorer."""
    barred = "#begin document a\nx (1|(1\nx 1)\nx (2)|1)\n#end document\n"
    assert tce.read_conll(written(tmp_path, barred.replace("|", ""))) == {"a": [{(0, 1), (0, 2)}, {(2, 2)}]}
    for bad in ("(1||(1", "|(1", "(1|", "1", "(1)2", "(1x)"):
        with pytest.raises(ValueError, match="line 2: expected mentions such as"):
            tce.read_conll(written(tmp_path, f"#begin document a\nx {bad}\n#end document\n"))


def test_the_first_of_two_entities(tmp_path: Path) -> None:
    """The one that begins first, as in the scorer of CoNLL: MUC is 1 with the key (0, 1), (2, 2) in one entity."""
    text = "#begin document a\nx (1|(2\nx 2)|1)\nx (1)\n#end document\n"
    assert tce.read_conll(written(tmp_path, text), on_duplicate="first") == {"a": [{(0, 1), (2, 2)}]}
    path = written(tmp_path, f"{BEGIN}x (4)|(7)\ny (7)\n{END}")
    assert tce.read_conll(path, on_duplicate="first") == {"(a); part 000": [{(0, 0)}, {(1, 1)}]}
    with pytest.raises(ValueError, match="on_duplicate: expected one of error, first; got 'last'"):
        tce.read_conll(path, on_duplicate="last")
    (tmp_path / "latin").write_bytes(b"#begin document \xe9\n")
    with pytest.raises(ValueError, match="latin: expected text in UTF-8; got the byte 0xe9"):
        tce.read_conll(tmp_path / "latin")
    (tmp_path / "packed").write_bytes(gzip.compress(b"#begin document"))
    with pytest.raises(ValueError, match=r"packed: expected text in UTF-8; got a compressed file \(unpack it\)"):
        tce.read_conll(tmp_path / "packed")


def conll(documents: dict[str, list[list[int]]], size: int) -> str:
    """Documents of mentions of one token each."""
    lines = []
    for name, entities in documents.items():
        entity_of = {mention: number for number, group in enumerate(entities) for mention in group}
        marks = (f"({entity_of[token]})" if token in entity_of else "-" for token in range(size))
        lines += [f"#begin document ({name}); part 000", *(f"{name} {mark}" for mark in marks), "#end document"]
    return "\n".join(lines) + "\n"


def scored(tmp_path: Path, cases: list[dict[str, Any]], run: Any, *options: str) -> Any:
    size = 1 + max(x for case in cases for side in ("key", "response") for group in case[side] for x in group)
    for side in ("key", "response"):
        written(tmp_path, conll({case["id"]: case[side] for case in cases}, size), f"{side}.conll")
    return run("score-coreference", str(tmp_path / "key.conll"), str(tmp_path / "response.conll"), *options)


def test_the_table_of_the_reference_scorer(tmp_path: Path, run: Any) -> None:
    rows = scored(tmp_path, CASES, run, "--format", "json", "--per", "document").json
    found = {(row["document"], row["measure"]): [row["recall"], row["precision"], row["f"]] for row in rows}
    for case in CASES:
        for name, printed in case["expected"].items():
            values = found[f"({case['id']}); part 000", NAMES[name]]
            assert values == pytest.approx(printed, abs=6e-6), (case["id"], name)
    pooled = [found["all documents", name][2] for name in ("MUC", "B3", "CEAF-e")]
    assert found["all documents", "CoNLL"][2] == pytest.approx(sum(pooled) / 3)
    assert "33.33%" in scored(tmp_path, CASES[1:2], run, "--per", "document").out
    short = scored(tmp_path, CASES, run).out.splitlines()
    assert len(short) == 8
    assert all(line.startswith("all documents") for line in short[1:])
    assert scored(tmp_path, CASES[1:2], run, "--format", "csv").out.startswith("document,measure,recall,precision,f\n")


def test_several_responses(tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each response has the rows that it has alone, with its name before them."""
    monkeypatch.setenv("COLUMNS", "300")
    texts = {"key.conll": NESTED, "one.conll": NESTED, "two.conll": NESTED.replace("1)|(1)", "1)")}
    key, one, two = (str(written(tmp_path, text, name)) for name, text in texts.items())
    alone: list[list[str]] = []
    for response in (one, two):
        lines = list(csv.reader(run("score-coreference", key, response, "--format", "csv").out.splitlines()))
        assert lines[0] == ["document", "measure", "recall", "precision", "f"]
        alone += [[response, *line] for line in lines[1:]]
    both = run("score-coreference", key, one, two, "--format", "csv").out.splitlines()
    assert list(csv.reader(both)) == [["response", *lines[0]], *alone]
    text = run("score-coreference", key, one, two).out.splitlines()
    assert text[0].split() == ["response", *lines[0]]
    assert text[-1].startswith(two)


OF_TABLES = ("truth", "by", "columns", "exclude", "ignore", "noise-label", "na-values", "id")


def two_systems(tmp_path: Path) -> list[str]:
    """A key of seven documents and two systems: cases of the reference scorer, and their sides exchanged."""
    cases = CASES[:7]
    size = 1 + max(x for case in cases for side in ("key", "response") for group in case[side] for x in group)
    sides = {
        "key": {case["id"]: case["key"] for case in cases},
        "one": {case["id"]: case["response"] for case in cases},
        "two": {case["id"]: (case["key"] if i % 3 else [])[:2] for i, case in enumerate(cases)},
    }
    return [str(written(tmp_path, conll(given, size), f"{name}.conll")) for name, given in sides.items()]


def test_measures_and_intervals(tmp_path: Path, run: Any, error: Any) -> None:
    """Values are those of ``pooled``; intervals those of the groups drawn, here without a 0/0."""
    key, one, _ = two_systems(tmp_path)
    options = ["--measures", "lea_f,pair_f,conll_f", "--confidence-level", "0.9", "--resamples", "300", "--seed", "3"]
    shown = run("score-coreference", key, one, *options, "--format", "json")
    rows = shown.json
    assert "note: drawn: documents; intervals hold for new documents like these" in shown.err
    tables = tce.ContingencyTables.from_documents(tce.read_conll(key), tce.read_conll(one))
    expected = tce.bootstrap(tables, ["lea_f", "pair_f", "conll_f"], 300, 0.9, rng=3, resample="groups")
    assert [row["measure"] for row in rows] == ["lea_f", "pair_f", "conll_f"]
    for row in rows:
        record = expected[row["measure"]]
        assert row["score"] == pytest.approx(record.estimate.item())
        assert (row["low"], row["high"]) == pytest.approx((record.low.item(), record.high.item()))
    rows = run("score-coreference", key, one, *options[2:], "--format", "json").json
    (lea,) = (row for row in rows if row["measure"] == "LEA")
    assert lea["f_low"] == pytest.approx(expected["lea_f"].low.item())
    said = error("score-coreference", key, one, "--seed", "3")
    assert "--seed: expected --confidence-level or --resamples too" in said


def test_two_systems(tmp_path: Path, run: Any, error: Any) -> None:
    """``difference`` prints what ``paired_groups`` finds: the other system less the first one."""
    key, one, two = two_systems(tmp_path)
    asked = ["difference", key, one, two, "--format", "json", "--resamples", "200"]
    tables = [tce.ContingencyTables.from_documents(tce.read_conll(key), tce.read_conll(x)) for x in (one, two)]
    for options, macro in (([], False), (["--macro"], True)):
        shown = run(*asked, *options)
        rows = shown.json["scores"]
        assert [row["measure"] for row in rows] == [
            *(f"{name}_f" for name in ("muc", "coref_bcubed", "ceaf_m", "ceaf_e", "blanc", "lea", "conll"))
        ]
        assert f"are to {one!r}" in shown.err
        assert "note: drawn: documents; intervals hold for new documents like these" in shown.err
        found = tce.paired_groups(
            tables[1], tables[0], [row["measure"] for row in rows], 200, rng=0, zero_division=0.0, macro=macro
        )
        assert found.settings["swaps"] == 128
        for row in rows:
            record = found[row["measure"]]
            assert row["response"] == two
            assert row["score"] == pytest.approx(record.estimate_a.item())
            for key_, value in (("difference", record.difference), ("p", record.p_value)):
                assert row[key_] == pytest.approx(value.item())
            assert row["difference_low"] == pytest.approx(record.low.item())
    back, there = (run(*asked, *more).json["scores"] for more in (["--against", two], []))
    for row, other in zip(back, there, strict=True):
        assert row["difference"] == pytest.approx(-other["difference"])
        assert row["p"] == pytest.approx(other["p"])
    for words, message in (
        (["--against", "x"], "--against: expected one of"),
        *(([f"--{x}", "2"], f"--{x}: expected a table of labels, not {key}; got 2") for x in OF_TABLES),
        (["--missing", "ignore"], "--missing: expected a table of labels"),
        (["--resamples", "items"], "--resamples: expected groups or a number, as groups are drawn; got items"),
        (["--measures", "ami"], "(--macro)"),
    ):
        assert message in error(*asked, *words)
    assert f"expected the key and two responses of coreference; got {key} {one}" in error("difference", key, one)
    asked = ["score-coreference", key, one, "--measures", "ami", "--format", "json"]
    remedy = "(--per document has its rows; difference --macro compares two responses)"
    assert error(*asked).endswith(f"got 'ami_arithmetic' {remedy}")
    shown = run(*asked, "--per", "document", "--confidence-level", "0.9")
    assert "note: no row of all documents for ami_arithmetic: not defined by sums over documents" in shown.err
    expected = tce.evaluate_tables(tables[0], ["ami"])["ami"].tolist()
    assert [row["score"] for row in shown.json] == pytest.approx(expected, nan_ok=True)
    rows = run(*asked[:4], "ami,lea_f", *asked[5:], "--per", "document").json
    assert (rows[-1]["document"], rows[-1]["measure"]) == ("all documents", "lea_f")
    assert len(rows) == 2 * len(expected) + 1
    said = run("difference", key, one, one, two, "--measures", "lea_f").err
    assert f"note: the same tables as the other side: {one + ' (2)'!r}\n" in said


def test_measures_of_common_mentions_say_which_they_see(tmp_path: Path, run: Any) -> None:
    """By hand: of 8 mentions of the key the first response has 2, one entity; 2 of 11 mentions are common."""
    key = {"a": [[0, 1], [2, 3], [4, 5, 6, 7]], "b": [[0, 1]]}
    one, two = {"a": [[0, 1], [8, 9, 10]], "b": [[0, 1]]}, {"a": [[0, 1], [2, 3], [4, 5], [6, 7]], "b": [[0, 1]]}
    files = [str(written(tmp_path, conll(x, 11), f"{i}.conll")) for i, x in enumerate((key, one, two))]
    asked = ["--measures", "pair_f,lea_recall", "--format", "json"]
    note = "note: pair_f: only mentions of both key and response count; see coverage"
    shown = run("score-coreference", *files, *asked, "--per", "document")
    assert note in shown.err
    found = {(row["response"], row["document"], row["measure"]): row["coverage"] for row in shown.json}
    (first, second), total = files[1:], "all documents"
    assert found[first, "(a); part 000", "pair_f"] == pytest.approx(2 / 11)
    assert found[first, total, "pair_f"] == pytest.approx(4 / 13)
    assert found[second, total, "pair_f"] == found[first, total, "lea_recall"] == 1
    shown = run("difference", *files, *asked)
    assert note in shown.err
    assert f"note: the coverage of {first!r} is {4 / 13:.4f}" in shown.err
    assert [row["coverage"] for row in shown.json["scores"]] == [1, 1]
    shown = run("difference", *files, *asked, "--against", second)
    assert [row["coverage"] for row in shown.json["scores"]] == [pytest.approx(4 / 13), 1]
    for command in ("score-coreference", "difference"):
        shown = run(command, *files, "--measures", "lea_f,muc_f", "--format", "json")
        assert "coverage" not in shown.out + shown.err
        shown = run(command, files[0], files[2], files[2], *asked)
        assert "coverage" not in shown.out + shown.err


def test_mistakes(tmp_path: Path, error: Any) -> None:
    path = str(written(tmp_path, NESTED))
    for asked, message in (
        (["score-coreference", path], "expected the key and one response of coreference; got "),
        (["score-coreference", path, path, "--truth", "x"], "unrecognized arguments: --truth x (an option of score,"),
        (["score", path, path], "(torchclusteval score-coreference KEY FILE)"),
    ):
        assert message in error(*asked)


def test_mentions_of_two_entities_at_the_command_line(tmp_path: Path, run: Any, error: Any) -> None:
    text = "#begin document (a); part 000\n x (0)|(1)\n x (1)\n#end document\n"
    key = str(written(tmp_path, text))
    assert error("score-coreference", key, key).endswith("(--on-duplicate first keeps the first)")
    shown = run("score-coreference", key, key, "--on-duplicate", "first", "--format", "csv")
    assert "all documents,CEAF-m,1.0,1.0,1.0" in shown.out
    two = text + text.replace("(a)", "(b)")
    key = str(written(tmp_path, two))
    other = str(written(tmp_path, two.replace("(0)|(1)", "(0)"), "other.conll"))
    shown = run("difference", key, other, key, "--measures", "lea_f", "--format", "json")
    said = "line 2: expected every mention in one entity; got (0, 0) in entities 0 and 1 of '(a); part 000')\n"
    assert f"note: mentions in two entities are kept in the first ({key}: {said}" in shown.err
    assert shown.json["scores"][0]["difference"] == 0


def test_files_of_different_texts(tmp_path: Path, run: Any, error: Any) -> None:
    one, two = f"{BEGIN} x (0\n x 0)\n{END}", f"#begin document (b)\n x (0)\n{END}"
    key = str(written(tmp_path, one))
    for text, message in [
        ("", "line 1: expected #begin document; got none in the file"),
        (two, "expected documents of .*; got others, such as '\\(b\\)'"),
        (one.replace(" x 0)", " x -\n x 0)"), "expected as many tokens in '\\(a\\); part 000' as in .*; got 2 and 3"),
    ]:
        assert re.search(message, error("score-coreference", key, str(written(tmp_path, text, "response.conll"))))
    both, lacks = str(written(tmp_path, one + two, "response.conll")), "key.conll lacks 1 of 2 documents, which count"
    assert f"{lacks} as empty there: '(b)'" in run("score-coreference", key, both).err
    shown = run("score-coreference", both, key, "--per", "document")
    assert f"{lacks} as empty there: '(b)'" in shown.err
    assert ["(b)", "B3", "0.00%", "0.00%", "0.00%"] in [line.split() for line in shown.out.splitlines()]


def test_a_document_may_have_the_name_of_the_total(tmp_path: Path, run: Any) -> None:
    one = "#begin document all documents\n x (0\n x 0)\n#end document\n"
    other = "#begin document b\n x (0\n x 0)|(1\n x 1)\n x -\n#end document\n"
    key = str(written(tmp_path, one + other))
    response = str(written(tmp_path, one + other.replace(" x (0\n x 0)|(1\n x 1)", " x -\n x (1\n x 1)"), "r.conll"))
    shown = run("score-coreference", key, response, "--format", "json", "--per", "document")
    rows = [row for row in shown.json if row["measure"] == "B3"]
    assert [row["document"] for row in rows] == ["all documents", "b", "all documents"]
    assert rows[0]["recall"] == 1
    assert rows[2]["recall"] == pytest.approx(2 / 3)
