"""What else people hold as labels, masks, weights and counts: each is read right, or refused with one clear line."""

import array
import collections
import enum
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow as arrow
import pytest
import torch

import torchclusteval as tce
from tests.support.values import listed
from torchclusteval import ContingencyTables

TRUE = [0, 0, 1, 1]
BIG = 2**64 - 1
GAP = [False, True, False, False]
DATES = pd.to_datetime(["2020", "2020", "2021", "2021"])
ONE_KIND = "expected labels of one kind, whole numbers or strings; got "
MISSING = '.*missing="ignore"'


class Word(enum.Enum):
    A = "a"
    B = "b"


def offering(held: Any, *methods: str) -> Any:
    """An object that has these methods of another one alone: it is known by a protocol, not by its type."""
    return type("Offering", (), {name: staticmethod(getattr(held, name)) for name in methods})()


class LikeXarray:
    dims = ("cell",)

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.values, dtype)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Any:
        return iter(self.values)

    def __getitem__(self, at: Any) -> Any:
        return self.values[at]


def read_only(values: Any) -> Any:
    held = np.array(values)
    held.setflags(write=False)
    return held


def dictionary(values: list[Any], codes: list[Any], kind: Any = None) -> Any:
    return arrow.DictionaryArray.from_arrays(arrow.array(codes, kind or arrow.int32()), arrow.array(values))


