"""The two states of an accumulator: tables of known size, and lists of cells that grow."""

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from torchclusteval import counting
from torchclusteval.cells.layouts import DenseCells
from torchclusteval.common.checks import check_cells_fit
from torchclusteval.labels.encoding import EncodedPair
from torchclusteval.labels.group_labels import GroupLabels, append_label
from torchclusteval.labels.noise import NoisePolicy
from torchclusteval.labels.vocabulary import Vocabulary
from torchclusteval.streaming.distributed import gather_objects, gather_rows, is_alone, sum_over
from torchclusteval.streaming.growing_cells import CellList, CellTable, GrowingCells, as_cells, count_cells
from torchclusteval.streaming.label_vocabulary import LabelVocabulary
from torchclusteval.tables import ContingencyTables


class FixedState:
    """Dense tables of known size; nothing here waits for the device."""

    def __init__(
        self, sizes: tuple[int, int], batch_shape: torch.Size, dtype: torch.dtype, device: torch.device
    ) -> None:
        with _room(batch_shape, sizes, "leave the sizes out: tables then grow with the labels"):
            self.shape = torch.Size((*batch_shape, *sizes))
            # One cell more than the tables have takes what is left out.
            self.flat = torch.zeros(self.shape.numel() + 1, dtype=dtype, device=device)
            self.n_considered = torch.zeros(batch_shape, dtype=dtype, device=device)  # (*batch,) unmasked items, weight

    @property
    def device(self) -> torch.device:
        return self.flat.device

    @property
    def counts(self) -> Tensor:  # (*batch, R, C), sharing memory with the state
        return self.flat[:-1].view(self.shape)

    def add(self, pair: EncodedPair) -> None:
        considered = pair.n_considered
        assert considered is not None
        if pair.pred.size != self.shape[-1]:  # labels of a type that cannot be noise
            pair = replace(pair, pred=replace(pair.pred, size=self.shape[-1]))
        self.flat = counting.add_dense(self.flat, pair)
        self.n_considered = self.n_considered + considered

    def add_counts(self, counts: Tensor) -> None:
        """Add float tables, ``(*batch, R, C)``, with their gradient."""
        self.flat = self.flat + torch.nn.functional.pad(counts.reshape(-1), (0, 1))
        self.n_considered = self.n_considered + counts.detach().sum((-2, -1))

    def merge(self, other: "FixedState") -> None:
        self.flat = self.flat + other.flat.to(self.device)
        self.n_considered = self.n_considered + other.n_considered.to(self.device)

    def all_reduce(self, group: Any) -> None:
        self.flat, self.n_considered = sum_over([self.flat, self.n_considered], group)

    def tables(self) -> ContingencyTables:
        return ContingencyTables.wrap_cells(DenseCells(self.counts.clone()), self.n_considered)

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
        _expect_amounts(counts, "counts")
        self.flat = torch.nn.functional.pad(counts.to(self.device).reshape(-1), (0, 1))
        self.n_considered = state["considered"].to(self.device, copy=True)


