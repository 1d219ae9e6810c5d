"""Columns that do not look like clusterings: ids, measurements, the truth itself."""

from collections.abc import Hashable, Sequence

from torchclusteval.common.warn import warn
from torchclusteval.labels.group_labels import labels_at
from torchclusteval.tables import ContingencyTables

FEW = 20  # no warning for up to so many items
IS_TRUTH = "the labels are those of the truth, item by item"


def warn_of_no_clusterings(tables: ContingencyTables, noise: str) -> dict[Hashable, str]:
    """Warn of named columns that do not look like clusterings, and return them."""
    seen = tables.names is not None and tables.device.type == "cpu" and noise != "singletons"  # a device would wait
    found = no_clusterings(tables, tables.names or ()) if seen else {}
    if found:
        shown = "; ".join(f"{name!r}: {reason}" for name, reason in [*found.items()][:3])
        more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
        warn(f"labels_pred: columns that do not look like clusterings ({shown}{more}); leave them out")
    return found


def no_clusterings(tables: ContingencyTables, names: Sequence[Hashable], few: int = FEW) -> dict[Hashable, str]:
    """Names of the columns that do not look like clusterings, and why; tables are ``(B, ...)``, or one."""
    if not tables.is_integer or not len(names):
        return {}
    sizes = (tables.n_items, tables.n_clusters, tables.n_classes, *(x.double() ** 2 for x in tables._sizes()[:2]))
    columns = (x.reshape(len(names), -1).sum(1).tolist() for x in sizes)
    found = {}
    for i, (name, items, clusters, classes, *squares) in enumerate(zip(names, *columns, strict=True)):
        reason = like_ids(items, clusters, classes, few)
        if reason is not None:
            found[name] = reason if tables.groups is None else f"{reason}, in its group"
        elif items > FEW and squares[0] == squares[1] and _is_truth(tables[i] if tables.batch_shape else tables):
            found[name] = IS_TRUTH
    return found


def like_ids(items: int, clusters: int, fewest: int, few: int = FEW) -> str | None:
    """Why labels look like ids: all labels of more than ``few`` items, or half and 1.5 times as many as elsewhere."""
    if clusters == items > few:
        return "every item is a cluster of its own"
    many = items > FEW and clusters > items / 2 and clusters >= 1.5 * fewest
    return f"{clusters} labels of {items} items are distinct" if many else None


def _is_truth(tables: ContingencyTables) -> bool:
    places = tables.cells()[1:3]
    sides = (
        x if x is None or x.ndim == 1 else x.reshape(-1, x.shape[-1])[0] for x in (tables.classes, tables.clusters)
    )
    true, pred = (labels_at(side, place).tolist() for side, place in zip(sides, places, strict=True))
    return bool(true == pred)
