"""Any measures from one table, as a metric object; subclasses are in ``named_scores``."""

import math
from collections.abc import Iterator
from functools import cached_property
from hashlib import sha256
from typing import Any, ClassVar

import torch
from torch import Tensor

from torchclusteval.common.formatting import brief
from torchclusteval.common.optional import import_optional
from torchclusteval.labels.encoding import argument_names
from torchclusteval.measures.aliases import ByCanonicalName
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import Selection, select
from torchclusteval.scoring.evaluation import evaluate_tables
from torchclusteval.streaming.accumulator import ContingencyAccumulator
from torchclusteval.streaming.growing_cells import LabelledCells
from torchclusteval.tables import ContingencyTables

import_optional("torchmetrics", "torchmetrics")

from torchmetrics import Metric  # noqa: E402
from torchmetrics.utilities.exceptions import TorchMetricsUserError  # noqa: E402
from torchmetrics.utilities.prints import rank_zero_warn  # noqa: E402

_USUAL = ("v_measure", "adjusted_rand", "nmi")
_MAX_WAITING_CELLS = 1024  # the least cells to wait before equal ones are merged; few, as ``forward`` copies them
_MAX_WAITING_PARTS = 64
_WORDS = {  # in errors: the names that users of a metric object know
    "labels_pred": "preds",
    "labels_true": "target",
    "; soft counts: from_probabilities, update_soft": "",
    " or mask=)": ")",
}


