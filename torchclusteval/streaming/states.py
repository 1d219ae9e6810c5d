"""The two states of an accumulator: tables of known size, and lists of cells that grow."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from torchclusteval import counting
from torchclusteval.cells import DenseCells, SparseCells
from torchclusteval.labels import LabelPair
from torchclusteval.names import GroupNames, append_label
from torchclusteval.streaming.distributed import gather_objects, gather_rows, is_alone, sum_over
from torchclusteval.streaming.growing import CellList, LabelNumbers, as_cells, count_cells, merge_all, settle
from torchclusteval.tables import ContingencyTables


class FixedState:
    """Dense tables of known size; nothing here waits for the device."""

    def __init__(
        self, sizes: tuple[int, int], batch_shape: torch.Size, dtype: torch.dtype, device: torch.device
    ) -> None:
        self.shape = torch.Size((*batch_shape, *sizes))
        # One cell more than the tables have takes what is left out.
        self.flat = torch.zeros(self.shape.numel() + 1, dtype=dtype, device=device)
        self.considered = torch.zeros(batch_shape, dtype=dtype, device=device)  # (*batch,) unmasked items or weight

    @property
    def device(self) -> torch.device:
        return self.flat.device

    @property
    def counts(self) -> Tensor:  # (*batch, R, C), sharing memory with the state
        return self.flat[:-1].view(self.shape)

    def add(self, pair: LabelPair) -> None:
        considered = pair.considered
        assert considered is not None
        if pair.pred.size != self.shape[-1]:  # labels of a type that cannot be noise
            pair = replace(pair, pred=replace(pair.pred, size=self.shape[-1]))
        self.flat = counting.add_dense(self.flat, pair)
        self.considered = self.considered + considered

    def add_counts(self, counts: Tensor) -> None:
        """Add float tables, ``(*batch, R, C)``, with their gradient."""
        self.flat = self.flat + torch.nn.functional.pad(counts.reshape(-1), (0, 1))
        self.considered = self.considered + counts.detach().sum((-2, -1))

    def merge(self, other: "FixedState") -> None:
        self.flat = self.flat + other.flat.to(self.device)
        self.considered = self.considered + other.considered.to(self.device)

    def all_reduce(self, group: Any) -> None:
        self.flat, self.considered = sum_over([self.flat, self.considered], group)

    def tables(self) -> ContingencyTables:
        return ContingencyTables.from_cells(DenseCells(self.counts.clone()), self.considered)

    def to(self, device: torch.device) -> None:
        self.flat, self.considered = self.flat.to(device), self.considered.to(device)

    def state_dict(self) -> dict[str, Any]:
        return {"counts": self.counts.detach().clone(), "considered": self.considered.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        expect_keys(state, ("counts", "considered"))
        counts = state["counts"]
        if counts.shape != self.shape or counts.dtype != self.flat.dtype:
            expected = f"counts of shape {tuple(self.shape)}, {self.flat.dtype}"
            raise ValueError(f"state: expected {expected}; got {tuple(counts.shape)}, {counts.dtype}")
        self.flat = torch.nn.functional.pad(counts.to(self.device).reshape(-1), (0, 1))
        self.considered = state["considered"].to(self.device, copy=True)


class GrowingState:
    """The cells seen so far, by label."""

    def __init__(
        self,
        sizes: tuple[int | None, int | None],
        noise: tuple[Any, str],
        batch_shape: torch.Size,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self.batch_shape = batch_shape
        self.noise_label, self.noise = noise
        self.classes = LabelNumbers("labels_true", sizes[0])
        self.clusters = LabelNumbers("labels_pred", sizes[1])
        self.parts = [CellList.empty(dtype, device)]  # the first is merged
        self.considered = torch.zeros(batch_shape, dtype=dtype, device=device)  # (*batch,) unmasked items or weight

    @property
    def device(self) -> torch.device:
        return self.considered.device

    @property
    def dtype(self) -> torch.dtype:
        return self.considered.dtype

    @property
    def sides(self) -> tuple[LabelNumbers, LabelNumbers]:
        return self.classes, self.clusters

    def add(self, pair: LabelPair) -> None:
        batch, row, column, counts = count_cells(pair)
        true, pred = self.classes.read(pair.true, batch, row), self.clusters.read(pair.pred, batch, column)
        part = CellList(batch, true, pred, counts.to(self.dtype))
        self.parts.append(part)
        settle(self.parts)
        self.considered = self.considered + self._seen(pair, part)

    def _seen(self, pair: LabelPair, part: CellList) -> Tensor:
        if pair.considered is not None:
            return pair.considered
        if pair.weights is None and pair.keep is None:
            return torch.full((), pair.n, device=self.device)
        sums = torch.zeros(self.batch_shape.numel(), dtype=self.dtype, device=self.device)
        return sums.index_add(0, part.batch, part.counts).reshape(self.batch_shape)

    def merge(self, other: "GrowingState") -> None:
        part = other._cells().to(self.device)
        maps = [own.learn(its.kind, list(its.words)) for own, its in zip(self.sides, other.sides, strict=True)]
        self.parts.append(_renumber(part, maps))
        settle(self.parts)
        self.considered = self.considered + other.considered.to(self.device)

    def all_reduce(self, group: Any) -> None:
        if is_alone():
            return
        heads = gather_objects([(side.kind, list(side.words)) for side in self.sides], group)
        maps = []
        for place, side in enumerate(self.sides):
            kind, words = side.kind, list(side.words)
            side.kind, side.words = None, {}
            for head in heads:  # in the order of ranks, so that all come to the same numbers
                side.learn(*head[place])
            maps.append(side.learn(kind, words))
        own = _renumber(self._cells(), maps)
        rows = gather_rows(own.pack(), group)
        self.parts = [CellList.join([CellList.unpack(part, self.dtype) for part in rows]).merged()]
        (self.considered,) = sum_over([self.considered], group)

    def tables(self) -> ContingencyTables:
        cells = self._cells()
        row, rows, classes = self.classes.place(cells.true)
        batch, column, counts = cells.batch, cells.pred, cells.counts
        noisy = self._is_noise(column)
        column, columns, clusters = _place_around(self.clusters, column, noisy)
        if self.noise == "singletons" and noisy is not None:
            each = torch.where(noisy, counts, 1)  # so many columns for the noise of a class
            batch, row, column, noisy = (x.repeat_interleave(each) for x in (batch, row, column, noisy))
            counts = torch.where(noisy, 1, counts.repeat_interleave(each))
            order = _number_within(batch, noisy)
            column = column + order
            more = int(order.max()) + 1 if bool(noisy.any()) else 0
        else:
            more = int(self._has_noise_column(noisy))
        if clusters is not None and more:
            clusters = append_label(clusters, self.noise_label, more)
        shape = (max(1, rows), max(1, columns + more))
        items = int(self.considered.max()) if self.considered.numel() else 0
        found = as_cells(SparseCells(self.batch_shape, shape, batch, row, column, counts), items)
        names = (classes if rows else None, clusters if columns + more else None)
        return ContingencyTables.from_cells(found, self.considered, *names)

    def to(self, device: torch.device) -> None:
        self.parts = [part.to(device) for part in self.parts]
        self.considered = self.considered.to(device)

    def state_dict(self) -> dict[str, Any]:
        heads = {"classes": self.classes, "clusters": self.clusters}
        found = {name: {"kind": side.kind, "words": list(side.words)} for name, side in heads.items()}
        return {"cells": self._cells().pack(), "considered": self.considered.clone(), **found}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        expect_keys(state, ("cells", "considered", "classes", "clusters"))
        considered = state["considered"]
        if considered.shape != self.batch_shape or considered.dtype != self.dtype:
            expected = f"batch shape {tuple(self.batch_shape)}, {self.dtype}"
            raise ValueError(f"state: expected {expected}; got {tuple(considered.shape)}, {considered.dtype}")
        cells = state["cells"]
        if cells.shape[1:] != (4,) or cells.dtype != torch.int64:
            raise ValueError(f"state: expected cells of shape (Z, 4), int64; got {tuple(cells.shape)}, {cells.dtype}")
        for side, head in ((self.classes, state["classes"]), (self.clusters, state["clusters"])):
            side.kind, side.words = head["kind"], {word: i for i, word in enumerate(head["words"])}
        self.parts = [CellList.unpack(cells.to(self.device), self.dtype).merged()]
        self.considered = considered.to(self.device, copy=True)

    def _cells(self) -> CellList:
        """Every cell once, in any order."""
        if len(self.parts) == 2 and not len(self.parts[0]):
            return self.parts[1]  # those of one chunk
        merge_all(self.parts)
        return self.parts[0]

    def _is_noise(self, pred: Tensor) -> Tensor | None:
        if self.noise == "ignore" or not len(pred):
            return None
        return pred == self.clusters.number(self.noise_label)

    def _has_noise_column(self, noisy: Tensor | None) -> bool:
        if self.noise == "ignore":
            return False
        return self.clusters.size is not None or (noisy is not None and bool(noisy.any()))


def expect_keys(state: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """Raise unless a state has exactly these entries."""
    if not isinstance(state, Mapping):
        raise ValueError(f"state: expected a state_dict; got {type(state).__name__}")
    if set(state) != set(names):
        raise ValueError(f"state: expected the entries {', '.join(names)}; got {', '.join(map(str, state)) or 'none'}")
    for name in {"cells", "counts", "considered"} & set(names):
        if not isinstance(state[name], Tensor):
            raise ValueError(f"state: expected a tensor of {name}; got {type(state[name]).__name__}")


def _renumber(cells: CellList, maps: list[Tensor | None]) -> CellList:
    true, pred = (
        numbers if words is None else words.to(numbers.device)[numbers]
        for numbers, words in zip((cells.true, cells.pred), maps, strict=True)
    )
    return CellList(cells.batch, true, pred, cells.counts)


def _place_around(side: LabelNumbers, numbers: Tensor, noisy: Tensor | None) -> tuple[Tensor, int, GroupNames | None]:
    """Places of the numbers that are not noise; noise comes after the last of them."""
    if noisy is None:
        return side.place(numbers)
    kept, count, names = side.place(numbers[~noisy])
    places = torch.full_like(numbers, count)
    places[~noisy] = kept
    return places, count, names


def _number_within(batch: Tensor, noisy: Tensor) -> Tensor:
    """Numbers ``0, 1, ...`` of the noise entries of each table, whose entries come together; 0 for the others."""
    seen = noisy.long().cumsum(0)
    first = torch.searchsorted(batch, batch)
    before = torch.where(first > 0, seen[first - 1], 0)
    return torch.where(noisy, seen - 1 - before, 0)
