"""evaluate, Scores and the breakdowns by group and item."""

import json
import math
import sys
from dataclasses import fields
from functools import partial
from typing import Any

import pytest
import torch
from sklearn import metrics

import torchclusteval as tce
from tests.support.billions import numbers, of_pairs
from torchclusteval.measures import FAMILIES

TRUE = torch.tensor([0, 0, 0, 1, 1, 1, 2, 2, 2, 2])
PRED = torch.tensor(
    [[0, 0, 0, 1, 1, 1, 2, 2, 2, 2], [0, 0, 1, 1, 2, 2, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1, 2, 2, 2, 2], [0] * 10]
)


def test_values_against_scikit_learn():
    scores = tce.evaluate(TRUE, PRED)
    for row, pred in enumerate(PRED):
        assert scores["ari"][row].item() == pytest.approx(metrics.adjusted_rand_score(TRUE, pred), abs=1e-14)
        assert scores["ami"][row].item() == pytest.approx(metrics.adjusted_mutual_info_score(TRUE, pred), abs=1e-13)
        assert scores["v_measure"][row].item() == pytest.approx(metrics.v_measure_score(TRUE, pred), abs=1e-14)
    assert scores["nmi"] is scores["nmi_arithmetic"]
    assert scores.names == tce.measures.DEFAULT
    assert scores.n_items.tolist() == [10] * 4
    assert scores.coverage.tolist() == [1] * 4


def test_a_single_clustering_has_scores_without_dimensions():
    scores = tce.evaluate(TRUE, PRED[0], ["ari"])
    assert scores["ari"].shape == ()
    assert scores.to_dict() == {"adjusted_rand": 1.0}
    assert scores.to_dict()["ari"] == scores.to_dict().get("ARI") == scores.to_numpy()["ari"] == 1
    assert "ami" not in scores.to_dict()
    assert "adjusted_rand" in str(scores)
    assert scores.to_pandas().shape == (1, 1)


def test_selections_of_measures():
    assert set(tce.evaluate(TRUE, PRED, "all").names) == {n for n, m in tce.MEASURES.items() if m.family in FAMILIES}
    coreference = tce.evaluate(TRUE, PRED, "coreference")
    assert set(coreference.names) == {n for n, m in tce.MEASURES.items() if m.family == "coreference"}
    pairs = tce.evaluate(TRUE, PRED, "pairs")
    assert pairs.names == tuple(name for name, m in tce.MEASURES.items() if m.family == "pairs")
    assert tce.evaluate(TRUE, PRED, ["vi", "pairs", "ari"]).names[0] == "variation_of_information"
    own = tce.Measure("v_beta_3", "entropy", partial(tce.measures.v_measure, beta=3), (0, 1), better="higher")
    scores = tce.evaluate(TRUE, PRED, [own, "nmi", "nmi_arithmetic"])
    assert scores.names == ("v_beta_3", "nmi_arithmetic")
    h, c = metrics.homogeneity_score(TRUE, PRED[2]), metrics.completeness_score(TRUE, PRED[2])
    assert scores["v_beta_3"][2].item() == pytest.approx(4 * h * c / (3 * h + c))


@pytest.mark.parametrize(
    ("measures", "message"),
    [
        ("adjusted_rnd", "got 'adjusted_rnd' .did you mean adjusted_rand"),
        (["ari", "zzz"], "torchclusteval measures"),
        ([], "at least one measure"),
        ([3], "names or Measure records; got int"),
        (lambda tables: tables.n_items, r"got function \(tce\.Measure\(name=.*function=.* makes it a measure\)"),
        (["ari", tce.measures.rand], r"got function \(tce\.Measure\("),
    ],
)
def test_unknown_measures(measures, message):
    with pytest.raises(ValueError, match=message):
        tce.evaluate(TRUE, PRED, measures)


def test_two_measures_of_one_name_and_wrong_results_are_refused():
    wrong = tce.Measure(name="rand", family="pairs", function=lambda t: t.counts, range=(0, 1))
    with pytest.raises(ValueError, match="two measures named 'rand'"):
        tce.evaluate(TRUE, PRED, [wrong, "rand"])
    alias = tce.Measure(name="ami", family="entropy", function=tce.measures.rand, range=(0, 1))
    with pytest.raises(ValueError, match="two measures named 'ami_arithmetic'"):
        tce.evaluate(TRUE, PRED, [alias, "ami"])
    with pytest.raises(ValueError, match=r"measure 'rand': expected a tensor of shape \(4,\)"):
        tce.evaluate(TRUE, PRED, wrong)


