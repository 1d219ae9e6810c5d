"""From the counts of both sides' labels to cells and margins."""

from torchclusteval.cells.layouts import Cells
from torchclusteval.cells.margins import split_margins
from torchclusteval.cells.parts import TableParts
from torchclusteval.labels.absent import drop_absent_label
from torchclusteval.labels.encoding import EncodedPair
from torchclusteval.labels.group_labels import expand_to_batch


def separate(cells: Cells, pair: EncodedPair) -> TableParts:
    """The cells of the items that both sides group, and what tables hold beside them.

    Items that neither side groups are not considered at all.
    """
    sides, considered, margins = (pair.true, pair.pred), pair.n_considered, None
    if not pair.has_margins:
        classes, clusters = (
            x.labels if callable(x.labels) else expand_to_batch(x.labels, pair.batch_shape) for x in sides
        )
    else:
        classes, clusters = (expand_to_batch(side.group_labels, pair.batch_shape) for side in sides)
        cells, margins, neither = split_margins(cells, pair.true.absent, pair.pred.absent, pair.has_void)
        classes = drop_absent_label(classes, pair.true.absent)
        clusters = drop_absent_label(clusters, pair.pred.absent)
        if neither is not None and considered is not None:
            considered = considered - neither
    return TableParts(cells, considered, classes, clusters, pair.names, margins=margins)