# The labels of the four items: numbers, booleans or text; None: no label.
RIGHT: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "nullable": (lambda: pd.array([5, None, 7, 7], dtype="Int64"), [5, None, 7, 7]),
    "nullable, large": (lambda: pd.Series([BIG, BIG, 1, None], dtype="UInt64"), [BIG, BIG, 1, None]),
    "nullable floats": (lambda: pd.array([5.0, None, np.nan, 7], dtype="Float64"), [5, None, None, 7]),
    "nullable booleans": (lambda: pd.Series([True, None, True, False], dtype="boolean"), [True, None, True, False]),
    "pandas text": (lambda: pd.Series(["a", None, "b", "b"], dtype="string"), ["a", None, "b", "b"]),
    "Arrow in pandas": (lambda: pd.Series([1, None, 2, 2], dtype=pd.ArrowDtype(arrow.int32())), [1, None, 2, 2]),
    "decimals in pandas": (
        lambda: pd.Series([Decimal(1), Decimal(1), Decimal(2), None], dtype=pd.ArrowDtype(arrow.decimal128(5, 1))),
        [1, 1, 2, None],
    ),
    "unused categories": (lambda: pd.Series(pd.Categorical(["b", "b", None, "a"], list("zba"))), ["b", "b", None, "a"]),
    "categories of numbers": (lambda: pd.Series([10.0, np.nan, 2, 2], dtype="category"), [10, None, 2, 2]),
    "nullable categories": (lambda: pd.Series([10, 10, 2, None], dtype="Int64").astype("category"), [10, 10, 2, None]),
    "Arrow categories": (lambda: pd.Series([10, 10, 2, 2], dtype="int64[pyarrow]").astype("category"), [10, 10, 2, 2]),
    "categories of booleans": (lambda: pd.Categorical([True, False, True, True]), [True, False, True, True]),
    "index of categories": (lambda: pd.CategoricalIndex(["b", "a", "b", "b"]), ["b", "a", "b", "b"]),
    "intervals": (lambda: pd.Series(pd.cut([1, 1, 5, 5], [0, 2, 6])), ["(0, 2]", "(0, 2]", "(2, 6]", "(2, 6]"]),
    "sparse": (lambda: pd.Series(pd.arrays.SparseArray([0, np.nan, 5, 5])), [0, None, 5, 5]),
    "index": (lambda: pd.RangeIndex(4), [0, 1, 2, 3]),
    "objects": (lambda: pd.Series([1, 1.0, np.int8(2), Decimal(2)], dtype=object), [1, 1, 2, 2]),
    "bytes of NumPy": (lambda: np.array([b"a", b"a", b"b", b"b"]), ["a", "a", "b", "b"]),
    "large floats": (lambda: np.array([2.0**53 - 1, 2.0**53 - 2, 2, 2]), [2**53 - 1, 2**53 - 2, 2, 2]),
    "large": (lambda: np.array([2**63, BIG, 2, 2], np.uint64), [2**63, BIG, 2, 2]),
    "minus zero": (lambda: [-0.0, 0.0, 2.0, 2.0], [0, 0, 2, 2]),
    "read-only": (lambda: read_only([5, 5, 7, 7]), [5, 5, 7, 7]),
    "unaligned": (
        lambda: np.frombuffer(b"\0" + np.array([5, 5, 7, 7], np.int32).tobytes(), np.uint8)[1:].view(np.int32),
        [5, 5, 7, 7],
    ),
    "other byte order": (lambda: np.array([5, 5, 7, BIG], ">u8"), [5, 5, 7, BIG]),
    "new strings": (lambda: np.array(["a", None, "b", "b"], np.dtypes.StringDType(na_object=None)), ["a", None, *"bb"]),
    "masked": (lambda: np.ma.masked_array([5, 6, 7, 7], GAP), [5, None, 7, 7]),
    "masked text": (lambda: np.ma.masked_array(["a", "x", "b", "b"], GAP), ["a", None, *"bb"]),
    "masked fractions": (lambda: np.ma.masked_array([5, 5.5, 7, 7], GAP), [5, None, 7, 7]),
    "masked fractions, reversed": (lambda: np.ma.masked_array([5, 5.5, 7, 7], GAP)[::-1], [7, 7, None, 5]),
    "masked objects": (lambda: np.ma.masked_array(np.array(["a", 3, "c", "c"], object), GAP), ["a", None, *"cc"]),
    "masked numbers as objects": (lambda: np.ma.masked_array([5, 6, 7, 7], GAP, object), [5, None, 7, 7]),
    "masked entries of a list": (lambda: ["a", np.ma.masked, "b", "b"], ["a", None, "b", "b"]),
    "gradient": (lambda: torch.tensor([5.0, 5, 7, 7], requires_grad=True), [5, 5, 7, 7]),
    "eight bits": (lambda: torch.tensor([5, 5, 7, 7]).to(torch.float8_e4m3fn), [5, 5, 7, 7]),
    "bfloat16": (lambda: torch.tensor([5, 5, 7, 7], dtype=torch.bfloat16), [5, 5, 7, 7]),
    "negative bit": (lambda: torch.tensor([1j, 1j, 2, 2]).conj().imag, [-1, -1, 0, 0]),
    "generator": (lambda: (x for x in "aabb"), list("aabb")),
    "generator of text with zeros": (lambda: (x for x in ["a", "a\0", "b", "b"]), ["a", "a\0", "b", "b"]),
    "values of a dictionary": (lambda: dict(enumerate([5, 5, 7, 7])).values(), [5, 5, 7, 7]),
    "deque": (lambda: collections.deque([5, 5, 7, 7]), [5, 5, 7, 7]),
    "array": (lambda: array.array("i", [5, 5, 7, 7]), [5, 5, 7, 7]),
    "fractions that are whole": (lambda: [Fraction(1), Fraction(1), Fraction(2), 2], [1, 1, 2, 2]),
    "decimals": (lambda: [Decimal("1.0"), Decimal(1), Decimal("NaN"), Decimal(2)], [1, 1, None, 2]),
    "booleans and numbers": (lambda: [True, 1, 2, 2], [1, 1, 2, 2]),
    "missing of every kind": (lambda: ["a", None, pd.NA, float("nan")], ["a", None, None, None]),
    "NaT": (lambda: ["a", pd.NaT, "b", "b"], ["a", None, "b", "b"]),
    "words for missing are words": (lambda: ["nan", "NA", "", "None"], ["nan", "NA", "", "None"]),
    "letters that look alike": (lambda: ["\u00e9", "e\u0301", "b", "b"], ["\u00e9", "e\u0301", "b", "b"]),
    "half a pair": (lambda: ["\ud800", "\ud800", "b", "b"], ["\ud800", "\ud800", "b", "b"]),
    "like xarray": (lambda: LikeXarray([5, 5, 7, 7]), [5, 5, 7, 7]),
    "Arrow": (lambda: arrow.array([5, 5, 7, None]), [5, 5, 7, None]),
    "Arrow, nan and null": (lambda: arrow.array([1.0, float("nan"), None, 2.0]), [1, None, None, 2]),
    "Arrow, large": (lambda: arrow.array([BIG, BIG, None, 1], arrow.uint64()), [BIG, BIG, None, 1]),
    "Arrow, views": (lambda: arrow.array(["a", "a", None, "b"], arrow.string_view()), ["a", "a", None, "b"]),
    "Arrow, decimals": (lambda: arrow.array([Decimal(1), Decimal(1), None, Decimal(2)]), [1, 1, None, 2]),
    "Arrow, runs": (
        lambda: arrow.RunEndEncodedArray.from_arrays(arrow.array([2, 4], arrow.int32()), arrow.array(["x", None])),
        ["x", "x", None, None],
    ),
    "Arrow, part of a dictionary": (lambda: arrow.array(list("zaabbz")).dictionary_encode().slice(1, 4), list("aabb")),
    "different dictionaries": (
        lambda: arrow.chunked_array([arrow.array(list(x)).dictionary_encode() for x in ("ba", "ac")]),
        ["b", "a", "a", "c"],
    ),
    "null in a dictionary": (lambda: dictionary(["a", None, "b"], [0, 1, 2, 2]), ["a", None, "b", "b"]),
    "a word twice in a dictionary": (lambda: dictionary(["a", "a", "b"], [0, 1, 2, None]), ["a", "a", "b", None]),
    "a number twice in a dictionary": (lambda: dictionary([7, 7, 5], [0, 1, 2, 2]), [7, 7, 5, 5]),
    "large codes": (lambda: dictionary(["a", "b"], [0, 1, 1, 0], arrow.uint32()), ["a", "b", "b", "a"]),
    "dictionary of booleans": (lambda: dictionary([True, False], [0, 1, 1, 0]), [True, False, False, True]),
    "protocol of one array": (
        lambda: offering(arrow.array(list("aabb")).dictionary_encode(), "__arrow_c_array__"),
        list("aabb"),
    ),
    "protocol, streams": (lambda: offering(arrow.chunked_array([[5, 5], [7, 7]]), "__arrow_c_stream__"), [5, 5, 7, 7]),
    "tuple": (lambda: (5, 5.0, np.int8(7), 7), [5, 5, 7, 7]),
    "NumPy scalars": (lambda: [np.float64("nan"), 5, 7, 7], [None, 5, 7, 7]),
    "datetime NaT": (lambda: [5, np.datetime64("NaT"), 7, 7], [5, None, 7, 7]),
    "range": (lambda: range(4), [0, 1, 2, 3]),
    "booleans": (lambda: [False, False, True, True], [False, False, True, True]),
    "boolean tensor": (lambda: torch.tensor([False, False, True, True]), [False, False, True, True]),
    "half precision": (lambda: torch.tensor([5, 5, torch.nan, 7], dtype=torch.float16), [5, 5, None, 7]),
    "strided": (lambda: np.repeat([5, 5, 7, 7], 3)[::3], [5, 5, 7, 7]),
    "strided tensor": (lambda: torch.tensor([5, 5, 7, 7]).repeat_interleave(2)[::2], [5, 5, 7, 7]),
    "broadcast": (lambda: np.broadcast_arrays(np.array([5, 5, 7, 7]), np.zeros(4))[0], [5, 5, 7, 7]),
    "protocol of DLPack": (lambda: offering(np.array([5, 5, 7, 7]), "__dlpack__", "__dlpack_device__"), [5, 5, 7, 7]),
    "Arrow booleans": (lambda: arrow.array([True, None, False, False]), [True, None, False, False]),
    "Arrow, chunks of text": (lambda: arrow.chunked_array([["a", None], [], ["b", "b"]]), ["a", None, "b", "b"]),
    "polars": (lambda: polars.Series([5, 5, None, 7]), [5, 5, None, 7]),
    "polars category": (lambda: polars.Series(["a", None, "b", "b"], dtype=polars.Categorical), ["a", None, "b", "b"]),
    "polars enumeration": (lambda: polars.Series(list("aabb"), dtype=polars.Enum(["z", "b", "a"])), list("aabb")),
    "polars pieces": (lambda: polars.concat(map(polars.Series, ([5, 5], [7, 7])), rechunk=False), [5, 5, 7, 7]),
}


