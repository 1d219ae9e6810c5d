"""The measures by name, in the order of their files, and what names select."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache, partial
from importlib import import_module
from types import MappingProxyType
from typing import Any, get_args

from torchclusteval.common.checks import is_listable, is_number
from torchclusteval.common.formatting import brief
from torchclusteval.measures.aliases import ALIASES, canonical, elsewhere
from torchclusteval.measures.record import MADE, ONE_SIDED, Family, Measure

_FILES = (
    *("entropy", "pairs", "random_models", "reduced_information", "pair_indices", "matching", "bcubed", "association"),
    *("coreference", "segmentation", "tracking"),
)


def _place(measure: Measure) -> tuple[int, int]:
    """By family, then by file; within a file records have the order of their definitions."""
    function = measure.function.func if isinstance(measure.function, partial) else measure.function
    return get_args(Family).index(measure.family), _FILES.index(function.__module__.rpartition(".")[2])


_SORTED = sorted(MADE.values(), key=_place)
MADE.clear()
MADE.update((measure.name, measure) for measure in _SORTED)
MEASURES: Mapping[str, Measure] = MappingProxyType(MADE)

FAMILIES = ("entropy", "pairs", "matching", "bcubed", "association")  # of partitions: what "all" names

DEFAULT = (
    *("homogeneity", "completeness", "v_measure", "nmi_arithmetic", "ami_arithmetic"),
    *("adjusted_rand", "rand", "jaccard", "fowlkes_mallows"),
    *("purity", "inverse_purity", "clustering_f", "one_to_one_accuracy"),
    *("bcubed_precision", "bcubed_recall", "bcubed_f"),
    *("variation_of_information", "nvi", "van_dongen_normalized"),
)

Selection = None | str | Measure | Iterable[str | Measure]


def find_measure(name: str, registry: Mapping[str, Measure] = MEASURES) -> Measure:
    """The measure of a name or alias, or a ValueError that names the closest."""
    if not isinstance(name, str):
        raise ValueError(f"measures: expected the name of a measure; got {type(name).__name__}")
    lower = name.lower()
    measure = registry.get(lower) or registry.get(canonical(lower))
    if measure is None:
        raise ValueError(f"measures: expected the name of a measure; got {brief(name)} ({_hint(name, registry)})")
    return measure


def _hint(name: str, registry: Mapping[str, Measure]) -> str:
    lower = name.lower()
    if "," in name:
        return f"several names are a list: {[part.strip() for part in name.split(',')]}"
    covers = import_module("torchclusteval").OVERLAP_MEASURES  # loaded only for a name that is wrong
    if registry is MEASURES and (lower in covers or canonical(lower) in covers or lower == "overlap"):
        return "it is of overlapping groups: evaluate_overlapping, or torchclusteval score-overlapping"
    if registry is not MEASURES and (canonical(lower) in MEASURES or lower in FAMILIES or lower in ONE_SIDED):
        return "it is of partitions: evaluate, or torchclusteval score"
    if found := elsewhere(name):
        more = f"; `torchclusteval measures {lower}` lists all {len(found)}" if len(found) > 3 else ""
        return "; ".join(f"{other}: {meant}" for other, meant in list(found.items())[:3]) + more
    known = [*registry, *(alias for alias, meant in ALIASES.items() if meant in registry)]
    close = get_close_matches(lower, known, 3, 0.5)
    return f"did you mean {' or '.join(close)}?" if close else "`torchclusteval measures` lists them"


def select(measures: Selection, registry: Mapping[str, Measure] = MEASURES) -> dict[Measure, bool]:
    """The requested measures: True for those named (they must apply), False for those from a set.

    Args:
        measures: None (the headline measures, or all of a registry without), ``"default"`` (these too, in a list with
            others), ``"all"``, a family, a name or alias, a ``Measure``, or a list of these.
        registry: the measures by name.

    Raises:
        ValueError: an unknown name, or two records of one name.
    """
    if registry is MEASURES and (measures is None or isinstance(measures, str)):
        return _selected(measures).copy()
    if registry is MEASURES and type(measures) is list and {*map(type, measures)} == {str}:
        return _selected(tuple(measures)).copy()
    return _select(measures, registry)


@lru_cache
def _selected(measures: str | tuple[str, ...] | None) -> dict[Measure, bool]:
    return _select(measures, MEASURES)


def _select(measures: Selection, registry: Mapping[str, Measure]) -> dict[Measure, bool]:
    if measures is None or isinstance(measures, (str, Measure)):
        items: list[Any] = [measures]
    elif isinstance(measures, set | frozenset) or is_listable(measures, "measures"):
        items = list(measures)
    else:
        raise ValueError(f"measures: expected names or Measure records; got {_kind(measures)}")
    if not items:
        raise ValueError("measures: expected at least one measure; got none")
    if measures is not None and any(item is None for item in items):
        raise ValueError("measures: expected names or Measure records; got None among them")
    chosen: dict[Measure, bool] = {}
    for item in items:
        members = _members(item, registry) if item is None or isinstance(item, str) else []
        for measure in members:
            chosen.setdefault(measure, False)
        if not members:
            chosen[_one(item, registry)] = True
    names = [canonical(measure.name) for measure in chosen]  # a record of a user may have the name of an alias
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"measures: expected different names; got two measures named {repeated!r}")
    return chosen


def _members(name: str | None, registry: Mapping[str, Measure]) -> list[Measure]:
    """The measures of a set; none if it is not the name of a set."""
    if name is None or (name == "default" and registry is MEASURES):
        return [registry[member] for member in DEFAULT if member in registry] or list(registry.values())
    if name in registry:
        return []
    if name == "all":
        return [measure for measure in registry.values() if not measure.one_sided]
    return [measure for measure in registry.values() if name == measure.family]


def _one(item: object, registry: Mapping[str, Measure]) -> Measure:
    if isinstance(item, Measure):
        overlapping = next(iter(registry.values())).family == "overlap"
        if (item.family == "overlap") != overlapping:
            expected = "of overlapping groups" if overlapping else "of tables"
            raise ValueError(f"measures: expected measures {expected}; got {item.name!r} of family {item.family!r}")
        return item
    if isinstance(item, str):
        return find_measure(item, registry)
    labels = "" if not is_number(item) else " (labels become tables by ContingencyTables.from_labels)"
    raise ValueError(f"measures: expected names or Measure records; got {_kind(item)}{labels}")


def _kind(x: object) -> str:
    """The type of an object other than a measure; for a function also the way to make it one."""
    wrapped = " (tce.Measure(name=..., family=..., function=..., range=...) makes it a measure)"
    return type(x).__name__ + (wrapped if callable(x) else "")
