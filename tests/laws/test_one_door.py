"""Every function that takes labels reads them alike: indexes, missing labels, categories, order, exactness."""

import contextlib
import io
import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow as arrow
import pytest
import torch

import torchclusteval as tce
from torchclusteval import ContingencyTables, sklearn
from torchclusteval import torchmetrics as metrics
from torchclusteval.cli import main

TRUE, PRED = [0, 0, 1, 1, 2, 2], [5, 5, 7, 7, 7, 5]


def stream(*labels: Any) -> Any:
    return tce.evaluate_stream([labels], "ari")["ari"]


def accumulated(true: Any, pred: Any) -> Any:
    return tce.evaluate_tables(tce.ContingencyAccumulator().update(true, pred).tables(), "ari")["ari"]


def relabelled(true: Any, pred: Any) -> Any:
    tables = ContingencyTables.from_labels(true, pred)
    found = tce.relabel(pred, tce.match(tables))
    assert [*found[:2]] == [*found[[0, 0]]]
    return tce.evaluate_tables(tables, "ari")["ari"]


def grouped(true: Any, pred: Any) -> Any:
    """The groups of ``by`` as rows of a table."""
    sizes = tce.evaluate(pred, pred, "ari", by=true).n_items
    assert sizes.tolist() == [2, 2, 2]
    return tce.evaluate(true, pred, "ari")["ari"]


def covers(true: Any, pred: Any) -> Any:
    classes, clusters = (tce.Memberships.from_labels(x) for x in (true, pred))
    return tce.evaluate_overlapping(classes, clusters, ["omega_index"])["omega_index"]


def column(labels: Any) -> pd.Series:
    """As pandas holds them, with their index."""
    if isinstance(labels, torch.Tensor):
        labels = labels.numpy()
    if isinstance(labels, (arrow.Array, polars.Series)):
        labels = labels.to_pandas()
    dtype: Any = object if isinstance(labels, list) else None
    return labels if isinstance(labels, pd.Series) else pd.Series(labels, dtype=dtype)


def write(labels: pd.Series, path: Path) -> None:
    """One column in a file; CSV and Parquet hold its index too."""
    values = labels.to_numpy()
    if path.suffix == ".npy":
        values = np.array([np.nan if pd.isna(x) else x for x in values])
        np.save(path, values)
    elif path.suffix == ".txt":
        path.write_text("".join(f"{'' if pd.isna(x) else x}\n" for x in values))
    elif path.suffix == ".csv":
        labels.to_frame("label").to_csv(path)
    elif path.suffix == ".feather":
        labels.to_frame("label").reset_index(drop=True).to_feather(path)
    else:
        labels.to_frame("label").to_parquet(path)


def printed(suffix: str, true: Any, pred: Any, *options: str) -> Any:
    """What the command line says of two files, the truth and a clustering."""
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        paths = [Path(folder) / f"{name}.{suffix}" for name in "tp"]
        for labels, path in zip((true, pred), paths, strict=True):
            write(column(labels), path)
        status = main(["score", *map(str, paths), "--measures", "ari", "--format", "json", *options])
    if status:
        raise ValueError(err.getvalue())
    return json.loads(out.getvalue())


def in_one_table(suffix: str, true: Any, pred: Any) -> Any:
    """Files with a column a clustering, which are counted in blocks."""
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        path = Path(folder) / f"both.{suffix}"
        both = pd.concat({"true": column(true), "pred": column(pred)}, axis=1)
        both.to_csv(path) if suffix == "csv" else both.to_parquet(path)
        status = main(["score", str(path), "--truth", "true", "--measures", "ari", "--format", "json"])
    if status:
        raise ValueError(err.getvalue())
    return json.loads(out.getvalue())["scores"][0]["adjusted_rand"]


def of_files(suffix: str) -> Callable[[Any, Any], Any]:
    return lambda t, p: printed(suffix, t, p)["scores"][0]["adjusted_rand"]


FILES = {f"score .{suffix}": of_files(suffix) for suffix in ("csv", "txt", "npy", "parquet", "feather")} | {
    f"score blocks of .{suffix}": partial(in_one_table, suffix) for suffix in ("csv", "parquet")
}
ENTRIES: dict[str, Callable[[Any, Any], Any]] = {
    "from_labels": lambda t, p: tce.evaluate_tables(ContingencyTables.from_labels(t, p), "ari")["ari"],
    "evaluate": lambda t, p: tce.evaluate(t, p, "ari")["ari"],
    "evaluate_stream": stream,
    "update": accumulated,
    "per_item": lambda t, p: tce.per_item(t, p)["recall"].mean(),
    "by": grouped,
    "from_cells": lambda t, p: tce.evaluate_tables(ContingencyTables.from_cells(t, p), "ari")["ari"],
    "pairwise": lambda t, p: tce.pairwise({"t": t, "p": p}, "ari")["ari"][0, 1],
    "stability": lambda t, p: tce.stability({"t": t, "p": p}, "ari")["adjusted_rand"].overall,
    "paired_bootstrap": lambda t, p: tce.paired_bootstrap(t, p, t, "ari", 5)["adjusted_rand"].difference,
    "cluster_stability": lambda t, p: tce.cluster_stability(t, {"p": p}).mean_jaccard.mean(),
    "consensus": lambda t, p: len(tce.consensus({"t": t, "p": p}).labels),
    "transitions": lambda t, p: tce.transitions({"t": t, "p": p}).size.sum(),
    "relabel": relabelled,
    "Memberships.from_labels": covers,
    "report": lambda t, p: bool(tce.report(t, p, "ari", n_resamples=5).html),
    "sklearn": lambda t, p: sklearn.adjusted_rand_score(t, p),
    **FILES,
}
BY_NAME = {"Memberships.from_labels", "score .csv", "score .parquet", *(x for x in FILES if "blocks" in x)}

