"""From what users hold as labels to integer codes.

``sources`` reads each argument, ``inputs`` turns it into whole numbers, ``shapes`` checks which items belong together,
``encoding`` turns the two sides into codes, ``noise`` says what becomes of noise, ``absent`` which codes stand for
items without a group, ``groups_of_items`` numbers the groups of ``by``, ``group_labels`` holds the labels that codes
stand for, ``blocks`` reads codes block by block.
"""

from torchclusteval.labels.encoding import EncodedLabels, EncodedPair, LabelOptions, check_sizes, encode
from torchclusteval.labels.groups_of_items import check_num_groups, device_of_groups, read_groups
from torchclusteval.labels.noise import NoisePolicy

__all__ = [
    "EncodedLabels",
    "EncodedPair",
    "LabelOptions",
    "NoisePolicy",
    "check_num_groups",
    "check_sizes",
    "device_of_groups",
    "encode",
    "read_groups",
]
