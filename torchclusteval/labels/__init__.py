"""Labels in: from what users hold to integer codes, checked once.

``inputs`` turns each argument into whole numbers, ``encoding`` the two sides into codes, ``group_labels`` keeps what
the codes stand for, ``blocks`` reads them piece by piece for counting.
"""

from torchclusteval.labels.encoding import (
    NOISE_POLICIES,
    EncodedLabels,
    EncodedPair,
    LabelOptions,
    check_options,
    encode,
)

__all__ = ["NOISE_POLICIES", "EncodedLabels", "EncodedPair", "LabelOptions", "check_options", "encode"]
