"""Files that commands write: labels, one row an item, as CSV or Parquet by the suffix; pictures."""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from torchclusteval.cli.commands.checks import check_output
from torchclusteval.cli.options import warnings_as_notes
from torchclusteval.cli.reading.held import Held, Label, listed
from torchclusteval.common.figures import OF_FILES, new_figure, save_figure
from torchclusteval.common.optional import import_optional
from torchclusteval.common.output import replacing
from torchclusteval.labels.spelled import is_plain

_SUFFIXES = (".csv", ".parquet")
_ROWS = 1 << 16
_INDEX = "__index_level_0__"  # pandas' name of an index without one


@dataclass(frozen=True, eq=False)
class Written:
    """A column: values (None: missing), and which of them each item has; -1: none."""

    name: str
    values: Sequence[Label | float]
    places: np.ndarray  # (N,) int64
    names_rows: bool = False  # whether it is to be read as the names of rows, not as labels


def names_of_rows(rows: Held | None, id_column: str | None) -> list[Written]:
    """The column with the names of rows, where there is one."""
    if rows is None:
        return []
    names, places = listed(rows.labels)
    numbers = [int(x) for x in map(str, names)] if all(map(is_plain, map(str, names))) else names
    return [Written(rows.name, numbers, places, names_rows=rows.name != id_column)]


def check_label_file(arguments: argparse.Namespace) -> None:
    """Raise early for a file that cannot be written."""
    path = arguments.label_file
    check_output(arguments, path, _SUFFIXES)
    if path is not None and path.lower().endswith(".parquet"):
        import_optional("pyarrow.parquet", "cli")


def write_label_file(path: str, columns: Sequence[Written], spellings: frozenset[str]) -> None:
    """Write columns to a file; quote labels that are spelled like missing ones."""
    if Path(path).suffix.lower() == ".parquet":
        _write_parquet(path, columns)
        return
    head = [_cell("" if column.names_rows else column.name, frozenset()) for column in columns]
    texts = [np.array([*(_cell(x, spellings) for x in column.values), ""], object) for column in columns]
    with (
        replacing(path) as unfinished,
        unfinished.open("w", encoding="utf-8", errors="surrogateescape", newline="\n") as file,
    ):
        file.write(",".join(head) + "\n")
        for start in range(0, len(columns[0].places), _ROWS):
            rows = slice(start, start + _ROWS)
            block = [text[column.places[rows]].tolist() for text, column in zip(texts, columns, strict=True)]
            file.write("\n".join(map(",".join, zip(*block, strict=True))) + "\n")


def _cell(value: Any, spellings: frozenset[str]) -> str:
    text = "" if value is None else str(value)
    plain = not any(x in ',;|\t"\r\n' for x in text) and text.strip() == text and text not in spellings - {""}
    return text if plain else '"' + text.replace('"', '""') + '"'


def _write_parquet(path: str, columns: Sequence[Written]) -> None:
    arrow, parquet = import_optional("pyarrow", "cli"), import_optional("pyarrow.parquet", "cli")
    names = [column.name or _INDEX for column in columns]
    table = arrow.table([_array(arrow, column) for column in columns], names=names)
    index = [name for name, column in zip(names, columns, strict=True) if column.names_rows]
    if index:
        table = table.replace_schema_metadata({"pandas": json.dumps(_pandas_metadata(table, index))})
    with replacing(path) as unfinished:
        parquet.write_table(table, unfinished)


def _array(arrow: Any, column: Written) -> Any:
    values = list(column.values)
    if any(isinstance(x, str) or (isinstance(x, int) and not -(2**63) <= x < 2**63) for x in values):
        values = [None if x is None else str(x) for x in values]
    places = arrow.array(column.places, mask=column.places < 0)
    return arrow.array([*values, None], arrow.int64() if not any(values) else None).take(places)


def _pandas_metadata(table: Any, index: list[str]) -> dict[str, Any]:
    """What pandas and this package need to see the index."""
    kinds = {"int64": ("int64", "int64"), "double": ("float64", "float64")}
    columns = []
    for field in table.schema:
        kind, stored = kinds.get(str(field.type), ("unicode", "object"))
        name = None if field.name == _INDEX else field.name
        column = {"name": name, "field_name": field.name, "pandas_type": kind, "numpy_type": stored}
        columns.append({**column, "metadata": None})
    return {"index_columns": index, "column_indexes": [], "columns": columns, "pandas_version": "2.2.3"}


def save_picture(path: str, draw: Callable[..., Any], *args: Any, **options: Any) -> None:
    """Write what a function draws, on axes of ``--size`` if that is given."""
    from torchclusteval.plots.canvas import no_glyph_warnings

    size = OF_FILES.get("size")
    with warnings_as_notes(), no_glyph_warnings():
        save_figure(draw(*args, **options, ax=size and new_figure(*size).subplots()).figure, path)
