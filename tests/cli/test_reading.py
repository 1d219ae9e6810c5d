"""Files of labels: what is read, and what is refused with which words."""

import bz2
import gzip
import io
import os
import re
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pyarrow
import pytest
import sklearn.metrics as sklearn
from pyarrow import feather, orc, parquet

import torchclusteval as tce
from torchclusteval.cli.reading import csv_table
from torchclusteval.cli.reading.formats import open_table
from torchclusteval.cli.reading.held import hold_columns, listed
from torchclusteval.cli.reading.selection import Selection
from torchclusteval.common.other_formats import other_format

pytestmark = pytest.mark.slow


def save(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def content(*paths: str, columns: tuple[str, ...] = (), join: str = "names", **options: Any) -> dict[str, list[Any]]:
    """Columns as lists of the labels that they hold; None: missing."""
    asked = Selection(list(paths), list(columns), join=join, **options)
    held = {one.title: listed(one.labels) for one in hold_columns(asked)[0]}
    return {title: [None if x < 0 else labels[x] for x in places.tolist()] for title, (labels, places) in held.items()}


def npy(array: np.ndarray, *, allow_pickle: bool = False) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=allow_pickle)
    return stream.getvalue()


def npz(**arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def spreadsheet() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return stream.getvalue()


def locked(archive: bytes) -> bytes:
    """The same archive, said to be encrypted."""
    data = bytearray(archive)
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[archive.index(mark) + flags] |= 1
    return bytes(data)


TABLES: dict[str, tuple[str | bytes, Any]] = {
    "comma": ("t,a\n1,2\n3,4\n", {"t": [1, 3], "a": [2, 4]}),
    "tab": ("t\ta\n1\t2\n", {"t": [1], "a": [2]}),
    "semicolon": ("t;a\n1;2\n", {"t": [1], "a": [2]}),
    "bar": ("t|a\n1|2\n", {"t": [1], "a": [2]}),
    "space": ("t a\n1 2\n", {"t": [1], "a": [2]}),
    "Excel's first line": ("sep=|\nt,x|a\n1|2\n", {"t,x": [1], "a": [2]}),
    "a delimiter at the end of lines": ("t;a;\nx;2;\ny;3;\n", {"t": ["x", "y"], "a": [2, 3]}),
    "a delimiter at the end of lines below": ("t;a\nx;2;\ny;3;\n", {"t": ["x", "y"], "a": [2, 3]}),
    "decimal commas between semicolons": ("t;a\n1,5;2\n2,5;3\n", {"t": ["1,5", "2,5"], "a": [2, 3]}),
    "commas in the header of a table of semicolons": ("t, of x;a, of y\n1;2\n", {"t, of x": [1], "a, of y": [2]}),
    "R's write.table": ('"t" "a"\n"c1" "x y" 1\n"c2" "z" 2\n', {"t": ["x y", "z"], "a": [1, 2]}),
    "R's write.table without quotes": ("t a\nc1 x 1\nc2 z 2\n", {"t": ["x", "z"], "a": [1, 2]}),
    "a space in the name of a single column": ("my labels\n1\n2\n", {"my labels": [1, 2]}),
    "text with spaces": ("t\nNew York\nOslo\n", {"t": ["New York", "Oslo"]}),
    "text with as many spaces": ("my city\nNew York\nLos Angeles\n", {"my city": ["New York", "Los Angeles"]}),
    "windows line ends": ("t,a\r\n1,2\r\n", {"t": [1], "a": [2]}),
    "old line ends": ("t,a\r1,2\r", {"t": [1], "a": [2]}),
    "byte order mark": (b"\xef\xbb\xbft,a\n1,2\n", {"t": [1], "a": [2]}),
    "no line end at the end": ("t,a\n1,2", {"t": [1], "a": [2]}),
    "blank lines around": ("\nt,a\n1,2\n\n\n", {"t": [1], "a": [2]}),
    "a row of empty cells at the end": ("t,a\n1,2\n,\n", {"t": [1], "a": [2]}),
    "an empty last cell": ("t,a\n1,2\n3,\n\n", {"t": [1, 3], "a": [2, None]}),
    "quoted header": ('"t","a, b"\n1,2\n', {"t": [1], "a, b": [2]}),
    "header of two lines": ('t,"a\nb"\n1,2\n', {"t": [1], "a\nb": [2]}),
    "quoted numbers": ('t,a\n"1","2"\n', {"t": [1], "a": [2]}),
    "quoted text": ('t,a\nx,"a, ""b"""\n', {"t": ["x"], "a": ['a, "b"']}),
    "spaces around cells": ("t , a\n x,y \nx , y\n", {"t": ["x", "x"], "a": ["y", "y"]}),
    "row names": (",t,a\n0,1,2\n1,3,4\n", {"t": [1, 3], "a": [2, 4]}),
    "row names as text": ('"","t"\n"i1",1\n"i2",3\n', {"t": [1, 3]}),
    "text and numbers": ("t,a\nx,1\ny,2\n", {"t": ["x", "y"], "a": [1, 2]}),
    "negative": ("t\n-1\n+2\n", {"t": [-1, 2]}),
    "whole floats": ("t,a\n1.0,1e2\n2.0,-3.\n", {"t": [1, 2], "a": [100, -3]}),
    "padded numbers": ("t,a\n07,07\n7,x\n", {"t": [7, 7], "a": ["07", "x"]}),
    "extreme": (f"t,a\n{-(2**63)},1\n{2**63 - 1},2\n", {"t": [-(2**63), 2**63 - 1], "a": [1, 2]}),
    "extreme and missing": (f"t,a\n{-(2**63)},1\n,2\n", {"t": [-(2**63), None], "a": [1, 2]}),
    "beyond 64 bits": (f"t,a\n{2**64},1\n1,2\n", {"t": [2**64, 1], "a": [1, 2]}),
    "numbers among text": ("t\n1\nx\n0.5\n", {"t": ["1", "x", "0.5"]}),
    "hexadecimal is text": ("t,a\n0x10,1\n16,2\n", {"t": ["0x10", "16"], "a": [1, 2]}),
    "underscores are text": ("t\n1_0\n10\n", {"t": ["1_0", "10"]}),
    "accents": ("klasse,é\nä,1\n", {"klasse": ["ä"], "é": [1]}),
    "missing": (
        't,a,b\n,NA," "\n1, None ,NaN\n2,x,3\n',
        {"t": [None, 1, 2], "a": [None, None, "x"], "b": [None, None, 3]},
    ),
    "quoted spellings are labels": ('t,a\n"NA",1\nNA,2\n', {"t": ["NA", None], "a": [1, 2]}),
    "a lone quote is part of a label": ('t,a\n5" pipe,1\npipe,2\n', {"t": ['5" pipe', "pipe"], "a": [1, 2]}),
    "npz": (npz(t=np.array([1, 2]), a=np.array(["x", "y"])), {"t": [1, 2], "a": ["x", "y"]}),
    "a blank line above numeric names": ("\n1,2\n3,4\n5,6\n", {"1": [3, 5], "2": [4, 6]}),
    "half precision": (npz(t=np.array([1, 2], np.float16)), {"t": [1, 2]}),
    "nan in an array": (npz(t=np.array([1, np.nan])), {"t": [1, None]}),
    "bytes that are no text": (npz(t=np.array([b"\xff", b"\xfe"])), {"t": ["\\xff", "\\xfe"]}),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLES)
@pytest.mark.parametrize("pack", [None, gzip.compress, bz2.compress])
def test_tables(case: str, pack: Any, tmp_path: Path) -> None:
    text, expected = TABLES[case]
    data = text.encode() if isinstance(text, str) else text
    assert content(save(tmp_path, "file.csv", pack(data) if pack else data)) == expected


@pytest.mark.parametrize("packing", ["zstd", "lz4"])
def test_packed_by_other_libraries(packing: str, tmp_path: Path) -> None:
    path = str(tmp_path / "file.csv")
    with pyarrow.output_stream(path, compression=packing) as stream:
        stream.write(b"t,a\n1,x\n3,y\n")
    assert content(path) == {"t": [1, 3], "a": ["x", "y"]}


LISTS: dict[str, tuple[str, str | bytes, list[Any]]] = {
    "numbers": ("a.txt", "3\n1\n3\n", [[3, 1, 3]]),
    "numbers below a name": ("a.txt", "labels\n3\n1\n", [[3, 1]]),
    "floats of savetxt": ("a.txt", "3.000000000000000000e+00\n1.000000000000000000e+00\n", [[3, 1]]),
    "text in a list has no header": ("a.txt", "x\ny\ny\n", [["x", "y", "y"]]),
    "text in CSV has a header": ("a.csv", "x\ny\ny\n", [["y", "y"]]),
    "a cell that recurs is no header": ("a.csv", "x\ny\nx\n", [["x", "y", "x"]]),
    "numbers in CSV": ("a.csv", "1\n2\n", [[1, 2]]),
    "an empty line is a missing label": ("a.txt", "1\n\n2\n\n", [[1, None, 2]]),
    "a matrix": ("a.txt", "1 2\n3 4\n5 6\n", [[1, 3, 5], [2, 4, 6]]),
    "pandas to_csv of a series": ("a.csv", ",labels\n0,7\n1,8\n", [[7, 8]]),
    "npy": ("a.npy", npy(np.array([1, 2], np.uint8)), [[1, 2]]),
    "npy of booleans": ("a.npy", npy(np.array([True, False])), [[1, 0]]),
    "npy of text": ("a.npy", npy(np.array(["x", "y"])), [["x", "y"]]),
    "npy of whole floats": ("a.npy", npy(np.array([1.0, -2.0])), [[1, -2]]),
    "npy of large unsigned": ("a.npy", npy(np.array([2**64 - 1, 1], np.uint64)), [[2**64 - 1, 1]]),
    "npy of other byte order": ("a.npy", npy(np.array([1, 2], ">i4")), [[1, 2]]),
    "npy of several": ("a.npy", npy(np.array([[1, 2, 3], [4, 5, 6]])), [[1, 2, 3], [4, 5, 6]]),
    "npz": ("a.npz", npz(p=np.array([1, 2]), q=np.array([[3, 4]])), [[1, 2], [3, 4]]),
}


@pytest.mark.parametrize("case", LISTS)
def test_label_files(case: str, tmp_path: Path) -> None:
    name, data, expected = LISTS[case]
    path = save(tmp_path, name, data)
    other = save(tmp_path, "other.npy", npy(np.zeros(len(expected[0]), int)))
    assert list(content(path, other).values()) == [*expected, [0] * len(expected[0])]


WRONG_TABLES: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "the file is empty"),
    "blank": ("\n \n", "the file is empty"),
    "header only": ("t,a\n", "rows of labels below the header; got none"),
    "short row": ("t,a\n1,2\n3\n", "line 3: expected 2 cells, as in the first line; got 1"),
    "long row": ("t,a\n1,2\n3,4,5\n", "line 3: expected 2 cells, as in the first line; got 3"),
    "long row of text": ("t,a\nx,y\nx,y,z\n", "line 3: expected 2 cells, as in the first line; got 3"),
    "blank line inside": ("t,a\n1,2\n\n3,4\n", "line 3: expected 2 cells, as in the first line; got an empty line"),
    "the same name twice": ("t,a,t\n1,2,3\n", "got 't' in columns 1, 3"),
    "no name": ("t,a,\n1,2,3\n", "got none for column 3"),
    "open quote": ('t,a\n1,"2\n3,4\n', "is a quote left open"),
    "a letter in two": (b't,a\n1,2\n"\xc3"\xa4,3\n', "line 3: expected UTF-8 text; got byte 0xc3"),
    "a byte order mark inside": ("t,a\n1,2\n\ufeff3,4\n", "line 3: expected a byte order mark at the start of the"),
    "a byte order mark below the header": ("t,a\n\ufeffx,2\nx,4\n", "line 2: expected a byte order mark at"),
    "the header again": ("t,a\n1,2\nt,a\n3,4\n", "line 3: expected labels; got the header again"),
    "the header again above text": ("t,a\nx,y\nt,a\n", "line 3: expected labels; got the header again"),
    "a last cell": ("t;a;\nx;2;\n" + "y;3;\n" * 300 + "y;3;4\n", "line 303: expected an empty last cell"),
    "blanks before a quote": ('t,a\n "x",1\nx,2\n', "line 2: expected a quote at the start of its cell"),
    "latin-1": ("t\ncaf\xe9\n".encode("latin-1"), "UTF-8 text; got byte 0xe9 on line 2"),
    "latin-1 in a table": ("t,a\ncaf\xe9,1\n".encode("latin-1"), "UTF-8 text; got byte 0xe9 on line 2"),
    "utf-16": ("t,a\n1,2\n".encode("utf-16"), "UTF-16"),
    "ids that floats merge": (
        "t,a\n9007199254740992.0,1\n9007199254740992.0,2\n",
        "line 2: expected whole numbers below 2**53",
    ),
    "binary": (b"\x7fELF\0\0\0\0", "another binary file"),
    "gzip cut off": (gzip.compress(b"t,a\n" + b"1,2\n" * 999)[:-12], "it is damaged"),
    "gzip spoilt": (gzip.compress(b"t,a\n1,2\n")[:12] + b"spoilt spoilt", "it is damaged"),
    "gzip of nothing": (gzip.compress(b""), "the file is empty"),
    "spreadsheet": (spreadsheet(), "a spreadsheet? save it as CSV"),
    "zip cut off": (b"PK\x03\x04", "it is damaged"),
    "npz of nothing": (npz(), "at least one array"),
    "npy cut off": (npy(np.arange(100))[:-20], "it is damaged"),
    "npy of objects": (npy(np.array([1, "a"], object), allow_pickle=True), "pickled objects, which are not safe"),
    "npy of one value": (npy(np.array(3)), "shape (N,) or (B, N) with N > 0; got ()"),
    "npy of no item": (npy(np.array([], int)), "got (0,)"),
    "npy with a damaged header": (npy(np.arange(9)).replace(b"(9,)", b"((((").replace(b"}", b" "), "it is damaged"),
    "npy of a huge shape": (npy(np.arange(9)).replace(b"(9,), }" + 20 * b" ", b"(%d,), }" % 10**20), "it is damaged"),
    "locked zip": (locked(npz(t=np.arange(9))), "is encrypted"),
    "npy of three dimensions": (npy(np.ones((2, 2, 2), int)), "got (2, 2, 2)"),
    "parquet cut off": (b"PAR1" + b"1" * 50, "expected a complete parquet file; it is damaged"),
    "fraction": ("t,a\n1,2\n3,0.5\n", "column 'a', line 3: expected a whole number or text; got '0.5'"),
    "endless exponent": ("t,a\n1,1e-99999999999999999999\n", "column 'a', line 2: expected a whole number or text"),
    "infinity": ("t,a\n1,inf\n", "column 'a', line 2: expected a whole number or text; got 'inf'"),
    "line break in a label": ('t,a\n"x\ny",1\nz,2\n', "expected a label on one line"),
    "fraction in an array": (npz(t=np.ones(2), a=np.array([1, 1.5])), "column 'a', item 2: expected whole numbers"),
    "complex": (npz(t=np.ones(2), a=np.ones(2, complex)), "booleans or strings; got an array of complex"),
}