@pytest.mark.filterwarnings("ignore:Warning. converting a masked element to nan")
@pytest.mark.parametrize("kind", RIGHT)
def test_labels_that_are_read(kind: str) -> None:
    given, labels = RIGHT[kind]
    tables = ContingencyTables.from_labels(TRUE, given(), missing="ignore")
    cells = collections.Counter((t, p) for t, p in zip(TRUE, labels, strict=True) if p is not None)
    names = listed(tables.classes), listed(tables.clusters)
    found = {(names[0][i], names[1][j]): n for _, i, j, n in zip(*(x.tolist() for x in tables.cells()), strict=True)}
    assert found == cells
    assert {type(p) for _, p in found} == {type(p) for _, p in cells} or all(type(p) is int for _, p in found)
    assert tables.coverage.item() == sum(cells.values()) / 4
    swapped = ContingencyTables.from_labels(given(), TRUE, missing="ignore", layout="sparse")
    assert torch.equal(swapped.to_dense().counts, tables.to_dense().counts.mT)
    if None in labels:
        with pytest.raises(ValueError, match=f"^labels_pred: .* at position {labels.index(None)} {MISSING}"):
            tce.evaluate(TRUE, given())
        kept = [x is not None for x in labels]
        assert torch.equal(ContingencyTables.from_labels(TRUE, given(), mask=kept).n_items, tables.n_items)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "fraction": (lambda: pd.Series([5, 5.5, 7, 7], dtype="Float64"), "got 5.5 at position 1 .*argmax"),
    "fractions as categories": (lambda: pd.Categorical([1.5, 1.5, 2, 2]), "got 1.5 at position 0"),
    "fraction in a dictionary": (lambda: dictionary([1.5, 2.0], [0, 0, 1, 1]), "got 1.5 at position 0"),
    "dates": (lambda: pd.Series(DATES), "got an array of datetime64"),
    "dates with a zone": (lambda: pd.Series(DATES.tz_localize("UTC")), "got Timestamp"),
    "days": (lambda: np.array(["2020", "NaT", "2021", "2021"], "datetime64[Y]"), "got an array of datetime64"),
    "index of levels": (lambda: pd.MultiIndex.from_tuples([(0, 1)] * 4), "got a MultiIndex .*get_level_values"),
    "complex tensor": (lambda: torch.tensor([1j, 1j, 2, 2]), "got torch.complex64"),
    "floats that are one number": (lambda: np.array([2.0**53, 2, 2, 2]), "below 9007199254740992"),
    "single floats": (lambda: torch.tensor([2.0**24, 2, 2, 2]), "expected whole numbers below 16777216"),
    "bfloat16": (lambda: torch.tensor([256.0, 2, 2, 2], dtype=torch.bfloat16), "expected whole numbers below 256"),
    "a large float among numbers": (lambda: [2.0**53, 2**53 + 1, 2, 2], r"below 2\*\*53 as floats"),
    "half floats": (lambda: [np.float16(2048), np.float16(2049), 2, 2], r"below 2\*\*11 as floats"),
    "single floats next to a list": (lambda: [np.array([2**24, 2, 2, 2], "f4"), TRUE], r"below 2\*\*24 as floats"),
    "single floats next to others": (lambda: [torch.tensor([2.0**24] * 4), torch.zeros(4).double()], "below 16777216"),
    "uneven tensors": (lambda: [torch.tensor(TRUE), torch.tensor([0, 1])], r"one shape .N,.; got .4,., .2,. .pad"),
    "nested tensor": (lambda: torch.nested.nested_tensor([torch.tensor(TRUE)]), "got a nested one .pad it."),
    "set": (lambda: {5, 7}, "got set"),
    "frozen set": (lambda: frozenset((5, 7)), "got frozenset"),
    "Counter": (lambda: collections.Counter([5, 5]), "got labels by item .pass .labels.x. for x in items."),
    "number and text": (lambda: [1, "1", 2, 2], f"{ONE_KIND}'1' at position 1"),
    "rows of two kinds": (lambda: [[5, 5, 7, 7], list("aabb")], r"'a' at position \(1, 0\)"),
    "enumeration": (lambda: [Word.A, Word.A, Word.B, Word.B], f"{ONE_KIND}<Word.A"),
    "decimal that is not whole": (lambda: [Decimal("1.5"), 1, 2, 2], ONE_KIND),
    "far too large": (lambda: [1e300, 1, 2, 2], r"below 2\*\*53 as floats; got 1e\+300"),
    "frame without columns": (lambda: pd.DataFrame(index=range(4)), "expected at least one clustering"),
    "Arrow binary": (lambda: arrow.array([b"a"] * 4), f"{ONE_KIND}b'a'"),
    "polars query": (lambda: polars.DataFrame({"a": TRUE}).lazy(), "got LazyFrame"),
}


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("kind", REFUSED)
def test_labels_that_are_refused_in_one_line(kind: str) -> None:
    given, message = REFUSED[kind]
    for name, sides in (("labels_pred", (TRUE, given())), ("labels_true", (given(), TRUE))):
        with pytest.raises(ValueError, match=message) as caught:
            tce.evaluate(*sides)
        text = str(caught.value)
        assert text.startswith(("device", name))
        assert "\n" not in text
        assert len(text) < 260


