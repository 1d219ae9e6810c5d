"""The two states of an accumulator: dense tables of given sizes, and cells by label, whose number grows."""

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from torchclusteval import counting
from torchclusteval.cells.layouts import Cells, DenseCells
from torchclusteval.cells.parts import TableParts
from torchclusteval.common.checks import check_cells_fit
from torchclusteval.common.formatting import brief
from torchclusteval.common.threads import on_one_thread
from torchclusteval.labels.encoding import EncodedPair
from torchclusteval.labels.group_labels import GroupLabels, append_label
from torchclusteval.labels.keeping import count_considered
from torchclusteval.labels.options import LabelOptions
from torchclusteval.labels.sources import Names
from torchclusteval.streaming.absent_labels import AbsentLabels, split_tables
from torchclusteval.streaming.distributed import (
    all_gather_objects,
    all_gather_ragged,
    all_reduce_sum,
    is_single_process,
)
from torchclusteval.streaming.growing_cells import GrowingCells, LabelledCells, ListedCells
from torchclusteval.streaming.label_vocabulary import LabelVocabulary
from torchclusteval.tables import ContingencyTables


class FixedState:
    """Dense tables of given sizes; only ``load_state_dict`` synchronises with the device."""

    def __init__(
        self, options: LabelOptions, batch_shape: torch.Size, dtype: torch.dtype, device: torch.device
    ) -> None:
        assert options.num_classes is not None
        assert options.num_clusters is not None
        self.absent = AbsentLabels(options)
        sizes = self.absent.extended((options.num_classes, options.num_clusters + options.policy.fixed_columns))
        with _explain_too_large(batch_shape, sizes, "leave the sizes out: tables then grow with the labels"):
            self.shape = torch.Size((*batch_shape, *sizes))
            # Excluded items are counted in one more cell than the tables have.
            self.flat = torch.zeros(self.shape.numel() + 1, dtype=dtype, device=device)
            self.n_considered = torch.zeros(batch_shape, dtype=dtype, device=device)  # (*batch,) unmasked items, weight

    @property
    def device(self) -> torch.device:
        return self.flat.device

    @property
    def counts(self) -> Tensor:  # (*batch, R, C), sharing memory with the state
        return self.flat[:-1].view(self.shape)

    @on_one_thread
    def count(self, pair: EncodedPair) -> Tensor:
        """Counts of a chunk alone, ``(*batch, R, C)``."""
        return counting.count_dense(self._with_noise_column(pair)).counts

    @on_one_thread
    def add(self, pair: EncodedPair) -> None:
        considered = pair.n_considered
        if considered is None:
            considered = count_considered(pair.mask, pair.weights, pair.n_items, pair.device)
        self.flat = counting.add_dense(self.flat, self._with_noise_column(pair))
        self.n_considered = self.n_considered + considered

    def _with_noise_column(self, pair: EncodedPair) -> EncodedPair:
        """A pair for these tables, also if its labels have a type that no noise label can have."""
        same = pair.pred.size == self.shape[-1]
        return pair if same else replace(pair, pred=replace(pair.pred, size=self.shape[-1]))

    def add_counts(self, counts: Tensor) -> None:
        """Add float tables, ``(*batch, R, C)``, with their gradient."""
        missing = [own - given for own, given in zip(self.shape[-2:], counts.shape[-2:], strict=True)]
        counts = torch.nn.functional.pad(counts, (0, missing[1], 0, missing[0])) if any(missing) else counts
        self.flat = self.flat + torch.nn.functional.pad(counts.reshape(-1), (0, 1))
        self.n_considered = self.n_considered + counts.detach().sum((-2, -1))

    @on_one_thread
    def merge(self, other: "FixedState") -> None:
        self.flat = self.flat + other.flat.to(self.device)
        self.n_considered = self.n_considered + other.n_considered.to(self.device)

    def all_reduce(self, group: Any) -> None:
        self.flat, self.n_considered = all_reduce_sum([self.flat, self.n_considered], group)

    @on_one_thread
    def tables(self) -> ContingencyTables:
        return self.absent.tables(DenseCells(self.counts.clone()), self.n_considered)

    def to(self, device: torch.device) -> None:
        self.flat, self.n_considered = self.flat.to(device), self.n_considered.to(device)

    def state_dict(self) -> dict[str, Any]:
        return {"counts": self.counts.detach().clone(), "considered": self.n_considered.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        expect_keys(state, ("counts", "considered"))
        counts = state["counts"]
        if counts.shape != self.shape or counts.dtype != self.flat.dtype:
            expected = f"counts of shape {tuple(self.shape)}, {self.flat.dtype}"
            raise ValueError(f"state: expected {expected}; got {tuple(counts.shape)}, {counts.dtype}")
        _expect_considered(state["considered"], self.n_considered.shape, self.flat.dtype)
        self.flat = torch.nn.functional.pad(counts.to(self.device).reshape(-1), (0, 1))
        self.n_considered = state["considered"].to(self.device, copy=True)


class GrowingState:
    """The cells so far, by label."""

    def __init__(
        self, options: LabelOptions, batch_shape: torch.Size, dtype: torch.dtype, device: torch.device
    ) -> None:
        self.options, self.noise, self.absent = options, options.policy, AbsentLabels(options)
        self.batch_shape = batch_shape
        self.classes = LabelVocabulary("labels_true", options.num_classes)
        self.clusters = LabelVocabulary("labels_pred", options.num_clusters)
        self.cells = GrowingCells(LabelledCells.empty(dtype, device))
        with _explain_too_large(batch_shape, (1, 1), "use several accumulators"):
            self.n_considered = torch.zeros(batch_shape, dtype=dtype, device=device)  # (*batch,) unmasked items, weight

    @property
    def device(self) -> torch.device:
        return self.n_considered.device

    @property
    def dtype(self) -> torch.dtype:
        return self.n_considered.dtype

    @property
    def sides(self) -> tuple[LabelVocabulary, LabelVocabulary]:
        return self.classes, self.clusters

    @on_one_thread
    def count(self, pair: EncodedPair) -> LabelledCells:
        """Cells of a chunk alone."""
        return self._labelled(self._counted(pair), pair)

    def _counted(self, pair: EncodedPair) -> Cells:
        dense = counting.resolve_layout("auto", pair, may_sync=True) == "dense"
        return counting.count_dense(pair) if dense else counting.count_sparse(pair)

    def _labelled(self, cells: Cells, pair: EncodedPair) -> LabelledCells:
        batch, row, column, counts = cells.nonzero()
        true, pred = self.classes.numbers_of(pair.true, batch, row), self.clusters.numbers_of(pair.pred, batch, column)
        true, pred = self.absent.mark((true, pred), (row, column), (pair.true, pair.pred), self.sides)
        return LabelledCells(batch, true, pred, counts.to(self.dtype))

    @on_one_thread
    def add(self, pair: EncodedPair) -> None:
        cells, considered = self._counted(pair), pair.n_considered
        if considered is None and pair.weights is None and pair.mask is None:
            considered = torch.full((), pair.n_items, device=self.device)
        if isinstance(cells, DenseCells) and not self.absent and pair.n_items:
            counts = cells.counts.reshape(-1, *cells.counts.shape[-2:]).to(self.dtype)
            self.cells.add_dense(self.classes.numbers(pair.true), self.clusters.numbers(pair.pred), counts)
            sums = counts.sum((-2, -1)).reshape(self.batch_shape) if considered is None else considered
        else:
            part = self._labelled(cells, pair)
            self.cells.add(part)
            sums = self._sum_by_table(part) if considered is None else considered
        self.n_considered = self.n_considered + sums

    @on_one_thread
    def add_cells(self, cells: LabelledCells, n_considered: Tensor) -> None:
        """Add cells whose labels are whole numbers."""
        self._expect_cells(cells, (None, None))
        for side in self.sides:
            side.update("integer", [])
        self.cells.add(cells)
        self.n_considered = self.n_considered + n_considered

    def _sum_by_table(self, cells: LabelledCells) -> Tensor:
        sums = torch.zeros(self.batch_shape.numel(), dtype=self.dtype, device=self.device)
        return sums.index_add(0, cells.batch, cells.counts).reshape(self.batch_shape)

    def expect_kinds_of(self, other: "GrowingState") -> None:
        """Take the labels that another state takes, and no others."""
        for side, its in zip(self.sides, other.sides, strict=True):
            side.update(its.kind, [])

    @on_one_thread
    def merge(self, other: "GrowingState") -> None:
        part = other.cells.merged().to(self.device)
        maps = [own.update(its.kind, list(its.tokens)) for own, its in zip(self.sides, other.sides, strict=True)]
        self.cells.add(_renumber(part, maps))
        self.n_considered = self.n_considered + other.n_considered.to(self.device)

    def all_reduce(self, group: Any) -> None:
        if is_single_process():
            return
        heads = all_gather_objects([(side.kind, list(side.tokens)) for side in self.sides], group)
        maps, joint_sides = [], []
        for place, side in enumerate(self.sides):
            joint = LabelVocabulary(side.argument, side.size)
            for head in heads:  # in the order of ranks, so that the numbers are the same on all
                joint.update(*head[place])
            maps.append(joint.update(side.kind, list(side.tokens)))
            joint_sides.append(joint)
        own = _renumber(self.cells.merged(), maps)
        parts = all_gather_ragged(own.pack(), group)
        (self.n_considered,) = all_reduce_sum([self.n_considered], group)
        self._replace_cells(LabelledCells.join([LabelledCells.unpack(part, self.dtype) for part in parts]))
        self.classes, self.clusters = joint_sides

    @on_one_thread
    def tables(self) -> ContingencyTables:
        listed, shape = self.listed(), self.batch_shape
        items = int(self.n_considered.max()) if self.n_considered.numel() else 0
        fits = counting.fits_dense(listed.shape[0] * listed.shape[1], shape.numel(), items)
        cells = listed.dense(shape) if fits else listed.sparse(shape)
        if self.absent:
            return split_tables(cells, self.n_considered, listed.absent, listed.labels)
        return ContingencyTables._of(TableParts(cells, self.n_considered, *listed.labels))

    def listed(self) -> ListedCells:
        """The cells in tables of all labels so far."""
        cells = self.cells.merged()
        self._check_kinds(cells)
        if self.absent:
            return self.absent.listed(cells, self.sides)
        noisy = self._is_noise(cells.pred)
        row, rows, classes = self.classes.rank(cells.true)
        column, columns, clusters = _rank_with_noise_last(self.clusters, cells.pred, noisy)
        table, counts, more = cells.batch, cells.counts, int(self._has_noise_column(noisy))
        if self.noise.has_column_per_item and noisy is not None:
            table, row, column, counts, more = _singletons(table, row, column, counts, noisy)
        if clusters is not None and more:
            clusters = append_label(clusters, self.options.noise_label, more)
        names = (classes if rows else None, clusters if columns + more else None)
        return ListedCells(table, row, column, counts, (max(1, rows), max(1, columns + more)), names)

    def to(self, device: torch.device) -> None:
        self.cells = self.cells.to(device)
        self.n_considered = self.n_considered.to(device)

    def state_dict(self) -> dict[str, Any]:
        classes, clusters = ({"kind": side.kind, "words": list(side.tokens)} for side in self.sides)
        cells, considered = self.cells.merged().pack(), self.n_considered.clone()
        return {"cells": cells, "considered": considered, "classes": classes, "clusters": clusters}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        expect_keys(state, ("cells", "considered", "classes", "clusters"))
        considered = state["considered"]
        _expect_considered(considered, self.batch_shape, self.dtype)
        packed = state["cells"]
        if packed.shape[1:] != (4,) or packed.dtype != torch.int64:
            raise ValueError(f"state: expected cells of shape (Z, 4), int64; got {tuple(packed.shape)}, {packed.dtype}")
        cells = LabelledCells.unpack(packed.to(self.device), self.dtype)
        mixed = len(self.batch_shape) > 0  # columns of different kinds
        sides = (self.classes, "classes"), (self.clusters, "clusters")
        heads = [side.checked(state[name], mixed=mixed) for side, name in sides]
        self._expect_cells(cells, [len(tokens) if kind == "text" else None for kind, tokens in heads])
        for side, (kind, tokens) in zip(self.sides, heads, strict=True):
            side.kind, side.tokens = kind, tokens
        self._replace_cells(cells)
        self.n_considered = considered.to(self.device, copy=True)

    def _expect_cells(self, cells: LabelledCells, n_tokens: Sequence[int | None]) -> None:
        """Raise on cells that no labels of this state can give; ``n_tokens``: of each side, None for integers."""
        _expect_numbers(cells.batch, self.batch_shape.numel())
        n_clusters = self.clusters.size
        sizes = self.classes.size, None if n_clusters is None else n_clusters + self.noise.fixed_columns
        for numbers, size, tokens in zip((cells.true, cells.pred), self.absent.extended(sizes), n_tokens, strict=True):
            most = tokens if size is None else size
            if most is not None:
                _expect_numbers(numbers, most)

    def _replace_cells(self, cells: LabelledCells) -> None:
        self.cells = GrowingCells(cells.merged())

    def _check_kinds(self, cells: LabelledCells) -> None:
        if "text" in (self.classes.kind, self.clusters.kind):
            self.classes.check_kinds(cells.batch, cells.true)
            self.clusters.check_kinds(cells.batch, cells.pred)

    def _is_noise(self, pred: Tensor) -> Tensor | None:
        if not self.noise.counts_noise or not len(pred):
            return None
        return pred == self.clusters.number(self.options.noise_label)

    def _has_noise_column(self, noisy: Tensor | None) -> bool:
        if not self.noise.counts_noise:
            return False
        return self.clusters.size is not None or (noisy is not None and bool(noisy.any()))


def _explain_too_large(batch_shape: torch.Size, sizes: tuple[int, int], remedy: str) -> AbstractContextManager[None]:
    tables = f"{math.prod(batch_shape)} tables of {sizes[0]} x {sizes[1]}"
    message = f"num_classes, num_clusters, batch_shape: expected tables that fit in memory; got {tables} ({remedy})"
    return check_cells_fit(math.prod(batch_shape) * sizes[0] * sizes[1], message)


def checked_batch_shape(shape: Any) -> torch.Size:
    """The shape of a batch of tables, which 64 bits can number."""
    listed = isinstance(shape, Sequence) and not isinstance(shape, (str, bytes))
    if not listed or not all(isinstance(n, int) and n >= 0 for n in shape):
        raise ValueError(f"batch_shape: expected sizes of at least 0; got {brief(shape)}")
    if math.prod(max(1, n) for n in shape) >= 2**63:
        raise ValueError(f"batch_shape: expected fewer than 2**63 tables; got {brief(shape)}")
    return torch.Size(shape)


def expect_keys(state: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """Raise unless a state has exactly these entries."""
    if not isinstance(state, Mapping):
        raise ValueError(f"state: expected a state_dict; got {type(state).__name__}")
    if set(state) != set(names):
        raise ValueError(f"state: expected the entries {', '.join(names)}; got {', '.join(map(str, state)) or 'none'}")
    for name in {"cells", "counts", "considered"} & set(names):
        if not isinstance(state[name], Tensor):
            raise ValueError(f"state: expected a tensor of {name}; got {type(state[name]).__name__}")


def expect_names(so_far: Names | None, names: Names | None, argument: str) -> None:
    """Raise unless clusterings have the names that those of earlier chunks have."""
    if None not in (names, so_far) and names != so_far:
        raise ValueError(
            f"{argument}: expected the clusterings of earlier chunks, {_listed(so_far)}; got {_listed(names)}"
        )


def _listed(names: Names | None) -> str:
    return ", ".join(map(str, (names or ())[:4])) + (" ..." if names is not None and len(names) > 4 else "")


def _expect_considered(considered: Tensor, shape: torch.Size, dtype: torch.dtype) -> None:
    if considered.shape != shape or considered.dtype != dtype:
        got = f"{tuple(considered.shape)}, {considered.dtype}"
        raise ValueError(f"state: expected considered of batch shape {tuple(shape)}, {dtype}; got {got}")


def _expect_numbers(x: Tensor, size: int) -> None:
    bad = (x < 0) | (x >= size)
    if bool(bad.any()):
        raise ValueError(f"state: expected cells with numbers 0..{size - 1}; got {x[bad][0].item()}")


def _renumber(cells: LabelledCells, maps: list[Tensor | None]) -> LabelledCells:
    """The cells with the new number of each old one; None: the numbers stay."""
    true, pred = (
        numbers if new is None else new.to(numbers.device)[numbers]
        for numbers, new in zip((cells.true, cells.pred), maps, strict=True)
    )
    return LabelledCells(cells.batch, true, pred, cells.counts)


def _rank_with_noise_last(
    side: LabelVocabulary, numbers: Tensor, noisy: Tensor | None
) -> tuple[Tensor, int, GroupLabels | None]:
    """Rank of each number in label order; noise comes last."""
    if noisy is None:
        return side.rank(numbers)
    kept, count, names = side.rank(numbers[~noisy])
    places = torch.full_like(numbers, count)
    places[~noisy] = kept
    return places, count, names


def _singletons(
    table: Tensor, row: Tensor, column: Tensor, counts: Tensor, noisy: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, int]:
    """Cells in which each noise item has a column of its own, and the most such columns of a table."""
    order = torch.argsort(row, stable=True)  # by table and row, whatever the order of the chunks was
    order = order[table[order].argsort(stable=True)]
    each = torch.where(noisy, counts, 1)[order]  # columns for the noise of a class
    table, row, column, counts, noise = (x[order].repeat_interleave(each) for x in (table, row, column, counts, noisy))
    number = _number_within(table, noise)
    more = int(number.max()) + 1 if bool(noise.any()) else 0
    return table, row, column + number, torch.where(noise, 1, counts), more


def _number_within(batch: Tensor, noisy: Tensor) -> Tensor:
    """Number the noise entries of each table 0, 1, ...; 0 for other entries. Entries of a table are adjacent."""
    seen = noisy.long().cumsum(0)
    first = torch.searchsorted(batch, batch)
    before = torch.where(first > 0, seen[first - 1], 0)
    return torch.where(noisy, seen - 1 - before, 0)