@pytest.mark.parametrize("case", WRONG_TABLES)
def test_wrong_tables(case: str, tmp_path: Path) -> None:
    data, words = WRONG_TABLES[case]
    path = save(tmp_path, "file", data)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        content(path)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("kind", "bits"), [("float16", 11), ("float32", 24), ("float64", 53)])
def test_floats_that_do_not_tell_neighbours_apart(kind: str, bits: int, tmp_path: Path, error: Any) -> None:
    good, wrong = (np.array([2**bits - 2, 2**bits - 1 + above], kind) for above in (0, 1))
    table = str(tmp_path / "a.parquet")
    for labels in (good, wrong):
        parquet.write_table(pyarrow.table({"t": labels, "a": [1, 2]}), table)
        array = save(tmp_path, "b.npy", npy(labels))
        if labels is good:
            assert content(table)["t"] == content(array, array)[array] == [2**bits - 2, 2**bits - 1]
            continue
        for arguments in ([table, "--truth", "t"], [array, array]):
            assert f"expected whole numbers below {2**bits}" in error("score", *arguments)


def test_text_whose_places_are_beyond_its_bytes(tmp_path: Path) -> None:
    """pyarrow reads what the places point to, and the process may end there."""
    path = str(tmp_path / "a.feather")
    feather.write_feather(pyarrow.table({"t": ["one", "two"], "a": [1, 2]}), path, compression="uncompressed")
    data = Path(path).read_bytes()
    places = np.array([0, 3, 6], np.int32).tobytes()
    Path(path).write_bytes(data.replace(places, np.array([0, 2**30, 2**30 + 3], np.int32).tobytes()))
    with pytest.raises(ValueError, match=r"a.feather: expected a complete feather file; it is damaged"):
        content(path)
    text = npy(np.array(["one", "two"]))
    with pytest.raises(ValueError, match=r"a.npy: expected a complete .npy or .npz file; it is damaged"):
        content(save(tmp_path, "a.npy", text[:-4] + b"\xff\xff\xff\x7f"))


