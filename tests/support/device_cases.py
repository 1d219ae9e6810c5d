"""Every public function that takes tables, labels or memberships, with data on a device: its routes by kind of data."""

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor

import torchclusteval as tce
from torchclusteval import MEASURES, ContingencyAccumulator, ContingencyTables, Memberships, measures, meta, overlap
from torchclusteval import sklearn as functions
from torchclusteval import torchmetrics as metrics
from torchclusteval.meta.generator import Grid
from torchclusteval.studies import constraints, kishida, nvi, overlap_cheat
from torchclusteval.studies.kishida.simulation import Configuration, Result
from torchclusteval.studies.runner import run_plan


@dataclass(frozen=True)
class Place:
    """A device, and how data come to it."""

    device: str

    def __call__(self, x: Tensor) -> Tensor:
        return x.to(self.device)

    def generator(self, seed: int = 0) -> torch.Generator:
        return torch.Generator(self.device).manual_seed(seed)


Case = Callable[[Place], Any]
from_labels = ContingencyTables.from_labels


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
    return from_labels(at(TRUE), at(PRED), **options)


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
    return from_labels(*map(at, SPREAD))


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
    own = dict.fromkeys(name for part in reversed(kind.__mro__[:-1]) for name in vars(part))
    names = [name for name in own if not name.startswith("_") and not callable(getattr(kind, name, None))]
    return {name: getattr(thing, name) for name in names}


