"""Contingency tables of training runs and streams: an accumulator, and its sum over processes.

``accumulator`` and ``stream_scores`` have the public names, ``states`` and ``grouped_state`` the kinds of state,
``growing_cells`` the cells of labels that are not known beforehand, ``absent_labels`` the items that only one side
groups, ``distributed`` the exchange between ranks.
"""

from torchclusteval.streaming.accumulator import ContingencyAccumulator
from torchclusteval.streaming.stream_scores import evaluate_stream

__all__ = ["ContingencyAccumulator", "evaluate_stream"]
