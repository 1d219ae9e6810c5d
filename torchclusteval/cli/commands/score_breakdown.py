"""``score --per-class`` and ``--per-cluster``: a row for each class or cluster of each clustering."""

import argparse
from collections.abc import Sequence
from typing import Any

from torchclusteval.cli.options import option
from torchclusteval.cli.printing.score_table import Breakdown
from torchclusteval.labels.group_labels import labels_at
from torchclusteval.scoring.breakdown import GroupScores, per_class, per_cluster
from torchclusteval.scoring.matching import match
from torchclusteval.scoring.matching_scores import matched_scores
from torchclusteval.tables import ContingencyTables

BREAKDOWN = (
    option(
        "--per-class",
        action="store_true",
        help="add a row for each class of each clustering: its cluster under a one-to-one matching with precision, "
        "recall, F and intersection over union, its purity, entropy, BCubed recall and best cluster; and the means "
        "mean_class_accuracy, macro_f and mean_iou. --format csv has these rows alone",
    ),
    option(
        "--per-cluster",
        action="store_true",
        help="add a row for each cluster: its class under a one-to-one matching, its purity, entropy, BCubed precision "
        "and best class. --format csv has these rows alone",
    ),
)
MEANS = ("mean_class_accuracy", "macro_f", "mean_iou")


def check_breakdown(arguments: argparse.Namespace) -> None:
    """Raise where more is asked for than one table of rows can hold."""
    asked = [name for name in ("per_class", "per_cluster", "match") if getattr(arguments, name)]
    if len(asked) > 1:
        first, second = (f"--{name.replace('_', '-')}" for name in asked[:2])
        raise ValueError(f"{second}: expected this or {first}; got both")


def break_down(
    arguments: argparse.Namespace, tables: ContingencyTables
) -> tuple[Breakdown | None, dict[str, Any], list[bool]]:
    """The rows that are asked for, the means of the classes by name, ``(B,)`` each, and which matchings are unique.

    Args:
        arguments: those of ``score``.
        tables: the clusterings' tables ``(B, R, C)``, with labels.
    """
    if not (arguments.per_class or arguments.per_cluster):
        return None, {}, []
    matching, count = match(tables), tables.batch_shape[0]
    unique = matching.unique.tolist()
    if arguments.per_cluster:
        classes = labels_at(tables.classes, matching.class_of_cluster)
        return _rows("cluster", per_cluster(tables), {"class": classes}, count), {}, unique
    scores = matched_scores(tables, matching)
    of_classes = {name: scores[name] for name in ("precision", "recall", "f", "iou")}
    partners = labels_at(tables.clusters, matching.cluster_of_class)
    found = _rows("class", per_class(tables), {"cluster": partners, **of_classes}, count)
    return found, {name: scores[name].numpy(force=True) for name in MEANS}, unique


def _rows(kind: str, groups: GroupScores, more: dict[str, Any], count: int) -> Breakdown:
    rows = groups.rows({"size": groups["size"], **more})
    by_clustering: list[list[Sequence[Any]]] = [[] for _ in range(count)]
    for clustering, *row in zip(*rows.levels.values(), *rows.columns.values(), strict=True):
        by_clustering[clustering].append(row)
    return Breakdown(kind, list(rows.columns), by_clustering)
