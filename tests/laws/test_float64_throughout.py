"""Whole numbers become float64: a Python float next to an integer tensor would make it float32, which rounds."""

import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import torchclusteval as tce
from torchclusteval import ContingencyTables

pytestmark = pytest.mark.slow

PACKAGE = str(Path(tce.__file__).parent)
ALLOWED = {
    "_without_ties",  # counts of rows and columns
    *("draw", "multiplicities"),  # how often an item is drawn: few
}
SETS = ("all", "coreference", "segmentation", "tracking")
GENERATOR = torch.Generator().manual_seed(0)
TRUE = torch.randint(0, 5, (60,), generator=GENERATOR)
PRED = torch.randint(0, 6, (4, 60), generator=GENERATOR)
BY = torch.randint(0, 4, (60,), generator=GENERATOR)


class _Watch(TorchDispatchMode):
    """Notes the functions of the package that make float32 of other types."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if any(x.dtype == torch.float32 for x in _tensors(result)) and not any(
            x.dtype == torch.float32 for x in _tensors(args)
        ):
            own = [frame.name for frame in traceback.extract_stack() if frame.filename.startswith(PACKAGE)]
            self.found.add(own[-1] if own else "")
        return result


def _tensors(x: Any) -> Iterator[Tensor]:
    if isinstance(x, Tensor):
        yield x
    elif isinstance(x, list | tuple):
        for each in x:
            yield from _tensors(each)


def _tables(layout: str) -> list[ContingencyTables]:
    options: list[dict[str, Any]] = [{}, {"by": BY}, {"absent_true": 0, "absent_pred": 0}, {"noise_label": 0}]
    tables = [ContingencyTables.from_labels(TRUE, PRED, layout=layout, **option) for option in options]
    wide = ContingencyTables(torch.randint(0, 9, (30, 200), generator=GENERATOR))
    return [*tables, wide.to_sparse() if layout == "sparse" else wide]


def _scores_of_match(tables: ContingencyTables, on: str, how: str) -> Any:
    return tce.matched_scores(tables, tce.match(tables, on, how))


CALLS: dict[str, Callable[[ContingencyTables], Any]] = {
    **{f"evaluate {name}": partial(tce.evaluate_tables, measures=name) for name in SETS},
    **{
        f"match {on} {how}": partial(_scores_of_match, on=on, how=how)
        for on in ("overlap", "f", "precision")
        for how in ("one_to_one", "greedy", "majority")
    },
    "per_class": tce.per_class,
    "per_object": tce.per_object,
    "pooled": lambda x: tce.pooled(x) if x.groups is not None else None,
    "bootstrap": lambda x: tce.bootstrap(x[0], ["ari"], n_resamples=20) if x.batch_shape == (4,) else None,
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_of_tables(call: str, layout: str) -> None:
    with _Watch() as watch:
        for tables in _tables(layout):
            CALLS[call](tables)
    assert watch.found <= ALLOWED


def test_of_labels() -> None:
    with _Watch() as watch:
        tce.pairwise(PRED)
        tce.stability(PRED)
        tce.per_item(TRUE, PRED)
        tce.consensus(PRED)
        tce.cluster_stability(TRUE, PRED)
        tce.transitions(PRED)
        tce.element_consistency(PRED)
        tce.paired_bootstrap(TRUE, PRED, PRED[0], ["ari"], n_resamples=20)
    assert watch.found <= ALLOWED


def test_the_watch_sees_it() -> None:
    with _Watch() as watch:
        torch.arange(3) * 2.0
    assert watch.found == {""}  # no function of the package
