"""From what users hold as labels to integer codes.

``inputs`` turns each argument into whole numbers, ``encoding`` turns the two sides into codes, ``noise`` says what
becomes of noise, ``group_labels`` holds the labels that codes stand for, ``blocks`` reads codes block by block.
"""

from torchclusteval.labels.encoding import EncodedLabels, EncodedPair, LabelOptions, check_sizes, encode
from torchclusteval.labels.noise import NoisePolicy

__all__ = ["EncodedLabels", "EncodedPair", "LabelOptions", "NoisePolicy", "check_sizes", "encode"]
