"""Quantities computed once and kept on their object."""

from collections.abc import Callable, Mapping
from copy import copy
from functools import wraps
from typing import Any, TypeVar

from torchclusteval.common.checks import not_tables

T = TypeVar("T")


class lazy_property:  # noqa: N801 - used as a decorator
    """A property computed once and kept on its object.

    ``functools.cached_property`` takes a lock before Python 3.12, which breaks ``torch.compile(fullgraph=True)``.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        self.key = function.__name__

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        kept = instance._memo
        if self.key not in kept:
            kept[self.key] = self.function(instance)
        value = kept[self.key]
        object.__setattr__(instance, self.key, value)  # found first, without a call
        return value


def cached_on_tables(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """Keep the value of a function on its tables, for all measures that call it."""
    key = key_of(function)

    @wraps(function)
    def once(tables: Any) -> T:
        try:
            kept = tables._memo
        except AttributeError:
            raise not_tables(tables) from None
        if key not in kept:
            kept[key] = function(tables)
        value: T = kept[key]
        return value

    return once


def with_cached_values(instance: T, values: Mapping[Any, Any]) -> T:
    """A copy with these values of lazy properties and cached functions; it computes all others anew."""
    made: Any = copy(instance)
    for name in [name for name in vars(made) if isinstance(getattr(type(made), name, None), lazy_property)]:
        del vars(made)[name]
    made._memo = {
        quantity.key if isinstance(quantity, lazy_property) else key_of(quantity): x for quantity, x in values.items()
    }
    made._memo["_launched"] = None  # a kernel would compute the preset quantities again
    result: T = made
    return result


def key_of(function: Callable[[Any], Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"
