"""Arrow arrays -> raw codes of labels."""

from collections.abc import Callable
from typing import Any

import numpy as np

from torchclusteval.cli.reading.columns import MISSING, Array, BadLabelError, Column, ReadAsTextError
from torchclusteval.common.optional import import_optional


def codes_of(array: Any, column: Column, fail: Callable[[Column, Exception], Exception]) -> Array:
    """Codes of an Arrow array, int64; nulls are missing.

    Raises:
        ReadAsTextError: the column was taken for whole numbers and has others.
        BadLabelError: an entry is no label, or the type holds none.
    """
    arrow, types = import_optional("pyarrow", "cli"), import_optional("pyarrow", "cli").types
    kind = array.type
    if types.is_dictionary(kind):
        if any(is_text(kind.value_type) for is_text in (types.is_string, types.is_large_string, types.is_string_view)):
            return _text_codes(array, column, fail)
        array, kind = array.dictionary_decode(), kind.value_type
    if types.is_null(kind):
        column.n_missing += len(array)
        return np.full(len(array), MISSING)
    if column.is_text:
        if types.is_floating(kind):
            array = _spelled(array)
        if types.is_nested(array.type) or types.is_binary(array.type):
            raise BadLabelError(column, None, "whole numbers or text", str(kind))
        return _text_codes(array.cast(arrow.string()).dictionary_encode(), column, fail)
    if types.is_boolean(kind):
        array = array.cast(arrow.uint8())
    elif types.is_floating(kind):
        values = to_numpy(array)
        if array.null_count:
            values = np.where(to_numpy(array.is_null().cast(arrow.uint8())), np.nan, values)
        return column.from_numpy(values.astype(np.float64, copy=False))
    elif not types.is_integer(kind):
        raise ReadAsTextError([column.name])
    if not types.is_int64(array.type):
        try:
            array = array.cast(arrow.int64())
        except arrow.ArrowInvalid:
            raise ReadAsTextError([column.name]) from None
    if not array.null_count:
        return to_numpy(array)
    column.n_missing += array.null_count
    return to_numpy(array.fill_null(MISSING))


_FLOATS = {"halffloat": "float16", "float": "float32", "double": "float64"}  # Arrow's names that NumPy reads otherwise


def to_numpy(array: Any) -> Array:
    """The numbers of an Arrow array over the same memory; Arrow's own method would import pandas."""
    name = str(array.type)
    kind = np.dtype(_FLOATS.get(name, name))
    if not len(array):
        return np.empty(0, kind)
    return np.frombuffer(array.buffers()[1], kind, len(array), array.offset * kind.itemsize)


def _spelled(array: Any) -> Any:
    """Floats as text: whole ones without a fraction."""
    spelled = [None if x is None or x != x else str(int(x)) if x.is_integer() else str(x) for x in array.to_pylist()]
    return import_optional("pyarrow", "cli").array(spelled, "string")


def _text_codes(array: Any, column: Column, fail: Callable[[Column, Exception], Exception]) -> Array:
    if not column.is_text:
        raise ReadAsTextError([column.name])
    try:
        spellings = array.dictionary.to_pylist()
    except UnicodeDecodeError as error:
        raise fail(column, error) from None
    codes = np.append(column.codes_of(["" if x is None else x for x in spellings]), MISSING)
    absent = [i for i, x in enumerate(spellings) if x is None]
    codes[absent] = MISSING
    places = array.indices
    if places.null_count:
        column.n_missing += places.null_count
        places = places.fill_null(len(spellings))
    return codes[to_numpy(places)]