def selections(tables: ContingencyTables) -> list[ContingencyTables]:
    keys: list[Any] = [1, slice(1, None), [2, 0], torch.tensor([0, 2]), torch.tensor([True, False, True])]
    keys += [keys[3].to(tables.device), keys[4].to(tables.device)]
    return [*(tables[key] for key in keys), *tables, tables._narrow(1, 2), tables.mT, tables.to(tables.device)]


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
        found = tce.match(from_labels(at(TRUE), at(PRED + 9), layout=layout), on, how)
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
    return accumulator.merge(other), accumulator.tables(), accumulator.scores(FEW), accumulator.state_dict()


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
    with tempfile.TemporaryDirectory() as folder:
        found.to_csv(Path(folder, "scores.csv"))
        rows = Path(folder, "scores.csv").read_text()
    return (
        named.best_clustering("ari"),
        found.top(2).to_dict(),
        found.distinct(at(PRED)).to_dict(),
        rows,
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few of the classes have a right pair
        return frames(tce.bootstrap(tables, HEADLINE, **{"resample": "items"} | settings))


def permutations(at: Place, tables: ContingencyTables, **options: Any) -> Any:
    settings: dict[str, Any] = {"n_resamples": 20, "rng": at.generator(), "keep_resamples": True} | options
    return frames(tce.permutation_test(tables, HEADLINE, **settings))


def paired(at: Place, **options: Any) -> Any:
    settings: dict[str, Any] = {"n_resamples": 20, "rng": at.generator(), "keep_resamples": True} | options
    return frames(tce.paired_bootstrap(at(TRUE), at(PRED), at(OTHER), HEADLINE, **settings))


def paired_groups(at: Place, **options: Any) -> Any:
    by = at(TRUE.flip(0))
    one, other = (from_labels(at(TRUE), at(x), by=by) for x in (PRED, OTHER))
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


# --- the cases ----------------------------------------------------------------------------------------------

PAPER = kishida.plan("text", [Configuration("balanced", 0.5, 3)])
GRID = Grid((3, 6), (0, 1), (0, 1), (0.0, 0.1), (0.0, 0.1), (0.0, 0.1))

FROM_LABELS: dict[str, Case] = {
    "dense": lambda at: labels(at, layout="dense"),
    "sparse": lambda at: labels(at, layout="sparse"),
    "codes": lambda at: labels(at, validate=False, **SIZES),
    "checked codes": lambda at: labels(at, **SIZES),
    "more codes": lambda at: labels(at, num_classes=9, num_clusters=8, mask=at(MASK)),
    "mask": lambda at: labels(at, mask=at(MASK)),
    "integer weights": lambda at: labels(at, weights=at(WEIGHTS)),
    "float weights": lambda at: labels(at, weights=at(MASSES), mask=at(MASK), layout="sparse"),
    "ignore_index": lambda at: labels(at, ignore_index=2),
    "noise ignored": lambda at: labels(at, noise_label=3),
    "noise as a cluster": lambda at: labels(at, noise_label=3, noise="cluster", mask=at(MASK)),
    "noise without items": lambda at: labels(at, noise_label=77, noise="cluster"),
    "noise as singletons": lambda at: labels(at, noise_label=3, noise="singletons"),
    "absent labels, dense": lambda at: margins(at, layout="dense"),
    "absent labels, sparse": lambda at: margins(at, layout="sparse", mask=at(MASK)),
    "absent labels, codes": lambda at: margins(at, validate=False, **SIZES),
    "absent labels, far": lambda at: from_labels(at(TRUE), at(ROWS), absent_true=9, absent_pred=int(ROWS[0, 0])),
    "no items": lambda at: from_labels(at(TRUE[:0]), at(PRED[:, :0])),
    "no tables": lambda at: from_labels(at(TRUE), at(PRED[:0])),
    "gaps": lambda at: from_labels(at(TRUE), at(FAR), noise_label=-7),
    "labels of their own by row": lambda at: from_labels(
        at(TRUE * 1000), at(ROWS), mask=at(MASK), noise_label=int(ROWS[0, 0]), noise="cluster"
    ),
    "huge labels": lambda at: from_labels(at(TRUE), at(HUGE), mask=at(MASK)),
    "booleans": lambda at: from_labels(at(TRUE > 2), at(PRED > 2)),
    "uint64": lambda at: from_labels(at(TRUE), at(HUGE.view(torch.uint64)), noise_label=2**63, noise="cluster"),
    "floats": lambda at: from_labels(at(TRUE.float()), at(PRED.double())),
    "groups": lambda at: labels(at, by=at(OTHER[0, :60]), mask=at(MASK), ignore_index=1),
    "groups, sparse": lambda at: labels(at, by=at(OTHER[0, :60]) * 10**9, weights=at(WEIGHTS), layout="sparse"),
    "groups of words": lambda at: labels(at, by=[f"group {i % 7}" for i in range(60)]),
    "groups by clustering": lambda at: labels(at, by=at(PRED.flip(0)), missing="ignore"),
    "codes of groups": lambda at: labels(at, by=at(TRUE.flip(0)), num_groups=6, validate=False, **SIZES),
    "sparse codes of groups": lambda at: labels(at, by=at(TRUE.flip(0)), num_groups=6, layout="sparse", **SIZES),
    "words": lambda at: from_labels(
        np.array(list("abcde"))[TRUE.numpy()], at(PRED), mask=at(MASK), noise_label=3, noise="cluster"
    ),
    "arrays": lambda at: from_labels(TRUE.numpy(), PRED.numpy(), device=at.device),
    "rows": lambda at: from_labels([at(TRUE)], [at(row) for row in PRED]),
    "shared rows": lambda at: from_labels(at(TRUE).expand(3, 60), at(PRED)),
}

CASES: dict[str, dict[str, Case]] = {
    "ContingencyTables": {
        "integers": lambda at: ContingencyTables(at(MANY)),
        "floats": lambda at: ContingencyTables(at(MANY.float())),
        "without rows": lambda at: ContingencyTables(at(MANY[:, :0])),
        "to": lambda at: labels(Place("cpu"), mask=MASK).to(at.device),
    },
    "ContingencyTables.from_labels": FROM_LABELS,
    "ContingencyTables.from_groups": {"lists": lambda at: groups(at)[0]},
    "ContingencyTables.from_intervals": {"lists": lambda at: intervals(at)},
    "ContingencyTables.from_documents": {"a batch": lambda at: groups(at)[1]},
    "ContingencyTables.from_cells": {"one table": from_cells, "a batch": lambda at: from_cells(at, batch=True)},
    "ContingencyTables.from_probabilities": {"plain": from_probabilities, "with a gradient": with_gradient},
    "ContingencyTables.*": {
        f"{what}, {layout}": masked(function, layout)
        for layout in ("dense", "sparse")
        for what, function in {
            "properties": lambda tables: properties_of(ContingencyTables, tables.to_dense()),
            "reductions": reductions,
            "cells": lambda tables: (tables.cells(), tables.to_dense(), tables.to_sparse()),
            "selections": selections,
        }.items()
    },
    "ContingencyTables.balanced": {
        "dense": lambda at: labels(at, layout="dense").balanced(),
        "sparse": lambda at: labels(at, layout="sparse", weights=at(MASSES)).balanced(),
    },
    "ContingencyTables.without_margins": {
        "dense": lambda at: common(at, "dense"),
        "sparse": lambda at: common(at, "sparse"),
    },
    "ContingencyAccumulator": {
        "sizes": lambda at: accumulated(at, 5, 6, device=at.device),
        "sizes and noise": lambda at: accumulated(at, 5, 6, noise_label=-1, noise="cluster"),
        "sizes and weights": lambda at: weighted(at, **SIZES),
        "soft": soft,
        "growing": accumulated,
        "growing, one chunk": lambda at: ContingencyAccumulator(batch_shape=(3,)).update(at(TRUE), at(PRED)).tables(),
        "growing, sparse": lambda at: accumulated(at, true=SPREAD[0], pred=SPREAD[1]),
        "growing, far labels": lambda at: accumulated(at, true=TRUE * 10**9, pred=HUGE),
        "growing, booleans": lambda at: accumulated(at, true=TRUE > 2, pred=PRED > 2),
        "growing, uint64": lambda at: accumulated(at, pred=HUGE.view(torch.uint64)),
        "growing, classes known": lambda at: accumulated(at, num_classes=5, noise_label=2, ignore_index=1),
        "growing, weights": weighted,
        "growing, noise": lambda at: accumulated(at, noise_label=3, noise="cluster"),
        "growing, singletons": lambda at: accumulated(at, noise_label=3, noise="singletons"),
        "growing, words": words,
        "groups": lambda at: in_groups(at),
        "groups of words": lambda at: in_groups(at, ids=[f"group {i % 7}" for i in range(60)]),
        "groups of fixed shape": lambda at: in_groups(at, num_groups=7, **SIZES),
        "growing, absent": lambda at: accumulated(at, absent_true=2, absent_pred=7),
        "sizes and absent": lambda at: accumulated(at, 5, 6, absent_true=2, absent_pred=-1),
        "nothing": lambda at: ContingencyAccumulator(batch_shape=(3,), device=at.device).tables(),
    },
    "Measure": {"call": lambda at: [m(labels(at)) for m in MEASURES.values()]},
    "adjusted_for_chance": {"dense": adjusted},
    "bootstrap": {
        "all cells": lambda at: bootstrap(at, labels(at)),
        "filled cells": lambda at: bootstrap(at, from_labels(at(SPREAD[0] * 3), at(SPREAD[1] % 9))),
        "classes": lambda at: bootstrap(at, labels(at), resample="classes"),
        "classes of filled cells": lambda at: bootstrap(
            at, from_labels(at(SPREAD[0] * 3), at(SPREAD[1] % 9)), resample="classes"
        ),
        "basic": lambda at: bootstrap(at, labels(at), method="basic", chunk_size=5),
        "bca": lambda at: bootstrap(at, labels(at), method="bca"),
        "groups": lambda at: bootstrap(at, labels(at, by=at(TRUE.flip(0))), resample="groups"),
        "groups, bca": lambda at: bootstrap(at, labels(at, by=at(TRUE.flip(0))), resample="groups", method="bca"),
        "generator of the host": lambda at: bootstrap(at, labels(at), rng=torch.Generator().manual_seed(1)),
        "no tables": lambda at: text(tce.bootstrap(empty(at), "purity", n_resamples=5)),
    },
    "compile": {"eager": compiled},
    "evaluate": {
        f"{pred}, {layout}": evaluated(x, layout)
        for pred, x in {"batch": PRED, "single": PRED[0], "no tables": PRED[:0], "no items": PRED[:, :0]}.items()
        for layout in ("dense", "sparse")
        if pred != "no items"
    }
    | {"no items": lambda at: tce.evaluate(at(TRUE[:0]), at(PRED[:, :0]), FEW)},
    "evaluate_tables": {
        "integers": lambda at: tce.evaluate_tables(labels(at), "all"),
        "both sides differ": lambda at: tce.evaluate_tables(many(at), FEW),
        "many items": lambda at: tce.evaluate_tables(many(at, 200), FEW),
        "families, sparse": lambda at: tce.evaluate_tables(labels(at, layout="sparse"), ("matching", "pairs")),
        "sparse": lambda at: tce.evaluate_tables(spread(at).to_sparse(), FEW),
        "floats": lambda at: tce.evaluate_tables(labels(at, weights=at(MASSES)), "all"),
        "margins": lambda at: tce.evaluate_tables(margins(at), FEW),
        "coreference": lambda at: tce.evaluate_tables(margins(at), ["coreference", "rand"], zero_division=0.0),
        "groups, coreference": lambda at: tce.evaluate_tables(
            labels(at, by=at(TRUE.flip(0)), absent_true=2, absent_pred=1), ["coreference", "rand"]
        ),
        "chunks": lambda at: tce.evaluate_tables(many(at), FEW, chunk_size=2),
        "groups": lambda at: tce.evaluate_tables(labels(at, by=at(TRUE.flip(0))), "all"),
        "groups, sparse": lambda at: tce.evaluate_tables(labels(at, by=at(TRUE.flip(0)), layout="sparse"), FEW),
        "sparse chunks": lambda at: tce.evaluate_tables(spread(at).to_sparse(), FEW, chunk_size=2),
    },
    "pooled": {
        "groups": lambda at: tce.pooled(labels(at, by=at(TRUE.flip(0))), "all"),
        "groups, sparse": lambda at: tce.pooled(labels(at, by=at(TRUE.flip(0)), layout="sparse")),
        "coreference": lambda at: tce.pooled(
            labels(at, by=at(TRUE.flip(0)), absent_true=2, absent_pred=1), "coreference", zero_division=0.0
        ),
        "plain batch": lambda at: tce.pooled(many(at)),
    },
    "evaluate_overlapping": {
        "batch": lambda at: tce.evaluate_overlapping(members(at), members(at, 1)),
        "one reference": lambda at: tce.evaluate_overlapping(one_member(at), members(at, 1)),
        "one clustering": lambda at: tce.evaluate_overlapping(members(at), one_member(at)),
        "partitions": lambda at: tce.evaluate_overlapping(partitions(at), Memberships.from_labels(at(OTHER[:, :12]))),
        "some partitions": lambda at: tce.evaluate_overlapping(
            partitions(at), Memberships.stack([partitions(at)[0], members(at)[0], members(at)[1]])
        ),
        "named": lambda at: tce.evaluate_overlapping(named(at, 0), named(at, 3)),
        "no items": lambda at: tce.evaluate_overlapping(*(Memberships.from_lists([], device=at.device),) * 2),
        "no groups": lambda at: tce.evaluate_overlapping(members(at, share=0.0), members(at)),
        "every measure": lambda at: tce.evaluate_overlapping(members(at), members(at, 1), "all"),
    },
    "evaluate_stream": {"growing": stream, "sizes": lambda at: stream(at, batch_shape=(3,), chunk_size=2, **SIZES)},
    "cluster_stability": {
        "plain": lambda at: frames(tce.cluster_stability(at(TRUE), at(PRED))),
        "mask and noise": lambda at: text(tce.cluster_stability(at(TRUE), at(FAR), at(MASK), noise_label=3)),
        "one run": lambda at: text(tce.cluster_stability(at(TRUE * 10**9), at(PRED[0]))),
    },
    "consensus": {
        "plain": lambda at: tce.consensus(at(PRED)),
        "mask": lambda at: tce.consensus(at(FAR), at(TRUE), mask=at(MASK)),
        "rows": lambda at: tce.consensus(at(ROWS), start=2),
    },
    "element_consistency": {
        "plain": lambda at: tce.element_consistency(at(PRED)),
        "many groups": lambda at: tce.element_consistency(at(SPREAD[1] * 7), at(MASK)),
    },
    "transitions": {
        "plain": lambda at: tce.transitions(at(PRED)),
        "mask": lambda at: tce.transitions(at(FAR), at(MASK)),
    },
    "match": {
        f"{how}, {on}, {layout}": matched(how, on, layout)
        for how in ("one_to_one", "greedy", "majority")
        for on, layout in (("overlap", "dense"), ("jaccard", "dense"), ("overlap", "sparse"), ("f", "sparse"))
    }
    | {
        "no tables": lambda at: tce.match(empty(at)),
        "at least": lambda at: tce.match(spread(at), "jaccard", at_least=0.2),
        "many ties": lambda at: tce.match(ContingencyTables(at(MANY.clamp(max=2)))),
    },
    "per_object": {
        "dense": lambda at: tce.per_object(margins(at, layout="dense")),
        "sparse": lambda at: tce.per_object(margins(at, layout="sparse").mT),
    },
    "estimate_from_sample": {
        "uniform": lambda at: tce.estimate_from_sample(margins(at, layout="dense"), "uniform"),
        "size": lambda at: tce.estimate_from_sample(margins(at, layout="sparse"), "size"),
        "numbers": lambda at: tce.estimate_from_sample(margins(at), at(torch.arange(1.0, 5.0))),
        "against": lambda at: tce.estimate_from_sample(margins(at), "size", against=margins(at)[0]),
    },
    "matched_scores": both_layouts(lambda tables: tce.matched_scores(tables, tce.match(tables))),
    "relabel": both_layouts(lambda tables: tce.relabel(torch.arange(2, device=tables.device), tce.match(tables))),
    "adjusted_rand_by_class": both_layouts(tce.adjusted_rand_by_class),
    "subset_accuracy": both_layouts(lambda tables: tce.subset_accuracy(tables, {"old": [0, 1], "new": [2, 9]})),
    "multinomial_tables": {
        "dense": lambda at: tce.multinomial_tables(labels(at), 5, at.generator()),
        "sparse": lambda at: tce.multinomial_tables(labels(at, layout="sparse"), 5, at.generator()),
    },
    "paired_bootstrap": {
        "batch": paired,
        "mask": lambda at: paired(at, mask=at(MASK), method="bca"),
        "noise": lambda at: paired(
            at, noise_label=1, noise="cluster", ignore_index=2, n_resamples=119, correction="holm"
        ),
        "one pair": lambda at: text(
            tce.paired_bootstrap(at(TRUE), at(PRED[0]), at(OTHER[0]), HEADLINE, 20, rng=at.generator())
        ),
        "no tables": lambda at: text(tce.paired_bootstrap(at(TRUE), at(PRED[:0]), at(OTHER[:0]), "purity", 5)),
    },
    "paired_groups": {
        "pooled": lambda at: paired_groups(at, test="bootstrap", n_resamples=119, correction="holm"),
        "macro": lambda at: paired_groups(at, macro=True),
        "all swaps": lambda at: paired_groups(at, n_resamples=2**10),
    },
    "pairwise": {
        "few groups": lambda at: tce.pairwise(at(torch.cat([PRED, OTHER])), SIDES),
        "gaps": lambda at: tce.pairwise(at(FAR)),
        "one group": lambda at: tce.pairwise(at(PRED * 0)),
    },
    "per_class": {
        "dense": lambda at: frames(tce.per_class(labels(at)[0])),
        "sparse": lambda at: text(tce.per_class(labels(at, layout="sparse"))),
        "gaps": lambda at: text(tce.per_class(from_labels(at(TRUE * 10**6), at(FAR)))),
    },
    "per_cluster": {
        "dense": lambda at: frames(tce.per_cluster(labels(at)[0])),
        "sparse": lambda at: text(tce.per_cluster(labels(at, layout="sparse"))),
    },
    "per_item": {
        "plain": lambda at: tce.per_item(at(TRUE), at(PRED)),
        "mask": lambda at: tce.per_item(at(TRUE), at(PRED), mask=at(MASK)),
        "absent": lambda at: tce.per_item(at(TRUE), at(PRED), absent_true=2, absent_pred=3),
        "no items": lambda at: tce.per_item(at(TRUE[:0]), at(PRED[:, :0])),
    },
    "permutation_test": {
        "few items": lambda at: permutations(at, labels(at)),
        "margins, many items": lambda at: permutations(
            at, many(at, 200), n_resamples=59, correction="benjamini-hochberg"
        ),
        "items": lambda at: permutations(at, spread(at)),
        "two-sided": lambda at: permutations(
            at, labels(at), alternative="two-sided", n_resamples=119, correction="holm"
        ),
        "no tables": lambda at: text(tce.permutation_test(empty(at), "purity", n_resamples=5)),
    },
    "random_tables": {
        "few items": lambda at: tce.random_tables(labels(at).class_sizes, labels(at).cluster_sizes, 5, at.generator()),
        "many items": lambda at: tce.random_tables(many(at).class_sizes, many(at).cluster_sizes, 5, at.generator()),
    },
    "report": {
        "plain": lambda at: tce.report(at(TRUE), at(PRED), ["ari", "vi"], n_resamples=40),
        "groups": lambda at: tce.report(at(TRUE), at(PRED), ["bcubed_f"], by=at(TRUE % 2), n_resamples=40),
        "no truth": lambda at: tce.report(None, at(PRED), mask=at(MASK), noise_label=1),
    },
    "stability": {
        "plain": lambda at: frames(tce.stability(at(PRED), ("adjusted_rand", "purity"))),
        "one": lambda at: text(tce.stability(at(PRED[:1]))),
    },
    "Scores": {"methods": scores},
    "Memberships": {
        "properties": lambda at: properties_of(Memberships, members(at)),
        "from_lists": lambda at: Memberships.from_lists([[1, 2], [], [2]], device=at.device),
        "from_dict": lambda at: Memberships.from_dict({"a": [1, 2], "b": [2]}, device=at.device),
        "from_groups": lambda at: Memberships.from_groups({"x": [0, 1], "y": [1, 3]}, device=at.device),
        "from_matrix": members,
        "from_labels": partitions,
        "from_labels, rows": lambda at: Memberships.from_labels([at(row) for row in PRED]),
        "from_hierarchy": lambda at: Memberships.from_hierarchy([("a", "b"), ("a", "c")], device=at.device),
        "from_linkage": lambda at: Memberships.from_linkage(
            [[0, 1, 0.5, 2], [2, 3, 1.0, 3]], heights=[0.7, 1.0], device=at.device
        ),
        "stack": lambda at: Memberships.stack([members(at), members(at, 1)]),
        "stack, named": lambda at: Memberships.stack([named(at, 0), named(at, 3)]),
        "to": lambda at: members(Place("cpu")).to(at.device),
        "to_matrix": lambda at: members(at).to_matrix(),
        "expand": lambda at: one_member(at).expand((3,)),
        "selections": lambda at: [
            members(at)[k] for k in (0, slice(1, 3), torch.tensor([2, 0]), at(torch.tensor([1])))
        ],
        "view": lambda at: members(at).view(),
    },
    "overlap.multiplicity_precision": {
        "positions": lambda at: overlap.multiplicity_precision(members(at), members(at, 1), pairs_of(at)),
        "positions of the host": lambda at: overlap.multiplicity_precision(one_member(at), members(at), [[0, 1]]),
        "names": lambda at: overlap.multiplicity_precision(named(at, 0), named(at, 3), [("item 4", "item 5")]),
    },
    "overlap.multiplicity_recall": {
        "positions": lambda at: overlap.multiplicity_recall(members(at), members(at, 1), pairs_of(at))
    },
    "overlap.extended_bcubed_per_item": {
        "batch": lambda at: overlap.extended_bcubed_per_item(members(at), members(at, 1)),
        "partitions": lambda at: overlap.extended_bcubed_per_item(partitions(at), partitions(at)),
    },
    "overlap.overlap_element_centric": {
        "batch": lambda at: overlap.overlap_element_centric(members(at), members(at, 1)),
        "weights": lambda at: overlap.overlap_element_centric(
            members(at), one_member(at), 0.5, true_weights=[1.0, 2.0, 0.5, 1.0, 3.0]
        ),
        "single items": lambda at: overlap.overlap_element_centric(named(at, 0), named(at, 3)),
    },
    "overlap.hierarchy_weights": {
        "paths": lambda at: overlap.hierarchy_weights(
            Memberships.from_hierarchy([("a", "b"), ("a", "c")], device=at.device)
        )
    },
    "overlap.dendrogram_purity": {
        "batch": lambda at: overlap.dendrogram_purity(at(PRED[:, :4]), [[0, 1, 1, 2], [2, 3, 1, 2], [4, 5, 2, 4]])
    },
    "meta.check_constraints": {
        "bounded": lambda at: meta.check_constraints("purity", instances=50, rng=at.generator()),
        "any": lambda at: meta.check_constraints("nvi", instances=50, rng=at.generator(), rest="any"),
    },
    "meta.check_properties": {
        "closest": lambda at: meta.check_properties("v_measure", grid=GRID, device=at.device),
        "text": lambda at: meta.check_properties("q0", reading="text", grid=GRID, device=at.device),
    },
    "meta.grid_tables": {
        "closest": lambda at: meta.grid_tables(GRID, device=at.device),
        "text": lambda at: meta.grid_tables(GRID, "text", device=at.device),
    },
    "meta.parametric_tables": {
        "tensors": lambda at: meta.parametric_tables(
            *(at(torch.tensor(x)) for x in ([3, 4], [4, 2], [1, 0], [0, 1], [0.1, 0.2], [0.1, 0.0], [0.0, 0.1]))
        ),
        "numbers beside tensors": lambda at: meta.parametric_tables(at(torch.tensor([3, 4])), 4, 1, 0, 0.1, 0.0, 0.1),
    },
    "torchmetrics.ClusteringMetric": {
        "sizes": lambda at: metric(at, metrics.ClusteringMetric(FEW, 5, 6)),
        "growing": lambda at: metric(at, metrics.ClusteringMetric(FEW)),
        "absent": lambda at: metric(at, metrics.ClusteringMetric(None, 5, 6, absent_true=-1, absent_pred=2)),
        "noise": lambda at: metric(at, metrics.ClusteringMetric(noise_label=3, noise="singletons")),
        "noise as a cluster": lambda at: metric(
            at, metrics.ClusteringMetric(None, 5, 6, noise_label=-1, noise="cluster")
        ),
        "far labels": lambda at: metric(at, metrics.ClusteringMetric(), FAR[0]),
    },
    "studies.nvi.run": {"small": lambda at: studied(nvi.run(iterations=1, device=at.device, progress=False))},
    "studies.kishida.run": {
        "small": lambda at: studied(Result("text", 0, run_plan(PAPER, iterations=2, device=at.device, progress=False)))
    },
    "studies.constraints.run": {"small": lambda at: studied(constraints.run(iterations=2, device=at.device))},
    "studies.overlap_cheat.run": {"small": lambda at: studied(overlap_cheat.run(iterations=2, device=at.device))},
}


OWN_CASES = [
    "read_memberships",
    "evaluate_overlapping",
    "expected_mutual_information",
    "fowlkes_mallows_of_cuts",
    "scorer",
]
for name in measures.__all__:
    if name.islower():
        CASES[f"measures.{name}"] = both_layouts(getattr(measures, name))
for name in overlap.__all__:
    if name.islower() and name not in OWN_CASES:
        CASES.setdefault(f"overlap.{name}", overlapping(getattr(overlap, name)))
for name in metrics.__all__:
    sizes = {"num_classes": 6} if name == "ClusterAccuracy" else {}
    CASES.setdefault(f"torchmetrics.{name}", single(getattr(metrics, name), **sizes))
for name in functions.__all__:
    if name.islower() and name not in OWN_CASES:
        CASES[f"sklearn.{name}"] = of_scikit_learn(getattr(functions, name))
