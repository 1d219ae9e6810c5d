"""From the counts of both sides' labels to cells and margins."""

from typing import Any

from torch import Tensor

from torchclusteval.cells.layouts import Cells
from torchclusteval.cells.margins import Margins, split_margins
from torchclusteval.labels.absent import drop_absent_label
from torchclusteval.labels.encoding import EncodedPair
from torchclusteval.labels.group_labels import GroupLabels, expand_to_batch


def separate(
    cells: Cells, pair: EncodedPair
) -> tuple[Cells, Tensor | None, GroupLabels | None, GroupLabels | None, Any, Margins]:
    """The cells of the items that both sides group, and what tables hold beside them.

    Items that neither side groups are not considered at all.
    """
    rest, margins, neither = split_margins(cells, pair.true.absent, pair.pred.absent)
    considered = pair.n_considered
    if neither is not None and considered is not None:
        considered = considered - neither
    classes, clusters = (
        drop_absent_label(expand_to_batch(side.group_labels, pair.batch_shape), side.absent)
        for side in (pair.true, pair.pred)
    )
    return rest, considered, classes, clusters, pair.names, margins