def test_sets_leave_out_what_does_not_apply_and_say_so():
    weights = torch.full((10,), 1.5)
    scores = tce.evaluate(TRUE, PRED, "all", weights=weights)
    assert set(scores.skipped) == {name for name, m in tce.MEASURES.items() if m.integer_only and m.family in FAMILIES}
    assert "integer counts" in scores.skipped["ami_max"]
    assert "ami_max" in str(scores)
    with pytest.raises(ValueError, match=r"'ami_arithmetic', which needs integer counts \(integer weights work\)"):
        tce.evaluate(TRUE, PRED, ["ami"], weights=weights)
    wide = tce.ContingencyTables.from_labels(torch.arange(150_000), torch.arange(150_000) // 2)
    assert "one_to_one_accuracy" in tce.evaluate_tables(wide).skipped


def test_ranks_of_many_clusterings_with_gaps_and_infinities():
    values = torch.tensor([1.0, math.nan, math.inf, 1.0, -math.inf, math.nan, 0.0], dtype=torch.float64).repeat(15_000)
    measure = tce.Measure("mine", "pairs", lambda _: values, (-math.inf, math.inf))
    tables = tce.ContingencyTables(torch.ones(len(values), 1, 1, dtype=torch.int64))
    ranks = tce.evaluate_tables(tables, measure, chunk_size=len(values)).rank("mine")  # not quadratic in memory
    assert ranks[:7].tolist() == [15_001, 75_001, 1, 15_001, 60_001, 75_001, 45_001]


def test_a_summary_of_infinite_and_immense_scores_warns_of_nothing():
    for values in ([1e300, -1e300, 0.0] * 3, [math.inf, -math.inf, 0.0] * 3):
        value = torch.tensor(values, dtype=torch.float64)
        measure = tce.Measure("mine", "pairs", lambda _, value=value: value, (-math.inf, math.inf))
        scores = tce.evaluate_tables(tce.ContingencyTables(torch.ones(9, 1, 1, dtype=torch.int64)), measure)
        assert "median" in str(scores)


def test_best_and_rank_follow_the_direction():
    scores = tce.evaluate(TRUE, PRED, ["ari", "vi", "joint_entropy"])
    assert scores.best("ari") == scores.best("vi") == 0
    assert tce.evaluate(TRUE, [PRED[1], PRED[0], PRED[0]]).best("ari") == 1  # the first of equals
    assert scores.rank("vi").tolist() == scores.rank("variation_of_information").tolist()
    order = [metrics.adjusted_rand_score(TRUE, p) for p in PRED]
    assert scores.rank("ari").tolist() == [1 + sum(y > x for y in order) for x in order]
    with pytest.raises(ValueError, match="joint_entropy: expected a measure with a direction"):
        scores.best("joint_entropy")
    with pytest.raises(KeyError, match="purity"):
        scores.best("purity")
    with pytest.raises(ValueError, match="one batch dimension"):
        tce.evaluate(TRUE, PRED[0]).best("ari")


def test_nan_never_wins_and_infinity_may():
    mask = torch.ones(3, 10, dtype=torch.bool)
    mask[0] = False
    scores = tce.evaluate(TRUE, PRED[:3], ["ari", "vi"], mask=mask)
    assert scores["ari"][0].isnan()
    assert scores.best("vi") == 2
    assert scores.rank("vi").tolist() == [3, 2, 1]
    with pytest.raises(ValueError, match="expected a clustering with a value of 'adjusted_rand'; got only nan"):
        tce.evaluate(TRUE, PRED, ["ari"], mask=torch.zeros(10, dtype=torch.bool)).best()
    singles = torch.arange(10)
    infinite = tce.evaluate(singles, torch.stack([singles * 0, singles // 2]), "minkowski_score")
    assert infinite["minkowski_score"].tolist() == [math.inf, math.inf]
    assert infinite.best("minkowski_score") == 0


def test_exports():
    scores = tce.evaluate(TRUE, PRED, ["ari", "vi"])
    assert json.loads(json.dumps(scores.to_dict())).keys() == {"adjusted_rand", "variation_of_information"}
    frame = scores.to_pandas()
    assert frame.shape == (4, 2)
    assert frame["adjusted_rand"].tolist() == scores.to_numpy()["adjusted_rand"].tolist()
    grid = tce.evaluate(TRUE, PRED.reshape(2, 2, 10), ["ari"]).to_pandas()
    assert grid.loc[(1, 0), "adjusted_rand"] == frame["adjusted_rand"][2]
    assert "ari" in scores
    assert "purity" not in scores
    assert dict(scores).keys() == {"adjusted_rand", "variation_of_information"}


def test_summary_over_the_batch():
    scores = tce.evaluate(TRUE, PRED.repeat(3, 1), ["ari", "minkowski_score"])
    values = scores.to_numpy()["adjusted_rand"]
    row = scores.summary()["ari"]
    assert row["mean"] == pytest.approx(values.mean())
    assert row["sd"] == pytest.approx(values.std(ddof=1))
    assert (row["min"], row["max"]) == (values.min(), values.max())
    assert "median" in str(scores)
    assert scores._repr_html_().count("<tr>") == 3
    assert scores.summary().to_pandas().loc["adjusted_rand", "mean"] == row["mean"]
    empty = tce.evaluate([], torch.zeros(8, 0).long(), ["ari"]).summary()
    assert math.isnan(empty["ari"]["mean"])


HUGE = [[400_000_000_000, 100_000_000_000, 7], [3, 250_000_000_001, 49_999_999_989], [0, 5, 199_999_999_995]]


def test_tables_of_a_trillion_items_are_right():
    """Against fractions; int64 products of pair counts wrap long before."""
    v = numbers(HUGE)
    assert v["n"] == 10**12
    names = ["adjusted_rand", "jaccard", "fowlkes_mallows", "rand"]
    for tables in (tce.ContingencyTables(HUGE), tce.ContingencyTables(HUGE).to_sparse()):
        scores = tce.evaluate_tables(tables, names)
        for name in names:
            assert scores[name].item() == pytest.approx(of_pairs(name, v), abs=1e-12), name


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_values_by_class_and_cluster(layout):
    tables = tce.ContingencyTables([[4, 1, 0], [0, 3, 3]])
    tables = tables if layout == "dense" else tables.to_sparse()
    by_class = tce.per_class(tables)
    assert by_class["size"].tolist() == [5, 6]
    assert by_class["purity"].tolist() == pytest.approx([4 / 5, 3 / 6])
    assert by_class["bcubed"].tolist() == pytest.approx([17 / 25, 18 / 36])
    assert by_class["entropy"].tolist() == pytest.approx([-(0.8 * math.log(0.8) + 0.2 * math.log(0.2)), math.log(2)])
    assert by_class["best_f"].tolist() == pytest.approx([8 / 9, 6 / 9])
    assert by_class["best_match"].tolist() == [0, 2]
    by_cluster = tce.per_cluster(tables)
    assert by_cluster["purity"].tolist() == pytest.approx([1, 3 / 4, 1])
    assert by_cluster["best_match"].tolist() == [0, 1, 1]
    assert by_cluster["bcubed"].tolist() == pytest.approx([1, 10 / 16, 1])
    mean = (by_class["bcubed"] * by_class["size"]).sum() / 11
    assert mean.item() == pytest.approx(tce.measures.bcubed_recall(tables).item())


def test_values_by_item_average_to_bcubed():
    mask = torch.ones(10, dtype=torch.bool)
    mask[4] = False
    items = tce.per_item(TRUE, PRED, mask=mask)
    tables = tce.ContingencyTables.from_labels(TRUE, PRED, mask=mask)
    assert items["precision"].shape == (4, 10)
    assert items["precision"][:, 4].isnan().all()
    for name, measure in (("precision", tce.measures.bcubed_precision), ("recall", tce.measures.bcubed_recall)):
        torch.testing.assert_close(items[name].nanmean(-1), measure(tables))
    assert tce.per_item(TRUE, PRED[1])["precision"][0].item() == pytest.approx(2 / 4)
    assert tce.per_item([], [])["recall"].shape == (0,)


def test_what_was_left_out_is_printed():
    scores = tce.evaluate([0, 0, 1, 1, 2], [0, 0, 1, -1, -1], ["ari"], noise_label=-1)
    assert "60" in str(scores).splitlines()[-1]
    assert "coverage" in str(scores)
    assert "coverage" not in str(tce.evaluate(TRUE, PRED, ["ari"]))


def test_names_of_measures_in_any_case_and_hints_within_the_registry():
    assert tce.evaluate(TRUE, PRED, ["ARI"]).names == ("adjusted_rand",)
    memberships = tce.Memberships.from_lists([[0], [1]])
    with pytest.raises(ValueError, match="overlapping_nmi_lfk"):
        tce.evaluate_overlapping(memberships, memberships, ["overlapping_nmi"])


def test_missing_packages_name_their_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'torchclusteval\[pandas\]'"):
        tce.evaluate(TRUE, PRED, ["ari"]).to_pandas()


def test_items_of_one_side_are_no_missing_items() -> None:
    """Measures that count the items which one side lacks do not leave them out."""
    options: dict[str, Any] = {"absent_true": 0, "absent_pred": 0}
    assert "items scored" not in str(tce.evaluate([1, 1, 0], [1, 0, 1], ["muc_f", "panoptic_quality"], **options))
    assert "items scored: 33.3" in str(tce.evaluate([1, 1, 0], [1, 0, 1], ["muc_f", "purity"], **options))


def test_a_sample_of_classes_is_said_for_the_measures_that_it_misleads() -> None:
    """Pairs of classes are joined, and one class of each pair is known: it looks perfect but by its own items alone."""
    true, pred = [i // 3 for i in range(30)], [i // 6 for i in range(30)]
    known = [x if x % 4 == 0 else None for x in true]
    alone = ["completeness", "inverse_purity", "class_entropy", "pair_recall", "bcubed_recall", "nvi_split"]
    alone += ["adjusted_wallace_recall", "class_projection_distance", "ami_clusters"]
    misled = ["ami", "ari", "jaccard", "fowlkes_mallows", "vi", "purity", "one_to_one_accuracy", "pair_f", "nmi"]
    whole = tce.evaluate(true, pred, alone + misled)
    sample = tce.evaluate(known, pred, alone + misled, missing="ignore")
    assert sample.coverage < 0.5
    for name in alone:
        assert sample[name].item() == pytest.approx(whole[name].item(), abs=1e-12), name
        assert "too good" not in str(tce.evaluate(known, pred, [name], missing="ignore"))
    for name in misled:
        record = tce.MEASURES[tce.measures.ALIASES.get(name, name)]
        assert sample[name].item() == pytest.approx(record.perfect, abs=1e-12) != whole[name].item(), name
        note = (
            f"30 % of the items are scored; {record.name} and similar measures do not see the other items of a cluster"
        )
        assert note in str(tce.evaluate(known, pred, [name], missing="ignore"))


def test_the_headline_measures_have_a_name() -> None:
    true, pred = [0, 0, 1, 1], [[0, 0, 1, 1], [0, 1, 0, 1]]
    assert list(tce.evaluate(true, pred, "default")) == list(tce.evaluate(true, pred)) == list(tce.measures.DEFAULT)
    assert [*tce.evaluate(true, pred, ["default", "nid"])] == [*tce.measures.DEFAULT, "normalized_information_distance"]
    with pytest.raises(ValueError, match="expected the name of a measure; got 'default'"):
        tce.evaluate_overlapping({1: [1]}, {1: [1]}, ["default"])


def test_a_measure_of_a_user_sees_the_tables_of_a_batch_of_one() -> None:
    seen = tce.Measure("seen", "entropy", lambda tables: tables.coverage, (0, 1))
    assert tce.evaluate([0, 1, 1, -1], [[0, 1, 1, 1]], [seen], ignore_index=-1)["seen"].tolist() == [0.75]


@pytest.mark.parametrize("options", [{}, {"layout": "sparse"}, {"ignore_index": 2}, {"mask": [True] * 5 + [False]}])
@pytest.mark.parametrize("measures", [None, "all", ["ari"]])
def test_scores_of_one_clustering_are_ordinary_tensors(measures: Any, options: dict[str, Any]) -> None:
    """The same as of tables, and of use to autograd and in place, whatever they were computed with."""
    labels = [0, 0, 1, 1, 2, 0], [1, 1, 0, 0, 1, 2]
    scores = tce.evaluate(*labels, measures, **options)
    kept = tce.evaluate_tables(tce.ContingencyTables.from_labels(*labels, **options), measures)
    weight = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    for name, value in scores.items():
        torch.testing.assert_close(value, kept[name], rtol=0, atol=0, equal_nan=True)
        (weight * value).backward()
        value += weight  # each has memory of its own
    facts = [getattr(scores, field.name) for field in fields(scores)]
    assert not any(x.is_inference() for x in [*scores.values(), *facts] if isinstance(x, torch.Tensor))