MAKERS: dict[str, Callable[[list[Any], str], Any]] = {
    "objects": lambda x, kind: np.array(x, object),
    "nullable": lambda x, kind: pd.array(x, dtype=kind),
    "Arrow": lambda x, kind: arrow.array(x),
    "chunks": lambda x, kind: arrow.chunked_array([x]),
    "polars": lambda x, kind: polars.Series(x),
    "protocol": lambda x, kind: offering(arrow.array(x), "__arrow_c_array__"),
    "list": lambda x, kind: x,
}


@pytest.mark.parametrize("kind", MAKERS)
def test_masks(kind: str) -> None:
    made = MAKERS[kind]([True, False, True, True], "boolean")
    assert ContingencyTables.from_labels(TRUE, [5, 9, 7, 7], mask=made).counts.tolist() == [[1, 0], [0, 2]]
    with pytest.raises(ValueError, match=r"mask: expected booleans; got .*, with missing entries"):
        tce.evaluate(TRUE, TRUE, mask=MAKERS[kind]([True, None, True, True], "boolean"))


@pytest.mark.parametrize("kind", MAKERS)
def test_weights(kind: str) -> None:
    whole, gap = (MAKERS[kind](x, "Int64") for x in ([1, 2, 3, 4], [1, None, 3, 4]))
    assert ContingencyTables.from_labels(TRUE, TRUE, weights=whole).counts.tolist() == [[3, 0], [0, 7]]
    with pytest.raises(ValueError, match="weights: expected finite numbers >= 0; got nan at position 1"):
        tce.evaluate(TRUE, TRUE, weights=gap)
    hidden = ContingencyTables.from_labels(TRUE, TRUE, weights=gap, mask=[True, False, True, True])
    assert hidden.counts.tolist() == [[1, 0], [0, 7]]


