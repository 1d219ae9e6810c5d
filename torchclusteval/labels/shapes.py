"""The alignment of two sides by shapes, indexes and names; errors with a guess at the remedy."""

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from torchclusteval.common.warn import warn
from torchclusteval.labels.sources import LabelSource, Names, pandas_index

Shapes = Mapping[str, tuple[int, ...]]


def item_shape(shapes: Shapes, dims: int) -> tuple[int, ...]:
    """The dimensions of the items; raise where they are not the same for all arguments."""
    short = next((name for name, shape in shapes.items() if len(shape) < dims), None)
    ends = {name: shape[-dims:] for name, shape in shapes.items()}
    if short is not None or len(set(ends.values())) > 1:
        blamed = short or next(name for name, end in ends.items() if end != ends["labels_true"])
        got = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"{blamed}: expected the same last {dims} dimensions everywhere (item_dims={dims}); got {got}")
    return ends["labels_true"]


def joint_shape(shapes: Shapes, *, meant: bool) -> tuple[int, ...]:
    """The joint shape ``(*batch, N)``; raise if there is none, or clusterings of one item each are not ``meant``."""
    true, pred = shapes["labels_true"], shapes["labels_pred"]
    n = true[-1]
    if len(shapes) == 2 and true == pred and len(true) == 1:
        return true
    if any(shape[-1] != n for shape in shapes.values()):
        raise ValueError(_lengths_message(shapes))
    if n == 1 and not meant and min(len(true), len(pred)) > 1 and true[-2] > 1 and pred[-2] > 1:
        got = f"{true} and {pred}, one item in each of {prod(pred)} clusterings"
        remedy = "column vectors: squeeze(-1) or the transpose; if it is meant: item_dims=1"
        raise ValueError(f"labels_true, labels_pred: expected shape (*batch, N); got {got} ({remedy})")
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        got = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"labels_pred: expected batch shapes that broadcast; got {got}") from None


def _lengths_message(shapes: Shapes) -> str:
    true, pred = shapes["labels_true"], shapes["labels_pred"]
    if true[-1] == pred[-1]:
        blamed = next(name for name, shape in shapes.items() if shape[-1] != true[-1])
        hints = _hints(blamed, shapes[blamed], true[-1])
    else:
        blamed, other = "labels_pred", true[-1]
        if pred[-1] in true[:-1] and other not in pred[:-1]:
            blamed, other = "labels_true", pred[-1]
        hints = _hints(blamed, shapes[blamed], other)
        if not hints and len(true) == len(pred) > 1 and true[-2] == pred[-2]:
            hints = [x for name in ("labels_true", "labels_pred") for x in _hints(name, shapes[name], true[-2])]
    got = ", ".join(f"{name} {shape[-1]}" for name, shape in shapes.items())
    hint = f" ({'; '.join(hints)})" if hints else ""
    return f"{blamed}: expected one number of items everywhere (last dimension); got {got}{hint}"


def _hints(name: str, shape: tuple[int, ...], n: int) -> list[str]:
    """Advice on an argument with ``n`` entries in another dimension than the last."""
    fitting = [dim for dim, size in enumerate(shape[:-1]) if size == n]
    if not fitting:
        return []
    dim = len(shape) - 2 if len(shape) - 2 in fitting else fitting[0]
    turned = f"its transpose, {name}.T" if len(shape) == 2 else f"{name}.movedim({dim}, -1)"
    hints = [f"dimension {dim} of {name} fits: pass {turned}"]
    if shape[-1] == 1:
        hints.append(f"or {name}.squeeze(-1)")
    elif dim == len(shape) - 2 and name.startswith("labels"):
        hints.append(f"or, of scores of classes, {name}.argmax(-1)")
    return hints


def check_indexes(indexes: Iterable[tuple[str, Any]], n: int) -> None:
    """Raise where pandas indexes show that items at the same position differ; None: no pandas object.

    These hold the same labels in another order, or other labels and neither is 0..N-1 (with a warning if shared).
    """
    known: list[tuple[str, Any]] = []  # different ones
    for name, index in indexes:
        if index is None or len(index) != n or any(index is other or index.equals(other) for _, other in known):
            continue  # of another length, shapes do not fit
        for first, reference in known:
            order = f"{name}.reindex({first}.index) puts them" if name != first else "reindex puts one"
            remedy = f"{order} in order, .to_numpy() takes them by position"
            expected = f"{name}: expected " + (f"the index of {first}" if name != first else "one index for all")
            alike = index.nlevels == reference.nlevels
            if alike and bool(index.isin(reference).all()) and bool(reference.isin(index).all()):
                raise ValueError(f"{expected}; got the same labels in another order ({remedy})")
            if not (counts_up(index) or counts_up(reference)):
                raise ValueError(f"{expected}; got other labels ({remedy})")
            if alike and bool(index.isin(reference).any()):
                warn(f"{name}: an index 0..N-1 goes by position, though {first} has some of its labels ({remedy})")
        known.append((name, index))


def counts_up(index: Any) -> bool:
    """Whether an index is 0..N-1."""
    if index.nlevels > 1 or getattr(index.dtype, "kind", "O") not in "iu":
        return False
    return bool((np.asarray(index) == np.arange(len(index))).all())


def in_order_of(labels: Sequence[Any] | None, x: Any, name: str, each: str) -> Any:
    """Values of a mapping or of a pandas Series by its index, in the order of ``labels``; all else as it is.

    An index 0 .. N - 1 is ignored unless these are the labels. ``each`` is what is expected: "a weight for each class".
    Raise where a label has no value or several, or there are no labels.
    """
    index = pandas_index(x)
    if hasattr(x, "columns"):
        raise ValueError(f"{name}: expected {each}; got a data frame (pass one column)")
    if index is not None and not (counts_up(index) and set(labels or ()) != set(index.tolist())):
        if not index.is_unique:
            raise ValueError(f"{name}: expected {each}; got several for {index[index.duplicated()][0]!r}")
        x = dict(zip(index.tolist(), x.tolist(), strict=True))
    if not isinstance(x, Mapping):
        return x
    if labels is None:
        raise ValueError(f"{name}: expected {each} in a list, as there are no labels; got values by label")
    if missing := [label for label in labels if label not in x]:
        raise ValueError(f"{name}: expected {each}; got none for {missing[0]!r} (a list goes by position)")
    return [x[label] for label in labels]


def joint_names(true: LabelSource, pred: LabelSource, batch_shape: tuple[int, ...], **others: Any) -> Names | None:
    """The names of the clusterings of a batch; raise where another argument has the same ones in another order."""
    check_order(pred.names, true.names, "labels_pred", "labels_true")
    given = [source.names for source in (pred, true) if source.names is not None]
    names = next((names for names in given if batch_shape == (len(names),)), None)
    for name, x in others.items():
        columns = getattr(x, "column_names", getattr(x, "columns", ()))  # of pyarrow; of pandas and polars
        check_order(tuple(columns), names, name, "the clusterings")
    return names


def check_order(names: Names | None, known: Names | None, name: str, side: str) -> None:
    """Raise where the names of clusterings are those of another side in another order."""
    if names and known and names != known and len(names) > 1 and set(names) == set(known):
        raise ValueError(f"{name}: expected the names of {side} in their order; got another order")
