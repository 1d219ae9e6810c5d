"""Scorers for scikit-learn's model selection."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from torchclusteval.labels.encoding import argument_names
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import DEFAULT, find_measure
from torchclusteval.scoring.evaluation import evaluate
from torchclusteval.scoring.scores import leading


def scorer(measures: str | Measure | Iterable[str | Measure] | None = "ami") -> Callable[..., Any]:
    """A scorer for ``scoring=`` of scikit-learn's ``GridSearchCV``, ``cross_validate`` and ``cross_val_score``.

    It compares ``estimator.predict(X)`` with the classes ``y``. Higher is better: a measure of which lower values
    are better changes its sign.

    Args:
        measures: a measure, by name, alias or record; several of these; None: the headline measures.

    Returns:
        A function of an estimator, ``X`` and ``y`` that returns a float, or for several measures, after one prediction,
        a dict by your names (for None those of ``tce.measures.DEFAULT``, such as ``ami_arithmetic``), with ``neg_`` in
        front of those whose sign changes.

    Raises:
        ValueError: an unknown measure, or one without a better direction.

    >>> from sklearn.cluster import KMeans
    >>> from sklearn.model_selection import GridSearchCV
    >>> points, classes = [[0], [10], [1], [11], [2], [12], [3], [13]], [0, 1] * 4
    >>> search = GridSearchCV(KMeans(random_state=0), {"n_clusters": [2, 4]}, scoring=scorer("ari"), cv=2)
    >>> search.fit(points, classes).best_params_
    {'n_clusters': 2}
    """
    single = isinstance(measures, (str, Measure))
    names: Any = [measures] if single else DEFAULT if measures is None else measures
    chosen = {}
    for name in names:
        found = name if isinstance(name, Measure) else find_measure(name)
        sign = "neg_" if leading([found], f"measures: {found.name}").better == "lower" else ""
        chosen[sign + (found.name if isinstance(name, Measure) else name)] = found
    if not chosen:
        raise ValueError("measures: expected at least one measure; got none")
    return partial(_score, chosen=chosen, single=single)


def _score(
    estimator: Any, items: Any, y: Any = None, *, chosen: Mapping[str, Measure], single: bool
) -> float | dict[str, float]:
    pred, measures = estimator.predict(items), list({x.name: x for x in chosen.values()}.values())
    with argument_names(labels_true="y", labels_pred="estimator.predict(X)"):
        scores = evaluate(y, pred, measures)
    signed = {key: float(scores[x.name]) * (-1 if x.better == "lower" else 1) for key, x in chosen.items()}
    return next(iter(signed.values())) if single else signed
