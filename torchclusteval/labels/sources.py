"""Labels as users pass them: tensors, arrays, lists, pandas objects, Arrow and polars objects, mappings of runs.

A data frame and a mapping are clusterings by name. pandas and pyarrow are used only where their objects arrive.
"""

import json
import math
import sys
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.dlpack import from_dlpack

from torchclusteval.common.checks import check_dense, check_unmasked
from torchclusteval.common.optional import import_optional
from torchclusteval.labels.vocabulary import Vocabulary, in_natural_order

Names = tuple[Hashable, ...]
_SEVERAL = "; for several groups an item: evaluate_overlapping"


@dataclass(eq=False, slots=True)
class LabelSource:
    """One side of the labels before its values are checked."""

    values: Tensor | np.ndarray  # labels, or places in ``vocabulary``
    vocabulary: np.ndarray | None = None  # (V,) strings, in natural order or in the order of the user's categories
    missing: np.ndarray | None = None  # bool, like ``values``: items without a label
    missing_shown: str = "nan"  # a missing label in messages
    columns: "tuple[LabelSource, ...] | None" = None  # clusterings of different kinds, (N,) each, instead of ``values``
    names: Names | None = None  # of the clusterings, with shape (B, N)
    indexes: tuple[Any, ...] = ()  # indexes of the pandas objects among them
    has_order: bool = False  # whether the user chose the order of the vocabulary

    @property
    def shape(self) -> tuple[int, ...]:
        if self.columns is not None:
            return len(self.columns), self.columns[0].values.shape[0]
        return tuple(self.values.shape)

    def has(self, label: Any) -> bool:
        """Whether any item has this label; ``values`` must be an array."""
        places = np.asarray(self.values)
        if self.vocabulary is not None:
            known = self.vocabulary.tolist()
            label = known.index(label) if label in known else -1
        hits = places == label
        return bool((hits if self.missing is None else hits & ~self.missing).any())

    def flatten(self, dims: int) -> "LabelSource":
        """The last dimensions as one."""
        shape = (*self.values.shape[:-dims], math.prod(self.values.shape[-dims:]))
        missing = None if self.missing is None else self.missing.reshape(shape)
        return replace(self, values=self.values.reshape(shape), missing=missing)


def read_labels(labels: Any, name: str) -> LabelSource:
    """Labels of any accepted type; this step encodes only text."""
    if isinstance(labels, LabelSource):  # of a file
        return labels
    if isinstance(labels, Tensor):
        check_dense(labels, name, "a dense tensor of whole numbers")
        return LabelSource(labels)
    if isinstance(labels, np.ndarray):
        return _from_array(labels, name)
    if isinstance(labels, Mapping):
        if any(isinstance(run, (int, str, np.generic)) for run in labels.values()):
            remedy = "pass [labels[x] for x in items], with one list of items for both sides"
            raise ValueError(f"{name}: expected clusterings by name; got labels by item ({remedy})")
        return _join([read_labels(run, f"{name}[{key!r}]") for key, run in labels.items()], tuple(labels), name)
    pandas = _pandas_of(labels)
    if pandas is not None:
        return _from_pandas(labels, name, pandas)
    if _is_arrow(labels):
        return _from_arrow(labels, name)
    if isinstance(labels, (list, tuple)) and labels:
        if all(isinstance(row, Tensor) for row in labels):
            if len({(row.dtype, row.device) for row in labels}) == 1 or labels[0].dim() != 1:
                with suppress(RuntimeError):  # of rows that do not fit, which get a message below
                    return read_labels(torch.stack(list(labels)), name)
            return _join([read_labels(row, f"{name}[{i}]") for i, row in enumerate(labels)], None, name)
        if not isinstance(labels[0], (str, int)) and all(
            _is_arrow(row) or _pandas_of(row) is not None for row in labels
        ):
            return _join([read_labels(row, name) for row in labels], None, name)
        if isinstance(labels[0], str) and (encoded := _from_tokens(labels, (len(labels),))) is not None:
            return encoded
    if hasattr(labels, "__dlpack__"):
        return LabelSource(from_dlpack(labels))
    return _from_array(as_array(labels, name, exact=True), name)


