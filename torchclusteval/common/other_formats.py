"""Files of other formats than a reader takes, known by what stands in them."""

import re

_FORMATS = (
    (
        r"#begin document",
        "a coreference file of CoNLL 2012 (torchclusteval score-coreference KEY RESPONSE, read_conll)",
    ),
    (
        r"(#.*\s+)*\d+([-.]\d+)?(\t[^\t\n]*){9}(\r?\n|$)|(#.*\s+)*# *(global\.Entity|newdoc id) *=",
        "a CoNLL-U or CorefUD file (write it in the columns of CoNLL 2012, or pass its entities to from_documents)",
    ),
    (
        r"(;;.*\s+)*(SPKR-INFO|SPEAKER) +\S+ +\S+ +\S+ +\S+ +<NA>",
        "an RTTM file (from_intervals takes lists of start, start + duration, speaker)",
    ),
)


def other_format(text: str) -> str | None:
    """The format that a file is known for by its first lines, and what takes it; None: none of these."""
    return next((name for start, name in _FORMATS if re.match(start, text.lstrip("\ufeff \t\r\n"))), None)