@pytest.mark.parametrize("name", ["mask", "weights"])
@pytest.mark.parametrize("value", [{1, 2}, {1: 2}.keys(), "1111", 1, True, [1j] * 4, ["1"] * 4, DATES, [[1], [1, 2]]])
def test_masks_and_weights_that_are_refused(name: str, value: Any) -> None:
    options: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=f"^{name}: expected"):
        tce.evaluate(TRUE, TRUE, **options)


def test_rows_of_frames_of_counts_are_classes() -> None:
    """A cross table has a row for each class, as an array has; frames of labels are items by clusterings."""
    true, pred = pd.Series(list("aab")), pd.Series(list("xyy"))
    cross = pd.crosstab(true, pred)
    expected = ContingencyTables.from_labels(true, pred).counts
    for frame in (cross, polars.from_pandas(cross), arrow.Table.from_pandas(cross, preserve_index=False)):
        assert torch.equal(ContingencyTables(frame).counts, expected)
    scores = tce.evaluate_tables(ContingencyTables(cross), ["homogeneity", "completeness"])
    direct = tce.evaluate(true, pred, ["homogeneity", "completeness"])
    for name in scores:
        assert scores[name] == direct[name]


def test_rows_of_frames_of_probabilities_are_items() -> None:
    one_hot, shares = np.eye(2)[[0, 0, 1, 1]], np.array([[0.75, 0.25], [1, 0], [0.5, 0.5], [0, 1]])
    table: Any = arrow.table({"a": shares[:, 0], "b": shares[:, 1]})
    for frame in (pd.DataFrame(shares), polars.DataFrame(shares), table):
        tables = ContingencyTables.from_probabilities(one_hot, frame)
        assert tables.counts.tolist() == [[1.75, 0.25], [0.5, 1.5]]
    square = pd.DataFrame([[0.5, 0.5], [1, 0]])
    assert ContingencyTables.from_probabilities(np.eye(2), square).counts.tolist() == [[0.5, 0.5], [1, 0]]


def test_errors_name_the_arguments_of_the_function_that_was_called() -> None:
    for arguments, name in (((None, [0]), "true"), (([0], None), "pred")):
        with pytest.raises(ValueError, match=f"^{name}: expected"):
            ContingencyTables.from_cells(*arguments)
    with pytest.raises(ValueError, match=r"^batch: expected a label for every item; got None at position 1"):
        ContingencyTables.from_cells([0, 0], [1, 2], batch=["x", None])
    with pytest.raises(ValueError, match=r"^counts: expected whole numbers with a sum below 2"):
        ContingencyTables.from_cells([0, 0], [1, 2], counts=[1e19, 1])
    for pair, name in ((([0.5, 1], [0, 1]), "labels_a"), (([0, 1], [0.5, 1]), "labels_b")):
        with pytest.raises(ValueError, match=f"^{name}: expected labels of one kind"):
            tce.paired_bootstrap([0, 1], *pair)
    with pytest.raises(ValueError, match=r"^labels_b: .* that broadcast; got labels_a \(2,\), labels_b \(3,\)"):
        tce.paired_bootstrap([0, 1], [[0, 1]] * 2, [[0, 1]] * 3)
    for function in (tce.pairwise, tce.stability):
        with pytest.raises(ValueError, match=r"^labels: expected labels of one kind"):
            function([[0.5, 1], [0, 1]])
