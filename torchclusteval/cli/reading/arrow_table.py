"""Columnar files, read by pyarrow in record batches: Parquet, Feather and Arrow IPC, ORC, and h5ad by anndata."""

import io
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from torchclusteval.cli.reading.sources import Source
from torchclusteval.cli.reading.table import Blocks, Table, read_ahead, read_column, wrong_label
from torchclusteval.common.optional import import_optional
from torchclusteval.common.progress import Progress
from torchclusteval.labels.sources import index_columns

_ROWS = 1 << 16
UNNAMED = re.compile(r"\(*__index_level_\d+__\)*(, )?")  # names that pandas gives

MAGIC = {b"PAR1": "parquet", b"ARROW1": "feather", b"FEA1": "feather", b"ORC": "orc", b"\x89HDF": "h5ad"}


class ArrowTable(Table):
    """A columnar file."""

    def __init__(self, source: Source, kind: str) -> None:
        self._arrow = import_optional("pyarrow", "cli")
        self.path, self._source, self._kind = source.path, source, kind
        try:
            self._file = self._open()
        except (self._arrow.ArrowException, OSError, KeyError) as error:
            raise self._damage(error) from None
        schema = self._file.schema_arrow if kind == "parquet" else self._file.schema
        self._columns = names = set(schema.names)
        if len(names) < len(schema.names):
            doubled = next(name for name in schema.names if schema.names.count(name) > 1)
            raise ValueError(f"{self.path}: header: expected different names; got two columns {doubled!r}")
        self._ranges, known = dict[str, range](), index_columns(schema)
        self.levels = [self._level(i, x) if isinstance(x, dict) else x for i, x in enumerate(known)]
        if not any(map(UNNAMED.search, self.levels)):
            self.levels.sort()  # files may have them in other orders
        self.is_range = len(self.levels) == len(self._ranges) == 1
        unnamed = self.is_range and UNNAMED.fullmatch(self.levels[0])
        if unnamed and all(x == range(len(x)) for x in self._ranges.values()):  # which any file has
            self.levels = []
        joined = ", ".join(self.levels)
        while len(self.levels) > 1 and joined in names:
            joined = f"({joined})"
        self.row_names = joined or None
        self.names = [name for name in schema.names if name not in (self.row_names, *self.levels)]

    def _level(self, number: int, level: dict[str, Any]) -> str:
        """The name of a level of the index that is a range, which no column holds."""
        name = f"__index_level_{number}__" if level["name"] is None else str(level["name"])
        while name in self._columns:
            name = f"({name})"
        self._ranges[name] = range(level["start"], level["stop"], level["step"])
        return name

    def _open(self) -> Any:
        if self._kind == "h5ad":
            obs = import_optional("anndata", "anndata").read_h5ad(self.path, backed="r").obs
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
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None):
            return error
        reason = str(error).split("\n")[0]
        return ValueError(f"{self.path}: expected a complete {self._kind} file; it is damaged ({reason})")

    def blocks(self, names: Sequence[str], as_text: Collection[str] = (), progress: Progress | None = None) -> Blocks:
        n_rows = 0
        parts = [x for name in names for x in ([name] if name in self._columns else self.levels)]
        read = [*dict.fromkeys(x for x in parts if x not in self._ranges)] or [*self._columns][:1]
        try:
            with self._source.unchanged():
                for batch, share in read_ahead(self._batches(read)):
                    if progress is not None:
                        progress(int(share * 1000), 1000)
                    labels = [self._labels(batch, name, name in as_text, n_rows) for name in names]
                    yield [read_column(self, name, n_rows, x) for name, x in zip(names, labels, strict=True)]
                    n_rows += len(batch)
                for own in (self._ranges[name] for name in names if name in self._ranges):
                    if len(own) != n_rows:
                        got = f"{len(own)}, as in a part of this table (--join position ignores them)"
                        raise ValueError(f"{self.path}: expected {n_rows} names of rows; got a pandas index of {got}")
        except (self._arrow.ArrowException, OSError) as error:
            raise self._damage(error) from None

    def _labels(self, batch: Any, name: str, as_text: bool, first: int) -> Any:
        text, types = self._arrow.string(), self._arrow.types
        if name in self._ranges:
            return self._arrow.array(self._ranges[name][first : first + len(batch)], self._arrow.int64())
        if name not in self._columns:  # names of several levels: commas inside one are doubled
            compute = import_optional("pyarrow.compute", "cli")
            levels = (self._labels(batch, level, True, first).cast(text) for level in self.levels)
            return compute.binary_join_element_wise(*(compute.replace_substring(x, ",", ",,") for x in levels), ", ")
        column = batch.column(name)
        if types.is_nested(column.type):
            raise wrong_label(self, name, None, "whole numbers or text", str(column.type))
        casts = types.is_temporal(column.type) or (as_text and types.is_floating(column.type))
        return column.cast(text) if casts else column

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
                batch = file.get_batch(i).select(names)
                batch.validate(full=True)  # nothing else looks at the bytes, and places beyond them end the process
                yield batch, (i + 1) / file.num_record_batches
        else:
            for batch in file.select(names).to_batches(_ROWS):
                yield batch, 0.5

    def place(self, row: int) -> str:
        return f"row {row + 1}"