def test_columns_that_are_not_asked_for_may_hold_anything(tmp_path: Path) -> None:
    path = save(tmp_path, "a.csv", b't,a,x\n1,2,"free\ntext"\n3,4,\xff\n5,6,0.5\n')
    assert content(path, columns=("t", "a")) == {"t": [1, 3, 5], "a": [2, 4, 6]}
    swallowed = save(tmp_path, "b.csv", 't,a,x\n1,2,"free\n3,4,y\n5,6,z\n')
    with pytest.raises(ValueError, match="is a quote left open"):
        content(swallowed, columns=("t", "a"))


def test_faults_far_down_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_table, "_BLOCK_BYTES", 500)
    rows = ["1,2"] * 20_000
    for fault, words in (("1", "expected 2 cells"), ("1,0.5", "whole number or text"), ("t,a", "the header again")):
        rows[12_345] = fault
        with pytest.raises(ValueError, match=words) as caught:
            content(save(tmp_path, "a.csv", "t,a\n" + "\n".join(rows) + "\n"))
        assert "line 12347" in str(caught.value)
    rows[12_345], rows[5] = "1,x", "07,2"
    held = content(save(tmp_path, "a.csv", "t,a\n" + "\n".join(rows) + "\n"))
    assert held["a"][12_344:12_347] == ["2", "x", "2"]  # text from the first row on
    assert set(held["t"]) == {1, 7}


