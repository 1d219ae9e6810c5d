"""A compiled evaluator, for scoring tables of one size again and again."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch
from torch import Tensor

from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import Selection, select
from torchclusteval.scoring.evaluation import scores_of, split_applicable
from torchclusteval.scoring.scores import Scores
from torchclusteval.tables import ContingencyTables, check_tables

Evaluator = Callable[[ContingencyTables], Scores]


def compile(measures: Selection = None, **options: Any) -> Evaluator:
    """An evaluator that fuses the passes over the cells of all measures.

    The first call on tables of a new shape compiles, which takes from seconds to a minute; later calls are fast.
    Measures that need the host (``on_host``) and those of coreference run as they are.

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
        fused = [measure for measure in kept if not measure.on_host and not measure.one_sided]
        names = [measure.name for measure in fused]
        counts = tables.counts
        key = (*names, counts.shape, counts.dtype, counts.device, counts.requires_grad)
        if key not in programs:
            programs[key] = _program(fused, options)
        fused_values = dict(zip(names, programs[key](counts), strict=True)) if fused else {}
        values = {
            m: fused_values[m.name] if m.name in fused_values else m(whole if m.one_sided else tables) for m in kept
        }
        return scores_of(whole, values, skipped)

    return evaluator


def _program(measures: list[Measure], options: dict[str, Any]) -> Callable[[Tensor], list[Tensor]]:
    def values(counts: Tensor) -> list[Tensor]:
        tables = ContingencyTables(counts, validate=False)
        return [measure(tables) for measure in measures]

    # A code object of its own: torch counts recompilations by code object, and refuses the ninth.
    own = FunctionType(values.__code__.replace(), values.__globals__, values.__name__, None, values.__closure__)
    program: Callable[[Tensor], list[Tensor]] = torch.compile(own, fullgraph=True, dynamic=False, **options)
    return program
