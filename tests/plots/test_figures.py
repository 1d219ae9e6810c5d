"""Pictures: what they show, in which order, and that they can be written."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pytest
import torch

from torchclusteval import MEASURES, ContingencyTables
from torchclusteval.inference import bootstrap, pairwise, permutation_test

pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

from matplotlib.patches import Rectangle

from torchclusteval import plots

pytestmark = pytest.mark.slow

ARI, VI = MEASURES["adjusted_rand"], MEASURES["variation_of_information"]


def written(figure) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=40)
    return stream.getvalue()


def labels_of(axis) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


def clusterings(count: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """A truth, and copies of it with more and more noise."""
    random = np.random.default_rng(0)
    true = random.integers(0, 4, 80)
    noisy = [np.where(random.uniform(size=80) < i / count, random.integers(0, 4, 80), true) for i in range(count)]
    return true, np.stack(noisy), [f"run {i}" for i in range(count)]


@pytest.mark.parametrize("measure", [ARI, VI], ids=lambda m: m.name)
def test_the_best_is_on_top(measure) -> None:
    true, pred, names = clusterings(6)
    record = bootstrap(ContingencyTables.from_labels(true, pred), [measure], 50)[measure.name]
    figure = plots.score_figure(measure, names, record.estimate, record.low, record.high)
    (axes,) = figure.axes
    sign = -1 if measure.better == "higher" else 1
    expected = [names[i] for i in np.argsort(sign * record.estimate.numpy(), kind="stable")]
    assert labels_of(axes.yaxis) == expected
    assert expected[0] == "run 0"
    top, bottom = axes.get_ylim()
    assert top > bottom  # the first place, 1, is at the upper end
    assert f"{measure.better} is better" in axes.get_xlabel()
    assert written(figure).startswith(b"\x89PNG")


def test_many_clusterings_are_shown_by_rank() -> None:
    values = torch.linspace(0, 1, 300, dtype=torch.float64)
    values[7] = torch.nan
    figure = plots.score_figure(ARI, [f"run {i}" for i in range(300)], values)
    (axes,) = figure.axes
    shown = np.asarray(axes.collections[-1].get_offsets())
    assert len(shown) == 299
    assert shown[0].tolist() == [1, 1]
    assert "1. run 299" in axes.texts[0].get_text()
    written(figure)


def test_neighbours_in_the_heat_map_agree() -> None:
    random = np.random.default_rng(1)
    kinds = random.integers(0, 5, (3, 100))
    labels = np.stack([np.where(random.uniform(size=100) < 0.1, 0, kinds[i % 3]) for i in range(12)])
    for measure in (ARI, VI):
        values = pairwise(labels, [measure])[measure.name]
        order = plots.linkage_order(values.numpy(), measure)
        assert sorted(order) == list(range(12))
        groups = [i % 3 for i in order]
        assert sum(a != b for a, b in itertools.pairwise(groups)) == 2
        figure = plots.agreement_figure(measure, [str(i) for i in range(12)], values)
        image = figure.axes[0].images[0]
        np.testing.assert_array_equal(image.get_array(), values.numpy()[np.ix_(order, order)])
        assert labels_of(figure.axes[0].yaxis) == [str(i) for i in order]
        bright = image.cmap(image.norm(values.numpy()[0, 0]))
        dark = image.cmap(image.norm(values.numpy()[0, 1]))
        assert sum(bright[:3]) > sum(dark[:3])  # agreement is bright, whichever way the measure points
        written(figure)


def test_few_and_many_clusterings_fit_the_heat_map() -> None:
    for count in (1, 2, 60):
        values = torch.eye(count, dtype=torch.float64)
        written(plots.agreement_figure(ARI, [str(i) for i in range(count)], values))


def test_null_distributions() -> None:
    true, pred, names = clusterings(5)
    tables = ContingencyTables.from_labels(true, pred)
    result = permutation_test(tables[2], ["vi"], 200, keep_resamples=True)["vi"]
    figure = plots.null_figure(VI, names[2:3], result)
    (axes,) = figure.axes
    assert sum(bar.get_height() for bar in axes.patches if isinstance(bar, Rectangle)) == 200
    assert np.asarray(axes.lines[0].get_xdata())[0] == float(result.observed)
    written(figure)

    result = permutation_test(tables, ["vi"], 200, keep_resamples=True)["vi"]
    figure = plots.null_figure(VI, names, result)
    assert labels_of(figure.axes[0].yaxis)[0] == "run 0"
    written(figure)
    with pytest.raises(ValueError, match="result: expected one with its permutations"):
        plots.null_figure(VI, names, permutation_test(tables, ["vi"], 20)["vi"])
