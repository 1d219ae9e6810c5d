"""Docstrings as the package writes them (``Range: ...`` on one line, an indented formula), as Sphinx reads them."""

import re
from typing import Any

_FACT = re.compile(r"(Range|Degenerate|Source|Precision|Cost|Raises|Returns|Yields): (\S.*)")


def add_to(app: Any) -> None:
    app.connect("autodoc-process-docstring", _process, priority=100)  # before napoleon's


def _process(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    lines[:] = as_rst(lines)


def as_rst(lines: list[str]) -> list[str]:
    """Facts become fields, and paragraphs that are indented become literal blocks."""
    result: list[str] = []
    inside = False  # a section such as ``Args:``, whose contents are indented
    for i, line in enumerate(lines):
        fact = _FACT.fullmatch(line)
        before = lines[i - 1] if i else ""
        if fact:
            if result and result[-1] and not result[-1].startswith((":", " ")):
                result.append("")
            result.append(f":{fact[1]}: {fact[2]}")
            inside = True
            continue
        if line and not line.startswith(" "):
            if result and result[-1].startswith((":", " ")):
                result.append("")
            inside = bool(re.fullmatch(r"[A-Z][a-z]+:", line))
        elif line and not before and not inside and not line.lstrip().startswith((">>>", "* ")):
            result += ["::", ""]
            inside = True
        result.append(line)
    return result
