"""Files of overlapping groups: layouts, headers, comments, and content of every kind that is refused."""

import gzip
import json
import random
import warnings
from pathlib import Path
from typing import Any

import pytest

from torchclusteval.overlap import Memberships, evaluate_overlapping, read_memberships

pytestmark = pytest.mark.slow

Groups = dict[str, set[frozenset[str]]]


def groups_of(made: Memberships) -> Groups:
    """For each item the groups it is in, each as the set of its items: what no naming of groups changes."""
    names = [str(name) for name in made.items or ()]
    matrix = made.to_matrix().tolist()
    members = [frozenset(n for n, row in zip(names, matrix, strict=True) if row[k]) for k in range(made.n_groups)]
    return {n: {members[k] for k, one in enumerate(row) if one} for n, row in zip(names, matrix, strict=True)}


def read(path: Path, content: str | bytes, **options: Any) -> tuple[Memberships, list[str]]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = read_memberships(path, **options)
    return made, [str(warning.message) for warning in caught]


EXPECTED = groups_of(Memberships.from_groups([["1", "2", "3"], ["3", "4", "5", "6"], ["7", "8"]]))
BY_LINE = "1\ta\n2\ta\n3\ta\n3\tb\n4\tb\n5\tb\n6\tb\n7\tc\n8\tc\n"
BY_ITEM = "1\t1 \n2\t1 \n3\t1 2 \n4\t2 \n5\t2 \n6\t2 \n7\t3 \n8\t3 \n"
ITEMS = {"1": "a", "2": "a", "3": "ab", "4": "b", "5": "b", "6": "b", "7": "c", "8": "c"}
LISTED = [[1, 2, 3], [3, 4, 5, 6], [7, 8]]
CDLIB = {"communities": LISTED, "algorithm": "angel", "params": {"threshold": 0.2}, "overlap": True, "coverage": 1.0}


