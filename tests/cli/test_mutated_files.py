"""Spoilt files: the scores are those of an independent reader, or there is an error of one line."""

import csv
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.metrics

from torchclusteval.cli import main
from torchclusteval.cli.reading import csv_table

pytestmark = pytest.mark.slow

MISSING = {"", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None"}
N_MUTATIONS = int(os.environ.get("TORCHCLUSTEVAL_MUTATIONS", "300"))
KINDS = (
    *["flip", "flip", "cut row", "cut end", "double cell", "drop cell", "swap delimiter", "encoding", "open quote"],
    *["nul", "header again", "blank end", "bom", "crlf", "cr", "blank line", "zero", "word", "quoted", "fraction"],
    *["empty row end", "spaces", "plus", "hexadecimal", "missing", "trailing", "shuffle bytes"],
    *["inner bom", "two headers", "drop row", "double row", "latin-1", "no header", "comment", "tabs to blanks"],
)


def good_file(rng: np.random.Generator) -> bytes:
    n, words = int(rng.integers(3, 60)), rng.random() < 0.5
    delimiter = str(rng.choice([",", ";", "\t", "|"]))
    columns = [rng.integers(0, 4, n).astype(str) for _ in range(3)]
    if words:
        columns[0] = np.array(["ant", "bee", "cat", "Ö dog"])[columns[0].astype(int)]
    rows = [["truth", "a", "b"], *map(list, zip(*columns, strict=True))]
    return ("\n".join(delimiter.join(row) for row in rows) + "\n").encode()


def mutate(data: bytes, kind: str, rng: np.random.Generator) -> bytes:
    lines = data.split(b"\n")
    at, place = int(rng.integers(0, len(data))), int(rng.integers(0, len(lines) - 1))
    delimiter = next(x for x in (b",", b";", b"\t", b"|") if x in lines[0] + b",")
    line = lines[place]
    edits = {
        "cut row": line[: len(line) // 2],
        "double cell": line + delimiter + line.split(delimiter)[-1],
        "drop cell": line.rpartition(delimiter)[0],
        "swap delimiter": line.replace(delimiter, bytes(rng.choice([b",", b";", b" "]))),
        "encoding": line + "ä".encode(str(rng.choice(["latin-1", "utf-16", "utf-8"]))),
        "open quote": line[:1] + b'"' + line[1:] if rng.random() < 0.5 else b'"' + line,
        "header again": line + b"\n" + lines[0],
        "blank line": line + b"\n",
        "zero": line.replace(delimiter, delimiter + b"0"),
        "word": line.replace(delimiter, delimiter + b"x", 1),
        "quoted": delimiter.join(b'"' + cell + b'"' for cell in line.split(delimiter)),
        "fraction": line + bytes(rng.choice([b".0", b".5", b"e0"])),
        "spaces": line.replace(delimiter, b" " + delimiter + b" "),
        "plus": line.replace(delimiter, delimiter + b"+"),
        "hexadecimal": line.replace(delimiter, delimiter + b"0x"),
        "missing": delimiter.join([*line.split(delimiter)[:-1], bytes(rng.choice([b"", b"NA", b" nan", b'"NA"']))]),
    }
    if kind in edits:
        lines[place] = edits[kind]
        return b"\n".join(lines)
    return {
        "flip": lambda: data[:at] + bytes([data[at] ^ (1 << int(rng.integers(0, 8)))]) + data[at + 1 :],
        "cut end": lambda: data[:at],
        "nul": lambda: data[:at] + b"\0" + data[at:],
        "blank end": lambda: data + b"\n \n\n",
        "empty row end": lambda: data + delimiter * 2 + b"\n",
        "bom": lambda: b"\xef\xbb\xbf" + data,
        "inner bom": lambda: b"\n".join([*lines[:place], b"\xef\xbb\xbf" + line, *lines[place + 1 :]]),
        "two headers": lambda: lines[0] + b"\n" + data,
        "drop row": lambda: b"\n".join(lines[:place] + lines[place + 1 :]),
        "double row": lambda: b"\n".join([*lines[:place], line, *lines[place:]]),
        "latin-1": lambda: data.decode("utf-8", "replace").encode("latin-1", "replace"),
        "no header": lambda: b"\n".join(lines[1:]),
        "comment": lambda: b"# labels\n" + data,
        "tabs to blanks": lambda: data.replace(delimiter, b"  "),
        "crlf": lambda: data.replace(b"\n", b"\r\n"),
        "cr": lambda: data.replace(b"\n", b"\r"),
        "trailing": lambda: data.replace(b"\n", delimiter + b"\n"),
        "shuffle bytes": lambda: data[:at] + bytes(rng.permutation(list(data[at : at + 6])).tolist()) + data[at + 6 :],
    }[kind]()


def independent_scores(data: bytes) -> dict[str, float] | None:
    """Adjusted Rand indexes by the stated rules and Python's csv module; None where there has to be an error."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    header = text.lstrip("\r\n ").splitlines()[:1]
    for delimiter in ",;\t| ":
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)]
        while rows and not any(cell.strip() for cell in rows[-1]):
            rows.pop()
        while rows and not any(cell.strip() for cell in rows[0]):
            rows.pop(0)
        if not header or not rows or len(rows[0]) < 2 or len({len(row) for row in rows[1:]}) != 1:
            continue
        names, body = [cell.strip() for cell in rows[0]], rows[1:]
        width = len(body[0])
        if width in (len(names), len(names) + 1) and not any(row[-1].strip() for row in body) and (
            width > len(names) or not names[-1]
        ):  # fmt: skip
            body, names = [row[:-1] for row in body], names[: width - 1]
        elif width == len(names) + 1:
            names = ["", *names]
        if len(names) != len(body[0]) or "truth" not in names:
            continue
        columns = {name: labels([row[i] for row in body]) for i, name in enumerate(names) if name}
        if any(column is None for column in columns.values()) or len(set(names)) < len(names) or names in body:
            return None
        truth = columns.pop("truth")
        return {name: sklearn.metrics.adjusted_rand_score(truth, column) for name, column in columns.items()}
    return None


def labels(cells: list[str]) -> list[str] | None:
    texts = [cell.strip() for cell in cells]
    if not all(texts):
        return None
    number = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
    if all(map(number.fullmatch, texts)):
        return [str(float(text)) for text in texts]
    return texts


@pytest.mark.parametrize("seed", range(5))
def test_spoilt_files_score_right_or_not_at_all(seed: int, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    path = tmp_path / "spoilt.csv"
    rng = np.random.default_rng(seed + int(os.environ.get("TORCHCLUSTEVAL_SEED", "0")))
    monkeypatch.setattr(csv_table, "_ROWS_PER_BLOCK", 1)
    for _ in range(N_MUTATIONS // 5):
        monkeypatch.setattr(csv_table, "_BLOCK_BYTES", int(rng.choice([40, 200, 1 << 20])))
        data = good_file(rng)
        for _ in range(int(rng.integers(0, 3))):
            data = mutate(data, str(rng.choice(KINDS)), rng) if b"\n" in data and len(data) > 9 else data
        path.write_bytes(data)
        status = main(["score", str(path), "--truth", "truth", "--measures", "ari", "--format", "json"])
        out, err = capsys.readouterr()
        if status == 2:
            errors = [line for line in err.splitlines() if "note:" not in line]
            assert len(errors) == 1, err
            assert errors[0].startswith("torchclusteval: error: "), err
            continue
        assert status == 0
        found = {row["clustering"]: row["adjusted_rand"] for row in json.loads(out)["scores"]}
        assert found == pytest.approx(independent_scores(data), abs=1e-12), data