def tensors_in(labels: Any) -> list[Tensor]:
    """The tensors that decide where labels are counted."""
    if isinstance(labels, Mapping):
        labels = list(labels.values())
    first = labels[:1] if isinstance(labels, (list, tuple)) else [labels]
    return [x for x in first if isinstance(x, Tensor)]


def pandas_index(x: Any) -> Any:
    """The index of a pandas object, else None."""
    return getattr(x, "index", None) if _pandas_of(x) is not None else None


def pandas_indexes(x: Any) -> list[Any]:
    """The indexes of a pandas object, or of those in a mapping or list of clusterings."""
    parts = x.values() if isinstance(x, Mapping) else x if isinstance(x, (list, tuple)) else (x,)
    return [index for index in map(pandas_index, parts) if index is not None]


def is_missing(x: Any) -> bool:
    """Whether a value stands for no label: None, nan, ``pandas.NA``, NaT, ``np.ma.masked``."""
    if x is None or x is np.ma.masked or type(x).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(x != x)
    except (TypeError, ValueError):
        return False


def as_array(x: Any, name: str, *, exact: bool = False, turned: bool = True) -> np.ndarray:
    """Users' numbers, labels or booleans as a NumPy array.

    ``exact``: no conversion changes labels. ``turned``: transpose a data frame (items by clusterings).
    """
    check_unmasked(x, name)
    if isinstance(x, np.ndarray):
        return np.asarray(x)
    if _is_arrow(x):
        if _pandas_of(x) is None:
            return _numbers_from_arrow(x, name, turned=turned)
    elif isinstance(x, (str, bytes, dict, set, frozenset)) or not hasattr(x, "__iter__"):
        hint = " (evaluate_overlapping scores them)" if type(x).__name__ == "Memberships" else ""
        raise ValueError(f"{name}: expected a tensor, an array or a list; got {type(x).__name__}{hint}")
    if hasattr(x, "to_numpy"):
        array = np.asarray(x)
        return array.T if turned and hasattr(x, "columns") else array
    x = x if hasattr(x, "__getitem__") else list(x)  # views of a dictionary have a length alone
    try:
        array = np.asarray(x)
    except ValueError as error:
        rows = [row for row in list(x)[:4] if hasattr(row, "__len__") and getattr(row, "ndim", 1) > 0]
        got = f"rows of lengths {', '.join(str(len(row)) for row in rows)} (pad them and pass mask{_SEVERAL * exact})"
        got = got if rows else str(error).splitlines()[0]
        raise ValueError(f"{name}: expected rows of equal length; got {got}") from None
    if exact and array.dtype.kind in "USf" and not hasattr(x, "__array__"):
        # NumPy turns [1, "a"] into strings, [-1, 2**63] into floats and "a\0" into "a"; objects stay as they are.
        if array.ndim > 1:  # floats of a row in a wider type would seem exact
            x = [list(row) if getattr(row, "ndim", 0) and row.dtype != array.dtype else row for row in x]
        kept = np.asarray(x, dtype=object)
        if kept.shape == array.shape and (array.dtype.kind == "U" or {*map(type, kept.reshape(-1))} - {float}):
            return kept
    return array


def _is_arrow(x: Any) -> bool:
    return hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__")


def _from_array(array: np.ndarray, name: str) -> LabelSource:
    if isinstance(array, np.ma.MaskedArray):
        gaps = np.ma.getmaskarray(array)
        source = _from_array(np.where(gaps, np.nan, array.data) if array.dtype.kind == "O" else array.data, name)
        if not gaps.any():
            return source
        missing = gaps if source.missing is None else gaps | source.missing
        return replace(source, missing=missing, missing_shown="masked entries, the first")
    array = np.asarray(array)
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8", "backslashreplace")
    if array.dtype.kind in "UOT":
        pandas = sys.modules.get("pandas")
        if getattr(pandas, "__version__", "") >= "3" and array.size:  # twice as fast; before, texts ended at a zero
            encoded = _from_factorized(array.astype(object, copy=False), pandas)
        else:
            encoded = _from_tokens(array.reshape(-1).tolist(), array.shape)
        if encoded is not None:
            return encoded
    return LabelSource(array)