@pytest.mark.parametrize(
    ("name", "content", "layouts"),
    [
        ("m.tsv", BY_LINE, ("auto", "item-group", "item-groups")),
        ("community.dat", BY_ITEM, ("auto", "item-groups")),
        ("com-x.all.cmty.txt", "1\t2\t3\n3\t4\t5\t6\n7\t8\n", ("auto", "group-per-line")),
        ("groups.txt", "1 2 3 \n3  4 5 6\n7 8\n", ("group-per-line",)),
                ("m.json", json.dumps(LISTED), ("auto", "group-per-line")),
        ("m.json", json.dumps(CDLIB), ("auto", "group-per-line")),
        ("cdlib", json.dumps(CDLIB, indent=2), ("auto", "group-per-line")),
        ("m.json", json.dumps({"a": [1, 2, 3], "b": ["3", "4", "5", "6"], "c": [7, 8]}), ("group-per-line",)),
        ("m.json", json.dumps({item: [*groups] for item, groups in ITEMS.items()}), ("auto", "item-groups")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_all_layouts_say_the_same(
    tmp_path: Path, name: str, content: str, layouts: tuple[str, ...], packed: bool, newline: str
) -> None:
    data = ("\ufeff" + content.replace("\n", newline)).encode() if not name.endswith("json") else content.encode()
    for layout in layouts:
        made, notes = read(tmp_path / (name + ".gz" * packed), gzip.compress(data) if packed else data, layout=layout)
        assert groups_of(made) == EXPECTED
        assert notes == []


def test_names_are_text_and_some_items_have_no_group(tmp_path: Path) -> None:
    made, _ = read(tmp_path / "m.tsv", '"a b"\t"x"\nc\tx\nd\t\n"say ""so"""\t"x"\n')
    assert made.items == ("a b", "c", "d", 'say "so"')
    assert made.lengths.tolist() == [1, 1, 0, 1]
    made, _ = read(tmp_path / "m.tsv", "01\t1\n1\t01\n1.0\t1\n")
    assert made.items == ("01", "1", "1.0")
    assert made.group_sizes.tolist() == [2, 1]


HEADED = [
    ("item\tgroup\n", "1\ta\n2\ta\n3\tb\n"),
    ("Item\tGroup\n", "x\ta\ny\ta b\nz\tb\n"),
    ("Node\tCommunity\n", "1\t1\n2\t1\n"),
    ("foo\tbar\n", "x\t1\ny\t1\nz\t2\n"),
    ("foo\tbar\n", "1\tx\n2\ty\n3\ty\n"),
]


@pytest.mark.parametrize(("header", "body"), HEADED)
def test_a_header_is_left_out_and_said(tmp_path: Path, header: str, body: str) -> None:
    bare = groups_of(read(tmp_path / "m.tsv", body, header="no", layout="item-group")[0])
    for choice, notes in (("auto", 1), ("yes", 0)):
        made, found = read(tmp_path / "m.tsv", f"# comment\n\n{header}{body}", header=choice)
        assert groups_of(made) == bare
        assert ["is taken for a header" in note for note in found] == [True] * notes
    made, found = read(tmp_path / "m.tsv", header + body, header="no", layout="item-group")
    assert (made.n_items, found) == (len(bare) + 1, [])
    for choice in ("auto", "yes"):  # files put together
        with pytest.raises(ValueError, match=f"line {2 + body.count(chr(10))}: expected the header of line 1 once"):
            read(tmp_path / "m.tsv", header + body + header, header=choice)


EITHER = ["x\ta\ny\tb\nz\tb\n", "cell_id\tleiden\nx\ta\ny\ta\n", "foo\tbar\nx\ta\nfoo\tbar\ny\ta\n"]
AN_ITEM = ["x\ta\ny\ta\n", "x\ta\nx\tb\n", "1\ta\n2\tb\n", "x\t1\ny\t2\n", "item\tgroup\n", "x\t\ny\ta\n"]


@pytest.mark.parametrize("body", EITHER + AN_ITEM)
def test_a_first_line_that_could_be_either_is_said(tmp_path: Path, body: str) -> None:
    made, notes = read(tmp_path / "m.tsv", body)
    assert (made.items or ())[0] == body.partition("\t")[0]
    assert ["is taken for an item and its group" in note for note in notes] == [True] * (body in EITHER)


def test_a_header_above_groups(tmp_path: Path) -> None:
    made, notes = read(tmp_path / "m.txt", "members\n1 2 3\n3 4\n", layout="group-per-line")
    assert made.items == ("1", "2", "3", "4")
    assert len(notes) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# Nodes: 2\n# item\tgroup\nx\ta\ny\ta\n", False),
        ("#x\ta\n#y\ta\nz\ta\nw\ta\n", True),
        ("z\ta\n#x\ta\nw\ta\n", True),
        ("z\ta\nw\ta\n# end\n", True),
    ],
)
def test_comments_that_could_be_items_are_said(tmp_path: Path, text: str, said: bool) -> None:
    made, notes = read(tmp_path / "m.tsv", text)
    assert made.n_items == 2
    assert [note.endswith(f"left out as comments, the first is line {1 if text[0] == '#' else 2 + text.count('end')}")
            for note in notes] == [True] * said  # fmt: skip


DOUBT = r'layout="item-group" .*layout="item-groups" .*layout="group-per-line"'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected at least one line item<TAB>group; got none"),
        ("\n \n", "expected at least one line item<TAB>group; got none"),
        ("# x\n", "got none but comments, which begin with #"),
        ("1 1\n2 1\n3 2\n", f"line 1: expected item<TAB>group; got '1 1' .*{DOUBT}"),
        ("1 1 2\n2 1\n3 2\n", f"line 1: .*{DOUBT}"),
        ("1\t1\t2\n2\t1\n3\t2\n", f"line 1: .*{DOUBT}"),
        ("1\t1\n2\t1\t2\n3\t2\n", f"line 2: .*{DOUBT}"),
        ("a\t1\t0.5\nb\t1\t0.25\nc\t2\t0.75\n", f"line 1: .*{DOUBT}"),
        ("x\tNew York\ny\tBoston\n", f"line 1: .*one group with a blank in its name or several groups .*{DOUBT}"),
        ("x\t1 2\nx\t3\n", f"line 1: .*one group with a blank in its name or several groups .*{DOUBT}"),
        ("x\ta\n\tb\n", "line 2: expected item<TAB>group; got "),
        ("x\ta\ny\n", "line 2: expected item<TAB>group; got 'y'"),
        ("a\nb\n", "line 1: expected item<TAB>group; got 'a'"),
        ("a,x\nb,x\n", r"line 1: .* got 'a,x', divided by ','\? \(write tabs\)"),
        ("a;x\nb;x\n", r"line 1: .* got 'a;x', divided by ';'\? \(write tabs\)"),
        ("a, b, c\nd, e\nf, g, h, i, j\n", "line 1: .*divided by ','"),
        ('"a\tx\nb\tx\n', "line 1: expected names without quotes, or closed ones"),
        ('a\tx\nb\t"x" y\n', "line 2: expected names without quotes, or closed ones"),
        ("x\ta\n\ufeffy\ta\n", r"line 2: expected text in UTF-8; got the character '\\ufeff'"),
        ("x\ta\n".encode("utf-16"), "line 1: expected text in UTF-8; got byte 0xff"),
        ("x\ta\n".encode("utf-16-le"), r"line 1: expected text in UTF-8; got the character '\\x00'"),
        (b"x\ta\ny\0\ta\n", r"line 2: expected text in UTF-8; got the character '\\x00'"),
        (b"x\ta\ny\xe9\ta\n", "line 2: expected text in UTF-8; got byte 0xe9"),
        (b"\x89PNG\r\n\x1a\n\0\0", "line 1: expected text in UTF-8|line 3: expected text in UTF-8"),
        (b"PK\x03\x04\x14\0\0\0", r"line 1: expected text in UTF-8; got the character '\\x00'"),
        (gzip.compress(b"x\ta\ny\ta\n", mtime=0)[:-9], "expected a gzip file; it is damaged"),
        ('{"a": [1]}\n{"b": [2]}\n', "line 1: expected item<TAB>group"),
        ('{"a": [1, 2, 3], "b": [3, 4, 5]}', '2 keys for 5 values .say layout="item-groups" or layout="group-'),
        ("[[1, 2], [2, 1]]", "entries 0 and 1 are the same .say layout="),
        ("[[1, 1.5]]", "expected text or whole numbers as items; got 1.5 in group 0"),
        ("[[1, true]]", "expected text or whole numbers as items; got True in group 0"),
        ("[[null]]", "expected text or whole numbers as items; got None in group 0"),
        ("[[[1, 2]]]", r"expected text or whole numbers as items; got \[1, 2\] in group 0"),
        ('{"communities": [], "algorithm": "x"}', "not empty; got "),
        ('{"communities": [[1], [2]], "communities": [[1]]}', "got 'communities' again"),
        ("{}", "expected a JSON object .* not empty"),
        ('{"x": "a"}', "for item 'x'; got 'a'"),
        ('{"x": [NaN]}', "expected a name; got nan"),
        ("[" * 100_000, "nested too deep"),
        ('{"nodes": [1, 2], "links": [{"source": 1}]}', "expected hashable values"),
    ],
)  # fmt: skip
def test_content_in_doubt_is_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = tmp_path / "m.txt"
    with pytest.raises(ValueError, match=message) as caught:
        read(path, content)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("x\ta\n", {"layout": "rows"}, "layout: expected one of auto, item-group, .*group-per-line; got 'rows'"),
        ("x\ta\n", {"header": True}, "header: expected one of auto, yes, no; got True"),
        ("x\ta\n", {"header": "yes"}, "expected at least one line item<TAB>group; got none below the header"),
        ("x\ta\tb\n", {"layout": "item-groups"}, "line 1: expected item<TAB>group group ...; got"),
        ("x\t\"New York\"\n", {"layout": "item-groups"}, "line 1: expected names without quotes"),
        ("1\t\t2\n", {"layout": "group-per-line"}, "line 1: expected an item between two tabs"),
        ("a, b, c\nd, e\n", {"layout": "group-per-line"}, "line 1: .*by tabs or blanks; got 'a, b, c' .write tabs"),
        ("1 2\t3\n4\t5\n", {"layout": "group-per-line"}, "line 1: expected items divided by tabs or by blanks"),
        ("New York\tYork\nNew\tBoston\n", {"layout": "group-per-line"}, "line 1: .* got both, 'New York"),
        ("[[1]]", {"layout": "item-group"}, "expected a JSON object .* got a list of groups"),
    ],
)  # fmt: skip
def test_what_a_layout_does_not_allow(tmp_path: Path, content: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "m.txt", content, **options)


