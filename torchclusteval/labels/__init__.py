"""From what users hold as labels to integer codes.

``sources`` reads each argument, ``inputs`` turns it into whole numbers, ``shapes`` checks which items belong together,
``options`` checks the options, ``encoding`` turns the two sides into codes, ``noise`` says what becomes of noise,
``absent`` which codes stand for items without a group, ``groups_of_items`` numbers the groups of ``by``,
``group_labels`` holds the labels that codes stand for, ``blocks`` reads codes block by block.
"""

from torchclusteval.labels.encoding import EncodedLabels, EncodedPair, encode
from torchclusteval.labels.groups_of_items import place_of_groups, read_groups
from torchclusteval.labels.noise import NoisePolicy
from torchclusteval.labels.options import LabelKeywords, LabelOptions

__all__ = [
    "EncodedLabels",
    "EncodedPair",
    "LabelKeywords",
    "LabelOptions",
    "NoisePolicy",
    "encode",
    "place_of_groups",
    "read_groups",
]
