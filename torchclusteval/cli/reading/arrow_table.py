"""Columnar files, read by pyarrow in record batches: Parquet, Feather and Arrow IPC, ORC, and h5ad by anndata."""

import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torchclusteval.cli.reading.ahead import read_ahead
from torchclusteval.cli.reading.arrow_columns import codes_of
from torchclusteval.cli.reading.columns import Array, Column
from torchclusteval.cli.reading.sources import Source
from torchclusteval.cli.reading.table import Part, ReadOptions
from torchclusteval.common.optional import import_optional
from torchclusteval.common.progress import Progress
from torchclusteval.labels.sources import index_columns

_ROWS = 1 << 16

MAGIC = {b"PAR1": "parquet", b"ARROW1": "feather", b"FEA1": "feather", b"ORC": "orc", b"\x89HDF": "h5ad"}


class ArrowTable:
    """A columnar file."""

    def __init__(self, source: Source, kind: str, options: ReadOptions) -> None:
        self._arrow = import_optional("pyarrow", "cli")
        self.path, self.source, self.kind = source.path, source, kind
        self.missing: frozenset[str] = frozenset()  # text that spells a missing label is a label: files have nulls
        try:
            self._file = self._open()
        except (self._arrow.ArrowException, OSError, KeyError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise self._damage(error) from None
        schema = self._schema()
        doubled = next((x for i, x in enumerate(schema.names) if x in schema.names[:i]), None)
        if doubled is not None:
            raise ValueError(f"{self.path}: header: expected different names; two columns are {doubled!r}")
        index = _index_column(schema)
        self.row_names = options.id_column if options.id_column in schema.names else index
        self.names = [name for name in schema.names if name not in (self.row_names, index)]

    def _open(self) -> Any:
        if self.kind == "h5ad":
            anndata = import_optional("anndata", "anndata")
            obs = anndata.read_h5ad(self.path, backed="r").obs
            return self._arrow.Table.from_pandas(obs.rename_axis("obs_names") if obs.index.name is None else obs)
        file = self.path if self.source.is_plain_file else io.BytesIO(_all_bytes(self.source))
        if self.kind == "parquet":
            return import_optional("pyarrow.parquet", "cli").ParquetFile(file)
        if self.kind == "orc":
            return import_optional("pyarrow.orc", "cli").ORCFile(file)
        if self.source.head()[0].startswith(b"FEA1"):
            return import_optional("pyarrow.feather", "cli").read_table(file)
        opened = self._arrow.memory_map(file) if isinstance(file, str) else file
        return self._arrow.ipc.open_file(opened)

    def _schema(self) -> Any:
        return self._file.schema_arrow if self.kind == "parquet" else self._file.schema

    def _damage(self, error: Exception) -> ValueError:
        reason = str(error).split("\n")[0]
        return ValueError(f"{self.path}: expected a complete {self.kind} file; it is damaged ({reason})")

    def guess_text(self, names: Sequence[str]) -> set[str]:
        types, schema, text = self._arrow.types, self._schema(), set()
        for name in names:
            kind = schema.field(name).type
            kind = kind.value_type if types.is_dictionary(kind) else kind
            if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_null(kind)):
                text.add(name)
        return text

    def blocks(self, columns: Sequence[Column], part: Part, progress: Progress | None) -> Iterator[list[Array]]:
        n_rows = 0
        try:
            batches = self._batches([column.name for column in columns], part)
            for i, (batch, share) in enumerate(read_ahead(batches)):
                if progress is not None:
                    progress(int(share * 1000), 1000)
                n_rows += len(batch)
                if (self.kind == "parquet" and self._by_groups(part)) or i % part.ranks == part.rank:
                    yield [codes_of(batch.column(column.name), column, self._fail) for column in columns]
        except (self._arrow.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise self._damage(error) from None
        if not n_rows and part.ranks == 1:
            raise ValueError(f"{self.path}: expected rows of labels; got none")

    def _fail(self, column: Column, error: Exception) -> Exception:
        return ValueError(f"{self.path}: column {column.name!r}: expected UTF-8 text; got other bytes ({error})")

    def _by_groups(self, part: Part) -> bool:
        return part.ranks > 1 and self._file.num_row_groups >= part.ranks

    def _batches(self, names: list[str], part: Part) -> Iterator[tuple[Any, float]]:
        if self.kind == "parquet":
            groups = list(range(self._file.num_row_groups))
            mine = groups[part.rank :: part.ranks] if self._by_groups(part) else groups
            total, done = max(1, self._file.metadata.num_rows), 0
            for batch in self._file.iter_batches(_ROWS, row_groups=mine, columns=names):
                done += len(batch)
                yield batch, done / total
        elif self.kind == "orc":
            for i in range(self._file.nstripes):
                yield self._file.read_stripe(i, columns=names), (i + 1) / self._file.nstripes
        elif hasattr(self._file, "num_record_batches"):
            for i in range(self._file.num_record_batches):
                yield self._file.get_batch(i).select(names), (i + 1) / self._file.num_record_batches
        else:
            for batch in self._file.select(names).to_batches(_ROWS):
                yield batch, 0.5

    def place(self, name: str, is_wanted: Callable[[str | None], bool]) -> str:
        row = 0
        for batch, _ in self._batches([name], Part()):
            for cell in batch.column(0).to_pylist():
                row += 1
                missing = cell is None or cell != cell or (isinstance(cell, str) and not cell.strip())
                if is_wanted(None if missing else str(cell)):
                    return f"row {row}"
        return ""


def _all_bytes(source: Source) -> bytes:
    with source.open() as stream:
        return bytes(stream.read())


def _index_column(schema: Any) -> str | None:
    """The column that holds the index of a pandas DataFrame."""
    names = index_columns(schema)
    return names[0] if len(names) == 1 else None
