"""Columnar files, read by pyarrow in record batches: Parquet, Feather and Arrow IPC, ORC, and h5ad by anndata."""

import io
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from torchclusteval.cli.reading.columns import Array, Labels
from torchclusteval.cli.reading.sources import Source
from torchclusteval.cli.reading.table import ReadOptions, Table, read_ahead, texts_of, wrong_label
from torchclusteval.common.optional import import_optional
from torchclusteval.common.progress import Progress
from torchclusteval.labels.sources import index_columns

_ROWS = 1 << 16

MAGIC = {b"PAR1": "parquet", b"ARROW1": "feather", b"FEA1": "feather", b"ORC": "orc", b"\x89HDF": "h5ad"}


class ArrowTable:
    """A columnar file."""

    def __init__(self, source: Source, kind: str, options: ReadOptions) -> None:
        self._arrow = import_optional("pyarrow", "cli")
        self.path, self._source, self._kind = source.path, source, kind
        try:
            self._file = self._open()
        except (self._arrow.ArrowException, OSError, KeyError) as error:
            raise self._damage(error) from None
        schema = self._file.schema_arrow if kind == "parquet" else self._file.schema
        names = set(schema.names)
        if len(names) < len(schema.names):
            doubled = next(name for name in schema.names if schema.names.count(name) > 1)
            raise ValueError(f"{self.path}: header: expected different names; two columns are {doubled!r}")
        index = index_columns(schema)
        index = index if len(index) == 1 else []
        self.row_names = options.id_column if options.id_column in names else next(iter(index), None)
        self.names = [name for name in schema.names if name not in (self.row_names, *index)]

    def _open(self) -> Any:
        if self._kind == "h5ad":
            anndata = import_optional("anndata", "anndata")
            obs = anndata.read_h5ad(self.path, backed="r").obs
            return self._arrow.Table.from_pandas(obs.rename_axis("obs_names") if obs.index.name is None else obs)
        file = self._source.file if self._source.packing is None else io.BytesIO(self._source.all_bytes())
        if self._kind == "parquet":
            return import_optional("pyarrow.parquet", "cli").ParquetFile(file)
        if self._kind == "orc":
            return import_optional("pyarrow.orc", "cli").ORCFile(file)
        if self._source.head()[0].startswith(b"FEA1"):
            return import_optional("pyarrow.feather", "cli").read_table(file)
        return self._arrow.ipc.open_file(self._arrow.memory_map(file) if isinstance(file, str) else file)

    def _damage(self, error: Exception) -> Exception:
        if isinstance(error, OSError) and error.errno is not None:
            return error
        reason = str(error).split("\n")[0]
        return ValueError(f"{self.path}: expected a complete {self._kind} file; it is damaged ({reason})")

    def integers(self, names: Sequence[str]) -> set[str]:
        return set(names)  # the file knows which are

    def blocks(
        self, names: Sequence[str], integers: set[str], progress: Progress | None = None
    ) -> Iterator[list[Labels]]:
        n_rows = 0
        try:
            for batch, share in read_ahead(self._batches(list(names))):
                if progress is not None:
                    progress(int(share * 1000), 1000)
                places = {name: i for i, name in enumerate(batch.schema.names)}
                yield [labels_of_array(batch.column(places[name]), self, name, n_rows, frozenset()) for name in names]
                n_rows += len(batch)
        except (self._arrow.ArrowException, OSError) as error:
            raise self._damage(error) from None

    def _batches(self, names: list[str]) -> Iterator[tuple[Any, float]]:
        file = self._file
        if self._kind == "parquet":
            total, done = max(1, file.metadata.num_rows), 0
            for batch in file.iter_batches(_ROWS, columns=names):
                done += len(batch)
                yield batch, done / total
        elif self._kind == "orc":
            for i in range(file.nstripes):
                yield file.read_stripe(i, columns=names), (i + 1) / file.nstripes
        elif hasattr(file, "num_record_batches"):
            for i in range(file.num_record_batches):
                yield file.get_batch(i).select(names), (i + 1) / file.num_record_batches
        else:
            for batch in file.select(names).to_batches(_ROWS):
                yield batch, 0.5

    def place(self, row: int) -> str:
        return f"row {row + 1}"


def labels_of_array(array: Any, table: Table, name: str, first: int, missing: frozenset[str]) -> Labels:
    """The labels in an Arrow array, which begins with the row ``first``; ``missing``: spellings of missing labels.

    Raises:
        ValueError: an entry is no label, or the type holds none.
    """
    arrow = sys.modules["pyarrow"]
    types, kind = arrow.types, array.type
    if types.is_dictionary(kind) and not _is_text(kind.value_type, types):
        array, kind = array.dictionary_decode(), kind.value_type
    if types.is_floating(kind):
        return labels_of_floats(np.where(_nulls(array), np.nan, _numbers(array)), table, name, first)
    if (types.is_integer(kind) and not types.is_uint64(kind)) or types.is_boolean(kind) or types.is_null(kind):
        nulls = _nulls(array) if array.null_count else None
        array = array.cast(arrow.uint8()) if types.is_boolean(kind) else array
        return Labels(_numbers(array if types.is_int64(kind) else array.cast(arrow.int64())), nulls)
    if types.is_nested(kind) or types.is_binary(kind):
        raise wrong_label(table, name, None, "whole numbers or text", str(kind))
    if not types.is_dictionary(kind):
        array = array.cast(arrow.string()).dictionary_encode()
    try:
        spellings = array.dictionary.to_pylist()
    except UnicodeDecodeError as error:
        raise wrong_label(table, name, None, "UTF-8 text", f"other bytes ({error})") from None
    codes = _numbers(array.indices)
    if array.indices.null_count:
        codes = np.where(_nulls(array.indices), len(spellings), codes)
        spellings.append(None)
    return texts_of(table, name, first, codes, spellings, missing)


def labels_of_floats(values: Array, table: Table, name: str, first: int) -> Labels:
    """Whole numbers as floats that their type tells from their neighbours; nan is missing."""
    apart = min(2.0 / float(np.finfo(values.dtype).eps), 2.0**63)
    values = values if values.dtype.itemsize > 8 else values.astype(np.float64)  # 2**63 is no float16
    missing = np.isnan(values)
    whole, small = values == np.trunc(values), np.abs(values) < apart
    wrong = ~missing & ~(whole & small)
    if wrong.any():
        row = int(wrong.argmax())
        told = f" below {apart:.0f}, as floats of this type tell it apart" if whole[row] else ""
        raise wrong_label(table, name, first + row, f"a whole number{told}", str(values[row]))
    return Labels(np.where(missing, 0, values).astype(np.int64), missing if missing.any() else None)


def _is_text(kind: Any, types: Any) -> bool:
    return any(is_text(kind) for is_text in (types.is_string, types.is_large_string, types.is_string_view))


_FLOATS = {"halffloat": "float16", "float": "float32", "double": "float64"}  # Arrow's names that NumPy reads otherwise


def _numbers(array: Any) -> Array:
    """The numbers of an Arrow array over the same memory; Arrow's own method would import pandas."""
    kind = np.dtype(_FLOATS.get(str(array.type), str(array.type)))
    if not len(array):
        return np.empty(0, kind)
    return np.frombuffer(array.buffers()[1], kind, len(array), array.offset * kind.itemsize)


def _nulls(array: Any) -> Array:
    return _numbers(array.is_null().cast("uint8")).astype(bool)
