"""Contingency tables of training runs and streams: an accumulator, and its sum over processes.

``accumulator`` has the public names, ``states`` the two kinds of state, ``growing_cells`` the cells of labels that are
not known beforehand, ``absent_labels`` the items that only one side groups, ``distributed`` the exchange between ranks.
"""

from torchclusteval.streaming.accumulator import AccumulatorOptions, ContingencyAccumulator, evaluate_stream
from torchclusteval.streaming.growing_cells import LabelledCells

__all__ = ["AccumulatorOptions", "ContingencyAccumulator", "LabelledCells", "evaluate_stream"]
