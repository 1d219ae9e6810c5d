"""Score tables: evaluation, compiled evaluation, and the pooled scores of groups of items."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from types import FunctionType
from typing import Any, Unpack

import torch
from torch import Tensor

from torchclusteval.cells.layouts import CellsElsewhereError, SpreadCells
from torchclusteval.cells.parts import TableParts
from torchclusteval.cells.sums import Numbers
from torchclusteval.common.checks import check_chunk_size, retain_freed_memory
from torchclusteval.common.formatting import brief
from torchclusteval.common.numerics import sum_reproducible, tensor_of_number
from torchclusteval.common.threads import on_one_thread
from torchclusteval.labels.options import DEFAULTS, LabelKeywords, LabelOptions
from torchclusteval.measures.one_sided import check_zero_division, identical, pred_items, true_items, whole_class_sizes
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import MEASURES, Selection, select
from torchclusteval.measures.sums import OneTable
from torchclusteval.scoring.no_clusterings import warn_of_no_clusterings
from torchclusteval.scoring.scores import Scores
from torchclusteval.tables import ContingencyTables, check_tables

_CPU_CHUNK_CELLS = 1 << 18  # cells processed at a time: about ten float64 temporaries of this size, near the cores
_DEVICE_CHUNK_CELLS = 1 << 24  # likewise, at least
_DEVICE_BYTES_PER_CELL = 1 << 10  # of a card's memory, so that these temporaries take a tenth of it
_FEW_MEASURES = 2  # up to so many are less work one by one
_MAX_PADDING = 1 << 22  # rows (columns) of all tables of a sparse batch
_MAX_ASSIGNED_GROUPS = 200_000  # beyond this many rows and columns, assignment takes minutes


def evaluate(
    labels_true: Any,
    labels_pred: Any,
    measures: Selection = None,
    *,
    chunk_size: int | None = None,
    zero_division: float | None = None,
    **options: Unpack[LabelKeywords],
) -> Scores:
    """Score clusterings against a reference.

    Args:
        labels_true: ``(*batch, N)`` classes; see ``ContingencyTables.from_labels`` for the kinds of labels.
        labels_pred: ``(*batch, N)`` clusters; ``(N,)`` against ``(B, N)`` is the common case.
        measures: None (the headline measures), ``"all"``, a family (``"entropy"``, ``"pairs"``, ``"matching"``,
            ``"bcubed"``, ``"association"``), ``"coreference"``, ``"segmentation"``, ``"tracking"``, a name or alias, a
            ``Measure``, or a list of these.
        chunk_size: tables to process at a time; bounds the memory and changes at most the last digits.
        zero_division: a number that replaces every 0/0 of the measures of coreference, segmentation and tracking, also
            without items; None: 1 for identical sides, else 0 (distances: 0, else 1), and nan without items.
        **options: those of ``ContingencyTables.from_labels``: ``by``, ``num_groups``, ``mask``, ``weights``,
            ``ignore_index``, ``noise_label``, ``noise``, ``absent_true``, ``absent_pred``, ``missing``, ``item_dims``
            (2 for label images, whose lines would be clusterings otherwise), ``num_classes``, ``num_clusters``,
            ``validate``, ``layout``, ``device``.

    Returns:
        A mapping of names to ``(*batch,)`` float64 tensors; ``(*batch, G)`` with ``by``: those of separate calls.

    Warns:
        UserWarning: of more than 20 items on the CPU, a named column does not look like a clustering: all or more than
            half of its labels are distinct (unlike the truth), or it is the truth. It is scored all the same.

    Raises:
        ValueError: labels, options or measures are not as described.

    >>> scores = tce.evaluate(["a", "a", "b", "b"], [[0, 0, 1, 1], [0, 0, 0, 1]], ["ari", "purity"])
    >>> scores["purity"].tolist(), scores.best("ari")
    ([1.0, 0.75], 0)
    """
    own = LabelOptions.of(options)
    chosen = with_zero_division(select(measures), zero_division)  # before the counting, so that a mistake fails early
    check_chunk_size(chunk_size)
    tables = ContingencyTables._count(labels_true, labels_pred, own)
    doubtful = {} if tables.names is None else warn_of_no_clusterings(tables, own.noise)
    labelled = {} if own is DEFAULTS else own.of_partitions
    scores = _evaluate(tables, chosen, chunk_size)
    return replace(scores, doubtful=doubtful, labelled=labelled) if doubtful or labelled else scores


def evaluate_tables(
    tables: ContingencyTables,
    measures: Selection = None,
    *,
    chunk_size: int | None = None,
    zero_division: float | None = None,
) -> Scores:
    """Score contingency tables; arguments and result as in :func:`evaluate`.

    >>> tables = tce.ContingencyTables([[2, 1], [0, 3]])
    >>> tce.evaluate_tables(tables, ["purity", "ari"])["purity"]
    tensor(0.8333, dtype=torch.float64)
    """
    check_tables(tables)
    chosen = with_zero_division(select(measures), zero_division)
    check_chunk_size(chunk_size)
    return _evaluate(tables, chosen, chunk_size)


def with_zero_division(chosen: dict[Measure, bool], zero_division: float | None) -> dict[Measure, bool]:
    """The measures, with this value of 0/0 in those that have the option; raise if none has."""
    if zero_division is None:
        return chosen
    check_zero_division(zero_division)
    if not any(measure.zero_division for measure in chosen):
        expected = "None, as none of the measures has this option"
        raise ValueError(f"zero_division: expected {expected}; got {brief(zero_division)}")
    return {_with(x, zero_division) if x.zero_division else x: named for x, named in chosen.items()}


def _with(measure: Measure, zero_division: float) -> Measure:
    combine = None if measure.combine is None else partial(measure.combine, zero_division=zero_division)
    return replace(measure, function=partial(measure.function, zero_division=zero_division), combine=combine)


def split_applicable(
    tables: ContingencyTables, chosen: Mapping[Measure, bool], *, common_only: bool = False
) -> tuple[list[Measure], dict[str, str]]:
    """The measures that apply to these tables, and why others of a set do not; raise on named ones that do not.

    With ``common_only``, measures of items that only one side groups do not apply where there are such items.
    """
    check_tables(tables)
    if tables.is_integer and tables.layout == "dense" and not (common_only and tables.has_unmatched):  # all of them
        return list(chosen), {}
    kept: list[Measure] = []
    skipped: dict[str, str] = {}
    for measure, named in chosen.items():
        reason = _reason_not_applicable(measure, tables, named)
        if common_only and measure.one_sided and tables.has_unmatched:
            reason = "counts items with a group on one side only, and these are neither drawn nor permuted"
        if reason is None:
            kept.append(measure)
        elif named:
            raise ValueError(f"measures: expected applicable measures; got {measure.name!r}, which {reason}")
        else:
            skipped[measure.name] = reason
    return kept, skipped


def _reason_not_applicable(measure: Measure, tables: ContingencyTables, named: bool) -> str | None:
    if measure.integer_only and not tables.is_integer:
        return "needs integer counts (integer weights work), not floats or probabilities"
    if isinstance(tables._cells, SpreadCells) and tables._cells.reduce is not None and _reads_cells(measure):
        return "is no formula of sums, maxima and sizes and needs all cells in one place (see all_reduce)"
    assigns = measure.on_host and measure.family in ("matching", "coreference", "tracking")
    if assigns and not named and tables.layout == "sparse" and sum(tables.shape[-2:]) > _MAX_ASSIGNED_GROUPS:
        return f"needs an assignment of more than {_MAX_ASSIGNED_GROUPS} groups (name it to compute it all the same)"
    return None


@cache
def _example() -> OneTable | None:
    tables = ContingencyTables(torch.tensor([[2, 1], [0, 3]], device="cpu"))
    tables._sum_at_once(only_pairs=False)
    return _numbers_of(tables)


@cache
def _reads_cells(measure: Measure) -> bool:
    """Whether a measure reads the cells of tables one by one."""
    row, column, counts = torch.tensor([[0, 0, 1], [0, 1, 1], [2, 1, 3]])
    cells = SpreadCells(torch.Size(), (2, 2), row * 0, row, column, counts, 3, lambda x, _: x)
    try:
        measure(ContingencyTables._of(TableParts(cells)))
    except CellsElsewhereError:
        return True
    return False


@on_one_thread
def _evaluate(tables: ContingencyTables, chosen: Mapping[Measure, bool], chunk_size: int | None) -> Scores:
    applied, skipped = split_applicable(tables, chosen)
    ordered = applied
    if tables.device.type == "cpu":
        retain_freed_memory()
    else:  # queue all other work of the device before waiting for it
        ordered = sorted(applied, key=lambda measure: measure.on_host)
        _ = None if tables._n_considered is None else tables.coverage
    values: dict[str, Tensor] = {}
    for part, some in _sides(tables, ordered) if tables.has_unmatched else [(tables, ordered)]:
        values |= zip([measure.name for measure in some], _values(part, some, chunk_size), strict=True)
    return scores_of(tables, applied, [values[measure.name] for measure in applied], skipped)


def _sides(tables: ContingencyTables, measures: Sequence[Measure]) -> list[tuple[ContingencyTables, list[Measure]]]:
    """The measures of partitions, with tables of the items that both sides group, and the measures of all items."""
    one_sided = [measure for measure in measures if measure.one_sided]
    of_partitions = [measure for measure in measures if not measure.one_sided]
    sides = [(tables.without_margins(), of_partitions), (tables, one_sided)]
    return [(own, some) for own, some in sides if some]


def scores_of(
    tables: ContingencyTables, measures: Sequence[Measure], values: Iterable[Tensor], skipped: Mapping[str, str]
) -> Scores:
    """The scores of these measures, with the facts about the tables that scores hold."""
    records = {measure.name: measure for measure in measures}
    by_name = dict(zip(records, values, strict=True))
    share = None if tables._n_considered is None else tables.coverage
    considered = None if tables.groups is None else tables.n_considered
    grouped = tables._n_grouped if tables.has_unmatched else None
    return Scores(
        by_name, records, tables.n_items, share, skipped, tables.names, tables.groups, considered, n_grouped=grouped
    )


def by_size(tables: ContingencyTables, values: Callable[[ContingencyTables], list[Tensor]]) -> list[Tensor]:
    """Values ``(*batch, ...)`` of each table; sparse tables of very different sizes are processed by size.

    One large document next to many small ones would give all of them its rows and columns.
    """
    if tables.layout == "dense" or isinstance(tables._cells, SpreadCells):
        return values(tables)
    size, shape = tables.batch_shape.numel(), tables.shape[-2:]
    if size * max(shape) <= max(_MAX_PADDING, 8 * size * tables._cells_per_table):
        return values(tables)
    table, row, column, _ = tables.cells()
    least = torch.ones(size, dtype=torch.int64, device=tables.device)
    least = least.scatter_reduce(0, table, torch.maximum(row, column) + 1, "amax")
    power = least.double().log2().ceil().long()
    places = [(power == x).nonzero().squeeze(-1) for x in power.unique().tolist()]
    parts = []
    for some in places:
        kept = torch.arange(int(least[some].max()), device=tables.device)
        part = tables._select(tables._cells.select(some), some)
        parts.append(values(part._keep_groups(kept[: shape[0]], kept[: shape[1]])))
    joined, order = (torch.cat(column) for column in zip(*parts, strict=True)), torch.cat(places)
    return [torch.empty_like(x).index_copy(0, order, x).reshape((*tables.batch_shape, *x.shape[1:])) for x in joined]


def _values(tables: ContingencyTables, measures: Sequence[Measure], chunk_size: int | None) -> list[Tensor]:
    def values(part: ContingencyTables) -> list[Tensor]:
        shape, own = part.batch_shape, MEASURES.get
        if (one := part._only_table) is not None and all(own(measure.name) is measure for measure in measures):
            return [x.reshape(shape) for x in values(one)]
        if not shape:
            if any(measure.linear_in != "sizes" for measure in measures):  # these read no cells
                few = len(measures) <= _FEW_MEASURES or all(measure.family == "pairs" for measure in measures)
                part._sum_at_once(only_pairs=few)
            return list(_values_of(measures, part))
        for term in dict.fromkeys(term for measure in measures for term in measure.batch_terms):
            term(part)
        return in_chunks(part, partial(_values_of, measures), chunk_size)

    return by_size(tables, values)


def _values_of(measures: Sequence[Measure], tables: ContingencyTables) -> Iterator[Tensor]:
    shape, own, one = tables.batch_shape, MEASURES.get, _numbers_of(tables)
    for measure in measures:  # values of own ones need no check
        if own(measure.name) is not measure:
            yield value_of(measure, shape, tables)
        elif one is None or not _takes_numbers(measure):
            yield measure.function(tables)
        else:
            try:
                yield tensor_of_number(measure.function(one))
            except CellsElsewhereError:  # not all sums were made
                yield measure.function(tables)


def _numbers_of(tables: ContingencyTables) -> OneTable | None:
    sums = tables._launched
    return OneTable(tables, sums.values) if isinstance(sums, Numbers) and sums.values["all_ordinary"] else None


@cache
def _takes_numbers(measure: Measure) -> bool:
    """Whether the formula of a measure is of sums alone, by functions that take numbers."""
    try:
        return isinstance(measure.function(_example()), float)
    except (AttributeError, TypeError, ValueError):  # of tensors, or of cells
        return False


def in_chunks(
    tables: ContingencyTables, values_of: Callable[[ContingencyTables], Iterable[Tensor]], chunk_size: int | None = None
) -> list[Tensor]:
    """The values ``(*batch, ...)`` that a function has for tables, for a bounded number of tables at a time."""
    shape = tables.batch_shape
    size = shape.numel()
    step = chunk_size or max(1, _chunk_cells(tables.device) // tables._cells_per_table)
    if step >= size:
        return list(values_of(tables))
    values = list[Tensor]()
    for start in range(0, size, step):
        stop = min(size, start + step)
        for number, value in enumerate(values_of(tables._narrow(start, stop - start))):
            if start == 0:
                values.append(value.new_empty(size, *value.shape[1:]))
            values[number][start:stop] = value  # keeping small tensors would fragment the freed memory
    return [value.reshape(*shape, *value.shape[1:]) for value in values]


def _chunk_cells(device: torch.device) -> int:
    """Cells to process at a time."""
    if device.type == "cpu":
        return _CPU_CHUNK_CELLS
    if device.type != "cuda" or not torch.cuda.is_available():
        return _DEVICE_CHUNK_CELLS
    memory = torch.cuda.get_device_properties(device).total_memory
    return max(_DEVICE_CHUNK_CELLS, memory // _DEVICE_BYTES_PER_CELL)


def value_of(measure: Measure, shape: torch.Size, *arguments: Any) -> Tensor:
    """The value of a measure, ``shape`` float64, or an error that names the measure if the shape differs."""
    value = measure.value(*arguments)
    if not (type(value) is Tensor or isinstance(value, Tensor)) or value.shape != shape:
        got = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(f"measure {measure.name!r}: expected a tensor of shape {tuple(shape)}; got {got}")
    return value if value.dtype == torch.float64 else value.double()


def compile(measures: Selection = None, **options: Any) -> Callable[[ContingencyTables], Scores]:
    """An evaluator that fuses the passes over the cells of all measures.

    The first call on tables of a new shape compiles, which takes from seconds to a minute; later calls are fast.
    Measures that need the host (``on_host``), those of expected information, and those of coreference run as they are.

    Args:
        measures: as for ``evaluate``.
        **options: those of ``torch.compile``, such as ``backend`` or ``mode``.

    Returns:
        A function of dense tables that returns the scores of ``evaluate_tables``, within 1e-12.

    Raises:
        ValueError: unknown measures; from the evaluator: sparse tables, or a named measure that does not apply.

    >>> evaluator = tce.compile(["ari", "purity"])
    >>> evaluator(tce.ContingencyTables([[2, 1], [0, 3]]))["purity"]  # doctest: +SKIP
    """
    chosen = select(measures)
    programs: dict[object, Callable[[Tensor], list[Tensor]]] = {}

    def evaluator(tables: ContingencyTables) -> Scores:
        check_tables(tables)
        if tables.layout != "dense":
            raise ValueError("tables: expected dense tables to compile for; got sparse ones (tables.to_dense())")
        kept, skipped = split_applicable(tables, chosen)
        whole, tables = tables, tables.without_margins()
        fused = [m for m in kept if not (m.on_host or m.batch_terms or m.one_sided)]
        names = [measure.name for measure in fused]
        counts = tables.counts
        key = (*names, counts.shape, counts.dtype, counts.device, counts.requires_grad)
        if key not in programs:
            programs[key] = _program(fused, options)
        # A copy: graphs of mode="reduce-overhead" write the values of the next call where those of this one are.
        found = torch.stack(programs[key](counts)).unbind(0) if fused else ()
        fused_values = dict(zip(names, found, strict=True))
        values = [fused_values[m.name] if m.name in fused_values else m(whole if m.one_sided else tables) for m in kept]
        return scores_of(whole, kept, values, skipped)

    return evaluator


def _program(measures: list[Measure], options: dict[str, Any]) -> Callable[[Tensor], list[Tensor]]:
    def values(counts: Tensor) -> list[Tensor]:
        tables = ContingencyTables(counts, validate=False)
        return [measure(tables) for measure in measures]

    # A code object of its own: torch counts recompilations by code object, and refuses the ninth.
    own = FunctionType(values.__code__.replace(), values.__globals__, values.__name__, None, values.__closure__)
    program: Callable[[Tensor], list[Tensor]] = torch.compile(own, fullgraph=True, dynamic=False, **options)
    return program


@on_one_thread
def pooled(tables: ContingencyTables, measures: Selection = None, *, zero_division: float | None = None) -> Scores:
    """Score groups of items together: sums are added over the last batch dimension, then combined (micro average).

    BCubed, purity, the best one-to-one matching and their relatives are then those of all items, with the classes and
    clusters of different groups kept apart; so are pair precision, recall, F and Jaccard. The other measures of
    pairs, such as Rand, count pairs within groups only, and differ: with groups kept apart, all pairs of items of
    different groups would agree.

    Args:
        tables: contingency tables, ``(*batch, G, R, C)``, as ``from_labels(..., by=ids)`` makes them.
        measures: as for ``evaluate``. Of a set, measures without ``Measure.parts`` are left out
            (``scores.skipped``).
        zero_division: as in ``evaluate``.

    Returns:
        Scores ``(*batch,)``. F is that of the pooled precision and recall. 0/0 is the value of identical partitions
        where both sides are identical in every group, else 0 (the Minkowski score is infinite where only the
        prediction joins pairs); nan without items.

    Raises:
        ValueError: ``tables`` is a single table, the last batch dimension holds clusterings of the same items, or a
            measure that was named is not defined by sums.

    Example:
        >>> tables = tce.ContingencyTables.from_labels([0, 0, 1, 0, 1], [0, 0, 1, 0, 0], by=["a", "a", "a", "b", "b"])
        >>> tce.pooled(tables, "purity")["purity"].item()
        0.8
    """
    return pool(tables, measures, zero_division)[0]


def pool(
    tables: ContingencyTables, measures: Selection, zero_division: float | None = None
) -> "tuple[Scores, list[SumsOfGroups]]":
    """The scores of ``pooled``, and the sums behind them."""
    check_tables(tables)
    chosen = with_zero_division(select(measures), zero_division)
    check_are_groups(tables)
    kept, skipped = _with_parts(*split_applicable(tables, chosen), chosen)
    found: dict[str, Tensor] = {}
    of_groups = [_sums(own, some, zero_division) for own, some in _sides(tables, kept)]
    for sums in of_groups:
        totals = {function: sum_reproducible(x.mT) for function, x in sums.sums.items()}
        found |= sums.combine(totals, sums.identical.all(-1), sums.items.sum(-1))
    values = {measure.name: found[measure.name] for measure in kept}
    n_items, n_considered = tables.n_items.sum(-1), tables.n_considered.sum(-1)
    records = {measure.name: measure for measure in kept}
    coverage = n_items.double() / n_considered.double()
    names = tables.names if len(tables.batch_shape) == 2 else None
    grouped = tables._n_grouped.sum(-1)
    return Scores(values, records, n_items, coverage, skipped, names, None, n_considered, n_grouped=grouped), of_groups


def check_are_groups(tables: ContingencyTables) -> None:
    """Raise for a single table, and for tables of several clusterings of the same items where labels show it."""
    if not tables.batch_shape:
        expected = "expected a batch, a table for each group (from_labels(..., by=ids))"
        raise ValueError(f"tables: {expected}; got a single table")
    classes = None if tables.groups is not None or tables.batch_shape[-1] < 2 else tables.classes
    if classes is None or classes.ndim > 1:
        return
    sizes, seen = whole_class_sizes(tables), tables.n_considered
    of_clusterings = (
        tables.names is not None and tables._n_considered is not None and bool((seen == seen[..., :1]).all())
    )
    if of_clusterings or (bool((sizes == sizes[..., :1, :]).all()) and bool((sizes > 0).any())):
        got = f"{tables.batch_shape[-1]} clusterings of the same items"
        raise ValueError(f"tables: expected groups of items, one table each (from_labels(..., by=ids)); got {got}")


@dataclass(frozen=True, eq=False)
class SumsOfGroups:
    """The sums behind the pooled values of measures, for each group of items."""

    measures: list[Measure]
    sums: dict[Callable[[ContingencyTables], Tensor], Tensor]  # ``Measure.parts`` -> (*batch, G, parts)
    identical: Tensor  # (*batch, G) bool, whether both sides are the same groups of items
    items: Tensor  # (*batch, G)
    zero_division: float | None = None  # of the measures

    def combine(
        self, totals: Mapping[Callable[[ContingencyTables], Tensor], Tensor], identical: Tensor, items: Tensor
    ) -> dict[str, Tensor]:
        """Values ``(*some,)`` from sums over groups: ``totals`` ``(*some, parts)``, ``identical`` and ``items``."""
        values = {}
        for measure in self.measures:
            assert measure.parts is not None
            assert measure.combine is not None
            value = measure.combine(totals[measure.parts])
            if not measure.zero_division:  # the others define 0/0 themselves
                value = value.masked_fill(value.isnan(), 0.0)
            if not measure.zero_division or self.zero_division is None:
                value = value if measure.perfect is None else value.masked_fill(identical, measure.perfect)
                value = value.masked_fill(~(items > 0), torch.nan)
            values[measure.name] = value
        return values


def _sums(tables: ContingencyTables, measures: list[Measure], zero_division: float | None) -> SumsOfGroups:
    functions = list(dict.fromkeys(measure.parts for measure in measures if measure.parts is not None))

    def sums_of(part: ContingencyTables) -> Iterator[Tensor]:
        return (function(part) for function in functions)

    def facts(part: ContingencyTables) -> list[Tensor]:
        if measures[0].one_sided:
            return [identical(part), true_items(part) + pred_items(part)]
        return [part.identical, part.n_items]

    *sums, same, items = by_size(tables, lambda part: [*in_chunks(part, sums_of), *facts(part)])
    return SumsOfGroups(measures, dict(zip(functions, sums, strict=True)), same, items, zero_division)


def _with_parts(
    kept: list[Measure], skipped: dict[str, str], chosen: Mapping[Measure, bool]
) -> tuple[list[Measure], dict[str, str]]:
    """Measures defined by sums, and why others of a set are left out; raise on named ones."""
    others = [measure for measure in kept if measure.parts is None]
    for measure in others:
        if chosen[measure]:
            got = f"{measure.name!r}, whose groups can only be averaged (evaluate(..., by=ids).macro() or macro=True)"
            raise ValueError(f"measures: expected measures defined by sums over groups; got {got}")
    left_out = {measure.name: "is not defined by sums over groups" for measure in others}
    return [measure for measure in kept if measure.parts is not None], skipped | left_out
