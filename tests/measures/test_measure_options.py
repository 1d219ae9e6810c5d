"""Options of the measure functions: what each value means, and what is refused."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

import torchclusteval as tce
from tests.support.reference import REFERENCE, labels_of, reference
from torchclusteval import ContingencyTables

m = tce.measures

TABLE = [[5, 1, 2], [1, 4, 0], [0, 1, 3]]
TRUE, PRED = labels_of(TABLE)
TABLES = ContingencyTables(TABLE)


def expected(name: str) -> float:
    return reference(name, TRUE, PRED)


def weighted(alpha: float, precision: str, recall: str) -> float:
    return 1 / (alpha / expected(precision) + (1 - alpha) / expected(recall))


SAME: dict[str, tuple[Callable[[ContingencyTables], Tensor], float]] = {
    "v_measure without weight on completeness": (partial(m.v_measure, beta=0.0), expected("homogeneity")),
    "v_measure with all weight on completeness": (partial(m.v_measure, beta=math.inf), expected("completeness")),
    "v_measure default": (m.v_measure, expected("v_measure")),
    "nmi default": (m.nmi, expected("nmi_arithmetic")),
    "ami default": (m.ami, expected("ami_arithmetic")),
    "normalized_vi default": (m.normalized_vi, expected("normalized_vi_log_n")),
    "normalized_vi log_k with k": (
        partial(m.normalized_vi, norm="log_k", k=9),
        expected("variation_of_information") / math.log(9),
    ),
    "normalized_vi two_log_k with k": (
        partial(m.normalized_vi, norm="two_log_k", k=2),
        expected("variation_of_information") / (2 * math.log(2)),
    ),
    "purity_f all purity": (partial(m.purity_f, alpha=1.0), expected("purity")),
    "purity_f all inverse purity": (partial(m.purity_f, alpha=0.0), expected("inverse_purity")),
    "purity_f weights purity": (partial(m.purity_f, alpha=0.2), weighted(0.2, "purity", "inverse_purity")),
    "bcubed_f weights precision": (partial(m.bcubed_f, alpha=0.2), weighted(0.2, "bcubed_precision", "bcubed_recall")),
    # F5 of the textbook example: beta^2 = 25, so alpha = 1/26; printed as 0.456.
    "pair_f weights precision": (partial(m.pair_f, alpha=1 / 26), 26 * 0.5 * (20 / 44) / (25 * 0.5 + 20 / 44)),
    "van_dongen 2n": (partial(m.van_dongen, norm="2n"), expected("van_dongen_2n")),
    "van_dongen max": (partial(m.van_dongen, norm="max"), expected("van_dongen_normalized")),
    "mirkin normalized": (partial(m.mirkin, normalized=True), expected("mirkin_normalized")),
    "hubert_gamma normalized": (partial(m.hubert_gamma, normalized=True), expected("hubert_gamma_normalized")),
    "misclassification one to one": (
        partial(m.misclassification_index, matching="one_to_one"),
        expected("classification_error"),
    ),
    "misclassification majority": (m.misclassification_index, 1 - expected("purity")),
}


@pytest.mark.parametrize("what", SAME)
def test_option_has_its_meaning(what: str) -> None:
    function, value = SAME[what]
    assert function(TABLES).item() == pytest.approx(value, rel=1e-12)


IN_UNITS = ["entropy_classes", "entropy_clusters", "joint_entropy", "conditional_entropy", "class_entropy"]
IN_UNITS += ["mutual_information", "variation_of_information", "q0"]


@pytest.mark.parametrize("name", IN_UNITS)
def test_base_of_the_logarithm(name: str) -> None:
    function = getattr(m, name)
    nats = float(REFERENCE[name](TRUE, PRED))
    assert function(TABLES).item() == pytest.approx(nats, rel=1e-12)
    assert function(TABLES, base=2.0).item() == pytest.approx(nats / math.log(2), rel=1e-12)
    with pytest.raises(ValueError, match="base"):
        function(TABLES, base=1.0)


def test_tversky_between_others() -> None:
    tables = ContingencyTables([[[5, 1, 0], [2, 3, 1], [0, 1, 4]], [[3, 0, 0], [0, 1, 0], [0, 0, 1]]])
    same = {(1, 1): m.jaccard, (0.5, 0.5): m.pair_f, (1, 0): m.pair_precision, (0, 1): m.pair_recall}
    for (alpha, beta), function in same.items():
        value = m.tversky(tables, alpha=alpha, beta=beta)
        assert value.tolist() == pytest.approx(function(tables).tolist(), rel=1e-15)
    assert m.tversky(tables, alpha=0.25, beta=2)[0].item() == pytest.approx(20 / (20 + 21 / 4 + 2 * 20))


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_all_weight_on_one_part_ignores_the_other(alpha: float) -> None:
    """F at alpha 0 or 1 is one of its parts, also where the other is 0."""
    tables = ContingencyTables(torch.tensor([[1, 1, 1], [1, 0, 0]]))  # SS = 0, SD = 1, DS = 3
    assert m.pair_f(tables, alpha=alpha).item() == 0.0
    one_cluster = ContingencyTables(torch.tensor([[2], [1]]))  # recall 1, precision 1/3
    assert m.pair_f(one_cluster, alpha=alpha).item() == pytest.approx(1 / 3 if alpha else 1.0)


BAD_OPTIONS = [
    ("v_measure", {"beta": "x"}, "beta: expected a number of at least 0; got 'x'"),
    ("v_measure", {"beta": -1.0}, "beta: expected"),
    ("v_measure", {"beta": math.nan}, "beta: expected"),
    ("bcubed_f", {"alpha": "x"}, "alpha: expected a number of at least 0 and at most 1"),
    ("pair_f", {"alpha": 2}, "alpha: expected"),
    ("purity_f", {"alpha": math.nan}, "alpha: expected"),
    ("entropy_classes", {"base": None}, "base: expected a number above 1"),
    ("q0", {"base": 1}, "base: expected a number above 1"),
    ("normalized_vi", {"norm": []}, "norm: expected one of log_n"),
    ("normalized_vi", {"norm": "log_k", "k": 0}, "k: expected a number of at least 1"),
    ("nmi", {"average": "mean"}, "average: expected one of min"),
    ("ami", {"average": "joint"}, "average: expected one of min"),
    ("tversky", {"alpha": -1}, "alpha: expected"),
    ("mirkin", {"normalized": "x"}, "normalized: expected one of False, True"),
    ("van_dongen", {"norm": 2}, "norm: expected one of None, 2n, max"),
    ("misclassification_index", {"matching": 1}, "matching: expected one of majority"),
    ("reduced_mutual_information", {"bound": 1}, "bound: expected a number above 1"),
    ("reduced_mutual_information_flat", {"norm": "max"}, "norm: expected one of None, asymmetric, mean"),
    ("ami_of_model", {"model": "perm"}, "model: expected one of num, all"),
    ("object_ap", {"threshold": 1.5}, "threshold: expected a number"),
    ("object_f", {"threshold": None}, "threshold: expected a number"),
    ("muc_recall", {"zero_division": 2}, "zero_division: expected a number"),
    ("muc_f", {"zero_division": "0"}, "zero_division: expected a number"),
]


@pytest.mark.parametrize(("name", "options", "message"), BAD_OPTIONS)
def test_wrong_options_are_one_clear_line(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        getattr(tce.measures, name)(tce.ContingencyTables([[2, 1], [0, 1]]), **options)


def test_counts_beyond_the_digits_of_a_float() -> None:
    """1e17 items: differences are taken in integers."""
    tables = tce.ContingencyTables([[10**17, 1], [0, 1]])
    # Two clusters to merge, and one item of another class in the second.
    assert tce.measures.edit_distance(tables).item() == 3
    assert tce.measures.van_dongen(tables).item() == 2  # one item outside on each side
    assert tce.measures.van_dongen(tables, norm="max").item() == 2 / 3  # scale: 1 outside the class, 2 the cluster