def _from_tokens(flat: Sequence[Any], shape: tuple[int, ...]) -> LabelSource | None:
    """Strings, some perhaps missing, without a Python step for each; None if some labels are not strings."""
    tokens = Vocabulary()  # sorting all the strings takes ten times as long
    try:
        if len(flat) > 10_000 and 10 * len(set(flat[:1000])) > len(flat[:1000]):  # many: no Python step for new ones
            tokens.update(zip(dict.fromkeys(flat), count()))
        numbers = tokens.numbers_of(flat)
    except TypeError:  # cannot be keys
        return None
    gaps = [x for x in tokens if not isinstance(x, str)]
    if len(gaps) == len(tokens) > 0 or not all(map(is_missing, gaps)):
        return None
    return indexed(numbers.reshape(shape), list(tokens), repr(gaps[0]) if gaps else "nan")


def _from_factorized(array: np.ndarray, pandas: Any) -> LabelSource | None:
    """As :func:`_from_tokens`."""
    flat = array.reshape(-1)
    try:
        codes, texts = pandas.factorize(flat)
    except TypeError:
        return None
    if not len(texts) or not all(isinstance(x, str) for x in texts):
        return None
    return indexed(codes.reshape(array.shape), texts.tolist(), repr(flat[int(codes.argmin())]))


def indexed(codes: np.ndarray, labels: Any, shown: str = "nan", *, in_order: bool = False) -> LabelSource:
    """Labels by their codes, -1 for a missing one; labels that are neither numbers nor booleans are text.

    Text is put in its natural order, unless it is ``in_order`` already, as categories are.
    """
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "biuf":
        gaps = codes < 0
        values = labels.take(codes) if len(labels) else np.zeros(codes.shape, np.int64)
        return LabelSource(values, missing=gaps if gaps.any() else None, missing_shown=shown)
    texts, n_texts = labels, len(set(labels))
    if not {*map(type, labels)} <= {str}:
        texts = [None if is_missing(x) else str(x) for x in labels]
        n_texts = len({x for x in labels if not is_missing(x)})
    known = dict.fromkeys(x for x in texts if x is not None)
    ordered = list(known) if in_order else in_natural_order(known)
    if len(ordered) < n_texts:
        raise ValueError("labels: expected categories with different names; got some that read alike, as 1 and '1'")
    place = {None: -1, **dict(zip(ordered, range(len(ordered)), strict=True))}
    places = list(map(place.__getitem__, texts))
    narrow = np.min_scalar_type(-1 - len(places))  # and code -1 is the last entry
    values = codes if places == list(range(len(places))) else np.array([*places, -1], narrow).take(codes)
    missing = values < 0 if values.size and values.min() < 0 else None
    if missing is not None:
        values = np.maximum(values, 0)
    # A table has one row at least.
    vocabulary = np.array(ordered or [""], dtype=object)
    return LabelSource(values, vocabulary, missing, shown, has_order=in_order)


def _join(sources: Sequence[LabelSource], names: Names | None, name: str) -> LabelSource:
    """Clusterings ``(N,)`` as one source ``(B, N)``."""
    if not sources:
        raise ValueError(f"{name}: expected at least one clustering; got none")
    shapes = [source.shape for source in sources]
    if any(len(shape) != 1 or shape != shapes[0] for shape in shapes):
        got = ", ".join(map(str, shapes[:4]))
        images = "flatten images, or stack them in an array (B, H, W) with item_dims=2"
        remedy = images if len({len(shape) for shape in shapes} - {1}) == 1 else f"pad, use mask{_SEVERAL}"
        raise ValueError(f"{name}: expected clusterings of one shape (N,); got {got} ({remedy})")
    indexes = tuple(index for source in sources for index in source.indexes)
    values: list[Any] = [source.values for source in sources]
    kinds = {(x.dtype, x.device) if isinstance(x, Tensor) else x.dtype for x in values}
    plain = all(source.vocabulary is None and source.missing is None for source in sources)
    if plain and len(kinds) == 1 and getattr(values[0].dtype, "kind", "") not in ("O", "T"):
        stacked = torch.stack(values) if isinstance(values[0], Tensor) else np.stack(values)
        return LabelSource(stacked, names=names, indexes=indexes)
    return LabelSource(values[0], columns=tuple(sources), names=names, indexes=indexes)


