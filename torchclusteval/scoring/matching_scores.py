"""Scores under a matching: of each class, of all items, of sets of classes."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.formatting import brief, format_number
from torchclusteval.common.results import Shown
from torchclusteval.common.threads import on_one_thread
from torchclusteval.labels.renaming import as_array
from torchclusteval.scoring.breakdown import GroupRows, OfGroups
from torchclusteval.scoring.matching import Matching, check_matching
from torchclusteval.scoring.matching import match as _best
from torchclusteval.tables import ContingencyTables, check_tables

_MEANS = {"mean_class_accuracy": "recall", "macro_f": "f", "mean_iou": "iou"}
_OF_CLASSES = ("precision", "recall", "f", "iou")


@dataclass(frozen=True, eq=False, repr=False)
class MatchedScores(OfGroups[Tensor]):
    """Scores under a matching, as :func:`matched_scores` returns them: a mapping of names to tensors.

    Tables in print and ``to_pandas`` have a row for each class with items.

    >>> tables = tce.ContingencyTables.from_labels(["a", "a", "b"], [4, 4, 4])
    >>> print(tce.matched_scores(tables, tce.match(tables)))
    accuracy 0.6667, mean_class_accuracy 0.5000, macro_f 0.4000, mean_iou 0.3333
    label  size  cluster  precision  recall       f     iou
    a         2        4     0.6667  1.0000  0.8000  0.6667
    b         1     None     0.0000  0.0000  0.0000  0.0000
    """

    sizes: Tensor = field(kw_only=True)  # (*batch, R) items of each class

    def rows(self, before: Mapping[str, Any] | None = None) -> GroupRows:
        """Size of each class with items, the cluster that it is matched with, and its scores."""
        values = {"size": self.sizes, "cluster": self._matches(), **{name: self[name] for name in _OF_CLASSES}}
        return self._rows({**(before or {}), **values}, self.sizes)

    def _shown(self) -> Shown:
        names = ("accuracy", *_MEANS) if self.sizes.ndim == 1 else ()
        means = ", ".join(f"{name} {format_number(float(self[name]))}" for name in names)
        return super()._shown()._replace(title=means) if means else super()._shown()


@on_one_thread
def matched_scores(tables: ContingencyTables, match: Matching) -> MatchedScores:
    """Scores of the clusters as predictions of the classes that they are matched to.

    With the n items that class i shares with its clusters, the r of the class and the c of these clusters: precision
    n / c, recall n / r, F 2n / (r + c), intersection over union n / (r + c - n). Items that only one side groups
    (``absent_pred=`` ...) are among the r and the c.

    Args:
        tables: contingency tables, ``(*batch, R, C)``: those that were matched, or others
            with the same rows and columns.
        match: their matching. Where it is not unique, all values but the accuracy depend on which one it is.

    Returns:
        ``accuracy`` (the share of all items that have a class), ``mean_class_accuracy``, ``macro_f``, ``mean_iou``
        (means over the classes with items), ``(*batch,)``; ``precision``, ``recall``, ``f``, ``iou`` of each class,
        ``(*batch, R)``, in the order of ``tables.classes``: 0 for a class without a cluster, nan for one without items.
        All in 0 to 1; nan without items. In print and with ``to_pandas`` a row for each class with items, by its label.

    Raises:
        ValueError: rows and columns are not those that were matched.

    Source: the accuracy and the means as in Ji, Henriques and Vedaldi (2019) and Cho et al. (2021).

    Example:
        >>> import torchclusteval as tce
        >>> tables = tce.ContingencyTables([[5, 1, 0, 0], [2, 3, 1, 0], [0, 3, 2, 1], [1, 0, 1, 4]])
        >>> scores = tce.matched_scores(tables, tce.match(tables))
        >>> round(scores["mean_iou"].item(), 4), round(scores["accuracy"].item(), 4)
        (0.4192, 0.5833)
    """
    check_tables(tables)
    _check_match(tables, match)
    tables = tables._whole
    n, c = _matched_sums(tables, match)
    r = tables._class_sizes_f64
    absent = r == 0
    per_class = {
        "precision": n / c.masked_fill(c == 0, 1),
        "recall": n / r,
        "f": 2 * n / (r + c),
        "iou": n / (r + c - n),
    }
    per_class = {name: value.masked_fill(absent, torch.nan) for name, value in per_class.items()}
    values = {
        "accuracy": tables._divide_by_items(n.sum(-1)),
        **{name: per_class[of].nanmean(-1) for name, of in _MEANS.items()},
        **per_class,
    }
    labels = tables.classes, match.source.clusters if tables.clusters is None else tables.clusters
    partner = match.cluster_of_class.to(tables.device)
    return MatchedScores(values, *labels, partner, tables.names, tables.groups, sizes=tables.class_sizes)


def _check_match(tables: ContingencyTables, match: Matching) -> None:
    check_matching(match)
    if tables.shape != match.source.shape:
        expected = f"tables of the shape that was matched, {tuple(match.source.shape)}"
        raise ValueError(f"tables: expected {expected}; got {tuple(tables.shape)} (match(tables) is theirs)")
    for side, here, there in (
        ("classes", tables.classes, match.source.classes),
        ("clusters", tables.clusters, match.source.clusters),
    ):
        if here is there or here is None or there is None:
            continue
        same = isinstance(here, Tensor) == isinstance(there, Tensor) and here.shape == there.shape
        if not same or not np.array_equal(as_array(here, len(here)), as_array(there, len(there))):
            raise ValueError(f"tables: expected the {side} of the matched tables, in their order; got others")


def _matched_sums(tables: ContingencyTables, match: Matching) -> tuple[Tensor, Tensor]:
    """Items that each class shares with its clusters, and items of these, ``(*batch, R)`` float64 each."""
    given = match.class_of_cluster.to(tables.device)
    rows = torch.arange(tables.shape[-2], device=tables.device)
    n = tables.sum_by_class(
        lambda cell: torch.where(
            cell.at_clusters(given) == cell.at_classes(rows.expand(tables.class_sizes.shape)), cell.n, 0
        )
    )
    sizes = tables._cluster_sizes_f64.masked_fill(given < 0, 0)
    return n, torch.zeros_like(n).scatter_add(-1, given.clamp_min(0), sizes)


@on_one_thread
def subset_accuracy(
    tables: ContingencyTables, groups: Mapping[str, Any], match: Matching | None = None
) -> dict[str, Tensor]:
    """Accuracy of all items and of those of some classes, under one matching of all classes.

    This is how generalised category discovery scores old and new classes.

    Args:
        tables: contingency tables, ``(*batch, R, C)``.
        groups: name of each set -> the labels of its classes (row numbers where classes have no labels).
        match: the matching; None: the best one-to-one matching of the tables. Where it is not unique
            (``match(tables).unique``), the accuracy of a set depends on which one it is.

    Returns:
        ``all`` and each set's share of right items, ``(*batch,)``, of those with a class: items without a cluster are
        wrong. A class that does not occur counts 0 items; a set without items is nan. Range: 0 to 1.

    Raises:
        ValueError: a class is in two sets, a set is called ``all``, or is no list of labels of the classes' kind (a
            mask is none).

    Source: Vaze et al. (2022), appendix E.

    Example:
        >>> import torchclusteval as tce
        >>> tables = tce.ContingencyTables([[5, 1, 0, 0], [2, 3, 1, 0], [0, 3, 2, 1], [1, 0, 1, 4]])
        >>> found = tce.subset_accuracy(tables, {"old": [0, 1], "new": [2, 3]})
        >>> {name: round(value.item(), 4) for name, value in found.items()}
        {'all': 0.5833, 'old': 0.6667, 'new': 0.5}
    """
    check_tables(tables)
    members = _members(tables, groups)
    found = _best(tables) if match is None else match
    _check_match(tables, found)
    tables = tables._whole
    n, _ = _matched_sums(tables, found)
    r = tables._class_sizes_f64
    scores = {"all": tables._divide_by_items(n.sum(-1))}
    for name, member in members.items():
        scores[name] = (n * member).sum(-1) / (r * member).sum(-1)
    return scores


def _members(tables: ContingencyTables, groups: Mapping[str, Any]) -> dict[str, Tensor]:
    """Which rows are of each set, ``(R,)`` or ``(*batch, R)`` float64."""
    if not isinstance(groups, Mapping):
        raise ValueError(f"groups: expected a mapping of names to classes; got {type(groups).__name__}")
    names = as_array(tables.classes, tables.shape[-2])
    owner: dict[Any, str] = {}
    members = {}
    for name, classes in groups.items():
        if name == "all":
            raise ValueError("groups: expected names other than 'all', which is the whole table; got 'all'")
        wanted = _listed(classes, name)
        of_booleans = isinstance(tables.classes, Tensor) and tables.classes.dtype == torch.bool
        if not of_booleans and any(isinstance(x, bool) for x in wanted):
            raise ValueError(f"groups[{name!r}]: expected labels of classes; got booleans (of a mask: mask.nonzero())")
        strings = names.dtype.kind == "O"
        for label in wanted:
            if isinstance(label, str) != strings:
                kind = "strings" if strings else "numbers"
                raise ValueError(f"groups[{name!r}]: expected labels of classes, which are {kind}; got {brief(label)}")
            if owner.setdefault(label, name) != name:
                raise ValueError(f"groups: expected sets without a class in common; got {brief(label)} in two of them")
        hits = np.frompyfunc(wanted.__contains__, 1, 1)(names.astype(object)).astype(np.float64)
        members[name] = torch.from_numpy(hits).to(tables.device)
    return members


def _listed(classes: Any, name: str) -> set[Any]:
    given = classes.tolist() if hasattr(classes, "tolist") else classes
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else [{}]
    if not all(isinstance(x, Hashable) for x in listed):
        raise ValueError(f"groups[{name!r}]: expected a list of classes; got {brief(classes)}")
    return {x.item() if isinstance(x, (Tensor, np.generic)) else x for x in listed}