def test_options_of_reading(tmp_path: Path) -> None:
    path = save(tmp_path, "a.csv", "t;a,b\n1;-\n2;x\n")
    assert content(path, spellings=frozenset(["", "-"])) == {"t": [1, 2], "a,b": [None, "x"]}
    assert content(save(tmp_path, "b.csv", "1,2\n3,4\n"), header="no") == {"0": [1, 3], "1": [2, 4]}
    one, two = save(tmp_path, "c.csv", "x\ny\n"), save(tmp_path, "d.csv", "u\nw\n")
    assert content(one, two, header="no") == {one: ["x", "y"], two: ["u", "w"]}
    assert content(one, two, header="yes") == {"x": ["y"], "u": ["w"]}


def test_what_the_first_line_is_taken_for_is_said(tmp_path: Path, capsys: Any) -> None:
    one, two = save(tmp_path, "a.csv", "x\ny\n"), save(tmp_path, "b.txt", "u\n")
    content(one, two)
    assert "'x', is taken as the header; otherwise: --header no" in capsys.readouterr().err
    content(save(tmp_path, "c.csv", "t,a\nc1,x,y\n"))
    assert "one cell more than the header" in capsys.readouterr().err


def test_files_are_joined_by_the_names_of_rows(tmp_path: Path, error: Any, capsys: Any) -> None:
    one, two = save(tmp_path, "a.csv", ",y\na,1\nb,2\nc,3\n"), save(tmp_path, "b.csv", ",k\nc,x\na,y\nb,z\n")
    assert content(one, two) == {"y": [1, 2, 3], "k": ["y", "z", "x"]}
    assert content(one, two, join="position") == {"y": [1, 2, 3], "k": ["x", "y", "z"]}
    part = save(tmp_path, "c.csv", "k\nc\t7\nd\t8\nb\t9\n")
    assert content(one, part, join="shared") == {"y": [2, 3], "k": [9, 7]}
    with pytest.raises(ValueError, match=r"1 only in .*a.csv and 1 only in .*c.csv, such as 'a' \(--join shared"):
        content(one, part)
    gaps = save(tmp_path, "f.csv", ",k\nc,x\nb,\na,z\n")
    assert "f.csv: line 3: expected a label" in error("score", one, gaps)
    plain = save(tmp_path, "d.txt", "5\n6\n7\n")
    assert content(one, part, plain, join="shared") == {"y": [2, 3], "k": [9, 7], plain: [6, 7]}
    assert "d.txt has no names of rows: they are those of " in capsys.readouterr().err


