"""Shared by all results: values by name, and a table in print and in notebooks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from torchclusteval.common.formatting import brief, html_table, text_table

V = TypeVar("V")


class ByName(Mapping[str, V]):
    """A mapping on the names in one field; a subclass gives the field, and may translate names."""

    _field: ClassVar[str]

    def __getitem__(self, name: str) -> V:
        values: Mapping[str, V] = getattr(self, self._field)
        known = self._key(name) if isinstance(name, str) and name not in values else name
        if not isinstance(known, str) or known not in values:
            raise KeyError(f"{brief(name)} was not computed; there are {', '.join(values)}")
        return values[known]

    def _key(self, name: str) -> str:
        return name

    def __contains__(self, name: object) -> bool:
        values = getattr(self, self._field)
        return isinstance(name, str) and (name in values or self._key(name) in values)

    def __iter__(self) -> Iterator[str]:
        return iter(getattr(self, self._field))

    def __len__(self) -> int:
        return len(getattr(self, self._field))


class Shown(NamedTuple):
    """A table as text."""

    header: list[str]
    rows: list[list[str]]
    title: str = ""
    notes: Sequence[str] = ()
    words: Sequence[int] = (0,)
    """Left-aligned columns in notebooks."""


class Printed:
    """A base of results that print as a table; data classes need ``repr=False``."""

    def _shown(self) -> Shown:
        raise NotImplementedError

    def __repr__(self) -> str:
        shown = self._shown()
        above = [shown.title] if shown.title else []
        return "\n".join([*above, text_table(shown.header, shown.rows), *shown.notes])

    def _repr_html_(self) -> str:
        shown: dict[str, Any] = self._shown()._asdict()
        return html_table(**shown)
