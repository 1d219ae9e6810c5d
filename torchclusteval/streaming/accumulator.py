"""Contingency tables summed over the chunks of a stream, the steps of an epoch and the ranks of a process group."""

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor

from torchclusteval.common.checks import Kind, check_bools, check_chunk_size, check_kinds, optional
from torchclusteval.common.formatting import brief
from torchclusteval.common.warn import warn
from torchclusteval.labels.encoding import EncodedPair, encode
from torchclusteval.labels.groups_of_items import read_groups
from torchclusteval.labels.inputs import resolve_device
from torchclusteval.labels.integers import is_whole_label
from torchclusteval.labels.options import LabelOptions
from torchclusteval.labels.sources import Names
from torchclusteval.measures.registry import Selection, select
from torchclusteval.scoring.evaluation import evaluate_tables, with_zero_division
from torchclusteval.scoring.scores import Scores
from torchclusteval.streaming.distributed import all_gather_objects, group_ranks, raised_together, rank_and_size
from torchclusteval.streaming.states import FixedState, GrowingState, State
from torchclusteval.tables import ContingencyTables

_LABEL = Kind("a whole number or a string", lambda x: isinstance(x, str) or is_whole_label(x))
M = TypeVar("M", bound=Callable[..., Any])


def _locked(method: M) -> M:
    """Let one thread at a time use an accumulator, and undo what a refused call has changed; compiled graphs do not."""

    @wraps(method)
    def run(self: "ContingencyAccumulator", *args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return method(self, *args, **kwargs)
        with self._lock:
            own, state = dict(self.__dict__), self._state
            parts, sizes = dict(state.__dict__), [(x, x.kind, len(x.tokens)) for x in state.vocabularies]
            try:
                return method(self, *args, **kwargs)
            except (TypeError, ValueError):  # after an interruption, cells may be there already
                self.__dict__.update(own)
                state.__dict__.update(parts)
                for vocabulary, kind, size in sizes:
                    vocabulary.kind = kind
                    while len(vocabulary.tokens) > size:
                        vocabulary.tokens.popitem()
                raise

    return run  # type: ignore[return-value]


class ContingencyAccumulator:
    """Contingency tables of labels in chunks; memory follows the tables, not the number of labels.

    With both sizes the state has a fixed shape, an update never synchronises with the device and can be compiled;
    labels outside the codes are refused on the CPU; elsewhere, and with ``validate=False``, they are excluded and lower
    ``coverage``. Without both sizes labels are those of ``ContingencyTables.from_labels``, and the tables grow.
    Threads may share an accumulator.

    Args:
        num_classes: number of rows; classes are then codes ``0..num_classes - 1``.
        num_clusters: number of columns, likewise.
        batch_shape: shape of the batch: that of the labels of every chunk, without their last dimension.
        device: where to keep the state and count chunks; by default the device of the first chunk.
        weights: keep float64 masses (for float weights and soft assignments) instead of int64 counts.
        validate: check values in every update; with both sizes and on other devices than the CPU of no effect.
        ignore_index: the class label of items to exclude.
        noise_label: the cluster label of noise.
        noise: ``"ignore"``, ``"cluster"`` or ``"singletons"`` (integer states without sizes), as in ``from_labels``.
        absent_true: the label of items without a class, as in ``ContingencyTables.from_labels``.
        absent_pred: the label of items without a cluster, likewise.
        missing: ``"error"`` or ``"ignore"``, as in ``ContingencyTables.from_labels``.
        item_dims: how many trailing dimensions of the labels are items; None is 1.
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
        self._lock = threading.RLock()
        self.batch_shape = _checked_batch_shape(batch_shape)
        labels = {"ignore_index": ignore_index, "noise_label": noise_label}
        labels |= {"absent_true": absent_true, "absent_pred": absent_pred}
        check_kinds(labels, dict.fromkeys(labels, optional(_LABEL)))
        sizes: Any = {"num_classes": num_classes, "num_clusters": num_clusters, "num_groups": num_groups}
        dims = 1 if item_dims is None and self.batch_shape else item_dims
        self._options = LabelOptions(**labels, **sizes, noise=noise, missing=missing, item_dims=dims, validate=validate)
        check_bools(weights=weights)
        if noise == "singletons" and weights:
            raise ValueError("noise: expected 'ignore' or 'cluster' with weights=True; got 'singletons'")
        self._device = None if device is None else resolve_device(device, {})
        self._weights = weights
        self._names: Names | None = None  # of the clusterings, where they are known
        self._has_groups: bool | None = None if num_groups is None else True  # None: the first chunk decides
        self._state: State = self._empty()
        # What all_reduce has summed: the same counts on every rank of its group, never summed again.
        self._reduced: State | None = None
        self._ranks: list[int] | None = None  # of that group; none of them where the sum was loaded

    @property
    def _grows(self) -> bool:
        return None in (self._options.num_classes, self._options.num_clusters)

    def _empty(self, groups: bool | None = None) -> State:
        """A state without items, of tables by group or not (None: as so far)."""
        options = self._options
        groups = bool(self._has_groups) if groups is None else groups
        kind = torch.float64 if self._weights else torch.int64, self._device or torch.device("cpu")
        if self._grows or (groups and options.num_groups is None):
            return GrowingState(options, self.batch_shape, *kind, by=groups or options.num_groups is not None)
        return FixedState(options, self.batch_shape, *kind)

    @property
    def device(self) -> torch.device:
        """The device of the state."""
        return self._state.device

    @property
    @_locked
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
            ValueError: an argument is not as described, or not like those of earlier chunks; nothing has changed then.
        """
        self._add(*self._encode(labels_true, labels_pred, mask, weights, by))
        return self

    def _encode(
        self, labels_true: Any, labels_pred: Any, mask: Any = None, weights: Any = None, by: Any = None
    ) -> tuple[EncodedPair, LabelOptions]:
        """Encode a chunk with the options of this object; returns these options too."""
        arguments = {"labels_true": labels_true, "labels_pred": labels_pred, "mask": mask, "weights": weights}
        place = resolve_device(self._device and self.device, arguments)
        checks = self._grows or (place.type == "cpu" and not torch.compiler.is_compiling())
        noise = "ignore" if self._options.noise == "ignore" else "cluster"  # single items get columns in the end
        checked = {"noise": noise, "validate": self._options.validate and checks, "device": place}
        options = self._options.of_chunk(**checked, mask=mask, weights=weights, by=by)
        return encode(labels_true, labels_pred, options, margins=True, void=True), options

    def _checked(self, pair: EncodedPair) -> EncodedPair:
        self._expect_batch(pair.batch_shape, "labels_pred")
        _expect_names(self._names, pair.names, "labels_pred")
        if pair.weights is not None and pair.weights.is_floating_point() and not self._weights:
            raise ValueError("weights: expected whole-number types, or an accumulator with weights=True; got floats")
        if pair.weights is not None and self._options.noise == "singletons":
            raise ValueError("weights: expected None with noise='singletons'; got weights")
        return pair

    @_locked
    def _add(self, pair: EncodedPair, options: LabelOptions) -> None:
        """Add a chunk that :meth:`_encode` returned."""
        by = options.by
        self._checked(pair)
        if self._has_groups not in (None, by is not None):
            got = "a chunk without" if by is None else "a chunk with ids after one without"
            raise ValueError(f"by: expected ids of groups with every chunk, or with none; got {got}")
        groups = None
        if by is not None:
            groups = read_groups(options, pair)
            self._expect_batch(groups.joint_batch(pair.batch_shape), "by")
        self._start(groups=by is not None)
        self._adopt_device(pair.device)
        self._state.add(pair, groups)
        self._names = self._names or pair.names

    def _start(self, *, groups: bool | None) -> None:
        """Decide, before the first items, whether the tables are those of groups (None: not yet)."""
        if self._has_groups is None and groups is not None:
            self._has_groups = groups
            self._state = self._empty() if groups else self._state

    @_locked
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
        if self._has_groups or not self._weights or not isinstance(self._state, FixedState):
            expected = "an accumulator with weights=True, num_classes and num_clusters, and without groups (by)"
            raise ValueError(f"update_soft: expected {expected}; got another")
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
        first, second = sorted((self, other), key=id)  # one order for all threads: no deadlock
        with first._lock, second._lock:
            self._merge(other)
        return self

    @_locked
    def _merge(self, other: "ContingencyAccumulator") -> None:
        _expect_names(self._names, other._names, "other")
        _expect_same("other: expected an accumulator", self._settings(), other._settings())
        if None not in (self._ranks, other._ranks) and self._ranks != other._ranks:
            raise ValueError(f"other: expected sums over the ranks {self._ranks}; got sums over {other._ranks}")
        self._start(groups=other._has_groups)
        if self._has_groups and other._has_groups is None:  # it has no items
            return
        self._adopt_device(other.device)
        self._names = self._names or other._names
        if other._reduced is not None:
            self._reduced = self._sum(self._reduced, other._reduced)
            self._ranks = other._ranks
        self._state.merge(other._state)  # type: ignore[arg-type]

    @_locked
    def all_reduce(self, group: Any = None) -> "ContingencyAccumulator":
        """Sum over the ranks of a process group; every rank then holds the sum.

        It may be called at any time and repeatedly: earlier sums are not summed again, and later chunks are
        summed on their own and added. The ranks first exchange their options and the names of their clusterings,
        which a rank without items takes from the others. With both sizes one all-reduce follows; without, they
        exchange their labels, which may differ or be none. Every rank of the group must call it. Gradients end here.
        Without a process group it does nothing. (Sums over each node may be summed over the nodes once, by groups
        that share one rank.)

        Args:
            group: a process group of ``torch.distributed``; None: the default one.

        Returns:
            This object.

        Raises:
            ValueError: the accumulators of the ranks differ in an option or in the names of their clusterings, only
                some of them have groups of items or sums so far, or other ranks hold sums with this rank's counts
                already; every rank raises the same.
        """
        ranks = group_ranks(group)
        if ranks is None:
            return self
        counts_sum = self._agree(group, ranks)
        if self._ranks not in (None, ranks):
            self._state, self._reduced = self._all() if counts_sum else self._state, None
        state, fresh = self._state.all_reduce(group), self._empty()
        if isinstance(state, GrowingState) and isinstance(fresh, GrowingState):
            fresh.expect_kinds_of(state)
        self._state = fresh
        self._reduced = self._sum(self._reduced, state)
        self._ranks = sorted({*ranks, *(self._ranks or ())})
        return self

    def _agree(self, group: Any, ranks: list[int], **asked: Any) -> bool:
        """Check that ranks are alike; returns whether this rank counts the earlier sum, which others may hold too."""
        total = None if self._reduced is None else self._reduced.n_considered.tolist()
        shared = all_gather_objects((self._settings() | {"names": self._names, **asked}, self._ranks, total), group)
        _expect_agreement([settings for settings, *_ in shared], ranks)
        before = [sums for _, sums, _ in shared]
        loaded = [(rank, total) for rank, (_, sums, total) in zip(ranks, shared, strict=True) if sums == []]
        if any(total != loaded[0][1] for _, total in loaded):
            got = f"others on {_named([rank for rank, _ in loaded])}"
            raise ValueError(f"group: expected the same loaded sum on all ranks that have one; got {got}")
        for sums in before:
            if sums not in (None, ranks) and len({*sums} & {*ranks}) > 1:
                raise ValueError(f"group: expected the ranks of the sums so far, {sums}; got {ranks} (reset first)")
        if ranks in before and any(not sums for sums in before):
            without = _named([rank for rank, sums in zip(ranks, before, strict=True) if not sums])
            raise ValueError(f"group: expected sums so far on all ranks or on none; got none on {without} (reset all)")
        self._names = next((settings["names"] for settings, *_ in shared if settings["names"]), None)
        groups = next((settings["by"] for settings, *_ in shared if settings["by"] is not None), None)
        self._start(groups=groups)
        own, holders = rank_and_size()[0], {tuple(ranks): ranks[0], (): loaded[0][0] if loaded else 0}
        return self._ranks is None or holders.get(tuple(self._ranks), own) == own

    @_locked
    def scores(self, measures: Selection = None, *, group: Any = None, zero_division: float | None = None) -> Scores:
        """Score the tables so far; with a group those of all its ranks, whose cells are never all in one place.

        Each rank sends its cells to the ranks given by a hash of class and cluster, so that each cell is on one rank.
        The sizes of classes and clusters and the sums and maxima of measures are then added up: a rank holds its share
        of the cells, and a few numbers for each class and each cluster. Every rank of the group must call it, with the
        same measures, and gets the same scores; the accumulator stays as it is.

        Args:
            measures: as in ``evaluate``.
            group: a process group of ``torch.distributed``, such as ``torch.distributed.group.WORLD``; None: the
                chunks of this process alone.
            zero_division: as in ``evaluate``.

        Returns:
            The scores of ``evaluate``, within 1e-12. Of a set, measures that are no formula of sums, maxima and sizes
            (one-to-one matching, reduced mutual information) are left out (``scores.skipped``).

        Raises:
            ValueError: such a measure was named; the tables are those of groups of items, or of
                ``noise="singletons"``, without sizes; the ranks are not alike, as for :meth:`all_reduce`.

        >>> accumulator = tce.ContingencyAccumulator().update([0, 0, 1], [0, 1, 1])
        >>> accumulator.scores("purity")["purity"]
        tensor(0.6667, dtype=torch.float64)
        """
        chosen = with_zero_division(select(measures), zero_division)
        ranks = None if group is None else group_ranks(group)
        if ranks is None:
            tables = self.tables()
        else:
            names = tuple(measure.name for measure in chosen)
            counts_sum = self._agree(group, ranks, measures=names, zero_division=zero_division)
            tables = (self._all() if counts_sum else self._state).spread(group)
            tables.names = self._names
        scores = evaluate_tables(tables, measures, zero_division=zero_division)
        return replace(scores, labelled=self._options.of_partitions)

    def _sum(self, *states: State | None) -> State:
        total = self._empty()
        for state in filter(None, states):
            total.merge(state)  # type: ignore[arg-type]
        return total

    def _all(self) -> State:
        """Everything so far: what this rank has added, and what ``all_reduce`` has summed."""
        return self._state if self._reduced is None else self._sum(self._reduced, self._state)

    @_locked
    def tables(self) -> ContingencyTables:
        """The tables so far, equal to ``ContingencyTables.from_labels`` of all chunks at once."""
        tables = self._all().tables()
        tables.names = self._names
        return tables

    @_locked
    def reset(self) -> "ContingencyAccumulator":
        """Forget everything; returns this object."""
        self._has_groups = None if self._options.num_groups is None else True
        self._state, self._names = self._empty(), None
        self._reduced = self._ranks = None
        return self

    @_locked
    def to(self, device: torch.device | str) -> "ContingencyAccumulator":
        """Move the state to a device, where later chunks are counted too; returns this object."""
        self._device = resolve_device(device, {})
        self._state.to(self._device)
        if self._reduced is not None:
            self._reduced.to(self._device)
        return self

    @_locked
    def state_dict(self) -> dict[str, Any]:
        """The state as tensors and lists, for :meth:`load_state_dict` of an accumulator with the same options."""
        names = None if self._names is None else list(self._names)
        state = self._state.state_dict() | {"names": names, "settings": self._settings()}
        if self._reduced is not None:
            state["reduced"] = {"ranks": self._ranks, "state": self._reduced.state_dict()}
        return state

    @_locked
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace the state by one that :meth:`state_dict` returned.

        Raises:
            ValueError: the state is that of an accumulator with other options, is damaged, or holds no counts.
        """
        own = self._settings() | {"by": None}
        try:
            _expect_entries(state, None)
            parts = dict(state)
            names, reduced, its = (parts.pop(name, None) for name in ("names", "reduced", "settings"))
            _expect_same("state: expected one of an accumulator", own, its or own)
            if names is not None and self.batch_shape != (len(names),):
                raise ValueError(f"state: expected the names of clusterings {(*self.batch_shape,)}; got {brief(names)}")
            groups = "groups" in parts
            loaded, summed = self._loaded(parts, groups), None
            if reduced is not None:
                _expect_entries(reduced, ("ranks", "state"))
                summed = self._loaded(reduced["state"], groups)
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            got = f"a damaged one ({type(error).__name__}: {error})"
            raise ValueError(f"state: expected what state_dict returned; got {got}") from error
        is_new = self._options.num_groups is None and summed is None and not bool(loaded.n_considered.any())
        self._has_groups = True if groups or self._options.num_groups is not None else None if is_new else False
        self._state, self._reduced, self._ranks = loaded, summed, None if summed is None else []
        self._names = None if names is None else tuple(names)

    def _loaded(self, parts: Mapping[str, Any], groups: bool) -> State:
        state = self._empty(groups)
        _expect_entries(parts, state.state_dict())
        state.load_state_dict(parts)
        state.check()
        return state

    @_locked
    def __getstate__(self) -> dict[str, Any]:
        """Content of copies and pickles, by the names of arguments and of :meth:`state_dict`; gradients end here."""
        options = {name: x for name, x in self._settings().items() if name != "by"}
        options |= {"item_dims": self._options.item_dims, "validate": self._options.validate}
        return {"options": {**options, "device": self._device and str(self._device)}, **_on_host(self.state_dict())}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        parts = dict(state)
        options = parts.pop("options")
        lost = str(options["device"]).startswith("cuda") and not torch.cuda.is_available()
        self.__init__(**{**options, "device": None if lost else options["device"]})  # type: ignore[misc]
        self.load_state_dict(parts)

    def __repr__(self) -> str:
        sizes = f"num_classes={self._options.num_classes}, num_clusters={self._options.num_clusters}"
        items = self.n_considered[..., None].flatten(len(self.batch_shape)).sum(-1).flatten().tolist()
        shape = f"batch_shape={tuple(self.batch_shape)}, n_considered={max(items, default=0)}"
        return f"ContingencyAccumulator({sizes}, {shape}, device={str(self.device)!r})"

    def _settings(self) -> dict[str, Any]:
        """The settings that accumulators must share to be summed; ``by`` None: this one has no items."""
        plain = {name: x.item() if hasattr(x := getattr(self._options, name), "item") else x for name in _SHARED}
        return {**plain, "batch_shape": (*self.batch_shape,), "by": self._has_groups, "weights": self._weights}

    def _expect_batch(self, shape: torch.Size, name: str) -> None:
        if shape != self.batch_shape:
            raise ValueError(f"{name}: expected batch shape {(*self.batch_shape,)}; got {(*shape,)} (see batch_shape=)")

    def _adopt_device(self, device: torch.device) -> None:
        if self._device is None:
            self.to(device)


ContingencyAccumulator.__module__ = "torchclusteval"  # the name in pickles: files may outlive the module's place

_SHARED = ("num_classes", "num_clusters", "num_groups", "ignore_index", "noise_label", "noise", "absent_true",
           "absent_pred", "missing")  # fmt: skip


def _on_host(x: Any) -> Any:
    """A state whose tensors any machine can load."""
    return (
        {name: _on_host(y) for name, y in x.items()} if isinstance(x, dict) else x.cpu() if isinstance(x, Tensor) else x
    )


def _expect_same(expected: str, own: Mapping[str, Any], its: Mapping[str, Any]) -> None:
    """Raise unless accumulators have the same settings; those without items have groups or not."""
    for name, x in own.items():
        if its[name] != x and not (name == "by" and None in (its[name], x)):
            raise ValueError(f"{expected} with {name}={x!r}; got {its[name]!r}")


def _expect_agreement(settings: Sequence[Mapping[str, Any]], ranks: Sequence[int]) -> None:
    """Raise, the same on all ranks, unless the accumulators of all ranks have the same settings."""
    for name in settings[0]:
        places: dict[Any, list[int]] = {}
        for rank, own in zip(ranks, settings, strict=True):
            if own[name] is not None or name not in ("by", "names"):
                places.setdefault(own[name], []).append(rank)
        if len(places) > 1:
            (a, first), (b, others), *_ = places.items()
            if name == "names":
                at = next(i for i, pair in enumerate(zip(a, b, strict=True)) if pair[0] != pair[1])
                a, b = a[at : at + 4], b[at : at + 4]
            got = f"{a!r} on {_named(first)}, {b!r} on {_named(others)}"
            raise ValueError(f"{name}: expected one value on all ranks; got {got} (make all accumulators alike)")


def _named(ranks: Sequence[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"


def _expect_entries(state: Any, names: Iterable[str] | None) -> None:
    if not isinstance(state, Mapping):
        raise ValueError(f"state: expected a state_dict; got {type(state).__name__}")
    if names is not None and set(state) != set(names):
        raise ValueError(f"state: expected the entries {', '.join(names)}; got {', '.join(map(str, state)) or 'none'}")


def _checked_batch_shape(shape: Any) -> torch.Size:
    """The shape of a batch of tables; their number fits in 64 bits."""
    listed = isinstance(shape, Sequence) and not isinstance(shape, (str, bytes))
    if not listed or not all(isinstance(n, int) and n >= 0 for n in shape):
        raise ValueError(f"batch_shape: expected sizes of at least 0; got {brief(shape)}")
    if math.prod(max(1, n) for n in shape) >= 2**63:
        raise ValueError(f"batch_shape: expected fewer than 2**63 tables; got {brief(shape)}")
    return torch.Size(shape)


def _expect_names(so_far: Names | None, names: Names | None, argument: str) -> None:
    """Raise unless clusterings have the names of those in earlier chunks."""
    if None not in (names, so_far) and names != so_far:
        expected, got = (", ".join(map(str, x[:4])) + " ..." * (len(x) > 4) for x in (so_far or (), names or ()))
        raise ValueError(f"{argument}: expected the clusterings of earlier chunks, {expected}; got {got}")


def evaluate_stream(
    chunks: Iterable[Any],
    measures: Selection = None,
    *,
    batch_shape: Sequence[int] | None = None,
    chunk_size: int | None = None,
    zero_division: float | None = None,
    group: Any = None,
    **options: Any,
) -> Scores:
    """Score clusterings from labels in chunks; memory follows the tables, not the number of labels.

    Args:
        chunks: pairs ``(labels_true, labels_pred)``, or mappings of the arguments of
            :meth:`ContingencyAccumulator.update`, ``by`` among them.
        measures: as in ``evaluate``.
        batch_shape: shape of the batch of clusterings; by default that of the first chunk.
        chunk_size: tables to evaluate at a time, as in ``evaluate``.
        zero_division: likewise.
        group: a process group of ``torch.distributed``, such as ``torch.distributed.group.WORLD``: the scores are then
            those of the chunks of all its ranks. Every rank must call; one without chunks takes the others' shape.
        **options: the other options of :class:`ContingencyAccumulator`.

    Returns:
        The scores of ``evaluate`` for all chunks at once. Without a group they are those of this process's own chunks,
        and where ``torch.distributed`` has several processes a ``UserWarning`` says so, as where no chunk came.

    Raises:
        ValueError: chunks or options are not as described.

    >>> chunks = [([0, 0], [0, 0]), ([1, 1], [0, 1])]
    >>> tce.evaluate_stream(chunks, "purity")["purity"]
    tensor(0.7500, dtype=torch.float64)
    """
    measures = list(measures) if isinstance(measures, Iterator) else measures  # read twice
    with_zero_division(select(measures), zero_division)  # before any chunk is read: a misspelt name costs nothing
    check_chunk_size(chunk_size)
    single = isinstance(chunks, ContingencyTables) or getattr(chunks, "ndim", 1) == 0
    if single or not (hasattr(chunks, "__iter__") or hasattr(chunks, "__getitem__")):
        raise ValueError(f"chunks: expected pairs of labels or mappings; got {type(chunks).__name__}")
    for name in ("by", "mask", "weights"):
        if name in options:
            raise ValueError(f"{name}: expected in the chunks, as mappings with labels_true, labels_pred and {name}")
    accumulator = ContingencyAccumulator(batch_shape=() if batch_shape is None else batch_shape, **options)
    came = False
    with nullcontext() if group is None else raised_together(group):
        for chunk in chunks:
            came, given = True, _arguments(chunk)
            pair, own = accumulator._encode(**given)
            if batch_shape is None:
                batch_shape = tuple(pair.batch_shape)
                accumulator = ContingencyAccumulator(batch_shape=batch_shape, **options)
            accumulator._add(pair, own)
    if group is not None:
        shapes = [shape for shape in all_gather_objects(batch_shape if came else None, group) if shape is not None]
        came = bool(shapes)
        if batch_shape is None and shapes:
            accumulator = ContingencyAccumulator(batch_shape=shapes[0], **options)
        accumulator.all_reduce(group)
    elif len(group_ranks() or ()) > 1:
        warn("chunks: only those of this process are scored (pass group=torch.distributed.group.WORLD for all)")
    if not came:
        warn("chunks: none came, so no item is scored (an iterator gives its chunks only once)")
    scores = evaluate_tables(accumulator.tables(), measures, chunk_size=chunk_size, zero_division=zero_division)
    return replace(scores, labelled=accumulator._options.of_partitions)


def _arguments(chunk: Any) -> dict[str, Any]:
    if isinstance(chunk, Mapping):
        if not {"labels_true", "labels_pred"} <= {*chunk} <= {"labels_true", "labels_pred", "mask", "weights", "by"}:
            expected = "mappings with labels_true, labels_pred and, if wanted, mask, weights and by"
            raise ValueError(f"chunks: expected {expected}; got {', '.join(map(str, chunk)) or 'an empty one'}")
        return dict(chunk)
    if not isinstance(chunk, (tuple, list)) or len(chunk) != 2:
        got = f"{len(chunk)} parts" if isinstance(chunk, (tuple, list)) else type(chunk).__name__
        raise ValueError(f"chunks: expected pairs (labels_true, labels_pred) or mappings; got {got}")
    return {"labels_true": chunk[0], "labels_pred": chunk[1]}
