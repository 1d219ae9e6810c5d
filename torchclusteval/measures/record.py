"""The record of a measure: its function and facts, each checked by a test; :func:`measure` makes it."""

import csv
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import cleandoc
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_args

from torch import Tensor

from torchclusteval.common.checks import FLAG, Kind, check_kinds, is_number, one_of
from torchclusteval.common.formatting import brief
from torchclusteval.common.numerics import WholeNumbersAsFloat64
from torchclusteval.common.threads import on_one_thread
from torchclusteval.measures.sums import Sums, value_of_sums

F = TypeVar("F", bound=Callable[..., Tensor])
Family = Literal[
    "entropy", "pairs", "matching", "bcubed", "association", "coreference", "segmentation", "tracking", "overlap"
]
ONE_SIDED = ("coreference", "segmentation", "tracking")  # families that see items which only one side groups
UNIT, SIGNED, FROM_ZERO, TO_ONE = (0.0, 1.0), (-1.0, 1.0), (0.0, math.inf), (-math.inf, 1.0)
ANY = (-math.inf, math.inf)
Direction = Literal["higher", "lower"]
LinearIn = Literal["pairs", "information", "sizes", "squares"]
Combination = Literal["sum", "mean"]

_KINDS: dict[str, Kind] = {
    "family": one_of(*get_args(Family)),
    "better": one_of(*get_args(Direction), None),
    "linear_in": one_of(*get_args(LinearIn), None),
    "combines": one_of(*get_args(Combination), None),
    "function": Kind("a function of tables", callable),
    "source": Kind("a string", lambda x: isinstance(x, str)),
    **dict.fromkeys(("chance_corrected", "integer_only", "on_host", "metric", "zero_division"), FLAG),
}
_NAME = re.compile(r"[^\W\d][\w.-]*")

with Path(__file__).with_name("references.csv").open(encoding="utf-8", newline="") as _file:
    _TEXTS = {row["source"]: row["reference"] for row in csv.DictReader(_file)}
REFERENCES: Mapping[str, str] = MappingProxyType(_TEXTS)  # and those that measures bring


