"""Labels, tables and memberships on a device, and what is done with them there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor

import torchclusteval as tce
from torchclusteval import MEASURES, ContingencyAccumulator, ContingencyTables, Memberships


@dataclass(frozen=True)
class Place:
    """A device, and how data come to it."""

    device: str

    def __call__(self, x: Tensor) -> Tensor:
        return x.to(self.device)

    def generator(self, seed: int = 0) -> torch.Generator:
        return torch.Generator(self.device).manual_seed(seed)


Case = Callable[[Place], Any]


def integers(low: int, high: int, *shape: int, seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).integers(low, high, shape))


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).random(shape))


TRUE, PRED = integers(0, 5, 60), integers(0, 6, 3, 60, seed=1)
OTHER = integers(0, 4, 3, 60, seed=2)
FAR = PRED * 100_003 - 7  # labels that are worth a look-up
ROWS = PRED * 1009 + torch.arange(3)[:, None] * 10**6  # labels of their own in every row
HUGE = PRED * 2**60 - 2**61  # a range beyond any look-up table
MASK, WEIGHTS, MASSES = integers(0, 4, 3, 60, seed=3) > 0, integers(1, 4, 60, seed=4), numbers(60, seed=5) + 1
SPREAD = integers(0, 30, 60), integers(0, 30, 3, 60, seed=6)  # more cells than items
SIZES = {"num_classes": 5, "num_clusters": 6}
MANY = integers(0, 80, 3, 7, 6, seed=7)  # tables of over 1000 items


def labels(at: Place, **options: Any) -> ContingencyTables:
    return ContingencyTables.from_labels(at(TRUE), at(PRED), **options)


def margins(at: Place, **options: Any) -> ContingencyTables:
    return labels(at, absent_true=2, absent_pred=3, **options)


def common(at: Place, layout: str) -> Any:
    tables = margins(at, layout=layout)
    return tables.without_margins(), selections(tables), properties_of(ContingencyTables, tables.to_dense())


def intervals(at: Place) -> ContingencyTables:
    """Intervals come from the host; their table goes to the device."""
    return ContingencyTables.from_intervals([(0, 4, "a"), (5, 9, "b")], [(1, 5, 0), (5, 8.5, 1)]).to(at.device)


def groups(at: Place) -> list[ContingencyTables]:
    """Groups come from the host; their tables go to the device."""
    a, b = [{1, 2, 3}, {4}], [{1, 2}, {4, 9}]
    made = [ContingencyTables.from_groups(a, b), ContingencyTables.from_documents({"x": a}, {"x": b, "y": a})]
    return [tables.to(at.device) for tables in made]


def spread(at: Place) -> ContingencyTables:
    return ContingencyTables.from_labels(*map(at, SPREAD))


def many(at: Place, scale: int = 1) -> ContingencyTables:
    return ContingencyTables(at(MANY * scale))


def empty(at: Place) -> ContingencyTables:
    return ContingencyTables(at(torch.zeros(0, 4, 5, dtype=torch.int64)))


def members(at: Place, seed: int = 0, share: float = 0.3) -> Memberships:
    return Memberships.from_matrix(at(numbers(3, 12, 5, seed=seed) < share))


def one_member(at: Place) -> Memberships:
    return Memberships.from_matrix(at(numbers(12, 5, seed=9) < 0.3))


def partitions(at: Place) -> Memberships:
    return Memberships.from_labels(at(PRED[:, :12]))


def from_cells(at: Place, batch: bool = False) -> ContingencyTables:
    runs = at(integers(0, 3, 60, seed=5)) if batch else None
    return ContingencyTables.from_cells(at(TRUE), at(PRED[0]), counts=at(integers(0, 9, 60, seed=4)), batch=runs)


def from_probabilities(at: Place) -> ContingencyTables:
    return ContingencyTables.from_probabilities(at(numbers(60, 5)), at(numbers(3, 60, 6)))


def with_gradient(at: Place) -> Any:
    pred = at(numbers(3, 60, 6)).requires_grad_()
    tables = ContingencyTables.from_probabilities(at(numbers(60, 5)), pred)
    names = [name for name, m in MEASURES.items() if not m.integer_only]
    value = sum(x.nansum() for x in tce.evaluate_tables(tables, names).values())
    assert isinstance(value, Tensor)
    return value, torch.autograd.grad(value, pred)


def properties_of(kind: type, thing: Any) -> dict[str, Any]:
    """Every public property of an object."""
    own = dict.fromkeys(name for part in reversed(kind.__mro__[:-1]) for name in vars(part))
    names = [name for name in own if not name.startswith("_") and not callable(getattr(kind, name, None))]
    return {name: getattr(thing, name) for name in names}


def selections(tables: ContingencyTables) -> list[ContingencyTables]:
    keys: list[Any] = [1, slice(1, None), [2, 0], torch.tensor([0, 2]), torch.tensor([True, False, True])]
    keys += [keys[3].to(tables.device), keys[4].to(tables.device)]
    return [
        *(tables[key] for key in keys),
        *tables,
        tables._narrow(1, 2),
        tables.mT,
        tables.to(tables.device),
    ]


def reductions(tables: ContingencyTables) -> list[Tensor]:
    def quantity(cell: Any) -> Tensor:
        return cell.n * cell.at_classes(tables._class_surprisal) * cell.recall + cell.surprisal_given_cluster

    return [
        tables.sum(quantity),
        *tables._sums(quantity, lambda cell: cell.squares * cell.at_clusters(tables._cluster_sizes_f64)),
        tables._item_mean(quantity),
        tables._divide_by_items(tables.n_cells.double()),
        tables.sum_by_class(quantity),
        tables.max_by_class(quantity),
        tables.max_by_cluster(quantity),
    ]


def matched(how: str, on: str, layout: str) -> Case:
    """A matching, the tables in its order, and labels renamed by it."""

    def run(at: Place) -> Any:
        found = tce.match(ContingencyTables.from_labels(at(TRUE), at(PRED + 9), layout=layout), on, how)
        new = found.relabel(at(PRED + 9)), found.relabel(at(PRED + 9), "keep"), found.relabel(at(PRED), fill=-1)
        return found.cluster_of_class, found.class_of_cluster, found.total, found.unique, found.tables, new

    return run


# --- accumulators -------------------------------------------------------------------------------------------


def accumulated(at: Place, *sizes: int, true: Tensor = TRUE, pred: Tensor = PRED, **options: Any) -> Any:
    """An accumulator after several chunks, a merge and a journey through a saved state."""
    accumulator, fresh = (ContingencyAccumulator(*sizes, batch_shape=(3,), **options) for _ in range(2))
    for part in range(0, 60, 20):
        accumulator.update(at(true[part : part + 20]), at(pred[..., part : part + 20]))
    fresh.to(at.device).load_state_dict(accumulator.state_dict())
    accumulator.merge(fresh).all_reduce().to(at.device)
    return accumulator, accumulator.tables(), accumulator.state_dict(), fresh, fresh.tables()


def in_groups(at: Place, ids: Any = None, **options: Any) -> Any:
    """An accumulator of groups of items after several chunks, a merge and a journey through a saved state."""
    accumulator, fresh = (ContingencyAccumulator(batch_shape=(3,), **options) for _ in range(2))
    for part in (slice(0, 20), slice(20, 60)):
        by = at(TRUE.flip(0)[part]) if ids is None else ids[part]
        accumulator.update(at(TRUE[part]), at(PRED[:, part]), by=by)
    fresh.to(at.device).load_state_dict(accumulator.state_dict())
    accumulator.merge(fresh).all_reduce()
    return accumulator.tables(), accumulator.n_considered


def words(at: Place) -> Any:
    names = np.array(["a", "bb", "c", "d", "e", "f"])
    accumulator = ContingencyAccumulator(batch_shape=(3,), device=at.device, noise_label="f", noise="cluster")
    for part in (slice(0, 30), slice(30, 60)):
        accumulator.update(at(TRUE[part]), names[PRED[:, part].numpy()])
    other = ContingencyAccumulator(batch_shape=(3,), device=at.device, noise_label="f", noise="cluster")
    other.update(at(TRUE), names[::-1][PRED.numpy()])
    return accumulator.merge(other), accumulator.tables(), accumulator.state_dict()


def weighted(at: Place, **options: Any) -> Any:
    accumulator = ContingencyAccumulator(batch_shape=(3,), weights=True, **options)
    accumulator.update(at(TRUE), at(PRED), weights=at(MASSES), mask=at(MASK))
    return accumulator, accumulator.tables()


def soft(at: Place) -> Any:
    accumulator = ContingencyAccumulator(5, 6, batch_shape=(3,), weights=True)
    accumulator.update_soft(at(numbers(60, 5)), at(numbers(3, 60, 6)))
    return accumulator, accumulator.tables(), accumulator.reset()


def stream(at: Place, **options: Any) -> Any:
    chunks = [(at(TRUE[i : i + 20]), at(PRED[:, i : i + 20])) for i in range(0, 60, 20)]
    return tce.evaluate_stream(chunks, FEW, **options)


def metric(at: Place, module: Any, pred: Tensor = PRED[0], true: Tensor = TRUE) -> Any:
    module = module.to(at.device)
    value = [module(at(pred[i : i + 12]), at(true[i : i + 12])) for i in range(0, 60, 12)]
    state = {"_state": module.metric_state}  # how cells are packed may differ
    return value, module.compute(), module.tables(), module.state_dict(), state, module.reset()


# --- results ------------------------------------------------------------------------------------------------


def scores(at: Place) -> Any:
    found = tce.evaluate(at(TRUE), at(PRED), "all")
    ranks = {name: found.rank(name) for name in found.names if MEASURES[name].better}
    best = [found.best(name) for name in ranks]
    named = tce.evaluate(at(TRUE), {name: at(run) for name, run in zip("abc", PRED, strict=True)}, "ari")
    return (
        named.best_clustering("ari"),
        ranks,
        best,
        found.to_dict(),
        found.to_numpy(),
        found.to_pandas().to_numpy(),
        str(found),
        str(found.summary()),
        tce.evaluate(at(TRUE), at(PRED), "all", by=at(TRUE.flip(0))).macro(weights="items"),
    )


def text(report: Any) -> Any:
    return report, report.to_dict(), str(report)


def frames(report: Any) -> Any:
    return text(report), report.to_pandas().to_numpy()


def adjusted(at: Place) -> Any:
    return [tce.adjusted_for_chance(name)(labels(at)) for name in ("rand", "v_measure", "bcubed_precision")]


FEW = ("rand", "v_measure", "ami_max", "one_to_one_accuracy", "greedy_one_to_one_accuracy")
SIDES = ("rand", "purity", "pair_precision", "edit_distance", "nvi")
HEADLINE = ("adjusted_rand", "purity")


def bootstrap(at: Place, tables: ContingencyTables, **options: Any) -> Any:
    settings: dict[str, Any] = {"n_resamples": 20, "rng": at.generator(), "keep_resamples": True} | options
    return frames(tce.bootstrap(tables, HEADLINE, **settings))


def permutations(at: Place, tables: ContingencyTables, **options: Any) -> Any:
    settings: dict[str, Any] = {"n_resamples": 20, "rng": at.generator(), "keep_resamples": True} | options
    return frames(tce.permutation_test(tables, HEADLINE, **settings))


def paired(at: Place, **options: Any) -> Any:
    settings: dict[str, Any] = {"n_resamples": 20, "rng": at.generator(), "keep_resamples": True} | options
    return frames(tce.paired_bootstrap(at(TRUE), at(PRED), at(OTHER), HEADLINE, **settings))


def paired_groups(at: Place, **options: Any) -> Any:
    by = at(TRUE.flip(0))
    one, other = (ContingencyTables.from_labels(at(TRUE), at(x), by=by) for x in (PRED, OTHER))
    settings: dict[str, Any] = {"n_resamples": 20, "rng": at.generator(), "keep_resamples": True} | options
    return frames(tce.paired_groups(one, other, "pairs", **settings))


def compiled(at: Place) -> Any:
    with mock.patch.object(torch, "compile", lambda function, **options: function):
        return tce.compile("all")(labels(at))


def studied(result: Any) -> None:
    """Studies keep their records on the host, wherever they work."""
    records = getattr(getattr(result, "run", None), "records", None)
    assert records is None or records.device.type == "cpu"


def pairs_of(at: Place) -> Tensor:
    return at(torch.tensor([[0, 1], [2, 2], [5, 7]]))


def named(at: Place, start: int) -> Memberships:
    lists = [[i % 3, (i + start) % 4] for i in range(12)]
    return Memberships.from_lists(lists, items=[f"item {i + start}" for i in range(12)], device=at.device)


# --- cases of several functions -----------------------------------------------------------------------------


def masked(function: Callable[[ContingencyTables], Any], layout: str) -> Case:
    return lambda at: function(labels(at, layout=layout, mask=at(MASK)))


def evaluated(pred: Tensor, layout: str) -> Case:
    return lambda at: tce.evaluate(at(TRUE), at(pred), FEW, layout=layout)


def both_layouts(function: Callable[[ContingencyTables], Any]) -> dict[str, Case]:
    return {"dense": lambda at: function(labels(at)), "sparse": lambda at: function(labels(at, layout="sparse"))}


def overlapping(function: Callable[[Memberships, Memberships], Any]) -> dict[str, Case]:
    return {"batch": lambda at: function(members(at), members(at, 1))}


def single(kind: Callable[..., Any], **options: Any) -> dict[str, Case]:
    return {"growing": lambda at: metric(at, kind(**options))}


def of_scikit_learn(function: Callable[..., Any]) -> dict[str, Case]:
    return {"labels": lambda at: function(at(TRUE), at(PRED[0]))}
