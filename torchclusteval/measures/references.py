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


def cited(key: str) -> str:
    """Authors and year, as a text names a reference."""
    authors, _, year = _TEXTS[key].partition(").")[0].removesuffix(")").rpartition(" (")
    if not authors:
        return year
    *most, last = authors.split(", ")
    names = f"{most[0]} et al." if len(most) > 2 else " and ".join(x for x in (", ".join(most), last) if x)
    return f"{names} ({year})"