@dataclass(frozen=True)
class Measure:
    """A measure and the facts about it; call it on tables.

    Users make such a record of their own measure and pass it in place of a measure's name.

    Args:
        name: the key of its scores: letters, digits, ``_``, ``.`` and ``-``, a letter or ``_`` first.
        family: the group it is listed and selected in: ``"entropy"``, ``"pairs"``, ``"matching"``, ``"bcubed"``,
            ``"association"``; ``"coreference"``, ``"segmentation"`` and ``"tracking"``, whose functions see the items
            of one side alone; or, for a function of two ``Memberships``, ``"overlap"``.
        function: of tables with batch shape ``(*batch,)``; returns ``(*batch,)`` float64. Inside it, quotients of whole
            numbers, roots and the like are float64 (in plain torch float32).
        range: least and largest value, ``(low, high)``, infinite where there is no bound.
        better: which direction is better, ``"higher"`` or ``"lower"``; None: neither.
        perfect: value for identical partitions, within the range; None: it depends on the partition.
        swapped: the same measure with classes and clusters exchanged, its own name if it is symmetric;
            None: no measure of the registry.
        source: a key of ``REFERENCES``.
        chance_corrected: whether its mean over all permutations of one side is 0.
        integer_only: whether it is defined by whole items or their permutations, and so not on float tables.
        on_host: whether it synchronises with the device.
        linear_in: what it is linear in for fixed sizes of both sides; its exact mean over permutations follows:
            the item pairs joined by both sides (``"pairs"``), the mutual information (``"information"``), nothing, as
            it depends on the sizes alone (``"sizes"``), or the squares of the cells (``"squares"``, measures of the
            registry only); None: none of these.
        metric: whether it is a metric on the partitions of the same items.
        combines: its value for two sets of items without common classes or clusters: the ``"sum"`` of both
            values, or their ``"mean"`` weighted by the numbers of items; None: neither.
        parts: function of tables; returns sums ``(*batch, k)`` float64 that add up over groups of items. None: the
            measure is not defined by such sums.
        combine: function of these sums, added up; returns the value, ``(*batch,)``, and for 0/0 nan or the value of
            different sides.
        zero_division: whether ``function`` and ``combine`` take the option ``zero_division``, the value of 0/0.
        batch_terms: functions used by the measure with values kept on the tables
            (:func:`~torchclusteval.common.lazy.cached_on_tables`), cheapest for all tables at once: they are
            computed before a batch is evaluated in chunks.

    Raises:
        ValueError: a field is not as described.

    >>> def right(tables):
    ...     return tables.counts.diagonal(dim1=-2, dim2=-1).sum(-1) / tables.n_items
    >>> measure = tce.Measure(name="right", family="matching", function=right, range=(0, 1))
    >>> tce.evaluate([0, 0, 1], [0, 1, 1], [measure])["right"]
    tensor(0.6667, dtype=torch.float64)
    """

    name: str
    family: Family
    function: Callable[..., Tensor]
    range: tuple[float, float]
    better: Direction | None = "higher"
    perfect: float | None = None
    swapped: str | None = None
    source: str = ""
    chance_corrected: bool = False
    integer_only: bool = False
    on_host: bool = False
    linear_in: LinearIn | None = None
    metric: bool = False
    combines: Combination | None = None
    parts: Callable[..., Tensor] | None = None
    combine: Callable[..., Tensor] | None = None
    zero_division: bool = False
    batch_terms: tuple[Callable[..., Tensor], ...] = ()

    def __post_init__(self) -> None:
        _check_name(self.name, "name")
        if self.swapped is not None:
            _check_name(self.swapped, "swapped")
        check_kinds(self.__dict__, _KINDS)
        _check_values(self.range, self.perfect)
        for name, x in (("parts", self.parts), ("combine", self.combine)):
            if x is not None and not (callable(self.parts) and callable(self.combine)):
                raise ValueError(f"{name}: expected functions for both parts and combine, or None; got {brief(x)}")
        if not isinstance(self.batch_terms, tuple) or not all(map(callable, self.batch_terms)):
            raise ValueError(f"batch_terms: expected a tuple of functions of tables; got {brief(self.batch_terms)}")
        function: Any = self.function
        while isinstance(function, partial):
            function = function.func
        own = str(getattr(function, "__module__", "")).startswith("torchclusteval.")  # minds types itself
        object.__setattr__(self, "_is_own", own)

    def __hash__(self) -> int:  # of equal records too, and quick
        return hash(self.name)

    @property
    def one_sided(self) -> bool:
        """Whether its function sees the items of one side alone."""
        return self.family in ONE_SIDED

    @on_one_thread
    def __call__(self, *tables: Any) -> Tensor:
        return self.value(*tables)

    def value(self, *tables: Any) -> Tensor:
        """As a call, within work that is on one thread already."""
        if self._is_own:  # type: ignore[attr-defined]
            return self.function(*tables)
        with WholeNumbersAsFloat64():
            return self.function(*tables)


MADE: dict[str, Measure] = {}  # by the decorator, in the order of the definitions


def measure(
    family: Family,
    *,
    symmetric: bool = False,
    sums: Sums | None = None,
    variants: Mapping[str, Mapping[str, Any]] | None = None,
    made: dict[str, Measure] = MADE,
    **facts: Any,
) -> Callable[[F], F]:
    """Make the record of a function of tables, or the records of its variants, and complete its docstring.

    What follows from the record is not written twice: where the docstring has no ``Range``, ``Degenerate``, ``Raises``,
    ``Source``, ``base`` or ``zero_division``, it gets the usual sentences. ``Example: VALUE`` becomes a call with the
    table of all examples, ``[[2, 1], [0, 3]]`` or, of one-sided families, two lists of groups.

    Args:
        family: as in ``Measure``, and so are the ``facts``; a source that is not among the references yet is the pair
            of its key and its text.
        symmetric: whether exchanging both sides changes nothing, so that ``swapped`` is its own name.
        sums: what the function reads from the tables, if these are sums over groups of items. ``parts``
            and ``combine`` follow.
        variants: names of measures -> the facts that differ from the others' and the options of the function. None:
            one measure with the function's name.
        made: where the records are listed.
    """

    def define(function: F) -> F:
        for name, changes in (variants or {function.__name__: {}}).items():
            given = {"symmetric": symmetric, "sums": sums, **facts, **changes}
            options = {key: given.pop(key) for key in changes if key not in FACTS}
            made[name] = _record(name, family, function, options, **given)
        function.__doc__ = _completed(function, made[name])
        return function

    return define


