"""Tables that grow: an accumulator for training and streams, and its sum over processes.

``states`` holds the two kinds of state, ``growing`` the one of unknown labels, ``distributed`` the exchange between
ranks, ``accumulator`` the public names.
"""

from torchclusteval.streaming.accumulator import ContingencyAccumulator, evaluate_stream

__all__ = ["ContingencyAccumulator", "evaluate_stream"]
