"""What many clusterings agree on: a consensus by matching and voting, how steady each item is, and transitions.

Transitions go from one clustering to the next: which clusters become which, and which hold over all clusterings.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import is_whole
from torchclusteval.common.optional import DataFrame, import_optional
from torchclusteval.common.threads import on_one_thread
from torchclusteval.inference.resampling import tables_of_codes
from torchclusteval.labels.encoding import argument_names, encode
from torchclusteval.labels.group_labels import GroupLabels, labels_at
from torchclusteval.labels.options import LabelOptions
from torchclusteval.labels.renaming import as_array, new_labels, rename
from torchclusteval.scoring.matching import match
from torchclusteval.tables import ContingencyTables


@dataclass(frozen=True, eq=False)
class CodedRuns:
    """Codes below ``size``, and which items count."""

    codes: Tensor  # (B, N) int64
    kept: Tensor | None  # (B, N) bool: the items that a run has; None: all
    size: int
    labels: GroupLabels | None  # (size,) or (B, size) of the codes
    names: tuple[Hashable, ...] | None  # (B,) of the runs, where they are known

    def against(self, first: Tensor, others: slice, kept: Tensor | None, size: int | None = None) -> ContingencyTables:
        """Tables of codes ``(N,)`` against some of the runs; ``kept`` says which of these items count."""
        mask = self.kept if self.kept is None else self.kept[others]
        if kept is not None:
            mask = kept if mask is None else kept & mask
        return tables_of_codes(first, self.codes[others], (size or self.size, self.size), mask=mask)

    def present(self) -> Tensor:
        """``(B, size)`` bool: whether a run has items of a code."""
        codes = self.codes if self.kept is None else self.codes.masked_fill(~self.kept, self.size)
        found = torch.zeros(len(codes), self.size + 1, dtype=torch.bool, device=codes.device)
        return found.scatter_(1, codes, True)[:, : self.size]

    def kept_in(self, run: int) -> Tensor | None:
        return None if self.kept is None else self.kept[run]


def code_runs(
    labels: Any, mask: Any, device: torch.device | str | None, noise_label: Any = None, noise: str = "ignore"
) -> CodedRuns:
    """Runs ``(B, N)``, at least one, as codes; missing labels are items that a run lacks."""
    own = {"mask": mask, "noise_label": noise_label, "noise": noise, "device": device}
    options = LabelOptions.of({**own, "missing": "ignore", "item_dims": 1})
    with argument_names(labels_true="labels", labels_pred="labels"):
        pair = encode(labels, labels, options)
    if len(pair.batch_shape) != 1 or not pair.batch_shape[0]:
        raise ValueError(
            f"labels: expected shape (B, N) with at least one run; got {(*pair.batch_shape, pair.n_items)}"
        )
    side, shape = pair.pred, (pair.batch_shape[0], pair.n_items)
    codes = (side.codes.long() - side.offset).expand(shape)
    kept = None if pair.mask is None else pair.mask.expand(shape)
    if kept is not None:
        codes = torch.where(kept, codes, 0)
    return CodedRuns(codes, kept, side.size, side.group_labels, pair.names)


_MAX_ROUNDS = 100
_VOTE_CELLS = 1 << 25  # items times labels up to which votes are counted in a table
_PAIR_CELLS = 1 << 24  # cells of the tables of pairs at a time


@dataclass(frozen=True, eq=False)
class Consensus:
    """The clustering that runs agree on, as :func:`consensus` returns it.

    >>> found = tce.consensus([[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 1]])
    >>> found.labels.tolist(), round(found.agreement[2].item(), 4)
    ([0, 0, 1, 1], 0.6667)
    """

    labels: GroupLabels  # (N,) labels of the run that it started at, and new ones
    agreement: Tensor  # (N,) float64 share of the runs with the item whose matched label is this one
    converged: bool  # whether the last round changed no label
    rounds: int

    def __repr__(self) -> str:
        mean = float(self.agreement.nanmean())
        return f"Consensus(items={len(self.agreement)}, mean_agreement={mean:.4f}, converged={self.converged})"


@on_one_thread
def consensus(
    labels: Any,
    start: Any = None,
    *,
    mask: Any = None,
    noise_label: Any = None,
    noise: str = "ignore",
    device: torch.device | str | None = None,
) -> Consensus:
    """The clustering that runs agree on.

    Each round relabels every run to a centre by the best one-to-one matching (clusters in excess get new labels). Each
    item then takes its most frequent label over the runs; ties go to the lowest label (in the order of the centre's
    labels, new ones last). These labels are the next centre, until it stays the same or for 100 rounds.

    Args:
        labels: ``(B, N)`` labels; see ``ContingencyTables.from_labels`` for what labels may be. Runs do not vote on
            items that they lack: those with a missing label, or masked.
        start: the first centre: the number of a run, or labels ``(N,)``; None: the first run.
        mask: ``(N,)`` or ``(B, N)`` booleans, True for the items that a run has.
        noise_label: as in ``ContingencyTables.from_labels``, like ``noise``; runs do not vote on ignored noise.
        device: where to work; by default that of the tensors given.

    Returns:
        The labels, for each item the share of the runs that agree (0 to 1; nan for an item in no run; its label is the
        lowest), and whether the last round changed nothing. The mean of one minus the share is the uncertainty.

    Raises:
        ValueError: arguments are not as described.

    Source: Dimitriadou, Weingessel and Hornik (2002); Peixoto (2021).

    Example:
        >>> import torchclusteval as tce
        >>> found = tce.consensus([[0, 0, 0, 1, 1, 1], [1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 2]])
        >>> found.labels.tolist(), round(1 - found.agreement.mean().item(), 4), found.converged
        ([0, 0, 0, 1, 1, 1], 0.1111, True)
    """
    coded = code_runs(labels, mask, device, noise_label, noise)
    centre, kept, names = _first_centre(coded, start, labels, noise_label, noise)
    size, present = len(names), coded.present()
    aligned, converged, rounds = torch.empty_like(coded.codes), False, 0
    while not converged and rounds < _MAX_ROUNDS:
        rounds += 1
        partner = match(coded.against(centre, slice(None), kept, size)).class_of_cluster  # (B, K)
        alone = (partner < 0) & present
        number = torch.where(alone, _numbers_of_new(alone, coded, size), partner)
        torch.gather(number, 1, coded.codes, out=aligned)
        if coded.kept is not None:
            aligned.masked_fill_(~coded.kept, -1)
        winner = _vote(aligned, int(number.max()) + 1)
        converged = kept is None and bool((winner == centre).all())
        centre, kept = winner, None
        size = max(size, int(centre.max()) + 1 if len(centre) else 0)
    agreement = (aligned == centre).sum(0).double() / (aligned >= 0).sum(0)
    names = np.concatenate([names, new_labels(names, size - len(names))])
    return Consensus(rename(centre, names), agreement, converged, rounds)


def _numbers_of_new(alone: Tensor, coded: CodedRuns, size: int) -> Tensor:
    """Numbers ``(B, K)`` from ``size`` on of clusters that no cluster of the centre matches.

    Where runs lack items, clusters of different runs have one number only if they share items with the first that has
    it.
    """
    if coded.kept is None:
        return size + alone.long().cumsum(1) - 1
    numbers, members = torch.full_like(alone, -1, dtype=torch.int64), torch.full_like(coded.codes[0], -1)
    last, width = size, coded.size
    for run in alone.any(1).nonzero()[:, 0].tolist():
        codes, own, taken = coded.codes[run], numbers[run], set[int]()
        inside = alone[run][codes] & coded.kept[run]
        known = inside & (members >= 0)
        shared = torch.bincount((members[known] - size) * width + codes[known])
        for cell in shared.argsort(descending=True, stable=True)[: int(shared.count_nonzero())].tolist():
            number, cluster = divmod(cell, width)
            if own[cluster] < 0 and number not in taken:
                own[cluster] = size + number
                taken.add(number)
        new = (alone[run] & (own < 0)).nonzero()[:, 0]
        own[new] = last + torch.arange(len(new), device=own.device)
        last += len(new)
        members = torch.where(inside & (members < 0), own[codes], members)
    return numbers


def _first_centre(
    coded: CodedRuns, start: Any, labels: Any, noise_label: Any, noise: str
) -> tuple[Tensor, Tensor | None, np.ndarray]:
    """Codes of the first centre, which items it has, and the label of each code."""
    count = len(coded.codes)
    number = 0 if start is None else start
    if is_whole(number):
        if not 0 <= number < count:
            raise ValueError(f"start: expected the number of a run, 0..{count - 1}, or labels; got {number}")
        return coded.codes[int(number)], coded.kept_in(int(number)), _names(coded, int(number), noise_label, noise)
    with argument_names(labels="start"):
        own = code_runs([start], None, coded.codes.device, noise_label, noise)
    with argument_names(labels_true="labels", labels_pred="start"):
        encode(labels, start, LabelOptions.of({"missing": "ignore", "item_dims": 1}))  # of the same items
    return own.codes[0], own.kept_in(0), _names(own, 0, noise_label, noise)


def _names(coded: CodedRuns, run: int, noise_label: Any, noise: str) -> np.ndarray:
    """Labels of the codes of a run; each item of noise by itself has a new one."""
    labels = as_array(coded.labels, coded.size)
    names: np.ndarray = labels if labels.ndim == 1 else labels[run]
    if noise != "singletons":
        return names
    alone = int(np.logical_and.accumulate(np.equal(names, noise_label, dtype=object)[::-1].astype(bool)).sum())
    return np.concatenate([names[: len(names) - alone], new_labels(names[: len(names) - alone], alone)])


def _vote(aligned: Tensor, size: int) -> Tensor:
    """The most frequent label of each item, ``(N,)``, the lowest of equally frequent ones; -1 does not vote."""
    count, n = aligned.shape
    if not n * size:
        return torch.zeros(n, dtype=torch.int64, device=aligned.device)
    if n * (size + 1) <= _VOTE_CELLS:
        votes = torch.zeros(n, size + 1, dtype=torch.int32, device=aligned.device)
        one = torch.ones((), dtype=torch.int32, device=aligned.device)
        for run in aligned:
            votes.scatter_add_(1, torch.where(run < 0, size, run)[:, None], one.expand(n, 1))
        return votes[:, :size].argmax(1)
    ordered = aligned.sort(0).values
    place = torch.arange(count, device=aligned.device)[:, None]
    new = torch.ones_like(ordered, dtype=torch.bool)
    new[1:] = ordered[1:] != ordered[:-1]
    length = place - torch.where(new, place, 0).cummax(0).values + 1  # votes for this label up to here
    best = length.masked_fill(ordered < 0, 0).argmax(0, keepdim=True)
    return ordered.gather(0, best).squeeze(0).clamp_min(0)


@on_one_thread
def element_consistency(labels: Any, mask: Any = None, *, device: torch.device | str | None = None) -> Tensor:
    """How alike the clusters of each item are over all pairs of runs.

    The element-centric similarity of an item in clusters A and B of two runs is ``|A & B| / max(|A|, |B|)``;
    an item's consistency is its mean over all pairs of runs that have the item.

    Args:
        labels: as in :func:`consensus`, like ``mask`` and ``device``.

    Returns:
        ``(N,)`` float64. Range: above 0 to 1, higher is more consistent; nan for an item that fewer than two runs have.
        Time grows with pairs of runs times items.

    Raises:
        ValueError: arguments are not as described.

    Source: Gates et al. (2019); Shahsavari et al. (2023).

    Example:
        >>> import torchclusteval as tce
        >>> labels = [[0, 0, 0, 1, 1, 1], [1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 2]]
        >>> [round(x, 4) for x in tce.element_consistency(labels).tolist()]
        [0.7778, 0.7778, 0.5, 0.6389, 0.6389, 0.4444]
    """
    coded = code_runs(labels, mask, device)
    count, n = coded.codes.shape
    total, pairs = torch.zeros(2, n, dtype=torch.float64, device=coded.codes.device)
    step = max(1, _PAIR_CELLS // max(n, 1))
    for i in range(count - 1):
        for start in range(i + 1, count, step):
            others = slice(start, min(start + step, count))
            values, both = _similarities(coded, i, others)
            total += values.sum(0)
            pairs += values.shape[0] if both is None else both.sum(0)
    return total / pairs


def _similarities(coded: CodedRuns, i: int, others: slice) -> tuple[Tensor, Tensor | None]:
    """Element-centric similarity of each item between run ``i`` and others, ``(b, N)``, and which items both have."""
    first, second = coded.codes[i], coded.codes[others]
    tables = coded.against(first, others, coded.kept_in(i))
    both = None if coded.kept is None else coded.kept[others] & coded.kept[i]
    size = coded.size
    table = torch.arange(len(second), device=first.device)[:, None]
    cell = (table * size + first) * size + second
    if tables.layout == "dense":
        n = tables.counts.reshape(-1)[cell].double()
    else:
        batch, row, column, count = tables.cells()
        keys = (batch * size + row) * size + column
        at = torch.searchsorted(keys, cell).clamp(max=max(0, len(keys) - 1))
        n = count[at].double() if len(keys) else torch.zeros_like(cell, dtype=torch.float64)
    r = tables._class_sizes_f64.reshape(-1)[table * size + first]
    c = tables._cluster_sizes_f64.reshape(-1)[table * size + second]
    values = n / torch.maximum(r, c)
    return (values if both is None else values.masked_fill(~both, 0)), both


_TABLE_CELLS = 1 << 24  # labels counted at a time


@dataclass(frozen=True, eq=False)
class Transitions:
    """Edges between consecutive clusterings, and the stability of each cluster, as :func:`transitions` returns them.

    >>> found = tce.transitions([[0, 0, 1, 1], [0, 1, 1, 1]])
    >>> found.from_label.tolist(), found.to_label.tolist(), found.count.tolist()
    ([0, 0, 1], [0, 1, 1], [1, 1, 2])
    """

    step: Tensor  # (E,) int64 number of the clustering that the edge comes from; it goes to the next one
    from_label: GroupLabels  # (E,) cluster there
    to_label: GroupLabels  # (E,) cluster in the next one
    count: Tensor  # (E,) int64 items in both
    share_from: Tensor  # (E,) float64 share of the cluster that it comes from
    share_to: Tensor  # (E,) float64 share of the cluster that it goes to
    run: Tensor  # (K,) int64 clustering of each cluster
    label: GroupLabels  # (K,) its label
    size: Tensor  # (K,) int64 its items
    stability: Tensor  # (K,) float64 SC3 stability

    def to_pandas(self) -> DataFrame:
        """One row an edge; needs pandas."""
        pandas = import_optional("pandas", "pandas")
        columns = (self.step, self.from_label, self.to_label, self.count, self.share_from, self.share_to)
        names = ("step", "from", "to", "count", "share_from", "share_to")
        values = (x.numpy(force=True) if isinstance(x, Tensor) else x for x in columns)
        return pandas.DataFrame(dict(zip(names, values, strict=True)))

    def __repr__(self) -> str:
        return f"Transitions(edges={len(self.step)}, clusters={len(self.run)})"


@on_one_thread
def transitions(
    labels: Any,
    mask: Any = None,
    *,
    noise_label: Any = None,
    noise: str = "ignore",
    device: torch.device | str | None = None,
) -> Transitions:
    """Edges between consecutive clusterings, such as those of rising resolution, and how stable each cluster is.

    The SC3 stability of cluster k among L clusterings is ``(1/L) sum_l sum_j n_kj / (c_j m^2)`` over the other
    clusterings l and their m clusters j that share items with k.

    Args:
        labels: ``(L, N)`` labels in order; items that a clustering lacks have a missing label.
        mask: ``(N,)`` or ``(L, N)`` booleans, True for the items that a clustering has.
        noise_label: as in ``ContingencyTables.from_labels``, like ``noise``; ignored noise belongs to no cluster.
        device: where to count; by default that of the tensors given.

    Returns:
        The non-empty edges by step and labels, with their items and the shares of both clusters, each among the
        items in both clusterings; and for each cluster its SC3 stability, 0 to below 1, higher is more stable.

    Raises:
        ValueError: arguments are not as described.

    Source: Zappia and Oshlack (2018); Kiselev et al. (2017).

    Example:
        >>> import torchclusteval as tce
        >>> found = tce.transitions([[0, 0, 0, 1, 1, 1], [1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 2]])
        >>> list(zip(found.step.tolist(), found.from_label.tolist(), found.to_label.tolist(), found.count.tolist()))
        [(0, 0, 0, 1), (0, 0, 1, 2), (0, 1, 0, 3), (1, 0, 0, 1), (1, 0, 1, 2), (1, 0, 2, 1), (1, 1, 0, 2)]
        >>> [round(x, 4) for x in found.stability[:2].tolist()]
        [0.4375, 0.4167]
    """
    coded = code_runs(labels, mask, device, noise_label, noise)
    count = len(coded.codes)
    edges = [_edges(coded, i) for i in range(count - 1)]
    clusters = [_clusters(coded, i) for i in range(count)]
    empty = torch.zeros(0, dtype=torch.int64, device=coded.codes.device)
    columns = [torch.cat(x) for x in zip(*edges, strict=True)] if edges else [empty] * 4 + [empty.double()] * 2
    step, source, target, items, share_from, share_to = columns
    run, code, size, stability = (torch.cat(x) for x in zip(*clusters, strict=True))
    sources, targets = _labels(coded, step, source), _labels(coded, step + 1, target)
    label = _labels(coded, run, code)
    return Transitions(step, sources, targets, items, share_from, share_to, run, label, size, stability)


def _labels(coded: CodedRuns, run: Tensor, code: Tensor) -> GroupLabels:
    """The labels of these codes, each in its run."""
    labels = coded.labels
    if labels is None or labels.ndim == 1:
        return labels_at(labels, code)
    return labels_at(labels.reshape(-1), run * coded.size + code)


def _edges(coded: CodedRuns, i: int) -> tuple[Tensor, ...]:
    tables = coded.against(coded.codes[i], slice(i + 1, i + 2), coded.kept_in(i))
    _, row, column, count = tables.cells()
    r, c = tables._class_sizes_f64.reshape(-1)[row], tables._cluster_sizes_f64.reshape(-1)[column]
    return torch.full_like(row, i), row, column, count, count / r, count / c


def _clusters(coded: CodedRuns, i: int) -> tuple[Tensor, ...]:
    """Run, code, size and stability of the clusters of one clustering."""
    codes, kept = coded.codes[i], coded.kept_in(i)
    size = torch.bincount(codes if kept is None else codes[kept], minlength=coded.size)
    total = torch.zeros(coded.size, dtype=torch.float64, device=codes.device)
    count = len(coded.codes)
    step = max(1, _TABLE_CELLS // max(1, len(codes)))
    for start in [*range(0, i, step), *range(i + 1, count, step)]:
        tables = coded.against(codes, slice(start, min(start + step, i if start < i else count)), kept)
        met = tables.sum_by_class(lambda cell: cell.is_nonzero)
        shares = tables.sum_by_class(lambda cell: cell.n / cell.c_nonzero)
        total += (shares / (met * met).clamp(min=1)).sum(0)
    used = size.nonzero().squeeze(1)
    return torch.full_like(used, i), used, size[used], total[used] / count
