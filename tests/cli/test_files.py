"""Files of labels: what is read, and what is refused with which words."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from torchclusteval.cli.reading.cell_text import whole_number
from torchclusteval.cli.reading.files import LabelFile, find, read_labels, read_table, stack_columns


def save(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def content(file: LabelFile) -> dict[str, list[Any]]:
    """Columns as lists of the labels that they hold."""
    found = {}
    for name in file.names:
        labels = file.labels(name)
        values = labels.values.tolist()
        found[name] = values if labels.vocabulary is None else [labels.vocabulary[i] for i in values]
    return found


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
    "a space in the name of a single column": ("my labels\n1\n2\n", {"my labels": [1, 2]}),
    "text with spaces": ("t\nNew York\nOslo\n", {"t": ["New York", "Oslo"]}),
    "windows line ends": ("t,a\r\n1,2\r\n", {"t": [1], "a": [2]}),
    "old line ends": ("t,a\r1,2\r", {"t": [1], "a": [2]}),
    "byte order mark": (b"\xef\xbb\xbft,a\n1,2\n", {"t": [1], "a": [2]}),
    "no line end at the end": ("t,a\n1,2", {"t": [1], "a": [2]}),
    "blank lines around": ("\nt,a\n1,2\n\n\n", {"t": [1], "a": [2]}),
    "a row of empty cells at the end": ("t,a\n1,2\n,\n", {"t": [1], "a": [2]}),
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
    "extreme": (f"t\n{-(2**63)}\n{2**63 - 1}\n", {"t": [-(2**63), 2**63 - 1]}),
    "beyond 64 bits": (f"t\n{2**64}\n1\n", {"t": [str(2**64), "1"]}),
    "numbers among text": ("t\n1\nx\n0.5\n", {"t": ["1", "x", "0.5"]}),
    "underscores are text": ("t\n1_0\n10\n", {"t": ["1_0", "10"]}),
    "accents": ("klasse,é\nä,1\n", {"klasse": ["ä"], "é": [1]}),
    "npz": (npz(t=np.array([1, 2]), a=np.array(["x", "y"])), {"t": [1, 2], "a": ["x", "y"]}),
    "a blank line above numeric names": ("\n1,2\n3,4\n5,6\n", {"1": [3, 5], "2": [4, 6]}),
    "half precision": (npz(t=np.array([1, 2], np.float16)), {"t": [1, 2]}),
    "bytes that are no text": (npz(t=np.array([b"\xff", b"\xfe"])), {"t": ["\\xff", "\\xfe"]}),
}


@pytest.mark.parametrize("case", TABLES)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_tables(case: str, packed: bool, tmp_path: Path) -> None:
    text, expected = TABLES[case]
    data = text.encode() if isinstance(text, str) else text
    path = save(tmp_path, "file.csv", gzip.compress(data) if packed else data)
    assert content(read_table(path)) == expected


LISTS: dict[str, tuple[str, str | bytes, list[Any]]] = {
    "numbers": ("a.txt", "3\n1\n3\n", [[3, 1, 3]]),
    "numbers below a name": ("a.txt", "labels\n3\n1\n", [[3, 1]]),
    "floats of savetxt": ("a.txt", "3.000000000000000000e+00\n1.000000000000000000e+00\n", [[3, 1]]),
    "text in a list has no header": ("a.txt", "x\ny\ny\n", [["x", "y", "y"]]),
    "text in CSV has a header": ("a.csv", "x\ny\ny\n", [["y", "y"]]),
    "a cell that recurs is no header": ("a.csv", "x\ny\nx\n", [["x", "y", "x"]]),
    "numbers in CSV": ("a.csv", "1\n2\n", [[1, 2]]),
    "a matrix": ("a.txt", "1 2\n3 4\n5 6\n", [[1, 3, 5], [2, 4, 6]]),
    "pandas to_csv of a series": ("a.csv", ",labels\n0,7\n1,8\n", [[7, 8]]),
    "npy": ("a.npy", npy(np.array([1, 2], np.uint8)), [[1, 2]]),
    "npy of booleans": ("a.npy", npy(np.array([True, False])), [[1, 0]]),
    "npy of text": ("a.npy", npy(np.array(["x", "y"])), [["x", "y"]]),
    "npy of bytes": ("a.npy", npy(np.array([b"x", b"y"])), [["x", "y"]]),
    "npy of whole floats": ("a.npy", npy(np.array([1.0, -2.0])), [[1, -2]]),
    "npy of large unsigned": ("a.npy", npy(np.array([2**64 - 1, 1], np.uint64)), [[str(2**64 - 1), "1"]]),
    "npy of other byte order": ("a.npy", npy(np.array([1, 2], ">i4")), [[1, 2]]),
    "npy of several": ("a.npy", npy(np.array([[1, 2, 3], [4, 5, 6]])), [[1, 2, 3], [4, 5, 6]]),
    "npz": ("a.npz", npz(p=np.array([1, 2]), q=np.array([[3, 4]])), [[1, 2], [3, 4]]),
}


@pytest.mark.parametrize("case", LISTS)
def test_label_files(case: str, tmp_path: Path) -> None:
    name, data, expected = LISTS[case]
    assert list(content(read_labels(save(tmp_path, name, data))).values()) == expected


def test_columns_of_label_files_bear_the_path(tmp_path: Path) -> None:
    one = save(tmp_path, "one.npy", npy(np.array([1, 2])))
    two = save(tmp_path, "two.csv", "a,b\n1,2\n")
    three = save(tmp_path, "three.npz", npz(p=np.array([1]), q=np.array([[1], [2]])))
    assert read_labels(one).names == [one]
    assert read_labels(two).names == [f"{two}:a", f"{two}:b"]
    assert read_labels(three).names == [f"{three}:p", f"{three}:q:0", f"{three}:q:1"]


WRONG_TABLES: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "the file is empty"),
    "blank": ("\n \n", "the file is empty"),
    "header only": ("t,a\n", "rows of labels below the header; got none"),
    "short row": ("t,a\n1,2\n3\n", "line 3: expected 2 cells, as in the first line; got 1"),
    "long row": ("t,a\n1,2,3\n4,5,6\n", "line 2: expected 2 cells, as in the first line; got 3"),
    "long row of text": ("t,a\nx,y\nx,y,z\n", "line 3: expected 2 cells, as in the first line; got 3"),
    "blank line inside": ("t,a\n1,2\n\n3,4\n", "line 3: expected 2 cells, as in the first line; got an empty line"),
    "the same name twice": ("t,a,t\n1,2,3\n", "columns 1 and 3 are 't'"),
    "no name": ("t,a,\n1,2,3\n", "column 3 has none"),
    "open quote": ('t,a\n1,"2\n3,4\n', "is a quote left open"),
    "latin-1": ("t\ncaf\xe9\n".encode("latin-1"), "UTF-8 text; got byte 0xe9 on line 2"),
    "utf-16": ("t,a\n1,2\n".encode("utf-16"), "UTF-16"),
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
}


@pytest.mark.parametrize("case", WRONG_TABLES)
def test_wrong_tables(case: str, tmp_path: Path) -> None:
    data, words = WRONG_TABLES[case]
    path = save(tmp_path, "file", data)
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        read_table(path)
    assert str(caught.value).startswith(f"{path}: ")


WRONG_COLUMNS: dict[str, tuple[str | bytes, str]] = {
    "empty cell": ("t,a\n1,2\n3,\n", "column 'a', line 3: expected a label; got an empty cell"),
    "empty cell of text": ("t,a\n1,x\n3, \n", "column 'a', line 3: expected a label; got an empty cell"),
    "nan": ("t,a\n1,nan\n", "column 'a', line 2: expected a label; got 'nan'"),
    "R's NA": ("t,a\n1,x\n2,NA\n", "column 'a', line 3: expected a label; got 'NA'"),
    "fraction": ("t,a\n1,2\n3,0.5\n", "column 'a', line 3: expected a whole number or text; got '0.5'"),
    "endless exponent": ("t,a\n1,1e-99999999999999999999\n", "column 'a', line 2: expected a whole number or text"),
    "infinity": ("t,a\n1,inf\n", "column 'a', line 2: expected a whole number or text; got 'inf'"),
    "line numbers count the lines of cells": ('t,a\n"x\ny",1\nz,\n', "column 'a', line 4"),
    "fraction in an array": (npz(t=np.ones(2), a=np.array([1, 1.5])), "column 'a', item 2: expected a whole number"),
    "nan in an array": (npz(t=np.ones(2), a=np.array([np.nan, 1])), "item 1: expected a whole number; got nan"),
    "complex": (npz(t=np.ones(2), a=np.ones(2, complex)), "a: expected whole numbers or text; got an array of complex"),
}


@pytest.mark.parametrize("case", WRONG_COLUMNS)
def test_only_the_columns_in_use_are_checked(case: str, tmp_path: Path) -> None:
    data, words = WRONG_COLUMNS[case]
    file = read_table(save(tmp_path, "file", data))
    assert len(file.labels("t")) > 0
    with pytest.raises(ValueError, match=re.escape(words)):
        file.labels("a")


def test_unknown_columns_are_answered_with_close_ones(tmp_path: Path) -> None:
    file = read_table(save(tmp_path, "a.csv", "truth,kmeans\n1,2\n"))
    with pytest.raises(ValueError, match="did you mean 'truth'"):
        file.labels("trut")
    with pytest.raises(ValueError, match="it has 'truth', 'kmeans'"):
        file.labels("zzz")


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_table(str(tmp_path / "none.csv"))
    with pytest.raises(IsADirectoryError):
        read_table(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "number"),
    [("3", 3), (" -1 ", -1), ("1e3", 1000), ("2.0", 2), ("9007199254740993.0", 9007199254740993)]
    + [(text, None) for text in ("0.5", "x", "", "nan", "inf", "1e999999999", "1_0", "٣", "0x10")],
)
def test_whole_numbers(text: str, number: int | None) -> None:
    assert whole_number(text) == number


def test_columns_of_different_kinds_are_stacked_as_text(tmp_path: Path) -> None:
    """Equal labels get equal codes, in all columns, so that one label of noise serves all."""
    file = read_table(save(tmp_path, "a.csv", "a,b,c\n-1,x,-1\n2,-1,y\n-1,x,2\n"))
    values, vocabulary = stack_columns([file.labels(name) for name in "abc"])
    assert vocabulary is not None
    assert [[vocabulary[i] for i in row] for row in values.tolist()] == [
        ["-1", "2", "-1"],
        ["x", "-1", "x"],
        ["-1", "y", "2"],
    ]
    noise = find("-1", values, vocabulary)
    assert (values == noise).tolist() == [[True, False, True], [False, True, False], [True, False, False]]
    assert find("2.0", values, vocabulary) == vocabulary.index("2")
    assert find("z", values, vocabulary) is None


def test_a_label_among_whole_numbers() -> None:
    values = np.array([[0, -1], [3, 0]])
    assert find("-1", values, None) == -1
    assert find("3.0", values, None) == 3
    assert find("7", values, None) is None
    assert find(str(2**70), values, None) is None
    with pytest.raises(ValueError, match="expected a whole number, as the labels are; got 'noise'"):
        find("noise", values, None)


@pytest.mark.parametrize("separator", [",", "\t", ";", " "])
@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
def test_random_tables_come_back(separator: str, text: bool, tmp_path: Path) -> None:
    generator = np.random.default_rng(7)
    numbers = generator.integers(-50, 1000, (200, 7))
    prefix = "g" if text and separator != " " else ""
    cells = [[f"{prefix}{x}" for x in row] for row in numbers.tolist()]
    names = [f"c{i}" for i in range(7)]
    body = "\n".join(separator.join(row) for row in [names, *cells])
    found = content(read_table(save(tmp_path, "a.csv", body)))
    expected = cells if prefix else numbers.tolist()
    assert found == {name: list(column) for name, column in zip(names, zip(*expected, strict=True), strict=True)}