def concatenate(parts: Sequence[LabelSource]) -> LabelSource:
    """One clustering whose items came in parts; whole numbers next to text become text."""
    gaps = np.concatenate([np.zeros(part.shape, bool) if part.missing is None else part.missing for part in parts])
    missing = gaps if gaps.any() else None
    if all(part.vocabulary is None for part in parts):
        return LabelSource(np.concatenate([part.values for part in parts]), missing=missing)
    listed = [[] if part.vocabulary is None else part.vocabulary.tolist() for part in parts]
    ordered = all(part.has_order and own == listed[0] for part, own in zip(parts, listed, strict=True))
    words, codes = Vocabulary(), []
    for part in parts:
        known: Any = (part.vocabulary, part.values)
        if part.vocabulary is None:
            known = np.unique(part.values, return_inverse=True)
        if part.missing is not None and part.missing.all():
            known = [], np.zeros(0, np.int64)
        numbers = words.numbers_of([str(x) for x in known[0]])
        codes.append(numbers[known[1]] if len(numbers) else np.zeros(part.shape, np.int64))
    return LabelSource(np.concatenate(codes), np.array([*words] or [""], object), missing, has_order=ordered)


def _pandas_of(x: Any) -> Any:
    """pandas, if this is one of its objects."""
    pandas = sys.modules.get("pandas")
    if pandas is None or isinstance(x, (Tensor, np.ndarray, list)) or not hasattr(pandas, "Series"):
        return None
    types = (pandas.DataFrame, pandas.Series, pandas.Index, pandas.api.extensions.ExtensionArray)
    return pandas if isinstance(x, types) else None


def _from_pandas(x: Any, name: str, pandas: Any) -> LabelSource:
    if isinstance(x, pandas.MultiIndex):
        raise ValueError(f"{name}: expected one label an item; got a MultiIndex (take one level: get_level_values)")
    if isinstance(x, pandas.DataFrame):
        if not len(x.columns):
            raise ValueError(f"{name}: expected at least one clustering; got none")
        if len({*x.dtypes}) == 1 and isinstance(x.dtypes.iloc[0], np.dtype) and x.dtypes.iloc[0].kind in "biuf":
            return LabelSource(np.asarray(x).T, names=tuple(x.columns), indexes=(x.index,))
        columns = [_pandas_column(column, f"{name}[{key!r}]", pandas) for key, column in x.items()]
        return replace(_join(columns, tuple(x.columns), name), indexes=(x.index,))
    indexes = (x.index,) if isinstance(x, pandas.Series) else ()
    return replace(_pandas_column(x, name, pandas), indexes=indexes)


def _pandas_column(x: Any, name: str, pandas: Any) -> LabelSource:
    array, dtype = getattr(x, "array", x), x.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        categories = array.categories
        if getattr(categories.dtype, "kind", "O") in "biuf":
            return indexed(array.codes, categories.to_numpy())
        listed = categories.tolist()
        chosen = dtype.ordered or not categories.is_monotonic_increasing  # pandas itself sorts them as text
        return indexed(array.codes, listed, in_order=chosen)
    if isinstance(dtype, pandas.StringDtype):
        codes, texts = pandas.factorize(array)
        return indexed(codes, texts.tolist(), str(dtype.na_value))
    if isinstance(dtype, pandas.ArrowDtype):
        return _from_arrow(import_optional("pyarrow", "cli").chunked_array([array.__arrow_array__()]), name)
    if hasattr(dtype, "numpy_dtype"):  # nullable numbers and booleans
        missing = np.asarray(array.isna())
        values = array.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        return LabelSource(values, missing=missing if missing.any() else None, missing_shown="<NA>")
    return _from_array(np.asarray(x), name)


