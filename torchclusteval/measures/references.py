"""The literature: citation key -> reference, of ``references.csv`` and of the measures that bring their own."""

import csv
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

with Path(__file__).with_name("references.csv").open(encoding="utf-8", newline="") as _file:
    _TEXTS = {row["source"]: row["reference"] for row in csv.DictReader(_file)}

REFERENCES: Mapping[str, str] = MappingProxyType(_TEXTS)


def cite(key: str, text: str) -> str:
    """Add a reference; returns its key."""
    _TEXTS[key] = text
    return key
