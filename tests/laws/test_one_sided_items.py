"""Items that only one side groups count in every function of tables, or it refuses them, or says why they do not."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
import torch

import torchclusteval as tce
from torchclusteval import ContingencyTables

ABSENT: dict[str, Any] = {"absent_true": 0, "absent_pred": 0}
TRUE = [1] * 10 + [2] * 6 + [3] * 4 + [0] * 9
PRED = [7] * 6 + [8] * 1 + [0] * 3 + [8] * 4 + [0] * 2 + [9] * 3 + [0] * 1 + [7] * 4 + [8] * 3 + [9] * 2
BY = [i % 2 for i in range(len(TRUE))]


def counted(**options: Any) -> ContingencyTables:
    return ContingencyTables.from_labels(TRUE, PRED, **ABSENT, **options)


PARTITIONS = "a measure of partitions, of the items that both sides group (scores.coverage)"
# function -> what it gives for tables, and why items of one side do not count in it; "" where they do
OF_TABLES: dict[str, tuple[Callable[[ContingencyTables], Any], str]] = {
    "evaluate_tables": (lambda t: tce.evaluate_tables(t, "coreference").to_dict(), ""),
    "compile": (lambda t: tce.compile(["conll_f"], backend="eager")(t).to_dict(), ""),
    "pooled": (lambda t: tce.pooled(both_halves(t), "coreference").to_dict(), ""),
    "match": (lambda t: [tce.match(t, on).total for on in ("jaccard", "f", "recall", "precision")], ""),
    "Matching.tables": (lambda t: [tce.match(t, how=how).tables for how in ("one_to_one", "majority")], ""),
    "matched_scores": (lambda t: dict(tce.matched_scores(t, tce.match(t))), ""),
    "subset_accuracy": (lambda t: tce.subset_accuracy(t, {"one": [1], "others": [2, 3]}), ""),
    "per_class": (lambda t: dict(tce.per_class(t)), ""),
    "per_cluster": (lambda t: dict(tce.per_cluster(t)), ""),
    "per_object": (lambda t: dict(tce.per_object(t)), ""),
    "estimate_from_sample": (lambda t: dict(tce.estimate_from_sample(t, "uniform")), ""),
    "adjusted_rand_by_class": (tce.adjusted_rand_by_class, "refused"),
    "multinomial_tables": (lambda t: tce.multinomial_tables(t, 2, rng=0), "refused"),
    "ContingencyTables.balanced": (lambda t: t.balanced(), "refused"),
    "relabel": (lambda t: tce.relabel([7, 8, 9], tce.match(t)), "the matching by overlap is one of common items"),
    "bootstrap": (lambda t: dict(tce.bootstrap(t, "ari", 20, rng=0)), PARTITIONS),
    "permutation_test": (lambda t: dict(tce.permutation_test(t, "ari", 20, rng=0)), PARTITIONS),
    "adjusted_for_chance": (lambda t: tce.evaluate_tables(t, [tce.adjusted_for_chance("rand")]).to_dict(), PARTITIONS),
    "plots.plot_table": (lambda t: plots().plot_table(t), ""),
    "plots.plot_flow": (lambda t: plots().plot_flow(t), ""),
    "plots.plot_transitions": (lambda t: plots().plot_transitions(t), ""),
}
COMMON = "of items in an object of both sides"
OF_COMMON = ("adapted_rand_error", "vi_split", "vi_merge")  # of segmentation
FUNCTIONS: list[Any] = [getattr(tce.measures, name) for name in tce.measures.__all__]
FUNCTIONS = [*tce.MEASURES.values(), *filter(inspect.isfunction, FUNCTIONS)]
for function in FUNCTIONS:
    name = function.name if isinstance(function, tce.Measure) else function.__name__
    family = function.family if isinstance(function, tce.Measure) else function.__module__.rpartition(".")[2]
    reason = PARTITIONS if family not in tce.measures.ONE_SIDED else COMMON if name.startswith(OF_COMMON) else ""
    OF_TABLES[f"measures.{name}"] = function, reason
SEEN = {"tables", "match", "source"}  # arguments that are tables or come of them


def both_halves(tables: ContingencyTables) -> ContingencyTables:
    halves = counted(by=BY, layout=tables.layout)
    return halves if tables.has_unmatched else halves.without_margins()


def plots() -> Any:
    return __import__("torchclusteval.plots", fromlist=["plot_table"])


def shown(x: Any) -> Any:
    """What a result says, as text and numbers."""
    if isinstance(x, (torch.Tensor, np.ndarray)):
        return x.tolist()
    if isinstance(x, ContingencyTables):
        return shown([x.to_dense().counts, x.whole_class_sizes, x.whole_cluster_sizes, x.coverage])
    if isinstance(x, Mapping):
        return {name: shown(value) for name, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [shown(value) for value in x]
    if is_dataclass(x):
        return [shown(getattr(x, field.name)) for field in fields(x)]
    if hasattr(x, "figure"):
        found = x.figure.findobj(lambda part: hasattr(part, "get_text") or hasattr(part, "get_height"))
        found += x.figure.findobj(lambda part: hasattr(part, "get_sizes"))
        names = ("get_text", "get_width", "get_height", "get_sizes")
        return [[shown(getattr(part, name)()) for name in names if hasattr(part, name)] for part in found]
    return x


def takes_tables(function: Any) -> bool:
    if not callable(function) or isinstance(function, tce.Measure) or inspect.isclass(function):
        return False
    return bool(SEEN & {*inspect.signature(function).parameters})


def test_no_function_of_tables_is_left_out() -> None:
    """But methods of tables that say what is in the cells, in the margins, or in both, and give other tables."""
    modules = {"": tce, "measures.": tce.measures, "plots.": plots()}
    public = {f"{home}{name}" for home, m in modules.items() for name in m.__all__ if takes_tables(getattr(m, name))}
    public |= {name for name in tce.inference.__all__ if takes_tables(getattr(tce.inference, name))}
    assert public - {*OF_TABLES} == set()


@pytest.mark.parametrize("name", OF_TABLES)
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_items_of_one_side_count(name: str, layout: str) -> None:
    function, reason = OF_TABLES[name]
    whole = counted(layout=layout)
    common = whole.without_margins()
    if name == "compile" and layout == "sparse":
        return
    if reason == "refused":
        with pytest.raises(ValueError, match=r"items with a group on both sides; .*\(without_margins\(\)"):
            function(whole)
        function(common)
        return
    same = str(shown(function(whole))) == str(shown(function(common)))
    assert same == bool(reason), reason


def test_what_tables_say_of_them() -> None:
    """Everything else, from the constructors to the sums over cells, is of the items in the table, as its text says."""

    def said(tables: ContingencyTables, name: str) -> str:
        found = getattr(tables, name)
        return str(shown(found() if callable(found) else found))

    of_cells = {"sum", "sum_by_class", "max_by_class", "max_by_cluster", "to", "balanced"}  # take arguments, or refuse
    names = {x for x in vars(ContingencyTables) if x[0] != "_" and not x.startswith("from_")} - of_cells
    whole, common = counted(), counted().without_margins()
    sizes = {"unmatched_by_class", "unmatched_by_cluster", "whole_class_sizes", "whole_cluster_sizes", "has_unmatched"}
    assert {x for x in names if said(whole, x) != said(common, x)} == sizes | {"mT", "to_dense", "to_sparse"}


@pytest.fixture(params=["dense", "sparse"])
def ten(request: pytest.FixtureRequest) -> ContingencyTables:
    """An object of 10 items of which 2 are found."""
    labels = [1] * 10 + [0] * 10, [0] * 8 + [7] * 2 + [0] * 10
    return ContingencyTables.from_labels(*labels, **ABSENT, layout=request.param)


def values(found: Mapping[str, Any], *names: str) -> list[float]:
    return [found[name].item() for name in names]


def test_an_object_of_which_a_fifth_is_found(ten: ContingencyTables) -> None:
    whole, half = pytest.approx([0.2, 1, 1 / 3, 0.2, 0.2]), pytest.approx([1, 0.2, 1 / 3, 0.2, 1])
    names: tuple[str, ...] = ("recall", "precision", "f", "iou", "accuracy")
    for tables, expected in ((ten, whole), (ten.mT, half)):  # all that is predicted is right, but invents 8 items
        for on in ("jaccard", "overlap"):
            assert values(tce.matched_scores(tables, tce.match(tables, on)), *names) == expected
    totals = {"overlap": 2, "jaccard": 0.2, "f": 1 / 3, "recall": 0.2, "precision": 1}
    assert {on: tce.match(ten, on).total.item() for on in totals} == pytest.approx(totals)
    assert tce.match(ten, "jaccard", at_least=0.5).cluster_of_class.tolist() == [-1]
    assert values(tce.subset_accuracy(ten, {"one": [1]}), "one", "all") == pytest.approx([0.2, 0.2])
    assert tce.matched_scores(ten, tce.match(ten)).sizes.tolist() == [10]

    names = "size", "purity", "bcubed", "best_f", "best_jaccard", "entropy"
    entropy = -0.2 * np.log(0.2) - 0.8 * np.log(0.8)  # two items in the cluster, eight in none
    assert values(tce.per_class(ten), *names) == pytest.approx([10, 0.2, 0.04, 1 / 3, 0.2, entropy])
    assert values(tce.per_cluster(ten), *names) == pytest.approx([2, 1, 1, 1 / 3, 0.2, 0])
    assert values(tce.per_object(ten), "size", "missed", "iou") == pytest.approx([10, 0.8, 0.2])


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_a_lost_class_and_an_invented_cluster(layout: str) -> None:
    true = ["a", "a", "b", "b", "b", "", ""]
    pred = [5, 5, 0, 0, 0, 6, 6]
    tables = ContingencyTables.from_labels(true, pred, absent_true="", absent_pred=0, layout=layout)
    classes = tce.per_class(tables)
    assert classes.to_dict()["best_match"] == [5, None]
    assert classes["purity"].tolist() == [1, 0]
    assert tce.per_cluster(tables).to_dict()["best_match"] == ["a", None]
    for how in ("one_to_one", "majority"):
        found = tce.match(tables, how=how)
        assert tce.matched_scores(tables, found)["recall"].tolist() == [1, 0]
        assert tce.matched_scores(tables, found)["accuracy"].item() == 0.4
        assert tce.relabel([5, 6], found).tolist() == ["a", "new 1"]
        kept = found.tables
        assert sorted(kept.whole_class_sizes.tolist()) == [2, 3]
        assert (kept.unmatched_by_cluster.sum().item(), kept.coverage.item()) == (2, tables.coverage.item())
        assert torch.equal(*(tce.evaluate_tables(x, "ceaf_e_f")["ceaf_e_f"] for x in (kept, tables)))
    with pytest.raises(ValueError, match=r"labels_pred: .*\(fill= gives such items one label\)"):
        tce.relabel(pred, found)
    assert tce.relabel(pred, found, fill="none").tolist() == ["a", "a", *["none"] * 5]


def test_items_by_themselves() -> None:
    """With the items of whole classes and clusters; means are BCubed of coreference."""
    found = tce.per_item([1, 1, 1, 0, 0], [7, 7, 0, 7, 0], **ABSENT)
    third, nan = pytest.approx(2 / 3), pytest.approx(torch.nan, nan_ok=True)
    assert found["recall"].tolist() == [third, third, 0, nan, nan]
    assert found["precision"].tolist() == [third, third, nan, 0, nan]
    items, scores = tce.per_item(TRUE, PRED, **ABSENT), tce.evaluate(TRUE, PRED, "coreference", **ABSENT)
    for name in ("precision", "recall"):
        assert items[name].nanmean().item() == pytest.approx(scores[f"coref_bcubed_{name}"].item(), abs=1e-12)


def test_a_lost_group_keeps_its_weight() -> None:
    """In means of means, of pooled scores and of a compiled evaluator as in ``macro``."""
    options: dict[str, Any] = {"by": ["a"] * 4 + ["b"] * 4, **ABSENT}
    tables = ContingencyTables.from_labels([1] * 8, [[5] * 4 + [0] * 4, [5] * 6 + [0] * 2], **options, layout="dense")
    for scores in (tce.evaluate_tables(tables, "idf1"), tce.compile("idf1", backend="eager")(tables)):
        mean = scores.macro(weights="items")
        assert mean["idf1"].tolist() == pytest.approx([1 / 2, 5 / 6])
        assert mean.macro(weights="items")["idf1"].item() == pytest.approx(2 / 3)
    assert tce.pooled(tables, "idf1").macro(weights="items")["idf1"].item() == pytest.approx((8 / 12 + 12 / 14) / 2)


def test_margins_without_items_change_nothing() -> None:
    tables = ContingencyTables.from_groups([{1, 2}, {3}], [{1}, {2, 3}])
    common = tables.without_margins()
    assert tables.has_unmatched
    for function in (lambda t: t.balanced(), tce.adjusted_rand_by_class, lambda t: tce.multinomial_tables(t, 3, rng=0)):
        assert str(shown(function(tables))) == str(shown(function(common)))
    assert shown(dict(tce.per_class(tables))) == shown(dict(tce.per_class(common)))


def test_gradients_of_values_by_class() -> None:
    weights = torch.ones(5, dtype=torch.float64, requires_grad=True)
    tables = ContingencyTables.from_labels([1, 1, 2, 2, 0], [1, 2, 2, 0, 1], weights=weights, **ABSENT)
    found = [tce.per_class(tables)["entropy"], *tce.matched_scores(tables, tce.match(tables)).values()]
    for value in found:
        (gradient,) = torch.autograd.grad(value.sum(), weights, retain_graph=True)
        assert gradient.isfinite().all()


def test_pictures_show_whole_sizes(ten: ContingencyTables) -> None:
    texts = [text.get_text() for text in plots().plot_table(ten).figure.findobj(lambda x: hasattr(x, "get_text"))]
    assert {"10", "2"} <= {*texts}  # the size of the class, and of the cluster and its cell
    flow = plots().plot_flow(ten)
    assert sorted(patch.get_height() for patch in flow.patches) == [2, 10]
    lost = ContingencyTables.from_labels([1, 1, 2], [5, 5, 0], **ABSENT)
    assert [label.get_text() for label in plots().plot_table(lost).get_yticklabels()] == ["1", "2"]
    invented = ContingencyTables.from_labels([0, 1, 1], [4, 5, 5], **ABSENT)
    assert sorted(patch.get_height() for patch in plots().plot_flow(invented).patches) == [1, 2, 2]
    with pytest.raises(ValueError, match="source: expected clusterings with items; got none"):
        plots().plot_flow(ContingencyTables.from_groups([], [{1}]))