def test_names_of_files_count(tmp_path: Path) -> None:
    for name, content in (("a.tsv.gz", b"x\ta\n"), ("a.json", b'{"x": '), ("a.json", b"[1]")):
        with pytest.raises(ValueError, match=r"gzipped|line 1, column 7: expected a JSON object|in group 0; got 1"):
            read(tmp_path / name, content)


def independent(data: bytes) -> dict[str, set[str]] | None:
    """Lines ``item<TAB>group`` by the rules that are documented; None where one is broken."""
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        return None
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or "\0" in text or "\ufeff" in text:
        return None
    found: dict[str, set[str]] = {}
    for line in text.split("\n"):
        if line.startswith("#") or ("\t" not in line and not line.strip(" ")):
            continue
        cells = [cell.strip(" ") for cell in line.split("\t")]
        if len(cells) != 2 or not cells[0]:
            return None
        for i, cell in enumerate(cells):
            if cell.startswith('"'):
                inner = cell[1:-1]
                if len(cell) < 2 or cell[-1] != '"' or inner.replace('""', "").count('"'):
                    return None
                cells[i] = inner.replace('""', '"')
        if not cells[0]:
            return None
        found.setdefault(cells[0], set()).update([cells[1]] if cells[1] else [])
    return found or None


def mutated(data: bytes, choose: random.Random) -> bytes:
    for _ in range(choose.randint(1, 3)):
        at, end = sorted(choose.choices(range(len(data) + 1), k=2))
        what = choose.randrange(8)
        if what == 0 and data:
            flipped = data[at - 1] ^ 1 << choose.randrange(8)
            data = data[: at - 1] + bytes([flipped]) + data[at:] if at else data
        elif what == 1:
            data = data[:at] + data[end:]
        elif what == 2:
            data = data[:end] + data[at:end] + data[end:]
        elif what == 3:
            data = data.replace(b"\n", b"\r\n")
        elif what == 4:
            data = b"\xef\xbb\xbf" + data
        elif what == 5:
            more = choose.choice([b"\0", b'"', b"\t", b" ", b"\n", b"\r", b"#", b"\xe9", b"\xc2\xa0"])
            data = data[:at] + more + data[at:]
        elif what == 6:
            data = data.decode("latin-1").encode(choose.choice(["utf-16", "utf-16-le", "utf-8", "latin-1"]))
        else:
            data += data[:at]
    return data


