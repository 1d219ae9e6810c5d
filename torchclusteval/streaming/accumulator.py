"""Contingency tables summed over the chunks of a stream, the steps of an epoch and the ranks of a process group."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from torchclusteval import counting, labels
from torchclusteval.common.checks import check_bools
from torchclusteval.common.formatting import brief
from torchclusteval.labels.encoding import EncodedPair
from torchclusteval.labels.inputs import resolve_device
from torchclusteval.labels.options import LabelOptions
from torchclusteval.labels.sources import Names
from torchclusteval.streaming.distributed import all_gather_objects, group_ranks
from torchclusteval.streaming.grouped_state import GroupedState, State
from torchclusteval.streaming.growing_cells import LabelledCells
from torchclusteval.streaming.states import FixedState, GrowingState, checked_batch_shape, expect_keys, expect_names
from torchclusteval.tables import ContingencyTables


class ContingencyAccumulator:
    """Contingency tables of labels that come in chunks; memory follows the tables, not the number of labels.

    With both sizes the state has a fixed shape, an update never synchronises with the device and can be compiled;
    labels outside the codes are refused on the CPU; elsewhere, and with ``validate=False``, they are excluded and lower
    ``coverage``. Without both sizes labels are those of ``ContingencyTables.from_labels``, and the tables grow.

    Args:
        num_classes: number of rows; classes are then codes ``0..num_classes - 1``.
        num_clusters: number of columns, likewise.
        batch_shape: shape of the batch: that of the labels of every chunk, without their last dimension.
        device: where the state is and chunks are counted; by default the device of the first chunk.
        weights: keep float64 masses, which float weights and soft assignments need, instead of int64 counts.
        validate: check values in every update; with both sizes and on other devices than the CPU of no effect.
        ignore_index: the class label of items to exclude.
        noise_label: the cluster label of noise.
        noise: ``"ignore"``, ``"cluster"`` or ``"singletons"`` (integer states without sizes), as in ``from_labels``.
        absent_true: the label of items without a class, as in ``ContingencyTables.from_labels``.
        absent_pred: the label of items without a cluster, likewise.
        missing: ``"error"`` or ``"ignore"``, as in ``ContingencyTables.from_labels``.
        item_dims: trailing dimensions of the labels that are items; None is 1.
        num_groups: number of groups of items; the ids ``by`` are then codes, and with both sizes the shape is fixed.

    Raises:
        ValueError: options that are not as described.

    >>> accumulator = tce.ContingencyAccumulator(num_classes=2, num_clusters=2)
    >>> accumulator.update([0, 0, 1], [0, 1, 1]).update([1], [1]).tables().counts.tolist()
    [[1, 1], [0, 2]]
    """

    def __init__(
        self,
        num_classes: int | None = None,
        num_clusters: int | None = None,
        *,
        batch_shape: Sequence[int] = (),
        device: torch.device | str | None = None,
        weights: bool = False,
        validate: bool = True,
        ignore_index: Any = None,
        noise_label: Any = None,
        noise: str = "ignore",
        absent_true: Any = None,
        absent_pred: Any = None,
        missing: str = "error",
        item_dims: int | None = None,
        num_groups: int | None = None,
    ) -> None:
        self.batch_shape = checked_batch_shape(batch_shape)
        self._options = LabelOptions(
            num_groups=num_groups,
            ignore_index=ignore_index,
            noise_label=noise_label,
            noise=noise,
            absent_true=absent_true,
            absent_pred=absent_pred,
            missing=missing,
            item_dims=1 if item_dims is None and self.batch_shape else item_dims,
            num_classes=num_classes,
            num_clusters=num_clusters,
            validate=validate,
        )
        check_bools(weights=weights)
        if self._options.policy.has_column_per_item and weights:
            raise ValueError("noise: expected 'ignore' or 'cluster' with weights=True; got 'singletons'")
        self._device = None if device is None else resolve_device(device, {})
        self._weights = weights
        self._names: Names | None = None  # of the clusterings, where they are known
        self._has_groups: bool | None = None if num_groups is None else True  # None: the first chunk decides
        self._state: State = self._empty()
        # What all_reduce has summed: the same counts on every rank of its group, never summed again.
        self._reduced: State | None = None
        self._ranks: list[int] | None = None  # of that group

    @property
    def _grows(self) -> bool:
        return None in (self._options.num_classes, self._options.num_clusters)

    def _empty(self, groups: bool | None = None) -> State:
        """A state without items, of tables by group or not (None: as so far)."""
        options, size = self._options, self._options.num_groups
        groups = self._has_groups if groups is None or size is not None else groups
        kind = torch.float64 if self._weights else torch.int64, self._device or torch.device("cpu")
        if groups and (self._grows or size is None):
            return GroupedState(options, self.batch_shape, *kind)
        if self._grows:
            return GrowingState(options, self.batch_shape, *kind)
        return FixedState(options, torch.Size((*self.batch_shape, *(() if size is None else (size,)))), *kind)

    @property
    def device(self) -> torch.device:
        """The device of the state."""
        return self._state.device

    @property
    def n_considered(self) -> Tensor:
        """``(*batch,)`` number (weight) of the items in all chunks that no mask excluded."""
        return self._all().n_considered.clone()

    def update(
        self, labels_true: Any, labels_pred: Any, *, mask: Any = None, weights: Any = None, by: Any = None
    ) -> "ContingencyAccumulator":
        """Add the items of a chunk.

        Args:
            labels_true: ``(*batch, N)`` classes.
            labels_pred: ``(*batch, N)`` clusters; batch shapes broadcast to ``batch_shape``.
            mask: ``(*batch, N)`` booleans, the items that count.
            weights: ``(*batch, N)`` non-negative frequencies.
            by: ``(*batch, N)`` ids of groups of items, as in ``ContingencyTables.from_labels``: in every chunk or in
                none. The tables get a last batch dimension, which grows with the groups.

        Returns:
            This object.

        Raises:
            ValueError: an argument is not as described, or not like those of earlier chunks.
        """
        self._add(*self._encode(labels_true, labels_pred, mask, weights, by))
        return self

    def _count_encoded(self, pair: EncodedPair) -> Tensor | LabelledCells:
        """Count a chunk of whole-number labels that :meth:`_encode` returned, without adding it."""
        state = self._empty()
        assert not isinstance(state, GroupedState)
        return state.count(self._checked(pair))

    def _encode(
        self, labels_true: Any, labels_pred: Any, mask: Any = None, weights: Any = None, by: Any = None
    ) -> tuple[EncodedPair, LabelOptions]:
        """Encode a chunk with the options of this object, which are returned too."""
        arguments = {"labels_true": labels_true, "labels_pred": labels_pred, "mask": mask, "weights": weights}
        place = resolve_device(self._device and self.device, arguments)
        checks = self._grows or (place.type == "cpu" and not torch.compiler.is_compiling())
        options = replace(
            self._options,
            mask=mask,
            weights=weights,
            by=by,
            noise=self._options.policy.for_chunks.value,
            validate=self._options.validate and checks,
            device=place,
        )
        return labels.encode(labels_true, labels_pred, options, margins=True), options

    def _checked(self, pair: EncodedPair) -> EncodedPair:
        self._expect_batch(pair.batch_shape, "labels_pred")
        expect_names(self._names, pair.names, "labels_pred")
        if pair.weights is not None:
            self._expect_weights(pair.weights)
        return pair

    def _add(self, pair: EncodedPair, options: LabelOptions) -> None:
        """Add a chunk that :meth:`_encode` returned."""
        by = options.by
        self._checked(pair)
        if self._has_groups not in (None, by is not None):
            got = "a chunk without" if by is None else "a chunk with ids after one without"
            raise ValueError(f"by: expected ids of groups with every chunk, or with none; got {got}")
        groups = None
        if by is not None:
            groups = labels.read_groups(options, pair)
            self._expect_batch(groups.joint_batch(pair.batch_shape), "by")
        if self._has_groups is None:
            self._start(groups=by is not None)
        self._adopt_device(pair.device)
        if groups is None:
            assert not isinstance(self._state, GroupedState)
            self._state.add(pair)
        elif isinstance(self._state, FixedState):
            considered = counting.count_considered_by_group(groups, pair.weights)
            pair = replace(counting.join_groups(pair, groups, self.batch_shape), n_considered=considered)
            self._state.add(pair)
        else:
            assert isinstance(self._state, GroupedState)
            self._state.add(pair, groups)
        self._names = self._names or pair.names

    def _start(self, *, groups: bool) -> None:
        """Decide whether the tables, which have no items yet, are those of groups."""
        self._has_groups = groups
        if groups:
            self._state = self._empty()

    def update_soft(self, p_true: Any, p_pred: Any) -> "ContingencyAccumulator":
        """Add the expected counts of a chunk of soft assignments; gradients flow through to both.

        Args:
            p_true: ``(*batch, N, num_classes)`` probabilities of the classes of each item.
            p_pred: ``(*batch, N, num_clusters)`` probabilities of its clusters.

        Returns:
            This object.

        Raises:
            ValueError: the accumulator has no sizes or no float state, shapes do not fit, or (on the CPU, with
                ``validate``) values are negative or missing.
        """
        if self._has_groups:
            raise ValueError("update_soft: expected an accumulator of all items; got one of groups (by)")
        if not self._weights:
            raise ValueError("update_soft: expected an accumulator with weights=True; got one of int64 counts")
        if not isinstance(self._state, FixedState):
            raise ValueError("update_soft: expected num_classes and num_clusters to be given; got None")
        tables = ContingencyTables.from_probabilities(
            p_true, p_pred, validate=None if self._options.validate else False
        )
        self._expect_batch(tables.batch_shape, "p_pred")
        sizes = self._options.num_classes, self._options.num_clusters
        if tables.shape[-2:] != sizes:
            expected = f"probabilities of {sizes[0]} classes and {sizes[1]} clusters"
            raise ValueError(f"p_true, p_pred: expected {expected}; got {tables.shape[-2]} and {tables.shape[-1]}")
        self._adopt_device(tables.device if self._device is None else self._device)
        self._state.add_counts(tables.counts.to(self.device))
        self._has_groups = False
        return self

    def merge(self, other: "ContingencyAccumulator") -> "ContingencyAccumulator":
        """Add the counts of another accumulator; returns this object.

        Raises:
            ValueError: the other accumulator has other sizes, batch shape, type or treatment of noise.
        """
        if not isinstance(other, ContingencyAccumulator):
            raise ValueError(f"other: expected a ContingencyAccumulator; got {type(other).__name__}")
        own, its = (x._settings() for x in (self, other))
        expect_names(self._names, other._names, "other")
        if None in (own["by"], its["by"]):
            own["by"] = its["by"] = None
        if own != its:
            name = next(name for name in own if own[name] != its[name])
            raise ValueError(f"other: expected an accumulator with {name}={own[name]!r}; got {its[name]!r}")
        if None not in (self._ranks, other._ranks) and self._ranks != other._ranks:
            raise ValueError(f"other: expected sums over the ranks {self._ranks}; got sums over {other._ranks}")
        if self._has_groups is None and other._has_groups is not None:
            self._start(groups=other._has_groups)
        elif self._has_groups and other._has_groups is None:  # it has no items
            return self
        self._adopt_device(other.device)
        self._state.merge(other._state)  # type: ignore[arg-type]
        self._names = self._names or other._names
        if other._reduced is not None:
            self._add_reduced(other._reduced)
            self._ranks = other._ranks
        return self

    def all_reduce(self, group: Any = None) -> "ContingencyAccumulator":
        """Sum over the ranks of a process group; every rank then holds the sum.

        It may be called at any time and again: what was summed before is not summed again, and later chunks are
        summed on their own and added. With both sizes this is one all-reduce, after the ranks have exchanged
        whether they have groups of items. Without, they exchange their labels, which may differ or be none. Every
        rank of the group must call it. Gradients end here. Without a process group it does nothing. (Sums over each
        node may be summed over the nodes once, by groups that share one rank.)

        Args:
            group: a process group of ``torch.distributed``; None: the default one.

        Returns:
            This object.

        Raises:
            ValueError: only some ranks have groups of items, or others hold sums with this rank's counts already.
        """
        ranks = group_ranks(group)
        if ranks is None:
            return self
        if self._options.num_groups is None:
            have_groups = {*all_gather_objects(self._has_groups, group)} - {None}
            if len(have_groups) > 1:
                raise ValueError("by: expected ids of groups on all ranks that have chunks, or on none; got both")
            if have_groups == {True} and self._has_groups is None:
                self._start(groups=True)
        if self._ranks not in (None, ranks):
            if len({*self._ranks} & {*ranks}) > 1:
                raise ValueError(
                    f"group: expected the ranks of the sums so far, {self._ranks}; got {ranks} (reset first)"
                )
            self._state, self._reduced = self._all(), None
        self._state.all_reduce(group)
        state, fresh = self._state, self._empty()
        if isinstance(state, GrowingState) and isinstance(fresh, GrowingState):
            fresh.expect_kinds_of(state)
        self._state = fresh
        self._add_reduced(state)
        self._ranks = sorted({*ranks, *(self._ranks or ())})
        return self

    def _add_reduced(self, state: State) -> None:
        if self._reduced is None:
            self._reduced = self._empty()
        self._reduced.merge(state)  # type: ignore[arg-type]

    def _all(self) -> State:
        """Everything so far: what this rank has added, and what ``all_reduce`` has summed."""
        if self._reduced is None:
            return self._state
        state = self._empty()
        state.merge(self._reduced)  # type: ignore[arg-type]
        state.merge(self._state)  # type: ignore[arg-type]
        return state

    def tables(self) -> ContingencyTables:
        """The tables so far, equal to ``ContingencyTables.from_labels`` of all chunks at once."""
        tables = self._all().tables()
        tables.names = self._names
        if self._options.num_groups is not None and isinstance(self._state, FixedState):
            tables.groups = torch.arange(self._options.num_groups, device=self.device)
        return tables

    def _add_cells(self, cells: LabelledCells, n_considered: Tensor) -> "ContingencyAccumulator":
        """Add cells of whole-number labels and the ``(*batch,)`` items behind them; for accumulators without sizes."""
        state = self._state
        assert isinstance(state, GrowingState)
        self._adopt_device(cells.counts.device)
        self._has_groups = False
        state.add_cells(cells.to(self.device), n_considered.to(self.device))
        return self

    def reset(self) -> "ContingencyAccumulator":
        """Forget everything; returns this object."""
        self._has_groups = None if self._options.num_groups is None else True
        self._state, self._names = self._empty(), None
        self._reduced = self._ranks = None
        return self

    def to(self, device: torch.device | str) -> "ContingencyAccumulator":
        """Move the state to a device, where later chunks are counted too; returns this object."""
        self._device = resolve_device(device, {})
        self._state.to(self._device)
        if self._reduced is not None:
            self._reduced.to(self._device)
        return self

    def state_dict(self) -> dict[str, Any]:
        """The state as tensors and lists, for :meth:`load_state_dict` of an accumulator with the same options."""
        state = self._state.state_dict() | {"names": None if self._names is None else list(self._names)}
        if self._reduced is not None:
            state["reduced"] = {"ranks": self._ranks, "state": self._reduced.state_dict()}
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace the state by one that :meth:`state_dict` returned.

        Raises:
            ValueError: the state is that of an accumulator with other options.
        """
        parts = dict(state) if isinstance(state, Mapping) else state
        names, reduced = (parts.pop(x, None) if isinstance(parts, dict) else None for x in ("names", "reduced"))
        if names is not None and (not isinstance(names, list) or torch.Size([len(names)]) != self.batch_shape):
            raise ValueError(f"state: expected the names of clusterings {tuple(self.batch_shape)}; got {brief(names)}")
        groups = isinstance(parts, dict) and "groups" in parts
        own, summed, ranks = self._empty(groups), None, None
        own.load_state_dict(parts)
        if reduced is not None:
            expect_keys(reduced, ("ranks", "state"))
            ranks, summed = reduced["ranks"], self._empty(groups)
            summed.load_state_dict(reduced["state"])
        self._state, self._reduced, self._ranks = own, summed, ranks
        is_new = self._options.num_groups is None and summed is None and not bool(own.n_considered.any())
        self._has_groups = True if groups or self._options.num_groups is not None else None if is_new else False
        self._names = None if names is None else tuple(names)

    def __repr__(self) -> str:
        sizes = f"num_classes={self._options.num_classes}, num_clusters={self._options.num_clusters}"
        return f"ContingencyAccumulator({sizes}, batch_shape={tuple(self.batch_shape)}, device={str(self.device)!r})"

    def _settings(self) -> dict[str, Any]:
        names = ("num_classes", "num_clusters", "num_groups", "noise_label", "noise", "absent_true", "absent_pred")
        own = {"batch_shape": tuple(self.batch_shape), "by": self._has_groups, "weights": self._weights}
        return {**{name: getattr(self._options, name) for name in names}, **own}

    def _expect_batch(self, shape: torch.Size, name: str) -> None:
        if shape != self.batch_shape:
            raise ValueError(f"{name}: expected batch shape {(*self.batch_shape,)}; got {(*shape,)} (see batch_shape=)")

    def _expect_weights(self, weights: Tensor) -> None:
        if weights.is_floating_point() and not self._weights:
            raise ValueError("weights: expected whole-number types, or an accumulator with weights=True; got floats")
        if self._options.policy.has_column_per_item:
            raise ValueError("weights: expected None with noise='singletons'; got weights")

    def _adopt_device(self, device: torch.device) -> None:
        if self._device is None:
            self.to(device)