FORMS: dict[str, Callable[[list[int]], Any]] = {
    "array": np.array,
    "uint8": lambda x: np.array(x, np.uint8),
    "tensor": torch.tensor,
    "whole floats": lambda x: np.array(x, float),
    "text": lambda x: [f"c{i}" for i in x],
    "Series": lambda x: pd.Series(x, index=list("uvwxyz")),
    "categories": lambda x: pd.Series([f"c{i}" for i in x]).astype("category"),
    "nullable": lambda x: pd.array(x, dtype="Int64"),
    "Arrow": arrow.array,
    "Arrow dictionary": lambda x: arrow.array([f"c{i}" for i in x]).dictionary_encode(),
    "polars": polars.Series,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_every_form_of_labels_gives_the_same_value(entry: str, form: str) -> None:
    make = FORMS[form]
    assert float(ENTRIES[entry](make(TRUE), make(PRED))) == pytest.approx(float(ENTRIES[entry](TRUE, PRED)), abs=1e-12)


@pytest.mark.parametrize("entry", sorted(ENTRIES.keys() - (FILES.keys() - BY_NAME)))  # others hold no index
def test_an_index_in_another_order_is_refused(entry: str) -> None:
    true, pred = pd.Series(TRUE, index=list("uvwxyz")), pd.Series(PRED, index=list("zyxwvu"))
    if entry in BY_NAME:  # which take the index for names of items
        assert float(ENTRIES[entry](true, pred)) == float(ENTRIES[entry](TRUE, PRED[::-1]))
        return
    with pytest.raises(ValueError, match="same labels in another order"):
        ENTRIES[entry](true, pred)


LACKING = {"cluster_stability", "consensus", "transitions"}  # take missing labels for items that a run lacks


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA], ids=str)
@pytest.mark.parametrize("entry", sorted(ENTRIES.keys() - LACKING))
def test_a_missing_label_is_refused(entry: str, missing: Any) -> None:
    for text in (False, True)[: 1 if "npy" in entry else 2]:  # text in arrays is never missing
        pred: Any = ["a" if text else 5, missing, *["b" if text else 7] * 4]
        pred = pd.Series(pred, dtype=object) if entry == "sklearn" else pred  # NumPy makes the text "nan" of a list
        with pytest.raises(
            (ValueError, TypeError),
            match=r"at position \(?1|NaN|not supported between|(line|row|item) [23]: expected a label",
        ):
            ENTRIES[entry](TRUE, pred)


@pytest.mark.parametrize("entry", [x for x in ENTRIES if "csv" not in x and "txt" not in x])  # text holds all digits
def test_floats_that_tell_ids_no_longer_apart_are_refused(entry: str) -> None:
    for large in (np.array([2.0**53, 1, 1, 1, 1, 1]), torch.tensor([2.0**24, 1, 1, 1, 1, 1])):
        with pytest.raises(ValueError, match="exact range of this float type"):
            ENTRIES[entry](TRUE, large)


def classes_of_file(suffix: str, labels: Any) -> list[Any]:
    return [row["class"] for row in printed(suffix, labels, labels, "--per", "class")["classes"]]


LISTED: dict[str, Callable[[Any], Any]] = {
    "from_labels": lambda x: ContingencyTables.from_labels(x, x).clusters,
    "update": lambda x: tce.ContingencyAccumulator().update(x, x).tables().clusters,
    "from_cells": lambda x: ContingencyTables.from_cells(x, x).clusters,
    "groups": lambda x: tce.evaluate(x, x, by=x).groups,
    "groups of a stream": lambda x: tce.ContingencyAccumulator().update(x, x, by=x).tables().groups,
    "per_class": lambda x: tce.per_class(ContingencyTables.from_labels(x, x)).labels,
    "cluster_stability": lambda x: tce.cluster_stability(x, {"p": x}).labels,
    "transitions": lambda x: list(tce.transitions({"t": x, "p": x}).label)[:3],
    "Memberships.from_labels": lambda x: np.array(tce.Memberships.from_labels(x).group_labels),
    **{f"score .{suffix}": partial(classes_of_file, suffix) for suffix in ("csv", "txt", "npy", "parquet", "feather")},
}
OWN_ORDER = {"update", "groups of a stream"}  # chunks may bring other categories
OWN_ORDER |= {"score .csv", "score .txt", "score .npy"}  # which hold text alone