def test_lists_may_hold_what_divides_cells(tmp_path: Path) -> None:
    for lines in (["T cell", "B cell", "NK, mature", "B cell"], ["NK, mature", "T cell", "B 1", "B cell"]):
        one, two = save(tmp_path, "t.txt", "\n".join(lines)), save(tmp_path, "k.txt", "0\n1\n2\n1\n")
        assert content(one, two, header="no") == {one: lines, two: [0, 1, 2, 1]}


def test_any_column_may_hold_the_names(tmp_path: Path) -> None:
    one, two = save(tmp_path, "a.csv", "cell,y\n1,u\n2,v\n"), save(tmp_path, "b.csv", "k,cell\n8,2\n9,1\n")
    assert content(one, two, id_column="cell") == {"y": ["u", "v"], "k": [9, 8]}


@pytest.mark.parametrize("kind", ["parquet", "feather", "arrow", "orc"])
def test_columnar_files(kind: str, tmp_path: Path) -> None:
    columns: dict[str, Any] = {"t": ["x", None, "NA"], "a": [1, 2, None], "f": [1.0, None, 3], "b": [True, False, True]}
    table = pyarrow.table(columns)
    if kind != "orc":
        table = table.append_column("c", pyarrow.array(["u", "v", "u"]).dictionary_encode())
    path = str(tmp_path / f"a.{kind}")
    writers = {"parquet": parquet.write_table, "feather": feather.write_feather, "orc": orc.write_table}
    if kind == "arrow":
        with pyarrow.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    else:
        writers[kind](table, path)
    expected = {"t": ["x", None, "NA"], "a": [1, 2, None], "f": [1, None, 3], "b": [1, 0, 1], "c": ["u", "v", "u"]}
    found = content(path)
    assert found == {name: expected[name] for name in table.column_names}
    parquet.write_table(pyarrow.table({"f": [1.0, 0.5], "l": [[1], [2]]}), path)
    with pytest.raises(ValueError, match=r"column 'f', row 2: expected whole numbers; got 0\.5"):
        content(path, columns=("f",))
    with pytest.raises(ValueError, match="column 'l': expected whole numbers or text; got list"):
        content(path, columns=("l",))