FACTS = {*Measure.__dataclass_fields__, "symmetric", "sums"}


def _record(
    name: str,
    family: Family,
    function: Callable[..., Tensor],
    options: dict[str, Any],
    *,
    symmetric: bool,
    sums: Sums | None,
    **facts: Any,
) -> Measure:
    if name in MADE:
        raise ValueError(f"name: expected a name that no measure has; got {name!r}")
    if symmetric:
        facts["swapped"] = name
    if isinstance(facts.get("source"), tuple):
        key, text = facts["source"]
        facts["source"], _TEXTS[key] = key, text
    if sums is not None:
        facts |= {"parts": sums, "combine": partial(value_of_sums, function=function, of=sums, **options)}
    return Measure(name, family, partial(function, **options) if options else function, **facts)


def _completed(function: Callable[..., Tensor], measure: Measure) -> str:
    """The docstring of a function, with what the record says where the docstring does not say it itself."""
    head, *parts = re.split(_HEADINGS, cleandoc(function.__doc__ or ""), flags=re.MULTILINE)
    facts = {part.partition(":")[0]: part.strip() for part in parts if not part.startswith(">>> ")}
    low, high = measure.range
    range_ = f"{low:g} or more" if high == math.inf else f"{low:g} to {high:g}"
    facts.setdefault("Range", f"Range: {range_}, {measure.better} is better.")
    facts.setdefault("Degenerate", "Degenerate: nan without items.")
    if measure.integer_only:
        facts.setdefault("Raises", "Raises: ValueError on float tables.")
    if "Source" not in facts and measure.source:
        facts["Source"] = f"Source: {_cited(measure.source)}."
    options = function.__code__.co_varnames[: function.__code__.co_argcount]
    usual = "".join(f"\n    {x}: {text}" for x, text in _OPTIONS.items() if x in options and f"    {x}: " not in head)
    args = "" if not usual or "\nArgs:\n" in head else "\n\nArgs:"
    ordered = [facts[name] for name in ("Range", "Degenerate", "Raises", "Source") if name in facts]
    example = "".join(part for part in parts if part.startswith(">>> "))
    if "Example" in facts:
        table = _TABLE_OF_GROUPS if measure.one_sided else "tce.ContingencyTables([[2, 1], [0, 3]])"
        value = facts["Example"].removeprefix("Example: ")
        example = f">>> tce.measures.{function.__name__}({table})\ntensor({value}, dtype=torch.float64)"
    return "\n".join([f"{head.rstrip()}{args}{usual}\n", *ordered, "", example])


_HEADINGS = r"^(?=(?:Range|Degenerate|Raises|Source|Example): |>>> )"
_TABLE_OF_GROUPS = "tce.ContingencyTables.from_groups([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}])"
_OPTIONS = {
    "alpha": "weight of precision, 0 to 1.",
    "base": "of the logarithm; the natural one gives nats.",
    "zero_division": "None, or the value of 0/0 (of each part of a mean), and so of tables without items.",
}


def _cited(key: str) -> str:
    """Authors and year, as a text names a reference."""
    authors, _, year = _TEXTS[key].partition(").")[0].removesuffix(")").rpartition(" (")
    if not authors:
        return year
    *most, last = authors.split(", ")
    names = f"{most[0]} et al." if len(most) > 2 else " and ".join(x for x in (", ".join(most), last) if x)
    return f"{names} ({year})"


def _check_name(name: Any, field: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        expected = "letters, digits, '_', '.' and '-', a letter or '_' first"
        raise ValueError(f"{field}: expected the name of a measure ({expected}); got {brief(name)}")


def _check_values(range_: Any, perfect: Any) -> None:
    pair = isinstance(range_, tuple) and len(range_) == 2 and all(map(is_number, range_))
    if not pair or not range_[0] < range_[1]:
        raise ValueError(f"range: expected a tuple of two numbers, the lower first; got {brief(range_)}")
    if perfect is not None and not (is_number(perfect) and range_[0] <= perfect <= range_[1]):
        raise ValueError(f"perfect: expected None or a number from {range_[0]} to {range_[1]}; got {brief(perfect)}")
