"""From the counts of both sides' labels to cells and margins."""

from torchclusteval.cells.layouts import Cells
from torchclusteval.cells.margins import split_margins
from torchclusteval.cells.parts import TableParts
from torchclusteval.labels.absent import AbsentGroup, drop_absent_label
from torchclusteval.labels.encoding import EncodedPair
from torchclusteval.labels.group_labels import expand_to_batch

Absent = tuple[AbsentGroup | None, AbsentGroup | None]  # the row and the column of items that one side alone groups


def with_margins(parts: TableParts, absent: Absent, has_void: bool = False) -> TableParts:
    """The cells of the items that both sides group; the row and the column in ``absent`` become margins.

    Items that neither side groups are not considered at all. With ``has_void``, the last row is that of ignored items.
    """
    cells, margins, neither = split_margins(parts.cells, *absent, has_void)
    classes, clusters = (
        None if labels is None else drop_absent_label(labels() if callable(labels) else labels, group)
        for labels, group in zip((parts.classes, parts.clusters), absent, strict=True)
    )
    considered = parts.considered
    if considered is not None and neither is not None:
        considered = considered - neither
    return parts._replace(cells=cells, considered=considered, classes=classes, clusters=clusters, margins=margins)


def separate(cells: Cells, pair: EncodedPair) -> TableParts:
    """The cells of a pair, and the other parts of tables."""
    classes, clusters = (
        side.labels if callable(side.labels) else expand_to_batch(side.labels, pair.batch_shape)
        for side in (pair.true, pair.pred)
    )
    parts = TableParts(cells, pair.n_considered, classes, clusters, pair.names)
    return with_margins(parts, (pair.true.absent, pair.pred.absent), pair.has_void) if pair.has_margins else parts
