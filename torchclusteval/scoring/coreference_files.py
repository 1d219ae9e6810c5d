"""Coreference files in the column format of CoNLL 2011 and 2012."""

import re
from pathlib import Path
from typing import NamedTuple, NoReturn

from torchclusteval.common.checks import as_path, check_choice
from torchclusteval.common.formatting import brief
from torchclusteval.common.other_formats import other_format

Mention = tuple[int, ...]  # first and last token in the document; of each part where it is discontinuous

_MARK = re.compile(r"(\()?(\d{1,99})(?:\[(\d+)/(\d+)\])?(\))?")
_COLUMN = re.compile(r"(?:\|?(?:\(\d{1,99}(?:\[\d+/\d+\])?\)?|\d{1,99}(?:\[\d+/\d+\])?\)))+")
_NONE = ("-", "_", "*")


class ReadDocument(NamedTuple):
    """A document of a coreference file."""

    entities: list[set[Mention]]
    n_tokens: int


def read_conll(path: str | Path, *, on_duplicate: str = "error") -> dict[str, list[set[Mention]]]:
    r"""Entities of every document of a file in the column format of CoNLL 2011 and 2012.

    A document stands between ``#begin document (NAME); part 000`` and ``#end document``, a line a token. The last
    column holds the mentions of the token: ``(3`` begins one of entity 3, ``3)`` ends it, ``(3)`` is one token, ``|``
    or nothing divides several, ``-`` is none. Mentions may be nested. ``(3[1/2]`` begins part 1 of a mention of two
    parts.

    Args:
        path: the file, in UTF-8.
        on_duplicate: what to do with a mention in two entities: ``"error"`` refuses it, ``"first"`` keeps it in
            the entity that begins first in the document.

    Returns:
        The entities of each document, for ``ContingencyTables.from_documents``: a list of sets of mentions, in the
        order of their numbers. A mention is ``(first, last)``, its first and last token, counted from 0 in the
        document; ``(first, last, first, last)`` where it has two parts. The name of a document is what follows
        ``#begin document``.

    Raises:
        ValueError: the content is not as described; the message begins with the file and names the line.
        OSError: the file cannot be read.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "key.conll")
    >>> _ = path.write_text("#begin document (d);\nAnn (1\nLee 1)\nshe (1)\n#end document\n")
    >>> tce.read_conll(path)
    {'(d);': [{(0, 1), (2, 2)}]}
    """
    return {name: document.entities for name, document in read_documents(path, on_duplicate).items()}


def read_documents(path: str | Path, on_duplicate: str) -> dict[str, ReadDocument]:
    """As :func:`read_conll`, with the number of tokens of each document."""
    check_choice(on_duplicate, "on_duplicate", ("error", "first"))
    try:
        lines = as_path(path, "path").read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        packed = error.object[:2] in (b"\x1f\x8b", b"PK", b"BZ")
        got = "a compressed file (unpack it)" if packed else f"the byte {error.object[error.start]:#04x}"
        raise ValueError(f"{path}: expected text in UTF-8; got {got}") from None
    other = None if any(line.startswith("#begin document") for line in lines) else other_format("\n".join(lines[:99]))
    if other is not None:
        raise ValueError(f"{path}: expected a coreference file of CoNLL 2012; got {other}")
    documents: dict[str, ReadDocument] = {}
    document: _Document | None = None
    for number, line in enumerate(map(str.strip, lines), 1):
        where = f"{path}: line {number}: "
        if line.startswith("#begin document"):
            if document is not None:
                raise ValueError(f"{where}expected #end document before the next document; got {brief(line)}")
            name = " ".join(line.split()[2:])
            if not name or name in documents:
                raise ValueError(f"{where}expected a new document name; got {brief(name)}")
            document = _Document(name, str(path))
        elif line.startswith("#end document"):
            if document is None:
                raise ValueError(f"{where}expected #begin document before this line; got {brief(line)}")
            documents[document.name] = ReadDocument(document.entities(on_duplicate), document.n_tokens)
            document = None
        elif line and not line.startswith("#"):
            column = line.split()[-1]
            if document is not None:
                document.add(column, number)
            elif column not in _NONE:
                raise ValueError(f"{where}expected mentions inside a document (#begin document); got {brief(column)}")
    if document is not None:
        raise ValueError(f"{path}: line {len(lines)}: expected #end document of {document.name!r}; got the end")
    if not documents:
        raise ValueError(f"{path}: line 1: expected #begin document; got none in the file")
    return documents


class _Document:
    """A document while it is read."""

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self._path = path
        self.n_tokens = 0
        self._open: dict[tuple[int, str | None], list[tuple[int, int]]] = {}  # -> first token and line, innermost last
        self._parts: dict[tuple[int, str], list[int]] = {}  # of incomplete discontinuous mentions
        self._mentions: list[tuple[Mention, int, int]] = []  # with the entity, and the line of its end

    def add(self, column: str, line: int) -> None:
        """Read the mentions that begin or end at the next token."""
        if column not in _NONE and (column.startswith("|") or not _COLUMN.fullmatch(column)):
            self._refuse(line, f"expected mentions such as (3, 3) or (3), divided by |; got {brief(column)}")
        for mark in _MARK.finditer(column):
            begins, name, part, parts, ends = mark.groups()
            entity = int(name)
            open_here = self._open.setdefault((entity, part), [])
            if begins:
                open_here.append((self.n_tokens, line))
            if ends:
                if not open_here:
                    self._refuse(line, f"expected a mention of entity {entity} that is open; got the end {mark[0]!r}")
                self._end(open_here.pop()[0], entity, part, parts, line)
        self.n_tokens += 1

    def _end(self, first: int, entity: int, part: str | None, parts: str | None, line: int) -> None:
        if part is None or parts is None:
            self._mentions.append(((first, self.n_tokens), entity, line))
            return
        so_far = self._parts.setdefault((entity, parts), [])
        if int(part) != len(so_far) // 2 + 1:
            self._refuse(line, f"expected part {len(so_far) // 2 + 1}/{parts} of a mention; got {part}/{parts}")
        so_far += [first, self.n_tokens]
        if int(part) == int(parts):
            self._mentions.append((tuple(self._parts.pop((entity, parts))), entity, line))

    def _refuse(self, line: int, message: str) -> NoReturn:
        raise ValueError(f"{self._path}: line {line}: {message}")

    def entities(self, on_duplicate: str) -> list[set[Mention]]:
        """The mentions of each entity."""
        for (entity, _), begun in self._open.items():
            if begun:
                self._refuse(begun[-1][1], f"expected an end {entity}) of the mention that begins here; got none")
        if self._parts:
            entity, parts = next(iter(self._parts))
            self._refuse(self._mentions[-1][2] if self._mentions else 1, f"expected {parts} parts of entity {entity}")
        owner: dict[Mention, int] = {}
        groups: dict[int, set[Mention]] = {}
        order = {entity: place for place, (entity, _) in reversed([*enumerate(self._open)])}  # of the first marks
        by_entity = sorted(self._mentions, key=lambda x: order[x[1]])
        for mention, entity, line in by_entity if on_duplicate == "first" else self._mentions:
            first = owner.setdefault(mention, entity)
            if first == entity:
                groups.setdefault(entity, set()).add(mention)
            elif on_duplicate == "error":
                got = f"{mention} in entities {first} and {entity} of {self.name!r}"
                remedy = 'on_duplicate="first" keeps the first'
                self._refuse(line, f"expected every mention in one entity; got {got} ({remedy})")
        return [groups[entity] for entity in sorted(groups)]