def _from_arrow(x: Any, name: str) -> LabelSource:
    arrow = import_optional("pyarrow", "cli")
    index = index_columns(getattr(x, "schema", None))
    indexes: tuple[Any, ...] = ()
    if index and hasattr(x, "select"):  # a table that pandas wrote
        indexes = (x.select([level for level in index if isinstance(level, str)]).to_pandas().index,)
    try:
        if not isinstance(x, (arrow.Array, arrow.ChunkedArray)):
            x = arrow.chunked_array(x) if hasattr(x, "__arrow_c_stream__") else arrow.array(x)
    except (arrow.ArrowException, TypeError, ValueError, NotImplementedError) as error:
        raise ValueError(f"{name}: expected an Arrow array or table; got {str(error).splitlines()[0]}") from None
    if not arrow.types.is_struct(x.type):
        return read_arrow(x, name)
    keys = [x.type.field(i).name for i in range(x.type.num_fields)]
    columns = {i: column for i, column in enumerate(x.flatten()) if keys[i] not in index}
    read = [read_arrow(column, f"{name}[{keys[i]!r}]") for i, column in columns.items()]
    return replace(_join(read, tuple(keys[i] for i in columns), name), indexes=indexes)


def index_columns(schema: Any) -> list[Any]:
    """The columns of an Arrow schema that hold the index of a pandas object; mappings stand for ranges."""
    metadata = getattr(schema, "metadata", None) or {}
    known = json.loads(metadata.get(b"pandas", b"{}")).get("index_columns", [])
    return [column for column in known if isinstance(column, dict) or column in schema.names]


def _numbers_from_arrow(x: Any, name: str, *, turned: bool) -> np.ndarray:
    """As :func:`as_array`."""
    source = _from_arrow(x, name)
    columns = (source,) if source.columns is None else source.columns
    values = [np.asarray(column.values if column.vocabulary is None else column.vocabulary) for column in columns]
    for i, column in enumerate(columns):
        if column.missing is not None:
            values[i] = values[i].astype(object)
            values[i][column.missing] = None
    array = values[0] if source.columns is None else np.stack(values)
    return array if turned else array.T


def read_arrow(x: Any, name: str) -> LabelSource:
    """One clustering in an Arrow array, or in the pieces of one."""
    arrow = import_optional("pyarrow", "cli")
    types = arrow.types
    if isinstance(x, arrow.ChunkedArray):
        x = (x.unify_dictionaries() if types.is_dictionary(x.type) else x).combine_chunks()
        x = arrow.concat_arrays(x.chunks) if isinstance(x, arrow.ChunkedArray) else x
    missing = _numbers(x.is_null()) if x.null_count else None
    if str(x.type) in _NUMBERS:
        values = _numbers(x)
        values = values if missing is None else np.where(missing, values.dtype.type(0), values)
        return LabelSource(values, None, missing, "null")
    if isinstance(x.type, arrow.BaseExtensionType):
        return read_arrow(x.cast(x.type.storage_type), name)
    if types.is_null(x.type):
        return LabelSource(np.zeros(len(x), np.int64), None, missing, "null")
    if types.is_dictionary(x.type) or str(x.type) in ("string", "large_string", "string_view"):
        x = x.dictionary_encode()
        return indexed(*codes_of_dictionary(x), "null", in_order=x.type.ordered)
    return _from_array(np.fromiter(x.to_pylist(), object, len(x)), name)


def codes_of_dictionary(x: Any) -> tuple[np.ndarray, Any]:
    """The codes of an Arrow dictionary array, -1 for missing ones, and the labels that they stand for."""
    values, codes = x.dictionary, _numbers(x.indices)
    if codes.dtype.kind == "u":
        codes = codes.astype(np.int64 if codes.itemsize > 2 else np.int32)
    codes = np.where(_numbers(x.indices.is_null()), codes.dtype.type(-1), codes) if x.indices.null_count else codes
    return codes, _numbers(values) if str(values.type) in _NUMBERS and not values.null_count else values.to_pylist()


# By Arrow's names of types, and NumPy's.
_NUMBERS = {f"{kind}{bits}": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
_NUMBERS |= {"halffloat": "float16", "float": "float32", "double": "float64", "bool": "bool"}


def _numbers(x: Any) -> np.ndarray:
    """The numbers of an Arrow array, over the same memory if they can be; Arrow's own method would import pandas."""
    if str(x.type) == "bool":
        return _numbers(x.cast("uint8")).view(bool)
    kind = np.dtype(_NUMBERS[str(x.type)])
    return np.frombuffer(x.buffers()[1], kind, len(x), x.offset * kind.itemsize) if len(x) else np.empty(0, kind)