@pytest.mark.parametrize(
    "names", [("donor", "cell"), (None, None), ("donor", "donor, cell"), ("km", "truth"), ("donor", "n")]
)
@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_all_levels_of_an_index_name_rows(tmp_path: Path, run: Any, error: Any, kind: str, names: Any) -> None:
    """No level is scored, files are joined by all of them, and a level can be named; values by scikit-learn."""
    donors, cells = [0, 0, 0, 0, 1, 1, 1, 1], ["a", "b", "a,", ", a", "a", "b", "c", "d"]
    second = range(8) if names[1] == "n" else cells  # pyarrow stores no column of a range
    index = pandas.MultiIndex.from_arrays([donors, second], names=names)
    frame = pandas.DataFrame({"truth": [0, 0, 0, 1, 1, 1, 1, 0], "km": [0, 0, 1, 1, 1, 1, 0, 0]}, index=index)
    whole, truth, other = (str(tmp_path / f"{name}.{kind}") for name in ("whole", "truth", "other"))
    for path, part in ((whole, frame), (truth, frame[["truth"]]), (other, frame[["km"]].iloc[::-1])):
        table = pyarrow.Table.from_pandas(part)
        pyarrow.parquet.write_table(table, path) if kind == "parquet" else feather.write_feather(table, path)
    expected = sklearn.adjusted_rand_score(frame["truth"], frame["km"])
    asked = ["--measures", "ari", "--format", "json"]
    for files in ((whole, "--truth", "truth"), (truth, other)):
        found = run("score", *files, *asked).json["scores"]
        assert [row["adjusted_rand"] for row in found] == [pytest.approx(expected)]
    if names == ("donor", "cell"):
        frame[["km"]].swaplevel().to_parquet(other)
        assert run("score", truth, other, *asked).json["scores"][0]["adjusted_rand"] == pytest.approx(expected)
    if names[0] == "donor":
        assert run("score", whole, "--truth", "truth", "--by", "donor", *asked).json["n_groups"] == 2
    frame[["km"]].iloc[::-1].iloc[1:].to_parquet(other)
    assert "expected the names of rows" in error("score", truth, other, *asked)


def test_an_index_of_a_part_of_the_table_is_refused(tmp_path: Path) -> None:
    one, two = str(tmp_path / "a.parquet"), str(tmp_path / "b.feather")
    for path, name, write in ((one, "y", parquet.write_table), (two, "k", feather.write_feather)):
        parts = [pandas.DataFrame({name: [i, 0]}, index=pandas.RangeIndex(2 * i, 2 * i + 2)) for i in (1, 2)]
        write(pyarrow.concat_tables(map(pyarrow.Table.from_pandas, parts)), path)
    with pytest.raises(ValueError, match=r"a.parquet: expected 4 names of rows; got a pandas index of 2, as in a part"):
        content(one, two)
    assert content(one, two, join="position") == {"y": [1, 0, 2, 0], "k": [1, 0, 2, 0]}


def test_the_index_of_pandas_names_rows(tmp_path: Path) -> None:
    one, two = str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")
    pandas.DataFrame({"y": [1, 2]}, index=["u", "v"]).to_parquet(one)
    pandas.DataFrame({"k": [8, 9]}, index=["v", "u"]).to_parquet(two)
    assert content(one, two) == {"y": [1, 2], "k": [9, 8]}
    pandas.DataFrame({"id": ["v", "u"], "k": [8, 9]}).to_parquet(two)  # a column holds what the index does
    assert content(one, two) == {"y": [1, 2], "k": [9, 8]}
    frame = pandas.DataFrame({"y": [1, 2, 3, 4], "k": [5, 6, 7, 8]})
    frame[["y"]].rename_axis("id").to_parquet(one)  # a range of its own name is no default
    frame[["k"]][::-1].rename_axis("id").to_parquet(two)
    assert content(one, two) == {"y": [1, 2, 3, 4], "k": [5, 6, 7, 8]}
    frame[["y"]][1:3].to_parquet(one)
    frame[["k"]][2:].to_parquet(two)
    wrong = r"expected the names of rows of .*got 1 only in .* and 1 only in .*such as '1'"
    with pytest.raises(ValueError, match=wrong):
        content(one, two)
    frame[["k"]][2:0:-1].to_parquet(two)
    assert content(one, two) == {"y": [2, 3], "k": [6, 7]}
    (tmp_path / "parts").mkdir()
    for name, part in (("1", frame[:2]), ("2", frame[2:])):
        part.to_parquet(tmp_path / "parts" / f"{name}.parquet")
    assert content(str(tmp_path / "parts")) == frame.to_dict("list")


