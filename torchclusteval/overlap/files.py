"""Read memberships from files: lines of ``item<TAB>group``, or JSON of ``{item: [groups]}``."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from torchclusteval.overlap.memberships import Memberships


def read_memberships(path: str | Path) -> Memberships:
    """Memberships of named items from a file, in the format of its suffix; a ``.gz`` file is unpacked.

    ``.json``: one object ``{item: [groups]}``. Any other suffix: lines ``item<TAB>group``; an item of several groups
    has several lines, and ``item<TAB>`` alone is an item without a group. Blank lines are skipped.

    Args:
        path: the file, in UTF-8.

    Raises:
        ValueError: the content is not as described; the message begins with the file and names the line.
        OSError: the file cannot be read.
    """
    path = Path(path)
    try:
        text = _text(path)
        is_json = path.name.removesuffix(".gz").endswith(".json")
        return Memberships.from_dict(_from_json(text) if is_json else _from_lines(text))
    except (ValueError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        reason = "expected text in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise ValueError(f"{path}: {reason}") from None


def _text(path: Path) -> str:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")


def _from_lines(text: str) -> dict[str, list[str]]:
    memberships: dict[str, list[str]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if "\t" not in line and not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) != 2 or not cells[0]:
            raise ValueError(f"line {number}: expected item<TAB>group; got {line[:60]!r}")
        groups = memberships.setdefault(cells[0], [])
        if cells[1]:
            groups.append(cells[1])
    if not memberships:
        raise ValueError("expected at least one line item<TAB>group; got none")
    return memberships


def _from_json(text: str) -> dict[str, Any]:
    try:
        memberships = json.loads(text, object_pairs_hook=_without_repeats)
    except RecursionError:
        raise ValueError("expected a JSON object {item: [groups]}; got one nested too deep") from None
    if not isinstance(memberships, dict) or not memberships:
        raise ValueError(f"expected a JSON object {{item: [groups]}} with items; got {text.strip()[:60]!r}")
    return memberships


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    memberships = dict(pairs)
    if len(memberships) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"expected each item once; got {repeated!r} again")
    return memberships
