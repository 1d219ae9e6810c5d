"""Recognise files of other formats by their first lines."""

import re

_CELL = r"(?:\t[^\t\n]+)"
_TAGS = "ADJ|ADP|ADV|AUX|CCONJ|DET|INTJ|NOUN|NUM|PART|PRON|PROPN|PUNCT|SCONJ|SYM|VERB|X|_"  # no numbers, as labels are
_FORMATS = (
    ("#begin document", "a coreference file of CoNLL 2012 (torchclusteval score-coreference KEY RESPONSE, read_conll)"),
    (
        rf"(?:#[^\n]*\n)*(?:# *(?:global\.Entity|newdoc id) *=|[\d.-]+{_CELL}{{2}}\t(?:{_TAGS}){_CELL}{{6}}(?:\s|$))",
        "a CoNLL-U or CorefUD file (write it in the columns of CoNLL 2012, or pass its entities to from_documents)",
    ),
    (
        r"(?:;;[^\n]*\n)*(?:SPKR-INFO|SPEAKER)(?:[ \t]+\S+){4}[ \t]+<NA>",
        "an RTTM file (from_intervals takes lists of start, start + duration, speaker)",
    ),
)


def other_format(text: str) -> str | None:
    """The format of a file and the remedy for it, by its first lines, or None."""
    return next((name for start, name in _FORMATS if re.match(start, text.lstrip("\ufeff \t\r\n"))), None)