def test_a_directory_is_one_table(tmp_path: Path) -> None:
    for name, text in (("2.csv", "t,a\n3,z\n"), ("1.csv", "t,a\nx,y\n"), ("_SUCCESS", "")):
        save(tmp_path, name, text)
    assert content(str(tmp_path)) == {"t": ["x", "3"], "a": ["y", "z"]}
    save(tmp_path, "2.csv", "a,t\nz,3\n")  # columns go by their names
    assert content(str(tmp_path)) == {"t": ["x", "3"], "a": ["y", "z"]}
    save(tmp_path, "1.csv", "t,a\n01,y\n")
    save(tmp_path, "2.csv", "t,a\nx,z\n")  # so 01 is text too
    assert content(str(tmp_path)) == {"t": ["01", "x"], "a": ["y", "z"]}
    save(tmp_path, "3.csv", "t,b\n1,2\n")
    with pytest.raises(ValueError, match=r"3.csv: expected the columns of .*1.csv; got 'a' in one .*tables: .*/\*.csv"):
        content(str(tmp_path))
    Path(tmp_path, "3.csv").unlink()
    one = save(tmp_path.parent, "one.csv", "k\n4\n")
    with pytest.raises(ValueError, match=r"expected 1 labels, as in .*one.csv; got 2 \(a folder is the parts of one"):
        content(one, str(tmp_path))


def test_a_pipe_is_read_twice_where_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"t,a\n" + b"1,2\n" * 500 + b"x,2\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(data))))
    assert content("-")["t"] == ["1"] * 500 + ["x"]
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    if os.fork() == 0:
        with open(path, "wb") as pipe:
            pipe.write(data)
        os._exit(0)
    assert content(path)["t"] == ["1"] * 500 + ["x"]


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    one, two = save(tmp_path, "a.npy", npy(np.array([1, 2]))), save(tmp_path, "b.txt", "x\ny\n")
    assert content(one, two) == {one: [1, 2], two: ["x", "y"]}
    with pytest.raises(ImportError, match=r"pip install 'torchclusteval\[cli\]'"):
        content(save(tmp_path, "a.csv", "t,a\n1,2\n"))


def test_annotated_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The columns of ``obs``; their index names the rows."""
    obs = pandas.DataFrame({"leiden": pandas.Categorical(["0", "1", "0"]), "type": ["T", None, "B"]}, index=list("uvw"))
    module = SimpleNamespace(read_h5ad=lambda path, backed: SimpleNamespace(obs=obs))
    monkeypatch.setitem(sys.modules, "anndata", module)
    path = save(tmp_path, "a.h5ad", b"\x89HDF\r\n")
    assert content(path) == {"leiden": [0, 1, 0], "type": ["T", None, "B"]}
    other = save(tmp_path, "b.csv", ",k\nw,1\nv,2\nu,3\n")
    assert content(path, other, columns=("*leiden", "k")) == {"leiden": [0, 1, 0], "k": [3, 2, 1]}
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(ImportError, match=r"torchclusteval\[anndata\]"):
        content(path)


def test_damage_far_down_and_progress(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    text = "t,a\n" + "\n".join(f"{x},{y}" for x, y in rng.integers(0, 10**6, (300_000, 2)).tolist())
    packed = gzip.compress(text.encode(), 1)
    path = save(tmp_path, "a.csv.gz", packed)
    seen: list[tuple[int, int]] = []
    table = open_table(path, Selection([path]), is_table=True)
    blocks = table.blocks(["t"], progress=lambda *state: seen.append(state))
    assert sum(len(block[0].values) for block in blocks) == 300_000
    assert seen == sorted(seen)
    assert seen[-1] == (len(packed), len(packed))
    for spoilt in (packed[: len(packed) // 2], packed[:-2000] + b"spoilt" * 100 + packed[-1400:]):
        with pytest.raises(ValueError, match="expected a complete gzip file; it is damaged"):
            content(save(tmp_path, "b.csv.gz", spoilt))


def test_a_dictionary_of_text_views(tmp_path: Path) -> None:
    """As polars writes categoricals to Feather."""
    values = pyarrow.array(["a", "b"]).cast(pyarrow.string_view())
    table = pyarrow.table({"x": pyarrow.DictionaryArray.from_arrays(pyarrow.array([1, 0, None, 1]), values)})
    path = str(tmp_path / "x.feather")
    with pyarrow.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    assert content(path) == {"x": ["b", "a", None, "b"]}


def test_an_empty_cell_that_the_header_lacks_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It could be names of rows with nothing in the last column."""
    assert content(save(tmp_path, "x.tsv", "t\ta\nx\t2\t\ny\t3\t\n")) == {"t": ["x", "y"], "a": [2, 3]}
    assert "the last, always empty, is left out" in capsys.readouterr().err
    content(save(tmp_path, "y.tsv", "t\ta\t\nx\t2\t\ny\t3\t\n"))
    assert not capsys.readouterr().err