def check_refusal(error: ValueError) -> None:
    assert "expected" in str(error)
    assert "\n" not in str(error)


def test_mutated_files_are_right_or_refused(tmp_path: Path) -> None:
    choose, refused = random.Random(12), 0
    good = [BY_LINE.encode(), b'item\tgroup\n"a b"\tx\nc\tx\n"d"\ty\nc\ty\ne\t\n', "ä\tx\n# c\nß\tx\n".encode()]
    for _ in range(3000):
        data = mutated(choose.choice(good), choose)
        expected = independent(data)
        try:
            made: Any = read(tmp_path / "m.tsv", data, layout="item-group", header="no")[0]
        except ValueError as refusal:
            refused += 1
            check_refusal(refusal)
            made = None
        assert (made is None) == (expected is None), data
        if made is None:
            continue
        rows = made.to_matrix().tolist()
        names = [{g for g, one in zip(made.group_labels, row, strict=True) if one} for row in rows]
        assert dict(zip(made.items, names, strict=True)) == expected, data
    assert 300 < refused < 2700


def test_mutated_files_end_in_a_score_or_one_line(tmp_path: Path) -> None:
    choose = random.Random(21)
    good = [BY_LINE.encode(), BY_ITEM.encode(), b"1\t2\t3\n3\t4\t5\t6\n7\t8\n", json.dumps(CDLIB).encode()]
    truth = Memberships.from_groups([["1", "2", "3"], ["3", "4", "5", "6"], ["7", "8"]])
    for turn in range(400):
        path = tmp_path / choose.choice(["m.tsv", "m.json", "m.txt.gz"])
        data = mutated(choose.choice(good), choose)
        try:
            made, _ = read(path, gzip.compress(data) if path.suffix == ".gz" and turn % 2 else data)
            evaluate_overlapping(truth, made, ["omega_index"])
        except ValueError as refusal:
            check_refusal(refusal)
