"""Scores from sums over cells elsewhere, added up by a database or an engine."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.cells.layouts import CellsElsewhereError, SpreadCells
from torchclusteval.cells.pairs import MAX_SQUARED, pairs_of_squares
from torchclusteval.cells.parts import TableParts
from torchclusteval.common.formatting import brief
from torchclusteval.common.lazy import with_cached_values
from torchclusteval.labels.inputs import as_numbers, check_nonnegative
from torchclusteval.measures import bcubed, information, matching
from torchclusteval.measures.registry import Selection, select
from torchclusteval.scoring.evaluation import scores_of, split_applicable
from torchclusteval.scoring.scores import Scores
from torchclusteval.tables import ContingencyTables

_OF_ITEMS = {  # sums of at most the number of items
    "majority_of_classes": matching.majority_of_classes,
    "majority_of_clusters": matching.majority_of_clusters,
    "precisions": bcubed.precisions,
    "recalls": bcubed.recalls,
}
_NATS = {
    "classes_given_clusters": (information.classes_given_clusters, information.of_classes),
    "clusters_given_classes": (information.clusters_given_classes, information.of_clusters),
}
_SAME = 1e-6  # nats: the order of an engine's sums loses less
_SUMS = ("n_cells", "squares", *_NATS, *_OF_ITEMS)


def evaluate_sums(class_sizes: Any, cluster_sizes: Any, sums: Mapping[str, Any], measures: Selection = None) -> Scores:
    """Score one clustering whose cells are elsewhere, from sums over them and the sizes of both sides.

    A cell has n items, of a class of r and a cluster of c. ``docs/distributed.md`` has the query for DuckDB, polars,
    Dask and Spark.

    Args:
        class_sizes: ``(R,)`` numbers of items (or weights) of the classes, in any order.
        cluster_sizes: ``(C,)`` those of the clusters, with the same sum.
        sums: some of ``n_cells`` (the cells with items), ``squares`` (the sum of ``n * n``),
            ``classes_given_clusters`` (of ``n * ln(c / n)``), ``clusters_given_classes`` (of ``n * ln(r / n)``),
            ``precisions`` (of ``n * n / c``), ``recalls`` (of ``n * n / r``), ``majority_of_clusters`` (over the
            clusters, of the largest n) and ``majority_of_classes`` (over the classes, likewise).
        measures: as in ``evaluate``.

    Returns:
        Scores of shape ``()``, those of ``evaluate`` but for the rounding of the sums. Of a set, measures that need
        other sums are left out (``scores.skipped``).

    Raises:
        ValueError: the sides have different sums; a sum has another name, or is outside the range that the sizes
            leave; the two sums of logarithms contradict each other; a measure that was named needs other sums.

    >>> sums = {"n_cells": 3, "squares": 14}
    >>> tce.evaluate_sums([3, 3], [2, 4], sums, "ari")["ari"]
    tensor(0.3243, dtype=torch.float64)
    """
    chosen = select(measures)
    if not isinstance(sums, Mapping):
        raise ValueError(f"sums: expected a mapping of names to numbers; got {type(sums).__name__}")
    if unknown := [name for name in sums if name not in _SUMS]:
        raise ValueError(f"sums: expected sums named {', '.join(_SUMS)}; got {unknown[0]!r}")
    sides = [_sizes(class_sizes, "class_sizes"), _sizes(cluster_sizes, "cluster_sizes")]
    if any(x.is_floating_point() for x in sides):
        sides = [x.double() for x in sides]
    n, other = (x.sum() for x in sides)
    if abs(float(n) - float(other)) > 1e-9 * float(n):
        raise ValueError(f"class_sizes, cluster_sizes: expected equal sums, of the same items; got {n} and {other}")
    given = {name: 0 if x is None and not n else _number(x, name) for name, x in sums.items()}  # NULL of no cells
    none = torch.zeros(0, dtype=torch.int64)
    cells = SpreadCells(torch.Size(), (len(sides[0]), len(sides[1])), none, none, none, none.to(n.dtype))
    cls = ContingencyTables
    known: dict[Any, Any] = {cls.class_sizes: sides[0], cls.cluster_sizes: sides[1], cls.n_items: n}
    bare = with_cached_values(cls._of(TableParts(cells)), known)
    _check(given, bare)
    for name, (of_one_side, whole) in _NATS.items():
        if name in given:
            known[of_one_side] = bare._divide_by_items(n.new_tensor(given[name], dtype=torch.float64))
            known[information.shared] = (whole(bare) - known[of_one_side]).clamp(min=0)
    known |= {_OF_ITEMS[name]: torch.tensor(given[name], dtype=torch.float64) for name in _OF_ITEMS if name in given}
    if "n_cells" in given:
        known[cls.n_cells] = torch.tensor(given["n_cells"])
    if "squares" in given:
        exact = object if bare.is_integer and n > MAX_SQUARED else sides[0].numpy().dtype  # Python's integers
        squares = np.asarray(given["squares"], exact)
        known[cls.pairs] = pairs_of_squares(squares, *(x.numpy().astype(exact) for x in (n, *sides)))
    tables, values = with_cached_values(bare, known), {}
    kept, skipped = split_applicable(tables, chosen)
    for measure in kept:
        try:
            values[measure] = measure(tables)
        except CellsElsewhereError:
            reason = "needs other sums over cells"
            if chosen[measure]:
                expected = "measures that follow from the given sums"
                raise ValueError(f"measures: expected {expected}; got {measure.name!r}, which {reason}") from None
            skipped[measure.name] = reason
    return scores_of(tables, list(values), values.values(), skipped)


def _number(x: Any, name: str) -> int | float:
    """A number of any kind."""
    try:
        value = float(x)
    except (TypeError, ValueError):
        raise ValueError(f"sums[{name!r}]: expected a number; got {brief(x)}") from None
    return int(x) if value.is_integer() else value


def _sizes(x: Any, name: str) -> Tensor:
    sizes = as_numbers(x, name).cpu()
    if sizes.dim() != 1:
        raise ValueError(f"{name}: expected shape (R,); got {tuple(sizes.shape)}")
    check_nonnegative(sizes, name, (-1,))
    return sizes if len(sizes) else torch.zeros(1, dtype=torch.int64)


def _check(given: Mapping[str, int | float], tables: ContingencyTables) -> None:
    """Raise where no cells of these sizes have such sums."""
    n = float(tables.n_items)
    squares = [float(x.double().square().sum()) for x in (tables.class_sizes, tables.cluster_sizes)]
    classes, clusters = max(1, int(tables.n_classes)), max(1, int(tables.n_clusters))
    nats = {name: n * float(whole(tables)) for name, (_, whole) in _NATS.items() if n}
    most = {name: n for name in _OF_ITEMS} | {"squares": min(squares), "n_cells": classes * clusters} | nats
    least = {"n_cells": max(classes, clusters) if n else 0, "squares": max(squares[0] / clusters, squares[1] / classes)}
    least |= {"precisions": n / classes, "recalls": n / clusters}
    whole_items = tables.is_integer and n > 0
    if whole_items:
        most["n_cells"] = min(most["n_cells"], n)
    least["majority_of_clusters"] = max(n / classes, clusters if whole_items else 0)
    least["majority_of_classes"] = max(n / clusters, classes if whole_items else 0)
    if isinstance(given.get("n_cells", 0), float):
        raise ValueError(f"sums['n_cells']: expected a whole number; got {given['n_cells']}")
    least["squares"] = max(least["squares"], n * n / max(1, given.get("n_cells", classes * clusters)))
    for name, x in given.items():
        low, high = least.get(name, 0.0), most.get(name, 0.0)
        if not low - 1e-9 * n <= float(x) <= high + 1e-9 * max(high, n):
            raise ValueError(f"sums[{name!r}]: expected {low:g} to {high:g} for cells of these sizes; got {x}")
    shared = [whole - given[name] for name, whole in nats.items() if name in given]
    if len(shared) == 2 and abs(shared[0] - shared[1]) > _SAME * n:
        got = " and ".join(f"{x / n:.6g}" for x in shared)
        remedy = "the logarithm is the natural one, of c / n and of r / n without integer division"
        raise ValueError(f"sums: expected one mutual information from {' and '.join(nats)}; got {got} ({remedy})")
