"""Counting labels by their raw codes, block by block; options and spellings are applied to the cells at the end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from torchclusteval.cli.options import print_note
from torchclusteval.cli.reading.columns import MISSING, Array, Column, Distinct, distinct_labels, whole_number
from torchclusteval.cli.reading.dense_counts import CodeRange, DenseCounts
from torchclusteval.labels.noise import NoisePolicy
from torchclusteval.streaming.accumulator import ContingencyAccumulator
from torchclusteval.streaming.distributed import all_gather_objects
from torchclusteval.streaming.growing_cells import LabelledCells
from torchclusteval.tables import ContingencyTables

_MAX_TABLE_CELLS = 1 << 16  # of a block's table that is counted densely, or twice the items
_MAX_DENSE_CELLS = 1 << 22  # of the tables of all clusterings together
_MAX_WAITING_CELLS = 1 << 18  # before equal ones are merged
_IDS_FROM = 1_000_000  # items from which a column of ids is noted while the file is read
_NOISE = -2  # the code of noise


@dataclass(frozen=True)
class LabelOptions:
    """What becomes of labels."""

    ignore: str | None = None
    noise_label: str | None = None
    noise: str = "ignore"
    missing: str = "error"  # "error", "ignore" or "label"
    spellings: frozenset[str] = frozenset()  # of missing labels


_Cells = tuple[int, Array, Array, Array]  # the number of a clustering; class, cluster and count of each cell


class CellCounts:
    """The cells of a batch of clusterings so far, by raw codes: an array for each that has few labels, else lists."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.n_items = 0
        self._rows = CodeRange()
        self._most = min(_MAX_TABLE_CELLS, _MAX_DENSE_CELLS // max(1, len(names)))
        self._dense: list[DenseCounts | None] = [DenseCounts() for _ in names]
        self._waiting: list[_Cells] = []
        self._accumulator = ContingencyAccumulator(batch_shape=(len(names),))

    def add(self, true: Array, clusterings: Sequence[Array]) -> None:
        """Count a block of items: raw codes, int64."""
        if not len(true):
            return
        self.n_items += len(true)
        rows = self._rows | CodeRange.of(true)
        self._rows = self._rows if rows == self._rows else rows
        places = self._rows.places(true) if len(self._rows) < self._most else true
        starts: dict[int, Array] = {}  # of the rows of tables, by their width
        listed: list[int] = []
        for i, pred in enumerate(clusterings):
            table = self._dense[i]
            if table is not None and not table.fits(self._rows, CodeRange.of(pred), self._most):
                if table.has_items:
                    self._waiting.append((i, *table.cells()))
                self._dense[i] = table = None
            if table is None:
                listed.append(i)
                continue
            width = table.counts.shape[1]
            if width not in starts:
                starts[width] = places * width
            flat = table.counts.reshape(-1)
            flat += np.bincount(starts[width] + table.columns.places(pred), minlength=len(flat))
        if listed:
            self._add_lists(true, clusterings, listed)

    def _add_lists(self, true: Array, clusterings: Sequence[Array], listed: Sequence[int]) -> None:
        classes, rows, _ = dense(true)
        parts = {i: count_block(classes, rows, clusterings[i].astype(np.int64, copy=False)) for i in listed}
        self._waiting += [(i, *part) for i, part in parts.items()]
        if sum(len(counts) for *_, counts in self._waiting) > _MAX_WAITING_CELLS:
            self._merge()
        if self.n_items >= _IDS_FROM > self.n_items - len(true):
            for i, (_, _, counts) in parts.items():
                if len(counts) == len(true) > 1000:
                    remedy = "nearly every item is a cluster of its own; if it holds ids, --exclude it"
                    print_note(f"note: in {self.names[i]!r} {remedy}")

    def _merge(self) -> None:
        if self._waiting:
            places, *columns = zip(*self._waiting, strict=True)
            batch = np.repeat(places, [len(counts) for counts in columns[-1]])
            cells = (torch.from_numpy(column) for column in (batch, *map(np.concatenate, columns)))
            self._accumulator.add_cells(LabelledCells(*cells))
            self._waiting = []

    def _flush(self) -> None:
        """All counts become cells of the accumulator."""
        self._waiting += [(i, *table.cells()) for i, table in enumerate(self._dense) if table is not None]
        self._dense = [None for _ in self._dense]
        self._merge()

    def gather(self, truth: Column, clusterings: Sequence[Column]) -> None:
        """Sum over the processes, whose vocabularies become the same."""
        self._flush()
        columns = [truth, *clusterings]
        heads = [(list(x.vocabulary), x.n_missing) for x in columns]
        gathered, sizes = all_gather_objects(heads), all_gather_objects(self.n_items)
        if len(gathered) == 1:
            return
        cells = self._accumulator.cells()
        true, pred, batch = cells.true.clone(), cells.pred.clone(), cells.batch
        self.n_items = sum(sizes)
        for place, column in enumerate(columns):
            column.n_missing = sum(every[place][1] for every in gathered)
            if not column.is_text:
                continue
            old = list(column.vocabulary)
            words = sorted({word for every in gathered for word in every[place][0]})
            column.vocabulary = {word: code for code, word in enumerate(words)}
            new = torch.tensor([column.vocabulary[word] for word in old], dtype=torch.int64)
            numbers, mine = (true, slice(None)) if place == 0 else (pred, batch == place - 1)
            part = numbers[mine]
            here = part != MISSING
            part[here] = new[part[here]]
            numbers[mine] = part
        self._accumulator.reset().add_cells(LabelledCells(batch, true, pred, cells.counts))
        self._accumulator.all_reduce()

    def tables(
        self,
        truth: Column,
        clusterings: Sequence[Column],
        options: LabelOptions,
        device: torch.device | None,
        refuse_missing: Callable[[Column, int], Exception],
    ) -> ContingencyTables:
        """The tables, with spellings of a label merged and the options applied.

        Raises:
            ValueError: an option does not fit the labels, or labels are missing.
        """
        self._flush()
        cells = self._accumulator.cells()
        batch, true, pred, counts = (column.numpy() for column in cells.columns)
        n = self.n_items
        starts = np.searchsorted(batch, np.arange(len(clusterings) + 1))
        classes = _distinct(truth, true[: starts[1]], counts[: starts[1]])
        ignored = find_codes([classes], options.ignore, "--ignore", options)[0]
        true = classes.encode(true)
        keep = np.ones(len(true), bool) if ignored is None else true != ignored
        true = _handle_missing(true, keep, truth, counts, slice(0, starts[1]), options, refuse_missing)
        policy = NoisePolicy.IGNORE
        if options.noise_label is None and not any(x.is_text or x.n_missing for x in clusterings):
            codes = _ranks(batch, pred)
        else:
            sides = [
                _distinct(column, pred[start:end], counts[start:end])
                for column, start, end in zip(clusterings, starts, starts[1:], strict=False)
            ]
            noise = find_codes(sides, options.noise_label, "--noise-label", options)
            policy = NoisePolicy(options.noise) if any(x is not None for x in noise) else policy
            codes = np.empty_like(pred)
            for i, (side, column, label) in enumerate(zip(sides, clusterings, noise, strict=True)):
                mine = slice(starts[i], starts[i + 1])
                part = side.encode(pred[mine])
                noisy = part == label if label is not None else np.zeros(len(part), bool)
                part = np.where(noisy, _NOISE, part)
                if not policy.counts_noise:
                    keep[mine] &= ~noisy
                codes[mine] = _handle_missing(
                    part, keep[mine], column, counts[mine], slice(None), options, refuse_missing
                )
        accumulator = ContingencyAccumulator(
            batch_shape=(len(clusterings),),
            device=device,
            noise_label=_NOISE if policy.counts_noise else None,
            noise=policy.value,
        )
        tensors = [torch.from_numpy(np.ascontiguousarray(x[keep])) for x in (batch, true, codes, counts)]
        place = torch.device("cpu") if device is None else device
        items = torch.full((len(clusterings),), n, device=place)
        return accumulator.add_cells(LabelledCells(*(x.to(place) for x in tensors)), items).tables()


def count_block(classes: Array, rows: Array, pred: Array) -> tuple[Array, Array, Array]:
    """Class, cluster and count of the cells of a block; ``rows`` are places among the classes."""
    low, high = int(pred.min()), int(pred.max())
    has_missing = low == MISSING
    if has_missing and high != MISSING:
        low = int(pred[pred != MISSING].min())
        pred = np.where(pred == MISSING, high + 1, pred) if high < 2**63 - 1 else pred
        high += 1
    span = high - low + 1
    if len(classes) * span <= max(_MAX_TABLE_CELLS, 2 * len(pred)) and high < 2**63 - 1:
        counts = np.bincount(rows * span + (pred - low))
        at = np.flatnonzero(counts)
        clusters = at % span + low
        if has_missing:
            clusters[clusters == high] = MISSING
        return classes[at // span], clusters, counts[at]
    clusters, places = np.unique(pred, return_inverse=True)
    keys, counts = np.unique(rows * len(clusters) + places, return_counts=True)
    if has_missing:
        clusters = np.where(clusters == high, MISSING, clusters)
    return classes[keys // len(clusters)], clusters[keys % len(clusters)], counts


def dense(values: Array) -> tuple[Array, Array, Array]:
    """Distinct values of an int64 array, ascending, the place of each value among them, and their counts."""
    low, high = int(values.min()), int(values.max())
    if high - low >= 4 * len(values) + 1024:
        return np.unique(values, return_inverse=True, return_counts=True)
    counts = np.bincount(values - low)
    present = np.flatnonzero(counts)
    places = np.cumsum(counts > 0) - 1
    return present + low, places[values - low], counts[present]


def _ranks(batch: Array, labels: Array) -> Array:
    """The place of each label among the distinct ones of its clustering; ``batch`` ascends."""
    low, high = (int(labels.min()), int(labels.max())) if len(labels) else (0, 0)
    n_tables, span = int(batch[-1]) + 1 if len(batch) else 0, high - low + 1
    if n_tables * span <= 4 * len(labels):
        keys = batch * span + (labels - low)
        occurs = np.zeros(n_tables * span, bool)
        occurs[keys] = True
        return (occurs.reshape(n_tables, span).cumsum(1) - 1).reshape(-1).take(keys)
    order = np.lexsort((labels, batch))
    batch, ordered = batch[order], labels[order]
    first = np.r_[True, batch[1:] != batch[:-1]][: len(order)]
    ranks = np.cumsum(first | np.r_[True, ordered[1:] != ordered[:-1]][: len(order)])
    ranks -= np.maximum.accumulate(np.where(first, ranks, 0))
    codes = np.empty_like(ranks)
    codes[order] = ranks
    return codes


def _distinct(column: Column, raw: Array, counts: Array) -> Distinct:
    codes, places = np.unique(raw, return_inverse=True)
    totals = np.zeros(len(codes), np.int64)
    np.add.at(totals, places, counts)
    return distinct_labels(column, codes, totals)


def find_codes(sides: Sequence[Distinct], label: str | None, option: str, options: LabelOptions) -> list[int | None]:
    """The code of a label on the command line in each column; a note where no item has it.

    Raises:
        ValueError: all columns hold whole numbers, and this is none.
    """
    if label is None:
        return [None] * len(sides)
    codes = [side.find(label) for side in sides]
    spelled_missing = not label.strip() or label.strip() in options.spellings
    if spelled_missing:
        codes = [-1 if code is None and (side.codes == -1).any() else code
                 for code, side in zip(codes, sides, strict=True)]  # fmt: skip
    elif whole_number(label) is None and all(side.is_numeric for side in sides):
        raise ValueError(f"{option}: expected a whole number, as the labels are; got {label!r}")
    if all(code is None for code in codes):
        print_note(f"note: {option}: no item has the label {label!r}")
    return codes


def _handle_missing(
    codes: Array,
    keep: Array,
    column: Column,
    counts: Array,
    first: slice,
    options: LabelOptions,
    refuse: Callable[[Column, int], Exception],
) -> Array:
    """Codes without missing labels: they become a label of their own, or ``keep`` excludes them."""
    missing = (codes == -1) & keep
    if not missing.any():
        return codes
    if options.missing == "error":
        raise refuse(column, int(counts[first][missing[first]].sum()))
    if options.missing == "label":
        return np.where(codes == -1, int(codes.max()) + 1, codes)
    keep &= ~missing
    return codes
