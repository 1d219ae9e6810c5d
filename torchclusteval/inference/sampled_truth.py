"""Scores of a clustering where the truth is known for a sample of classes only."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from torchclusteval.common.formatting import brief
from torchclusteval.common.numerics import one_if_zero, sum_reproducible
from torchclusteval.common.threads import on_one_thread
from torchclusteval.inference.results import Record, ResultsByMeasure
from torchclusteval.labels.inputs import as_numbers, first_position, format_position
from torchclusteval.labels.shapes import check_order, in_order_of
from torchclusteval.measures.coreference import is_exact
from torchclusteval.measures.one_sided import n_pred, pred_items, whole_c, whole_class_sizes
from torchclusteval.tables import ContingencyTables, check_tables


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Record):
    """A score estimated from a sample.

    >>> tables = tce.ContingencyTables.from_labels([1, 1, 2, 2, 3], [1, 1, 2, 3, 3])
    >>> found = tce.estimate_from_sample(tables, "uniform")["pair_recall"]
    >>> round(found.estimate.item(), 4)
    0.5
    """

    estimate: Tensor  # (*batch,) corrected for the bias of a ratio, so it can lie a little outside the range
    standard_error: Tensor  # (*batch,) nan for one sampled class
    difference: Tensor | None = None  # (*batch,) the estimate less that of ``against``
    difference_error: Tensor | None = None  # (*batch,) standard error of the difference, on the same sample


@on_one_thread
def estimate_from_sample(
    tables: ContingencyTables, weights: Any, *, against: ContingencyTables | None = None
) -> ResultsByMeasure[Estimate]:
    """Estimate scores of a complete prediction from a sample of true classes.

    Args:
        tables: ``(*batch, R, C)``: rows are the sampled classes, and the clusters hold all items, those without a known
            class as ``unmatched_by_cluster`` (``from_labels(..., absent_true=...)``).
        weights: one over the sampling probability of each class, up to a factor: ``"uniform"`` (all classes are
            sampled alike), ``"size"`` (in proportion to its items: the weight is one over its size), ``(R,)`` or
            ``(*batch, R)`` positive numbers, or a mapping of the labels of the classes to them.
        against: tables of another clustering and the same sampled classes, ``(R, C)`` or ``(*batch, R, C)``: records
            have ``difference`` and ``difference_error`` too, on the same sample of classes.

    Returns:
        A mapping of names to records with ``estimate`` and ``standard_error``, ``(*batch,)``: ``pair_precision``,
        ``pair_recall``, ``pair_f``, ``bcubed_precision``, ``bcubed_recall``, ``bcubed_f`` (here means over *classes* of
        the means over their items) and ``exact_cluster_precision``, ``exact_cluster_recall``, ``exact_cluster_f``.
        Each is a ratio of weighted means over classes, with its bias corrected to the first order; F of BCubed is
        that of the two estimates. nan without classes, and where the denominator is 0.

    Raises:
        ValueError: weights are missing, not positive, or not one for each class; other classes in ``against``.

    Source: Binette et al. (2022).

    Example:
        >>> labels_true = ["c1", "c1", "c1", "c2", "", "", "c2", "c4"]
        >>> tables = tce.ContingencyTables.from_labels(labels_true, [1, 1, 2, 3, 4, 4, 2, 4], absent_true="")
        >>> found = tce.estimate_from_sample(tables, "uniform")["pair_precision"]
        >>> round(found.estimate.item(), 4), round(found.standard_error.item(), 4)
        (0.3889, 0.2546)
    """
    check_tables(tables)
    found = _estimates(tables, weights)
    others = {} if against is None else _others(tables, against, weights)
    records = {}
    for name, one in found.items():
        records[name] = Estimate(one.value, one.standard_error())
        if other := others.get(name):
            away = _Estimated(one.value - other.value, one.residuals - other.residuals, one.size)
            records[name] = replace(records[name], difference=away.value, difference_error=away.standard_error())
    settings = {"weights": weights if isinstance(weights, str) else "given"}
    return ResultsByMeasure(records, settings, tables.batch_shape, {}, tables.names)


def _others(tables: ContingencyTables, against: Any, weights: Any) -> "dict[str, _Estimated]":
    """The estimates of the other side; raise where its classes are others."""
    check_tables(against, "against")
    check_order(against.names, tables.names, "against", "tables")
    sizes, others = whole_class_sizes(tables), whole_class_sizes(against)
    fits = others.shape in (sizes.shape[-1:], sizes.shape)
    same = fits and bool((sizes == others).all())
    if same and tables.classes is not None and against.classes is not None:
        same = tables.classes.tolist() == against.classes.tolist()
    if not same:
        got = f"shape {tuple(against.shape)}" if not fits else "other classes or sizes"
        raise ValueError(f"against: expected the sampled classes of tables, in their order; got {got}")
    return _estimates(against, weights)


def _estimates(tables: ContingencyTables, weights: Any) -> "dict[str, _Estimated]":
    sizes = whole_class_sizes(tables)
    chosen, size = _weights(weights, tables).masked_fill(sizes == 0, 0.0), (sizes > 0).sum(-1)

    def ratio(numerators: Tensor, denominators: Tensor) -> _Estimated:
        """The ratio of weighted means over classes with its bias corrected."""
        above, below = chosen * numerators, chosen * denominators
        mean = sum_reproducible(below) / size
        found = sum_reproducible(above) / size / mean
        residuals = (above - found[..., None] * below) / mean[..., None]
        bias = sum_reproducible(below * residuals) / size / ((size - 1).clamp(min=1) * mean)
        return _Estimated(found + bias, residuals, size)

    joined = tables.sum_by_class(lambda cell: cell.n * (cell.n - 1)) / 2
    wanted, given = sizes * (sizes - 1) / 2, tables.sum_by_class(lambda cell: cell.n * (whole_c(cell, tables) - 1)) / 2
    per_item = one_if_zero(sizes)
    precision = tables.sum_by_class(lambda cell: cell.squares / whole_c(cell, tables)) / per_item
    recall = tables.sum_by_class(lambda cell: cell.squares) / per_item**2
    exact, ones = tables.sum_by_class(lambda cell: is_exact(cell, tables)), torch.ones_like(sizes)
    of_cluster = (pred_items(tables) / n_pred(tables))[..., None]  # mean size
    bcubed = ratio(precision, ones), ratio(recall, ones)
    return {
        "pair_precision": ratio(joined, given),
        "pair_recall": ratio(joined, wanted),
        "pair_f": ratio(joined, (wanted + given) / 2),
        "bcubed_precision": bcubed[0],
        "bcubed_recall": bcubed[1],
        "bcubed_f": _harmonic_mean(*bcubed),
        "exact_cluster_precision": ratio(exact * of_cluster, sizes),
        "exact_cluster_recall": ratio(exact, ones),
        "exact_cluster_f": ratio(2 * exact * of_cluster, of_cluster + sizes),
    }


@dataclass(frozen=True)
class _Estimated:
    """An estimate, and what each class adds to its error."""

    value: Tensor  # (*batch,)
    residuals: Tensor  # (*batch, R)
    size: Tensor  # (*batch,) number of classes

    def standard_error(self) -> Tensor:
        residuals = self.residuals
        error = torch.sqrt(sum_reproducible(residuals * residuals) / (self.size * (self.size - 1)))
        return error.masked_fill(self.size < 2, torch.nan)


def _harmonic_mean(precision: _Estimated, recall: _Estimated) -> _Estimated:
    """Of the two means over classes; the error is that of its linear part."""
    p, r = precision.value, recall.value
    both = p + r
    slopes = ((2 * r**2 / both**2)[..., None], (2 * p**2 / both**2)[..., None])
    residuals = slopes[0] * precision.residuals + slopes[1] * recall.residuals
    return _Estimated(2 * p * r / both, residuals, precision.size)


def _weights(weights: Any, tables: ContingencyTables) -> Tensor:
    """Weights of the classes, ``(*batch, R)`` float64; raise where they are not one positive number for each."""
    sizes = whole_class_sizes(tables)
    if isinstance(weights, str) and weights in ("uniform", "size"):
        return torch.ones_like(sizes) if weights == "uniform" else 1 / one_if_zero(sizes)
    if weights is None or isinstance(weights, str):
        raise ValueError(f"weights: expected 'uniform', 'size', or a number for each class; got {brief(weights)}")
    labels = None if tables.classes is None or tables.classes.ndim > 1 else tables.classes.tolist()
    given = as_numbers(in_order_of(labels, weights, "weights", "a weight for each class"), "weights")
    given = given.to(tables.device).double()
    if given.shape not in (sizes.shape[-1:], sizes.shape):
        raise ValueError(f"weights: expected shape {tuple(sizes.shape)}; got {tuple(given.shape)}")
    given = given.expand(sizes.shape)
    wrong = ~((given > 0) & (given < torch.inf)) & (sizes > 0)
    if bool(wrong.any()):
        at = first_position(wrong)
        got = f"{given[at].item()} at position {format_position(at)}"
        raise ValueError(f"weights: expected a positive number for each class; got {got}")
    largest = given.masked_fill(sizes == 0, 0.0).amax(-1, keepdim=True)
    return given / one_if_zero(largest)  # a factor changes no ratio, and sums of large numbers would overflow