class GrowingState:
    """The cells seen so far, by label."""

    def __init__(
        self,
        sizes: tuple[int | None, int | None],
        noise: tuple[Any, NoisePolicy],
        batch_shape: torch.Size,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self.batch_shape = batch_shape
        self.noise_label, self.noise = noise
        self.classes = LabelVocabulary("labels_true", sizes[0])
        self.clusters = LabelVocabulary("labels_pred", sizes[1])
        self.cells = GrowingCells(CellTable.empty(dtype, device))
        with _room(batch_shape, (1, 1), "use several accumulators"):
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

    def add(self, pair: EncodedPair) -> None:
        batch, row, column, counts = count_cells(pair)
        true, pred = self.classes.numbers_of(pair.true, batch, row), self.clusters.numbers_of(pair.pred, batch, column)
        part = CellList(batch, true, pred, counts.to(self.dtype))
        self.cells.add(part)
        self.n_considered = self.n_considered + self._seen(pair, part)

    def _seen(self, pair: EncodedPair, part: CellList) -> Tensor:
        if pair.n_considered is not None:
            return pair.n_considered
        if pair.weights is None and pair.mask is None:
            return torch.full((), pair.n_items, device=self.device)
        sums = torch.zeros(self.batch_shape.numel(), dtype=self.dtype, device=self.device)
        return sums.index_add(0, part.batch, part.counts).reshape(self.batch_shape)

    def merge(self, other: "GrowingState") -> None:
        part = other.cells.once().cells().to(self.device)
        maps = [own.update(its.kind, list(its.tokens)) for own, its in zip(self.sides, other.sides, strict=True)]
        self.cells.add(_renumber(part, maps))
        self.n_considered = self.n_considered + other.n_considered.to(self.device)

    def all_reduce(self, group: Any) -> None:
        if is_alone():
            return
        heads = gather_objects([(side.kind, list(side.tokens)) for side in self.sides], group)
        maps = []
        for place, side in enumerate(self.sides):
            kind, words = side.kind, list(side.tokens)
            side.kind, side.tokens = None, Vocabulary()
            for head in heads:  # in the order of ranks, so that all come to the same numbers
                side.update(*head[place])
            maps.append(side.update(kind, words))
        own = _renumber(self.cells.once().cells(), maps)
        rows = gather_rows(own.pack(), group)
        self._take(CellList.join([CellList.unpack(part, self.dtype) for part in rows]))
        (self.n_considered,) = sum_over([self.n_considered], group)

    def tables(self) -> ContingencyTables:
        cells = self.cells.once()
        noisy = self._is_noise(cells.clusters)
        row_of, rows, classes = self.classes.rank(cells.classes)
        column_of, columns, clusters = _place_around(self.clusters, cells.clusters, noisy)
        if self.noise.has_column_per_item and noisy is not None:
            keys, counts, more = _singletons(cells, noisy, row_of, column_of, rows, columns)
        else:
            more, counts = int(self._has_noise_column(noisy)), cells.counts
            keys = cells.keys_at(row_of, column_of, max(1, rows), max(1, columns + more))
        if clusters is not None and more:
            clusters = append_label(clusters, self.noise_label, more)
        shape = (max(1, rows), max(1, columns + more))
        items = int(self.n_considered.max()) if self.n_considered.numel() else 0
        found = as_cells(keys, counts, self.batch_shape, shape, items)
        names = (classes if rows else None, clusters if columns + more else None)
        return ContingencyTables.wrap_cells(found, self.n_considered, *names)

    def to(self, device: torch.device) -> None:
        self.cells = self.cells.to(device)
        self.n_considered = self.n_considered.to(device)

    def state_dict(self) -> dict[str, Any]:
        heads = {"classes": self.classes, "clusters": self.clusters}
        found = {name: {"kind": side.kind, "words": list(side.tokens)} for name, side in heads.items()}
        return {"cells": self.cells.once().cells().pack(), "considered": self.n_considered.clone(), **found}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        expect_keys(state, ("cells", "considered", "classes", "clusters"))
        considered = state["considered"]
        _expect_considered(considered, self.batch_shape, self.dtype)
        cells = state["cells"]
        if cells.shape[1:] != (4,) or cells.dtype != torch.int64:
            raise ValueError(f"state: expected cells of shape (Z, 4), int64; got {tuple(cells.shape)}, {cells.dtype}")
        found = CellList.unpack(cells.to(self.device), self.dtype)
        _expect_amounts(found.counts, "cells")
        _expect_numbers(found.batch, self.batch_shape.numel(), "cells")
        heads = [side.checked(state[name]) for side, name in ((self.classes, "classes"), (self.clusters, "clusters"))]
        sizes = (
            self.classes.size,
            None if self.clusters.size is None else self.clusters.size + self.noise.fixed_columns,
        )
        for (kind, words), size, numbers in zip(heads, sizes, (found.true, found.pred), strict=True):
            if kind == "text" or size is not None:
                _expect_numbers(numbers, len(words) if size is None else size, "cells")
        for side, (kind, words) in zip(self.sides, heads, strict=True):
            side.kind, side.tokens = kind, words
        self._take(found)
        self.n_considered = considered.to(self.device, copy=True)

    def _take(self, cells: CellList) -> None:
        self.cells = GrowingCells(CellTable.of(cells).merged())

    def _is_noise(self, pred: Tensor) -> Tensor | None:
        if not self.noise.counts_noise or not len(pred):
            return None
        return pred == self.clusters.number(self.noise_label)

    def _has_noise_column(self, noisy: Tensor | None) -> bool:
        if not self.noise.counts_noise:
            return False
        return self.clusters.size is not None or (noisy is not None and bool(noisy.any()))


def _room(batch_shape: torch.Size, sizes: tuple[int, int], remedy: str) -> AbstractContextManager[None]:
    tables = f"{math.prod(batch_shape)} tables of {sizes[0]} x {sizes[1]}"
    message = f"num_classes, num_clusters, batch_shape: expected tables that fit in memory; got {tables} ({remedy})"
    return check_cells_fit(math.prod(batch_shape) * sizes[0] * sizes[1], message)


def expect_keys(state: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """Raise unless a state has exactly these entries."""
    if not isinstance(state, Mapping):
        raise ValueError(f"state: expected a state_dict; got {type(state).__name__}")
    if set(state) != set(names):
        raise ValueError(f"state: expected the entries {', '.join(names)}; got {', '.join(map(str, state)) or 'none'}")
    for name in {"cells", "counts", "considered"} & set(names):
        if not isinstance(state[name], Tensor):
            raise ValueError(f"state: expected a tensor of {name}; got {type(state[name]).__name__}")


def _expect_considered(considered: Tensor, shape: torch.Size, dtype: torch.dtype) -> None:
    if considered.shape != shape or considered.dtype != dtype:
        found = f"{tuple(considered.shape)}, {considered.dtype}"
        raise ValueError(f"state: expected considered of batch shape {tuple(shape)}, {dtype}; got {found}")
    _expect_amounts(considered, "considered")


def _expect_amounts(x: Tensor, name: str) -> None:
    bad = ~((x >= 0) & (x < torch.inf)) if x.is_floating_point() else x < 0
    if bool(bad.any()):
        raise ValueError(f"state: expected {name} of finite numbers >= 0; got {x[bad][0].item()}")


def _expect_numbers(x: Tensor, size: int, name: str) -> None:
    bad = (x < 0) | (x >= size)
    if bool(bad.any()):
        raise ValueError(f"state: expected {name} with numbers 0..{size - 1}; got {x[bad][0].item()}")


def _renumber(cells: CellList, maps: list[Tensor | None]) -> CellList:
    true, pred = (
        numbers if words is None else words.to(numbers.device)[numbers]
        for numbers, words in zip((cells.true, cells.pred), maps, strict=True)
    )
    return CellList(cells.batch, true, pred, cells.counts)


def _place_around(
    side: LabelVocabulary, numbers: Tensor, noisy: Tensor | None
) -> tuple[Tensor, int, GroupLabels | None]:
    """Places of the numbers that are not noise; noise comes after the last of them."""
    if noisy is None:
        return side.rank(numbers)
    kept, count, names = side.rank(numbers[~noisy])
    places = torch.full_like(numbers, count)
    places[~noisy] = kept
    return places, count, names


def _singletons(
    cells: CellTable, noisy: Tensor, row_of: Tensor, column_of: Tensor, rows: int, columns: int
) -> tuple[Tensor, Tensor, int]:
    """Keys and counts of the cells with a column for each item of noise, and how many columns that takes."""
    batch, row, column = cells.places()
    noise = noisy[column]
    each = torch.where(noise, cells.counts, 1)  # so many columns for the noise of a class
    batch, row, column, noise = (x.repeat_interleave(each) for x in (batch, row_of[row], column_of[column], noise))
    counts = torch.where(noise, 1, cells.counts.repeat_interleave(each))
    order = _number_within(batch, noise)
    more = int(order.max()) + 1 if bool(noise.any()) else 0
    return (batch * max(1, rows) + row) * max(1, columns + more) + column + order, counts, more


def _number_within(batch: Tensor, noisy: Tensor) -> Tensor:
    """Numbers ``0, 1, ...`` of the noise entries of each table, whose entries come together; 0 for the others."""
    seen = noisy.long().cumsum(0)
    first = torch.searchsorted(batch, batch)
    before = torch.where(first > 0, seen[first - 1], 0)
    return torch.where(noisy, seen - 1 - before, 0)
