"""``torchclusteval.sklearn.scorer`` in scikit-learn's model selection, against scikit-learn's own scorers."""

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn import cluster
from sklearn import model_selection as selection

import torchclusteval as tce
from torchclusteval.sklearn import scorer

KMEANS = cluster.KMeans(3, n_init=2, random_state=0)


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    classes = random.integers(0, 4, 120)
    return random.normal(classes[:, None] * 2.0, 1.0, (120, 2)), np.array(["a", "b", "c", "d"])[classes]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("ari", "adjusted_rand_score"),
        ("ami", "adjusted_mutual_info_score"),
        ("nmi", "normalized_mutual_info_score"),
        (tce.MEASURES["homogeneity"], "homogeneity_score"),
        ("completeness", "completeness_score"),
        ("v_measure", "v_measure_score"),
        ("fmi", "fowlkes_mallows_score"),
        ("rand", "rand_score"),
    ],
)
def test_cross_validation_agrees_with_scikit_learn(data: Any, ours: Any, theirs: str) -> None:
    found, expected = (selection.cross_val_score(KMEANS, *data, scoring=x) for x in (scorer(ours), theirs))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_the_headline_measures_at_once(data: Any) -> None:
    found = selection.cross_validate(KMEANS, *data, scoring=scorer(None), cv=3, error_score="raise")
    lower = {"variation_of_information", "nvi", "van_dongen_normalized"}
    names = {"neg_" * (name in lower) + name for name in tce.measures.DEFAULT}
    assert set(found) == {"fit_time", "score_time", *(f"test_{name}" for name in names)}
    assert (found["test_neg_nvi"] < 0).all()
    assert (found["test_purity"] > 0).all()


def test_grid_search(data: Any) -> None:
    for scoring, refit in ((scorer("vi"), True), (scorer(["ari", "vi"]), "neg_vi")):
        asked = pickle.loads(pickle.dumps(scoring))
        search = selection.GridSearchCV(KMEANS, {"n_clusters": [2, 4, 9]}, scoring=asked, refit=refit, cv=3)
        search.fit(*data)
        key = "score" if refit is True else refit
        means = search.cv_results_[f"mean_test_{key}"]
        assert (means <= 0).all()
        assert search.best_params_["n_clusters"] == (2, 4, 9)[int(means.argmax())]
    folds = selection.KFold(3).split(*data)
    vi = [tce.evaluate(data[1][test], KMEANS.set_params(n_clusters=4).fit(data[0][train]).predict(data[0][test]), "vi")
          for train, test in folds]  # fmt: skip
    assert means[1] == pytest.approx(-float(np.mean([x["vi"] for x in vi])), abs=1e-12)


def test_mistakes(data: Any) -> None:
    with pytest.raises(ValueError, match=r"arii.*did you mean"):
        scorer("arii")
    with pytest.raises(ValueError, match="measures: expected at least one measure; got none"):
        scorer([])
    with pytest.raises(ValueError, match="measures: mutual_information"):
        scorer(tce.Measure("mutual_information", "entropy", tce.measures.mutual_information, (0.0, 9.0), better=None))
    with pytest.raises(ValueError, match=r"^y: expected .* got NoneType"):
        selection.cross_val_score(KMEANS, data[0], scoring=scorer(), error_score="raise")