@pytest.mark.parametrize("entry", LISTED)
def test_labels_are_listed_in_natural_order(entry: str) -> None:
    if entry.startswith("score"):  # whose text in form of numbers is numbers
        for names in (["2", "9", "10"], ["c2", "c9", "c10"], ["-3", "7", "12"], ["1.5", "1x", "c"]):
            assert [*map(str, LISTED[entry](names[::-1]))] == names
        return
    for names in (["2", "9", "10"], ["c2", "c9", "c10"], ["-3", "7", "12"], ["1.5", "2.25", "10.0"]):
        for labels in (names[::-1], pd.Series(names[::-1]), pd.Series(names[1:] + names[:1], dtype="category")):
            assert list(LISTED[entry](labels)) == names
    assert list(LISTED[entry](np.array([10, 9, 2]))) == [2, 9, 10]


@pytest.mark.parametrize("entry", LISTED)
def test_a_chosen_order_of_categories_is_kept(entry: str) -> None:
    kind = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    labels = pd.Series(["high", "low", "mid"], dtype=kind)
    expected = sorted(kind.categories) if entry in OWN_ORDER else list(kind.categories)
    assert list(LISTED[entry](labels)) == expected
    enum = polars.Series(list(labels), dtype=polars.Enum(list(kind.categories)))
    assert list(LISTED[entry](enum)) == expected


TENSORS: dict[str, Callable[[list[int]], torch.Tensor]] = {
    "int64": torch.tensor,
    "int32": lambda x: torch.tensor(x, dtype=torch.int32),
    "uint8": lambda x: torch.tensor(x, dtype=torch.uint8),
    "uint16": lambda x: torch.tensor(x, dtype=torch.uint16),
    "whole floats": lambda x: torch.tensor(x, dtype=torch.float32),
    "far apart": lambda x: torch.tensor(x) * 10**15 - 10**9,
}


@pytest.mark.parametrize("name", metrics.__all__)
def test_metric_objects_read_tensors_alike(name: str) -> None:
    kind = getattr(metrics, name)

    def value(pred: torch.Tensor, true: torch.Tensor) -> float:
        metric = kind(num_classes=8) if kind is metrics.ClusterAccuracy else kind()
        metric.update(pred, true)
        found = metric.compute()
        return float(next(iter(found.values())) if isinstance(found, dict) else found)

    expected = value(torch.tensor(PRED), torch.tensor(TRUE))
    for form, make in TENSORS.items():
        if form == "far apart" and kind is metrics.ClusterAccuracy:  # labels are codes
            continue
        assert value(make(PRED), make(TRUE)) == pytest.approx(expected, abs=1e-12)
    for bad, message in (
        (torch.tensor([2.0**24] * 6), "exact range of this float type"),
        (torch.tensor([float("nan")] * 6), "position 0"),
    ):
        with pytest.raises(ValueError, match=f"^preds: .*{message}"):
            value(bad, torch.tensor(TRUE))
    for form in FORMS.keys() - {"tensor", "whole floats"}:
        with pytest.raises(ValueError, match=r"^preds: expected a tensor of shape"):
            value(FORMS[form](PRED), torch.tensor(TRUE))


A, B = ({name: {"a": TRUE, "b": PRED}[name] for name in names} for names in ("ab", "ba"))
BOTH = [dict.fromkeys("ba", x) for x in ([True] * 6, [1.0] * 6)]
BY = [0, 0, 0, 1, 1, 1]
DOORS = {
    "relabel": lambda count: tce.match(count(TRUE, A)).relabel(pd.DataFrame(B)),
    "matched_scores": lambda count: tce.matched_scores(count(TRUE, B), tce.match(count(TRUE, A))),
    "groups": lambda count: tce.matched_scores(count(TRUE, PRED, by=BY)[[1, 0]], tce.match(count(TRUE, PRED, by=BY))),
    "paired_groups": lambda count: tce.paired_groups(count(TRUE, A, by=BY), count(TRUE, B, by=BY), ["purity"]),
    "estimate": lambda count: tce.estimate_from_sample(count(TRUE, A), "uniform", against=count(TRUE, B)),
    "mask": lambda count: count(TRUE, A, mask=pd.DataFrame(BOTH[0])),
    "weights": lambda count: count(TRUE, A, weights=polars.DataFrame(BOTH[1])),
}


@pytest.mark.parametrize("door", DOORS)
def test_clusterings_in_another_order_are_refused(door: str) -> None:
    with pytest.raises(ValueError, match="in their order"):
        DOORS[door](ContingencyTables.from_labels)
