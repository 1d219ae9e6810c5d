"""From the counts of both sides' labels to cells and margins."""

from typing import Any

from torchclusteval.cells.layouts import Cells
from torchclusteval.cells.margins import split_margins
from torchclusteval.labels.absent import drop_absent_label
from torchclusteval.labels.encoding import EncodedPair
from torchclusteval.labels.group_labels import expand_to_batch


def separate(cells: Cells, pair: EncodedPair) -> dict[str, Any]:
    """The cells of the items that both sides group, and what tables hold beside them, as ``wrap_cells`` takes them.

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
    return {
        "cells": rest,
        "considered": considered,
        "classes": classes,
        "clusters": clusters,
        "names": pair.names,
        "margins": margins,
    }
