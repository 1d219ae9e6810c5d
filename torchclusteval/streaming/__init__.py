"""Contingency tables of training runs and streams: an accumulator, and its sum over processes.

``accumulator`` has the public names, ``states`` the two kinds of state, ``growing_cells`` the cells of labels
unknown beforehand, ``label_vocabulary`` those labels, ``distributed`` the exchange between ranks.
"""

from torchclusteval.streaming.accumulator import ContingencyAccumulator, evaluate_stream

__all__ = ["ContingencyAccumulator", "evaluate_stream"]
