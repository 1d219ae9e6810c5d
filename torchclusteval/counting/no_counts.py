"""Refusal of numbers other than counts: totals among the counts, and proportions given to measures of pairs."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torch import Tensor

from torchclusteval.cells.layouts import Cells, DenseCells

_TOTALS = ("all", "total", "totals", "grand total", "sum")


def axes_of(counts: Any) -> tuple[Any, Any]:
    """The labels of the rows and columns of a data frame, else None."""
    return (counts.index, counts.columns) if hasattr(counts, "iloc") and hasattr(counts, "columns") else (None, None)


def whose_proportions(rows: Tensor, columns: Tensor, items: Tensor) -> str | None:
    """Says of what the masses are proportions, if all tables, rows or columns sum to 1 or 100."""
    for sums, each in ((items, "table"), (rows, "row"), (columns, "column")):
        for whole in (1, 100) if each != "table" else (1,):
            if bool((((sums - whole).abs() < 0.021 * whole) | (sums == 0)).all()):  # six of .17, rounded
                return f"proportions: each {each} sums to {whole} (crosstab without normalize="
    return None


def check_counts(cells: Cells, sizes: Callable[[], Sequence[Tensor]], labels: tuple[Any, Any]) -> None:
    """Raise where all tables hold totals, or proportions of rows or columns, which weigh all of these alike.

    ``sizes`` makes the items of rows, columns and tables. A table that sums to 1 has the shares of its counts.
    """
    values, dense = cells.values.detach(), isinstance(cells, DenseCells)
    if values.is_floating_point() and bool((values.frac() != 0).any()):
        got = whose_proportions(*(x.detach() for x in sizes()))
        if got is not None and "table" not in got:
            raise ValueError(f"counts: expected counts of items; got {got}; validate=False takes them as masses)")
    if dense and labels[0] is None:  # as nearly all are; the sizes can wait
        last = values[..., -1, :]
        whole = float(last.sum())
        if abs(whole - 2 * float(last[..., -1].sum())) > 1e-6 * whole:
            return
    rows, columns, items = (x.detach().double() for x in sizes())
    if not bool((items > 0).any()):
        return
    places = [None if x is None else _total(x.tolist()) for x in labels]
    ends = [sums[..., -1 if place is None else place] for sums, place in zip((rows, columns), places, strict=True)]
    halves = [bool(_equal(2 * end, items, items).all()) for end in ends]  # all the others add up to it
    totals = None not in places or any(half and place is not None for half, place in zip(halves, places, strict=True))
    if not totals and dense and all(halves):
        several = rows.count_nonzero(-1) + columns.count_nonzero(-1) > 4  # two by two: a cell and its totals, or four
        pairs = ((columns, values[..., -1, :]), (rows, values[..., -1]))
        totals = all(bool(_equal(x, 2.0 * end, items.unsqueeze(-1)).all()) for x, end in pairs) and bool(several.any())
    if totals:
        remedy = "crosstab without margins=, counts[:-1, :-1]; validate=False takes them as groups"
        got = "totals in the last row and column" if dense else "totals among the cells"
        raise ValueError(f"counts: expected counts of items; got {got} ({remedy})")


def _total(labels: Iterable[Any]) -> int | None:
    """Position of the name of totals."""
    names = (x[0] if isinstance(x, tuple) and x else x for x in labels)
    return next((i for i, x in enumerate(names) if isinstance(x, str) and x.strip().lower() in _TOTALS), None)


def _equal(x: Tensor, y: Tensor, items: Tensor) -> Tensor:
    return (x - y).abs() <= 1e-6 * items
