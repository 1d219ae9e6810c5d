"""Read memberships from files of text, in the layouts of ``layouts``, and of JSON."""

import gzip
import json
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from torchclusteval.common.checks import as_path, check_choice
from torchclusteval.common.formatting import brief
from torchclusteval.overlap.inputs import repeated_group, shortened
from torchclusteval.overlap.layouts import HEADERS, LAYOUTS, read_text
from torchclusteval.overlap.memberships import Memberships, build
from torchclusteval.overlap.plain_lines import PlainLines, read_plain_lines


def read_memberships(path: str | Path, *, layout: str = "auto", header: str = "auto") -> Memberships:
    r"""Memberships of named items from a file in UTF-8, which may be packed by gzip.

    Text has one of three layouts:

    * ``"item-group"``: lines ``item<TAB>group``; an item of several groups has several lines, and ``item<TAB>`` alone
      is an item without a group.
    * ``"item-groups"``: lines ``item<TAB>group group ...``, as in the ``community.dat`` of the LFR benchmark.
    * ``"group-per-line"``: the items of one group on each line, divided by tabs, or by blanks in a file without tabs,
      as in the community files of SNAP.

    ``"auto"`` finds the layout where there is no doubt and refuses the file where there is. Lines that begin with
    ``#`` are comments; blank lines and blanks around names are left out. Names are text: ``01`` and ``1`` differ.

    JSON is a mapping ``{item: [groups]}`` (``{group: [items]}`` with ``"group-per-line"``), a list of groups, or an
    object of CDlib, whose ``"communities"`` are such a list.

    Args:
        path: the file; JSON if its name ends in ``.json`` or ``.json.gz``, or all of it is one JSON object or list.
        layout: ``"auto"`` or one of the layouts.
        header: whether the first line is a header, ``"yes"`` or ``"no"``; ``"auto"`` takes it for one if its names
            occur nowhere else and either stand above numbers or are words such as ``node`` and ``community``.

    Raises:
        ValueError: the content is not as described, or in doubt; the message begins with the file and names the line.
        OSError: the file cannot be read.

    A warning says what the first line was taken for where it could be either, and how a file was read by ``"auto"``
    where a reader could take it for something else.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "groups.tsv")
    >>> _ = path.write_text("ann\tclub\nann\tchoir\nbob\tclub\n")
    >>> tce.read_memberships(path).n_groups
    2
    """
    check_choice(layout, "layout", ("auto", *LAYOUTS))
    check_choice(header, "header", HEADERS)
    path = as_path(path, "path")
    content = path.read_bytes()
    try:
        text = _text(content, path.suffix == ".gz")
        is_json = path.name.removesuffix(".gz").endswith(".json")
        value = _json_value(text, must=is_json) if is_json or text.lstrip()[:1] in ("{", "[") else None
        notes: list[str] = []
        plain = None if is_json or value is not None else read_plain_lines(text, layout, header)
        if plain is not None:
            made, notes = _from_codes(plain), plain.notes
        else:
            if is_json or value is not None:
                read = _from_json(value, layout)
            else:
                read, notes = read_text(text, layout, header)
            made = Memberships.from_dict(read) if isinstance(read, dict) else Memberships.from_groups(read)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    for note in notes:
        warnings.warn(f"{path}: {note}", UserWarning, stacklevel=2)
    return made


def _from_codes(plain: PlainLines) -> Memberships:
    rows, groups = torch.from_numpy(plain.rows), torch.from_numpy(plain.groups)
    sizes = len(plain.items), len(plain.group_labels)
    return build(rows, groups, torch.Size(), *sizes, plain.items, plain.group_labels, None)


def _text(content: bytes, packed: bool) -> str:
    if packed or content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"expected a gzip file; it is damaged or none ({error})") from None
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError("expected text in UTF-8; got UTF-16 (save it in UTF-8)")
    if b"\0" in content:
        got = "a NUL byte, as in binary files and UTF-16 (save it as text in UTF-8)"
        raise ValueError(f"line {_line(content, content.index(0))}: expected text in UTF-8; got {got}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        got = f"byte {content[error.start]:#04x}"
        raise ValueError(
            f"line {_line(content, error.start)}: expected text in UTF-8; got {got} (save it so)"
        ) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\ufeff" in text:
        line = text[: text.index("\ufeff")].count("\n") + 1
        raise ValueError(f"line {line}: expected a byte order mark at the start only; got one here (remove it)")
    return text


def _line(content: bytes, position: int) -> int:
    return content[:position].count(b"\n") + 1


def _json_value(text: str, must: bool) -> Any:
    """The value that a text is as JSON; None if it is none and need not be."""
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except RecursionError:
        raise ValueError("expected JSON {item: [groups]} or a list of groups; got one nested too deep") from None
    except json.JSONDecodeError as error:
        if must:
            at = f"line {error.lineno}, column {error.colno}"
            raise ValueError(f"{at}: expected JSON {{item: [groups]}} or a list of groups; got {error.msg}") from None
        return None
    except ValueError as error:
        if "integer string conversion" not in str(error):
            raise
        raise ValueError("expected JSON {item: [groups]} or a list of groups; got a number of many digits") from None


def _from_json(value: Any, layout: str) -> dict[str, list[str]] | list[Sequence[str]]:
    """Groups by item, or a list of groups."""
    communities = value.get("communities") if isinstance(value, dict) else None
    if isinstance(communities, list) and all(isinstance(group, list) for group in communities):
        value = communities
    if not isinstance(value, dict | list) or not value:
        got = shortened(value)
        raise ValueError(f"expected a JSON object {{item: [groups]}}, or a list of groups, not empty; got {got}")
    for key, names in value.items() if isinstance(value, dict) else enumerate(value):
        if not isinstance(names, list):
            of = f"for item {shortened(key)}" if isinstance(value, dict) else f"in group {key}"
            expected = f"expected a JSON object {{item: [groups]}}, or a list of groups: a list {of}"
            raise ValueError(f"{expected}; got {shortened(names)}")
    if isinstance(value, list):
        if layout in ("item-group", "item-groups"):
            raise ValueError(f'expected a JSON object {{item: [groups]}} with layout="{layout}"; got a list of groups')
        repeated = repeated_group(groups := [_item_texts(group, i) for i, group in enumerate(value)])
        if repeated is not None and layout == "auto":
            got = f"a list in which entries {repeated[0]} and {repeated[1]} are the same"
            raise ValueError(f'expected a list of groups; got {got} (layout="group-per-line" if they are groups)')
        return groups
    if layout == "group-per-line":
        return [_item_texts(names, key) for key, names in value.items()]
    distinct = {repr(name) for names in value.values() for name in names}
    if layout == "auto" and len(distinct) > 2 * len(value):
        got = f"{len(value)} keys for {len(distinct)} values"
        which = 'layout="item-groups" if the keys are items, layout="group-per-line" if they are groups'
        raise ValueError(f"expected a JSON object {{item: [groups]}}; got {got} ({which})")
    return value


def _item_texts(group: Sequence[Any], which: Any) -> Sequence[str]:
    """Names of items as text, which keys of JSON and cells of other files are too."""
    for name in group:
        if isinstance(name, bool) or not isinstance(name, str | int):
            got = f"{shortened(name)} in group {shortened(which)}"
            raise ValueError(f"expected items that are text or whole numbers; got {got}")
    texts = {str(name): name for name in group}
    if len(texts) < len(set(group)):
        raise ValueError(
            f"expected items of one type; got both text and the same whole number in group {shortened(which)}"
        )
    return list(texts)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"expected each item once; got {brief(repeated)} again")
    return values