class ClusteringMetric(Metric):
    """Any measures of the package, from one table.

    Args:
        measures: as in ``evaluate``: names, aliases, families, ``"all"``, ``Measure`` records.
        num_classes: number of classes; targets are then codes ``0..num_classes - 1``.
        num_clusters: number of clusters, likewise. With both the state is one ``(num_classes, num_clusters)`` tensor
            ``counts``, and ``update`` never synchronises with the device: labels outside the codes are refused on the
            CPU and excluded on devices, where ``coverage`` shows them and ``compute`` warns once. Without, labels may
            be any integers below 2**63, and the state is a list of ``(true, predicted, count)`` rows.
        ignore_index: the target of items to exclude.
        noise_label: the predicted label of noise.
        noise: ``"ignore"``, ``"cluster"`` or ``"singletons"``, as in ``evaluate``.
        absent_true: the target of items without a class, as in ``evaluate``.
        absent_pred: the predicted label of items without a cluster.
        missing: ``"error"`` or ``"ignore"``, as in ``evaluate``: nan in float labels.
        validate: check labels; with False those outside the codes are excluded on the CPU too.
        item_dims: dimensions of ``preds`` and ``target``, all of them items; None is 1.
        **kwargs: those of ``torchmetrics.Metric``.

    ``compute`` returns a dictionary of canonical names to float64 scalars, which finds aliases too.

    Raises:
        ValueError: an option or the name of a measure is unknown.

    >>> from torchclusteval.torchmetrics import ClusteringMetric
    >>> metric = ClusteringMetric(["ari", "purity"])
    >>> metric.update(torch.tensor([0, 0, 1, 2]), torch.tensor([0, 0, 1, 1]))  # predictions, then truth
    >>> metric.compute()["ari"].item()
    0.5714285714285714
    """

    is_differentiable = False
    full_state_update = False
    __jit_unused_properties__: ClassVar[list[str]] = [*Metric.__jit_unused_properties__, "coverage"]

    counts: Tensor  # (R, C) int64, with sizes
    cells: list[Tensor]  # (Z, 3) int64 each, without
    items: Tensor  # (2,) int64: items so far, and those not excluded by an option
    options: Tensor  # (32,) uint8

    _options: dict[str, Any]

    def __init__(
        self,
        measures: Selection = _USUAL,
        num_classes: int | None = None,
        num_clusters: int | None = None,
        *,
        ignore_index: int | None = None,
        noise_label: int | None = None,
        noise: str = "ignore",
        absent_true: int | None = None,
        absent_pred: int | None = None,
        missing: str = "error",
        validate: bool = True,
        item_dims: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        measures = tuple(measures) if isinstance(measures, Iterator) else measures  # read twice
        self.measures = tuple(select(measures))
        self._selection = measures if measures is None or isinstance(measures, (str, Measure)) else tuple(measures)
        self._options = (
            {"num_classes": num_classes, "num_clusters": num_clusters, "ignore_index": ignore_index}
            | {"noise_label": noise_label, "noise": noise, "absent_true": absent_true, "absent_pred": absent_pred}
            | {"missing": missing, "validate": validate, "item_dims": item_dims}
        )
        empty = self._counter.state_dict()  # checks the options
        self._sized = "counts" in empty
        self._has_warned = False
        self.add_state("items", default=torch.zeros(2, dtype=torch.int64), dist_reduce_fx="sum")
        if self._sized:
            counts = torch.zeros(empty["counts"].shape, dtype=torch.int64)  # on torch's default device
            self.add_state("counts", default=counts, dist_reduce_fx="sum")
        else:
            self.add_state("cells", default=[], dist_reduce_fx="cat")
            self.cells = self._no_cells()
        self.add_state("options", default=self._digest(), dist_reduce_fx="max")

    def _digest(self) -> Tensor:
        """A state by which a collection tells options apart: metrics whose states are equal share one."""
        digest = sha256(repr(self._options).encode()).digest()
        return torch.tensor(list(digest), dtype=torch.uint8, device=self.items.device)

    @property
    def higher_is_better(self) -> bool | None:  # type: ignore[override]
        """True if higher values of all measures are better, False if lower values of all are; else None."""
        directions = {measure.better for measure in self.measures}
        return {"higher": True, "lower": False}.get(directions.pop() or "") if len(directions) == 1 else None

    @property
    def plot_lower_bound(self) -> float | None:  # type: ignore[override]
        """The smallest possible value of all measures; None if unbounded."""
        low = min(measure.range[0] for measure in self.measures)
        return low if math.isfinite(low) else None

    @property
    def plot_upper_bound(self) -> float | None:  # type: ignore[override]
        """The largest possible value of all measures; None if unbounded."""
        high = max(measure.range[1] for measure in self.measures)
        return high if math.isfinite(high) else None

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Add a batch.

        Args:
            preds: ``(N,)`` predicted labels.
            target: ``(N,)`` true labels.

        Raises:
            ValueError: they are not integer tensors of the same length.
            TorchMetricsUserError: the metric is synchronised and would lose the batch.
        """
        if self._is_synced:
            raise TorchMetricsUserError("update: expected a metric that is not synchronised; call unsync first")
        for name, x in (("preds", preds), ("target", target)):
            self._expect_labels(x, name)
        if preds.device.type == target.device.type == self.items.device.type == "meta":
            return  # there is nothing to count
        with argument_names(**_WORDS):
            pair, _ = self._counter._encode(target, preds)
            chunk = self._counter._empty().count(self._counter._checked(pair))
        n, kept = pair.n_items, None if pair.mask is None else pair.mask.sum().to(self.items.device)
        self.items = self.items + (n if kept is None else torch.stack([torch.full_like(kept, n), kept]))
        if self._sized:
            self.counts = self.counts + chunk.to(self.counts.device)
        else:
            self.cells = self._compacted([*self.cells, chunk])

    def _expect_labels(self, x: Any, name: str) -> None:
        dims = self._options["item_dims"] or 1
        if isinstance(x, Tensor) and x.is_nested:
            raise ValueError(f"{name}: expected a dense tensor; got a nested one (pad it, with ignore_index)")
        if isinstance(x, Tensor) and x.dim() == dims:
            return
        got, hint = f"shape {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__, ""
        if isinstance(x, Tensor) and x.dim() == dims + 1:
            remedy = "squeeze(-1)" if x.shape[-1] == 1 else "argmax(-1) of probabilities, logits or one-hot rows"
            hint = f" (take {name}.{remedy})"
        shape = "shape (N,)" if dims == 1 else f"{dims} dimensions"
        raise ValueError(f"{name}: expected a tensor of {shape}; got {got}{hint}")

    @cached_property
    def _counter(self) -> ContingencyAccumulator:
        return ContingencyAccumulator(**self._options)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_counter"}

    def compute(self) -> Any:
        """The measures of all items so far, on all ranks: a dictionary of names to float64 scalars."""
        tables = self.tables()
        self._warn_of_excluded()
        return ByCanonicalName(evaluate_tables(tables, self._selection))

    def tables(self) -> ContingencyTables:
        """The table of all items so far on this rank (within ``sync_context``: on all ranks)."""
        accumulator = ContingencyAccumulator(**self._options, device=self.device)
        labels = {"kind": "integer", "words": []}
        state: dict[str, Any] = {"classes": labels, "clusters": labels, "considered": self.items[0]}
        state |= {"counts": self.counts} if self._sized else {"cells": _of_table_0(_parts(self.cells), self.device)}
        accumulator._state.load_state_dict(state)
        return accumulator.tables()

    @property
    def coverage(self) -> Tensor:
        """Share of the items so far on this rank in the table; nan without items."""
        return self.tables().coverage

    def _warn_of_excluded(self) -> None:
        """Warn of labels outside the codes, once and not in every ``forward``."""
        codes = any(self._options[name] is not None for name in ("num_classes", "num_clusters"))
        if self._has_warned or not codes or self._enable_grad:
            return
        parts = [self.counts] if self._sized else [part[:, 2] for part in _parts(self.cells)]
        excluded = int(self.items[1]) - sum(int(part.sum()) for part in parts)
        if excluded > 0:
            self._has_warned = True
            sizes = ", ".join(f"{name}={self._options[name]}" for name in ("num_classes", "num_clusters"))
            got = f"exclude {excluded} of {int(self.items[0])} items; see coverage"
            rank_zero_warn(f"{type(self).__name__}: labels outside the codes ({sizes}) {got}", UserWarning)

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Plot values of ``compute`` or ``forward``, one or a list; by default the current value.

        Returns:
            Figure and axes (needs matplotlib).
        """
        return self._plot(val, ax)

    @torch.jit.unused
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Add a batch and return its values; a refused batch changes nothing."""
        flags = ("_update_count", "_is_synced", "_should_unsync", "_to_sync", "_enable_grad", "compute_on_cpu")
        kept = {name: getattr(self, name) for name in (*self._defaults, *flags)}
        try:
            return super().forward(*args, **kwargs)
        except BaseException:
            for name, value in kept.items():
                setattr(self, name, value)
            raise

    def merge_state(self, incoming_state: "dict[str, Any] | Metric") -> None:
        """Add the state of another metric with the same options.

        Args:
            incoming_state: the metric, its ``metric_state``, or what its ``state_dict`` saved.

        Raises:
            ValueError: it is the state of another metric, or of other options.
        """
        if isinstance(incoming_state, ClusteringMetric):
            own, its = self._options, incoming_state._options
            name = next((name for name in own if repr(own[name]) != repr(its[name])), None)
            if name is not None:
                raise ValueError(f"state: expected one of a metric with {name}={own[name]!r}; got {its[name]!r}")
        elif isinstance(incoming_state, dict):
            incoming_state = self._checked(incoming_state)
        super().merge_state(incoming_state)
        self._computed = None

    def persistent(self, mode: bool = False) -> None:
        """Whether states are part of ``state_dict``; the options are not, as every metric is made with them."""
        super().persistent(mode)
        self._persistent["options"] = False

    def reset(self) -> None:
        """Forget everything."""
        if not self._sized:
            self.cells = []  # a new list: torchmetrics empties the old one in place, and others may have kept it
        super().reset()
        if not self._sized:
            self.cells = self._no_cells()

    def set_dtype(self, dst_type: str | torch.dtype) -> "ClusteringMetric":
        """Set ``dtype`` and nothing else: counts stay int64, results float64."""
        try:
            self._dtype = torch.zeros(()).type(dst_type).dtype
        except (AttributeError, RuntimeError, TypeError, ValueError):
            raise ValueError(f"dst_type: expected a type of torch; got {brief(dst_type)}") from None
        return self

    def _apply(self, fn: Any, exclude_state: Any = "", recurse: bool = True) -> Any:  # type: ignore[override]
        was_empty = self.items.device.type == "meta"
        super()._apply(fn, exclude_state)
        if was_empty and self.items.device.type != "meta":  # to_empty leaves memory as it was
            for name, default in self._defaults.items():
                if isinstance(default, Tensor):
                    self._defaults[name] = torch.zeros_like(default)
            self._defaults["options"] = self._digest()
            self.reset()
        return self

    def _no_cells(self) -> list[Tensor]:
        # The list is never empty: a rank without labels must send a part of the right shape and type.
        return [torch.zeros(0, 3, dtype=torch.int64, device=self.device)]

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        saved = {name: state_dict.pop(prefix + name) for name in self._defaults if prefix + name in state_dict}
        if saved:
            try:
                state_dict.update({prefix + name: value for name, value in self._checked(saved).items()})
            except ValueError as error:
                args[-1].append(f"{prefix}{error}")
        super()._load_from_state_dict(state_dict, prefix, *args)

    def _checked(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state of a metric or of a file on this metric's device, complete; or a ``ValueError``."""
        name = "counts" if self._sized else "cells"
        if name not in state:
            raise ValueError(f"state: expected {name}; got {', '.join(state) or 'nothing'}")
        tensors: list[Any] = [state[name]] if self._sized else _parts(state[name]) or self._no_cells()
        shape = str(tuple(self.counts.shape)) if self._sized else "(Z, 3)"
        for x in tensors:
            fits = isinstance(x, Tensor) and (x.shape == self.counts.shape if self._sized else x.shape[1:] == (3,))
            if not fits or x.dtype != torch.int64:
                got = f"{tuple(x.shape)} {x.dtype}" if isinstance(x, Tensor) else type(x).__name__
                raise ValueError(f"state: expected {name} of shape {shape}, int64; got {got}")
        if not torch.equal(state.get("options", self.options).cpu(), self.options.cpu()):
            raise ValueError("state: expected one of a metric with the same options; got other options")
        if "items" not in state:
            raise ValueError(f"state: expected items too; got {', '.join(state)}")
        moved = [x.to(self.device) for x in tensors]
        others = {"items": state["items"].to(self.device), "options": self.options}
        return {**others, name: moved[0] if self._sized else moved}

    def _reduce_states(self, incoming_state: dict[str, Any]) -> None:
        if not self._sized and "cells" in incoming_state:
            incoming_state = {**incoming_state, "cells": _parts(incoming_state["cells"])}
        super()._reduce_states(incoming_state)
        if not self._sized:
            self.cells = self._compacted(self.cells)

    def _compacted(self, cells: list[Tensor]) -> list[Tensor]:
        """All parts, merged once the later ones outgrow the first, already merged part."""
        first, *waiting = cells
        if len(waiting) > _MAX_WAITING_PARTS or sum(map(len, waiting)) > max(_MAX_WAITING_CELLS, len(first)):
            merged = LabelledCells.unpack(_of_table_0(cells, first.device), torch.int64).merged()
            return [merged.pack()[:, 1:].contiguous()]
        return cells


def _parts(cells: Tensor | list[Tensor]) -> list[Tensor]:
    """The parts of a list state, even if torchmetrics has joined them or there were none."""
    return [part for part in (cells if isinstance(cells, list) else [cells]) if getattr(part, "ndim", 2) == 2]


def _of_table_0(parts: list[Tensor], device: torch.device) -> Tensor:
    """All cells, with the number of the table, as accumulators save them."""
    return torch.nn.functional.pad(torch.cat([part.to(device) for part in parts]), (1, 0))