ALIGNED = ["t   a\n1   2\n3   4\n", "item  t  a\nx1    1  2\nx2    3  4\n", "t a\n1   2\n3   4\n"]


@pytest.mark.parametrize("table", ALIGNED)
def test_columns_aligned_by_blanks_are_refused_with_a_remedy(table: str, tmp_path: Path, error: Any) -> None:
    path = save(tmp_path, "a.csv", table)
    assert "tr -s ' ' " in error("score", path, "--truth", "t")
    commas = save(tmp_path, "b.csv", re.sub(" +", ",", table))
    assert content(commas, columns=("t", "a")) == {"t": [1, 3], "a": [2, 4]}


COREFERENCE = "#begin document (a); part 000\nx (0)\ny -\n#end document\n"
OTHERS = {
    "k.conllu": (
        "# newdoc id = d1\n# sent_id = s1\n1\tAnn\tAnn\tPROPN\t_\t_\t0\troot\t_\tEntity=(e1-person-1-)\n\n",
        "CorefUD",
    ),
    "plain.txt": ("# text = Ann\n1-2\tAnn\tAnn\tPROPN\t_\t_\t0\troot\t_\t_\n", "CoNLL-U"),
    "k.rttm": ("SPEAKER f 1 0.0 1.0 <NA> <NA> A <NA> <NA>\nSPEAKER f 1 1.0 1.0 <NA> <NA> B <NA> <NA>\n", "RTTM"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_files_of_other_formats(tmp_path: Path, error: Any, name: str) -> None:
    text, known = OTHERS[name]
    path = save(tmp_path, name, text)
    for command in ("score", "score-coreference", "compare", "score-overlapping"):
        assert re.search(f"{name}: expected .*; got an? .*{known}", error(command, path, path))
    with pytest.raises(ValueError, match=f"expected a coreference file of CoNLL 2012; got an? .*{known}"):
        tce.read_conll(path)


def test_tables_are_no_other_format() -> None:
    """Ten columns of numbers, or of words, and comments above them."""
    for text in ("0\t1\t2\t3\t4\t5\t6\t7\t8\t9\n" * 2, "1\ta\tb\tNN\t4\t5\t6\t7\t8\t9\n", "# " * 99 + "\nSPEAKER,1\n"):
        assert other_format(text) is None


def test_names_of_keys_and_responses(tmp_path: Path, run: Any, error: Any) -> None:
    files = [save(tmp_path, name, COREFERENCE) for name in ("TC-A.key", "TC-A-1.response", "no_suffix")]
    assert "score-coreference KEY" in error("score", *files[:2])
    assert "score-coreference KEY" in error("score", files[2], files[2])
    assert "all documents" in run("score-coreference", *files[:2]).out


def test_leading_zeros_are_noted(tmp_path: Path, run: Any) -> None:
    for cells in ('"007" "7"', "007 7", "07 007", "3 3.0", "007 8"):
        rows = "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells.split() * 2))
        done = run("score", save(tmp_path, "ids.csv", f"truth,a\n{rows}"), "--truth", "truth", "--measures", "ari")
        noted = "are one label" in done.err
        assert noted == (cells in ('"007" "7"', "007 7", "07 007")), cells


@pytest.mark.parametrize("ending", [" ", "\t", ","])
def test_lists_with_an_end_of_a_cell_are_refused_or_read(error: Any, tmp_path: Path, ending: str) -> None:
    one, two = save(tmp_path, "a.txt", "1\n2\n"), save(tmp_path, "b.txt", f"1\n2{ending}\n")
    assert "expected" in error("score", one, two)
