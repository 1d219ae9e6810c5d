"""The state of an accumulator of tables by groups of items: the batch has an axis of groups, which grows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval import counting
from torchclusteval.labels.encoding import EncodedPair
from torchclusteval.labels.group_labels import GroupLabels
from torchclusteval.labels.groups_of_items import ItemGroups
from torchclusteval.labels.options import LabelOptions
from torchclusteval.labels.vocabulary import Vocabulary
from torchclusteval.streaming.distributed import all_gather_objects, is_single_process
from torchclusteval.streaming.growing_cells import LabelledCells
from torchclusteval.streaming.label_vocabulary import LabelVocabulary, kind_of
from torchclusteval.streaming.states import FixedState, GrowingState, expect_keys
from torchclusteval.tables import ContingencyTables


@dataclass(eq=False)
class _Ids:
    """The ids so far, numbered as they come."""

    labels: LabelVocabulary = field(default_factory=lambda: LabelVocabulary("by"))
    numbers: Vocabulary = field(default_factory=Vocabulary)

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, ids: GroupLabels) -> Tensor:
        """The number of each id, ``(G,)``; a new one gets the next."""
        return self.update(kind_of(ids), ids.tolist())

    def update(self, kind: Any, ids: Sequence[Any]) -> Tensor:
        if len(ids):
            self.labels.update(kind, [])
        return torch.from_numpy(self.numbers.numbers_of([int(x) if isinstance(x, bool) else x for x in ids]))

    def in_order(self) -> tuple[GroupLabels, Tensor]:
        """The ids in order, and the number of each."""
        ordered, ranks = self.numbers.ranked()
        places = torch.from_numpy(ranks).argsort()
        if self.labels.kind == "text":
            return ordered, places
        kind = np.uint64 if self.labels.kind == "unsigned" else bool if self.labels.kind == "boolean" else np.int64
        return torch.from_numpy(ordered.astype(kind)), places


class GroupedState:
    """The cells so far, by group and label. Tables are numbered group by group, in the order of the groups' numbers."""

    def __init__(
        self, options: LabelOptions, batch_shape: torch.Size, dtype: torch.dtype, device: torch.device
    ) -> None:
        self.batch_shape = batch_shape
        self._options = options
        self._ids = _Ids()
        self._state = GrowingState(options, torch.Size([0]), dtype, device)
        if options.num_groups is not None:
            self._ids.update("integer", range(options.num_groups))
        self._grow()

    @property
    def device(self) -> torch.device:
        return self._state.device

    @property
    def n_considered(self) -> Tensor:
        """``(*batch, G)`` unmasked items, or their weight."""
        return self._in_order(self._ids.in_order()[1].to(self.device))

    def _in_order(self, order: Tensor) -> Tensor:
        by_group = self._state.n_considered.reshape(len(self._ids), self.batch_shape.numel())[order]
        return by_group.mT.reshape(*self.batch_shape, len(order))

    def _grow(self) -> None:
        """Make room for the tables of new groups."""
        tables = len(self._ids) * self.batch_shape.numel()
        before = self._state.n_considered
        self._state.batch_shape = torch.Size([tables])
        self._state.n_considered = torch.cat([before, before.new_zeros(tables - len(before))])

    def add(self, pair: EncodedPair, groups: ItemGroups) -> None:
        """Add a chunk."""
        size = self.batch_shape.numel()
        numbers = self._ids.add(groups.ids).to(self.device)
        self._grow()
        table, row, column, counts = counting.count_groups(pair, groups, self.batch_shape).nonzero()
        batch, group = (table.div(max(1, groups.size), rounding_mode="floor"), table.remainder(max(1, groups.size)))
        true = self._state.classes.numbers_of(pair.true, batch, row)
        pred = self._state.clusters.numbers_of(pair.pred, batch, column)
        sides = (pair.true, pair.pred)
        true, pred = self._state.absent.mark((true, pred), (row, column), sides, self._state.sides)
        part = LabelledCells(numbers[group] * size + batch, true, pred, counts.to(self._state.dtype))
        self._state.cells.add(part)
        considered = counting.count_considered_by_group(groups, pair.weights).expand(*self.batch_shape, groups.size)
        by_group = considered.reshape(size, groups.size).mT.to(self._state.dtype)
        sums = self._state.n_considered.reshape(len(self._ids), size)
        self._state.n_considered = sums.index_add(0, numbers, by_group).reshape(-1)

    def _empty(self, tables: torch.Size) -> GrowingState:
        return GrowingState(self._options, tables, self._state.dtype, self._state.device)

    def merge(self, other: "GroupedState") -> None:
        kind, ids = other._ids.labels.kind, list(other._ids.numbers)
        numbers = self._ids.update(kind, ids)
        self._grow()
        self._state.merge(other._renumbered(numbers, len(self._ids)))

    def _renumbered(self, numbers: Tensor, count: int) -> GrowingState:
        """The cells with other numbers of the groups, of ``count`` groups."""
        size, state = self.batch_shape.numel(), self._state
        moved = self._empty(torch.Size([count * size]))
        numbers = numbers.to(self.device)
        for side, own in zip(moved.sides, state.sides, strict=True):
            side.kind, side.tokens = own.kind, own.tokens
        cells = state.cells.merged()
        group = cells.batch.div(max(1, size), rounding_mode="floor")
        batch = cells.batch + (numbers[group] - group) * size
        moved.cells.add(LabelledCells(batch, cells.true, cells.pred, cells.counts))
        sums = moved.n_considered.reshape(count, size)
        moved.n_considered = sums.index_copy(0, numbers, state.n_considered.reshape(len(numbers), size)).reshape(-1)
        return moved

    def all_reduce(self, group: Any) -> None:
        if is_single_process():
            return
        joint = _Ids()
        for kind, ids in all_gather_objects((self._ids.labels.kind, list(self._ids.numbers)), group):
            joint.update(kind, ids)  # in the order of ranks, so that the numbers are the same on all
        numbers = joint.update(self._ids.labels.kind, list(self._ids.numbers))
        self._state, self._ids = self._renumbered(numbers, len(joint)), joint
        self._state.all_reduce(group)

    def tables(self) -> ContingencyTables:
        ids, order = self._ids.in_order()
        shape, size = torch.Size((*self.batch_shape, len(order))), self.batch_shape.numel()
        order = order.to(self.device)
        ids = ids.to(self.device) if isinstance(ids, Tensor) else ids
        rank = torch.empty_like(order).index_copy(0, order, torch.arange(len(order), device=order.device))
        listed = self._state.listed()
        group = listed.table.div(max(1, size), rounding_mode="floor")
        moved = listed._replace(table=(listed.table - group * size) * len(order) + rank[group])
        cells, names, absent = moved.sparse(torch.Size([shape.numel()])), listed.labels, listed.absent
        considered = self._in_order(order)
        total = int(considered.sum()) if considered.numel() else 0
        fixed = (self._options.num_classes is not None, self._options.num_clusters is not None)
        parts, packed = counting.tables_of_groups(
            cells, names, shape, "auto", total, sizes=fixed, absent=absent, considered=considered
        )
        tables = ContingencyTables._of(parts._replace(groups=ids))
        return tables if packed else tables._drop_empty_groups(rows=not fixed[0], columns=not fixed[1])

    def to(self, device: torch.device) -> None:
        self._state.to(device)

    def state_dict(self) -> dict[str, Any]:
        ids = {"kind": self._ids.labels.kind, "ids": list(self._ids.numbers)}
        return {**self._state.state_dict(), "groups": ids}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        expect_keys(state, ("cells", "considered", "classes", "clusters", "groups"))
        saved = state["groups"]
        if not isinstance(saved, Mapping) or not isinstance(saved.get("ids"), list):
            raise ValueError(f"state: expected the kind and the ids of groups; got {str(saved)[:60]}")
        ids = _Ids()
        ids.update(saved["kind"], saved["ids"])
        if len(ids) < len(saved["ids"]):
            raise ValueError(f"state: expected different ids of groups; got {str(saved['ids'])[:60]}")
        loaded = self._empty(torch.Size([len(ids) * self.batch_shape.numel()]))
        loaded.load_state_dict({name: x for name, x in state.items() if name != "groups"})
        self._ids, self._state = ids, loaded


State = FixedState | GrowingState | GroupedState
