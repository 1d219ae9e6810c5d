"""The table of overlapping measures, and one call for all of them."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import torch

from torchclusteval.common.checks import check_chunk_size
from torchclusteval.common.threads import on_one_thread
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import Selection, select
from torchclusteval.overlap.comparison import MADE, compare
from torchclusteval.overlap.memberships import Memberships, of_plain
from torchclusteval.scoring.evaluation import value_of
from torchclusteval.scoring.scores import Scores

_PLAIN = "a mapping of items to groups or a list of groups"

OVERLAP_MEASURES: Mapping[str, Measure] = MappingProxyType(MADE)

OVERLAP_DEFAULT = (
    "extended_bcubed_precision",
    "extended_bcubed_recall",
    "extended_bcubed_f",
    "overlap_purity",
    "overlap_inverse_purity",
    "overlap_purity_f",
    "overlap_set_f",
    "omega_observed",
    "omega_index",
    "overlapping_nmi_lfk",
    "overlapping_nmi_max",
)


@on_one_thread
def evaluate_overlapping(
    true: Memberships | Mapping[Any, Any] | Iterable[Any],
    pred: Memberships | Mapping[Any, Any] | Iterable[Any],
    measures: Selection = None,
    *,
    chunk_size: int | None = None,
) -> Scores:
    """Score overlapping clusterings against a reference.

    Args:
        true: the classes of each item, usually one reference for a batch of clusterings: ``Memberships``, a mapping
            of items to their groups, or a list of groups, each of them a collection of items.
        pred: the clusters of each item, in the same forms.
        measures: None (those of ``OVERLAP_DEFAULT``), ``"all"`` (every row of ``OVERLAP_MEASURES``), a name, a
            ``Measure`` whose function takes two ``Memberships``, or a list of these.
        chunk_size: a bound of the memory, under 400 bytes for each unit; it changes no result. One item against all
            others is the least. ``maximum_matching_ratio`` needs another 300 bytes for each pair of a class and a
            cluster with a common item.

    Returns:
        Names mapped to ``(*batch,)`` float64 tensors; ``coverage`` is the share of items with groups on both sides.

    Raises:
        ValueError: an argument is not as described; a list of groups has two equal ones, so it may list the groups of
            each item; the two sides have no alignment, or no item in common.

    A warning tells of names of items of different types (``1`` and ``"1"``), as they are never equal.

    >>> true, pred = map(tce.Memberships.from_groups, ([[1, 2], [2, 3]], [[1, 2], [3]]))
    >>> scores = tce.evaluate_overlapping(true, pred, ["overlap_purity"])
    >>> scores["overlap_purity"]
    tensor(1., dtype=torch.float64)
    """
    asked = OVERLAP_DEFAULT if measures is None else measures
    chosen = {measure.name: measure for measure in select(asked, OVERLAP_MEASURES)}
    check_chunk_size(chunk_size)
    devices = [side.device for side in (true, pred) if isinstance(side, Memberships)]
    device = devices[0] if devices else None
    true, pred = _as_memberships(true, "true", device), _as_memberships(pred, "pred", device)
    comparison = compare(true, pred, chunk_size)
    sides = (comparison.true, comparison.pred)
    grouped = [(side.lengths > 0).view(*side.batch_shape, comparison.n_items) for side in sides]
    return Scores(
        values_by_name={name: value_of(x, comparison.batch_shape, true, pred) for name, x in chosen.items()},
        measures=chosen,
        n_items=torch.full(comparison.batch_shape, comparison.n_items, device=comparison.device),
        share_scored=(grouped[0] & grouped[1]).double().mean(-1),
        skipped={},
    )


def _as_memberships(value: Any, name: str, device: torch.device | None) -> Memberships:
    if isinstance(value, Memberships):
        return value
    if hasattr(value, "ndim") or isinstance(value, str | bytes | set | frozenset) or not isinstance(value, Iterable):
        got = type(value).__name__
        raise ValueError(f"{name}: expected Memberships (see Memberships.from_lists ...), {_PLAIN}; got {got}")
    try:
        memberships, doubt = of_plain(value, device)
    except ValueError as error:
        reason = str(error).partition(": ")[2]
        raise ValueError(f"{name}: {reason} ({name} is {_PLAIN}; see Memberships.from_lists ... for others)") from None
    if doubt is not None:
        which = f"from_{'dict' if isinstance(value, Mapping) else 'lists'} takes groups by item"
        raise ValueError(f"{name}: expected {_PLAIN}; got {doubt}: Memberships.{which}, from_groups items by group")
    return memberships
