"""Pictures from Python: what they draw, and that their texts can be read at every size."""

import itertools
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

import torchclusteval as tce
from torchclusteval import plots as plots_module

plots: Any = plots_module
LONG = "a rather long name of a group, such as an ontology has, number {}"


def texts_of(figure: Any) -> list[tuple[str, Any]]:
    """The texts that are drawn, with their boxes in pixels."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        renderer = canvas.get_renderer()
        beyond = {label for axis in figure.findobj(Axis) for label in labels_beyond(axis)}
        texts = [x for x in figure.findobj(Text) if x.get_text().strip() and x.get_visible() and x not in beyond]
        return [(text.get_text(), text.get_window_extent(renderer)) for text in texts]


def labels_beyond(axis: Axis) -> list[Text]:
    """The labels of ticks beyond the ends of an axis, which are not drawn."""
    low, high = sorted(axis.get_view_interval())
    return [x for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high for x in tick.findobj(Text)]


def check_texts(figure: Any, slack: float = 0.5) -> None:
    """No text overlaps another one or leaves the figure."""
    texts, (width, height) = texts_of(figure), figure.get_size_inches() * figure.dpi
    outside = [
        (text, box.extents.round(1).tolist())
        for text, box in texts
        if box.x0 < -slack or box.y0 < -slack or box.x1 > width + slack or box.y1 > height + slack
    ]
    assert outside == [], (width, height)
    overlapping = [
        (a, b)
        for (a, first), (b, second) in itertools.combinations(texts, 2)
        if min(first.x1, second.x1) - max(first.x0, second.x0) > slack
        and min(first.y1, second.y1) - max(first.y0, second.y0) > slack
    ]
    assert overlapping == []


def labels(groups: int, items: int = 600, noise: float = 0.2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A truth in which every group occurs, and a noisy copy."""
    random = np.random.default_rng(seed)
    true = np.concatenate([np.arange(groups), random.zipf(1.4, items) % groups])
    pred = np.where(random.uniform(size=len(true)) < noise, random.integers(0, groups, len(true)), true)
    return true, pred


def named(codes: np.ndarray, kind: str) -> np.ndarray:
    words = {"numbers": "{}", "words": "type {}", "long": LONG}[kind]
    return np.array([words.format(x) for x in codes], dtype=object)


def runs(count: int, groups: int = 5, items: int = 120) -> np.ndarray:
    random = np.random.default_rng(1)
    true = random.integers(0, groups, items)
    shares = 0.9 * np.arange(count) / count
    return np.stack([np.where(random.random(items) < x, random.integers(0, groups, items), true) for x in shares])


def small_axes() -> Any:
    return Figure(figsize=(3.5, 2.5)).subplots()


def check_on_small_axes(draw: Any) -> None:
    axes = small_axes()
    assert draw(axes) is axes
    check_texts(axes.figure)


def slow(*values: Any) -> list[Any]:
    return [pytest.param(*value, marks=pytest.mark.slow) for value in values]


@pytest.mark.parametrize(
    ("groups", "kind"), [(12, "long"), *slow((2, "numbers"), (2, "long"), (12, "words"), (60, "numbers"), (60, "long"))]
)
def test_texts_of_tables_flows_and_clusters_can_be_read(groups: int, kind: str) -> None:
    true, pred = labels(groups)
    true, pred = named(true, kind), named(pred, kind)
    tables = tce.ContingencyTables.from_labels(true, pred)
    for show in ("count", "share"):
        check_texts(plots.plot_table(tables, show=show).figure)
    check_texts(plots.plot_flow([true, pred]).figure)
    check_texts(plots.plot_flow([true, pred, true], names=[LONG.format(i) for i in range(3)]).figure)
    others = np.stack([named(labels(groups, noise=0.3, seed=seed)[1], kind) for seed in range(4)])
    check_texts(plots.plot_stability(tce.cluster_stability(true, others)).figure)
    check_texts(plots.plot_transitions([true, pred, others[0]]).figure)


@pytest.mark.parametrize(("groups", "kind"), slow((2, "long"), (12, "long"), (60, "numbers"), (60, "long")))
def test_texts_on_axes_that_are_given_can_be_read(groups: int, kind: str) -> None:
    true, pred = (named(x, kind) for x in labels(groups))
    tables = tce.ContingencyTables.from_labels(true, pred)
    check_on_small_axes(lambda axes: plots.plot_table(tables, ax=axes))
    check_on_small_axes(lambda axes: plots.plot_flow([true, pred], ax=axes))
    check_on_small_axes(lambda axes: plots.plot_stability(tce.cluster_stability(true, [pred, true]), ax=axes))
    check_on_small_axes(lambda axes: plots.plot_transitions([true, pred, true], ax=axes))


@pytest.mark.parametrize("count", [200, *slow((1,), (2,), (12,), (60,))])
@pytest.mark.parametrize("measure", ["adjusted_rand", *slow(("variation_of_information",))])
def test_texts_of_scores_can_be_read(count: int, measure: str) -> None:
    pred = runs(count)
    tables = tce.ContingencyTables.from_labels(pred[0], pred)
    names = [LONG.format(i) for i in range(count)]
    scores = tce.evaluate_tables(tables, [measure])
    for result in (scores, tce.bootstrap(tables, [measure], 40)):
        check_texts(plots.plot_scores(result).figure)
        check_texts(plots.plot_scores(result, names=names).figure)
        check_on_small_axes(lambda axes, result=result: plots.plot_scores(result, names=names, ax=axes))


@pytest.mark.parametrize("count", [3, *slow((1,), (2,), (12,), (60,), (200,))])
def test_texts_of_agreement_can_be_read(count: int) -> None:
    scores = tce.pairwise(runs(count), ["ari", "vi", "homogeneity"])
    for measure in scores:
        check_texts(plots.plot_agreement(scores, measure).figure)
    check_texts(plots.plot_agreement(scores, names=[LONG.format(i) for i in range(count)]).figure)
    check_on_small_axes(lambda axes: plots.plot_agreement(scores, ax=axes))


@pytest.mark.parametrize("size", [None, (14, 4), (3.5, 2.5)])
def test_names_with_one_beginning_and_end_stay_apart(size: Any) -> None:
    """Names are whole where there is room, and never two of them alike."""
    kinds = ("k-means", "k-medians", "Ward's linkage")
    names = [
        f"{kinds[i % 3]} on twelve features, restart number {i:02d} of 12, all scaled and centred" for i in range(12)
    ]
    pred = runs(12)
    sources = {"scores": tce.evaluate(pred[0], pred, ["ari"]), "agreement": tce.pairwise(pred, ["ari"])}
    for kind, source in {**sources, "transitions": pred, "flow": pred}.items():
        ax = None if size is None else Figure(size).subplots()
        axes = getattr(plots, f"plot_{kind}")(source, names=names, ax=ax)
        check_texts(axes.figure)
        shown = [x.get_text() for x in axes.get_yticklabels() or axes.get_xticklabels()]
        assert len(set(shown)) == len(shown) > 5
        assert size == (3.5, 2.5) or not axes.get_yticks().size or sorted(shown) == sorted(names)


@pytest.mark.slow
def test_neighbouring_axes_keep_their_room() -> None:
    true, pred = (named(x, "long") for x in labels(8))
    tables = tce.ContingencyTables.from_labels(true, pred)
    figure = Figure(figsize=(9, 7))
    grid = figure.subplots(2, 2, gridspec_kw={"wspace": 0.5, "hspace": 0.5})
    plots.plot_table(tables, ax=grid[0, 0])
    plots.plot_table(tables, show="share", ax=grid[0, 1])
    plots.plot_stability(tce.cluster_stability(true, [pred]), ax=grid[1, 0])
    plots.plot_scores(tce.evaluate(true, {LONG.format(i): pred for i in range(5)}), ax=grid[1, 1])
    check_texts(figure)


def test_scores_are_drawn_with_their_intervals() -> None:
    pred = runs(7)
    tables = tce.ContingencyTables.from_labels(pred[0], pred)
    result = tce.bootstrap(tables, ["vi"], 50)
    axes = plots.plot_scores(result)
    order = np.argsort(result["vi"].estimate.numpy(), kind="stable")
    shown = np.asarray(axes.collections[-1].get_offsets())
    np.testing.assert_array_equal(shown[:, 0], result["vi"].estimate.numpy()[order])
    bars = np.array([path.vertices[:, 0] for path in axes.collections[0].get_paths()])
    np.testing.assert_array_equal(bars[:, 0], result["vi"].low.numpy()[order])
    np.testing.assert_array_equal(bars[:, 1], result["vi"].high.numpy()[order])
    assert [x.get_text() for x in axes.get_yticklabels()] == [str(i) for i in order]
    assert "95 % intervals (lower is better)" in axes.get_xlabel()


def test_clusterings_by_groups_are_means_and_ranges() -> None:
    """A point a clustering, never one of a group; a score that a group lacks is in neither."""
    pred = runs(4)
    by = np.arange(pred.shape[1]) % 5
    mask = np.ones(pred.shape, dtype=bool)
    mask[2, by == 3] = False
    scores = tce.evaluate(pred[0] // 2, {f"run {i}": x for i, x in enumerate(pred)}, ["ami"], by=by, mask=mask)
    axes = plots.plot_scores(scores)
    values = scores["ami"].numpy()
    mean = np.nanmean(values, 1)
    order = np.argsort(-mean, kind="stable")
    np.testing.assert_allclose(axes.collections[-1].get_offsets()[:, 0], mean[order], rtol=1e-12)
    bars = np.array([path.vertices[:, 0] for path in axes.collections[0].get_paths()])
    np.testing.assert_array_equal(bars, np.stack([np.nanmin(values, 1), np.nanmax(values, 1)], 1)[order])
    assert [x.get_text() for x in axes.get_yticklabels()] == [f"run {i}" for i in order]
    assert "the mean of 5 groups, from the lowest to the highest" in axes.get_xlabel().replace("\n", " ")
    check_texts(axes.figure)


def test_differences_are_drawn_beside_nothing() -> None:
    pred = runs(4)
    result = tce.paired_bootstrap(pred[0], pred[1], pred[2:], ["ari"], 50)
    axes = plots.plot_scores(result)
    np.testing.assert_array_equal(axes.collections[-1].get_offsets()[:, 0], result["ari"].difference.numpy())
    assert axes.get_xlabel() == "difference of adjusted rand (A minus B) with 95 % intervals"


@pytest.mark.parametrize("count", [5, 70])
def test_names_of_axes_are_whole(count: int) -> None:
    """What does not fit in one line takes several."""
    pred = runs(count)
    tables = tce.ContingencyTables.from_labels(pred[0], pred)
    for measure in ("ami_arithmetic", "variation_of_information"):
        result, better = tce.bootstrap(tables, [measure], 20), tce.MEASURES[measure].better
        for ax in (None, small_axes()):
            axes = plots.plot_scores(result, ax=ax)
            shown = axes.get_xlabel() if count == 5 else axes.get_ylabel()
            whole = f"{measure.replace('_', ' ')} with 95 % intervals ({better} is better)"
            assert shown.replace("\n", " ") == whole
            check_texts(axes.figure)


@pytest.mark.parametrize("name", ["k3_04", "$x_1$ and a very long name of a clustering that goes on"])
def test_differences_say_whose_they_are(name: str) -> None:
    from torchclusteval.plots.scores import difference_series, draw_series

    pred = runs(5)
    for measure in ("adjusted_rand", "variation_of_information"):
        record = tce.paired_bootstrap(pred[0], pred[1], pred[2:], [measure], 50)[measure]
        series = difference_series(measure, name, "another", ["a", "b", "c"], record, "95 % intervals")
        axes = draw_series(series, None)
        shown = axes.get_xlabel().replace("\n", " ")
        assert shown.startswith(f"difference of {measure.replace('_', ' ')} ({name[:5]}")
        assert f"{name[-5:]} minus another)" in shown
        check_texts(axes.figure)


def test_many_clusterings_are_shown_by_rank() -> None:
    values = torch.linspace(0, 1, 300, dtype=torch.float64)
    values[7] = torch.nan
    measure = tce.MEASURES["adjusted_rand"]
    scores = tce.Scores({measure.name: values}, {measure.name: measure}, values.long(), None, {})
    axes = plots.plot_scores(scores, names=[f"run {i}" for i in range(300)])
    shown = np.asarray(axes.collections[-1].get_offsets())
    assert len(shown) == 299
    assert shown[0].tolist() == [1, 1]
    assert "1. run 299" in axes.texts[0].get_text()


@pytest.mark.parametrize("count", [1, 5])
def test_scores_beside_their_permutations(count: int) -> None:
    pred = runs(count)
    tables = tce.ContingencyTables.from_labels(pred[0], pred)
    result: Any = tce.permutation_test(tables, ["vi"], 60, keep_resamples=True)
    axes = plots.plot_scores(result)
    order = np.argsort(result["vi"].observed.numpy(), kind="stable")
    bars = np.array([path.vertices[:, 0] for path in axes.collections[0].get_paths()])
    np.testing.assert_allclose(bars, np.quantile(result["vi"].resamples.numpy(), [0.025, 0.975], axis=0).T[order])
    np.testing.assert_array_equal(axes.collections[-1].get_offsets()[:, 0], result["vi"].observed.numpy()[order])
    label = "variation of information with the middle 95 % of permutations (lower is better)"
    assert axes.get_xlabel().replace("\n", " ") == label
    check_texts(axes.figure)
    with pytest.raises(ValueError, match="scores: expected permutations"):
        plots.plot_scores(tce.permutation_test(tables, ["vi"], 20))


def test_the_table_is_drawn_in_matched_order() -> None:
    tables = tce.ContingencyTables.from_labels(["x"] * 4 + ["y"] * 3 + ["z"] * 2, [7, 7, 7, 8, 8, 8, 9, 7, 7])
    axes = plots.plot_table(tables)
    assert [x.get_text() for x in axes.get_yticklabels()] == ["x", "y", "z"]
    assert [x.get_text() for x in axes.get_xticklabels()] == ["7", "8", "9"]
    expected = np.array([[3, 1, 0], [0, 2, 1], [2, 0, 0]])
    np.testing.assert_allclose(axes.images[0].get_array(), expected / expected.sum(1, keepdims=True))
    numbers = {tuple(x.get_position()): x.get_text() for x in axes.texts}
    for (i, j), n in np.ndenumerate(expected):
        assert numbers.get((j, i), "0") == str(n)
    right, above = axes.child_axes
    assert [bar.get_width() for bar in right.patches] == [4, 3, 2]
    assert [bar.get_height() for bar in above.patches] == [5, 3, 1]
    assert [x.get_text() for x in right.texts] == ["4", "3", "2"]
    shares = {tuple(x.get_position()): x.get_text() for x in plots.plot_table(tables, show="share").texts}
    assert shares[0, 0] == "75"
    assert len(axes.lines) == 2  # frames of the matched pairs
    merged = plots.plot_table(tables, tce.match(tables, how="majority"))
    np.testing.assert_allclose(merged.images[0].get_array()[0], [0.75, 0.25])


@pytest.mark.slow
def test_more_than_sixty_groups_are_drawn_together() -> None:
    true, pred = labels(90)
    tables = tce.ContingencyTables.from_labels(true, pred)
    axes = plots.plot_table(tables)
    shown = axes.images[0].get_array()
    assert shown.shape == (60, 60)
    assert axes.get_yticklabels()[-1].get_text() == "31 others"
    np.testing.assert_allclose(shown.sum(1), 1)
    check_texts(axes.figure)


def test_flows_are_as_wide_as_their_items() -> None:
    axes = plots.plot_flow({"a": [0, 0, 0, 1, 1, 2], "b": [5, 5, 6, 6, 6, 6]})
    bars = [box for box in axes.patches if isinstance(box, Rectangle)]
    assert sorted(bar.get_height() for bar in bars) == [1, 2, 2, 3, 4]
    assert not any(bar.get_clip_on() for bar in bars)  # outlines are whole
    assert [x.get_text() for x in axes.get_xticklabels()] == ["a", "b"]
    bands = [path.vertices for path in axes.collections[0].get_paths()]
    widths = sorted(round(float(path[7, 1] - path[0, 1]), 9) for path in bands)
    assert widths == [1, 1, 2, 2]


def test_flows_cross_little() -> None:
    """Clusterings that differ by their labels alone have no crossing."""
    random = np.random.default_rng(3)
    true = random.integers(0, 9, 300)
    axes = plots.plot_flow([true, random.permutation(9)[true]])
    paths = axes.collections[0].get_paths()
    assert len(paths) == 9
    starts, ends = (np.array([path.vertices[k, 1] for path in paths]) for k in (0, 3))
    assert (np.argsort(starts) == np.argsort(ends)).all()


def test_a_table_and_transitions_flow_too() -> None:
    tables = tce.ContingencyTables.from_labels(["x", "x", "y"], [1, 2, 2])
    assert [x.get_text() for x in plots.plot_flow(tables).get_xticklabels()] == ["class", "cluster"]
    found = tce.transitions([[0, 0, 1], [0, 1, 1]])
    assert [x.get_text() for x in plots.plot_flow(found, ["p", "q"]).get_xticklabels()] == ["p", "q"]


def test_stability_is_drawn_by_cluster() -> None:
    reference = np.repeat([0, 1, 2], 20)
    others = np.stack([reference, np.where(np.arange(60) < 8, 1, reference), np.arange(60) % 3])
    found = tce.cluster_stability(reference, others)
    axes = plots.plot_stability(found)
    order = np.argsort(-found.mean_jaccard.numpy(), kind="stable")
    assert [x.get_text() for x in axes.get_yticklabels()] == [f"{i} (20)" for i in order]
    points = np.concatenate([x.get_offsets() for x in axes.collections if len(x.get_offsets()) and x.get_zorder() == 3])
    np.testing.assert_allclose(np.sort(points[:, 0]), np.sort(found.mean_jaccard.numpy()))
    beside = [x.get_text() for x in axes.texts if " of " in x.get_text()]
    assert beside == [f"{int(found.recovered[i])} of 3" for i in order]


def test_transitions_have_a_row_a_clustering() -> None:
    axes = plots.plot_transitions({"0.1": [0] * 6, "0.5": [0, 0, 0, 1, 1, 1], "1": [0, 0, 2, 1, 1, 1]})
    assert [x.get_text() for x in axes.get_yticklabels()] == ["0.1", "0.5", "1"]
    points = [x.get_offsets() for x in axes.collections if hasattr(x, "get_sizes") and len(x.get_sizes())]
    assert [len(x) for x in points] == [1, 2, 3]
    assert sum(len(x.get_segments()) for x in axes.collections if hasattr(x, "get_segments")) == 2 + 3


def test_agreement_is_drawn_in_the_order_of_its_tree() -> None:
    pred = np.stack([x for x in runs(3) for _ in range(4)])
    scores = tce.pairwise(pred, ["ari"])
    axes = plots.plot_agreement(scores)
    order = [int(x.get_text()) for x in axes.get_yticklabels()]
    assert [x.get_text() for x in axes.get_xticklabels()] == [str(i) for i in order]
    np.testing.assert_array_equal(axes.images[0].get_array(), scores["ari"].numpy()[np.ix_(order, order)])
    assert len(axes.child_axes[1].lines) == 11  # merges of the tree
    others = scores["ari"].numpy()[~np.eye(12, dtype=bool)]
    assert axes.images[0].get_clim() == (others.min(), others.max())


@pytest.mark.parametrize("name", ["adjusted_rand", "variation_of_information"])
def test_neighbours_in_the_heat_map_agree(name: str) -> None:
    random = np.random.default_rng(1)
    kinds = random.integers(0, 5, (3, 100))
    pred = np.stack([np.where(random.uniform(size=100) < 0.1, 0, kinds[i % 3]) for i in range(12)])
    scores = tce.pairwise(pred, [name])
    axes = plots.plot_agreement(scores)
    order = [int(x.get_text()) for x in axes.get_yticklabels()]
    assert sorted(order) == list(range(12))
    assert sum(a % 3 != b % 3 for a, b in itertools.pairwise(order)) == 2
    (image,), values = axes.images, scores[name].numpy()
    same, other = (image.cmap(image.norm(values[0, j])) for j in (0, 1))
    assert sum(same[:3]) < sum(other[:3])  # agreement is dark, whichever way the measure points


def test_a_value_that_is_nan_can_be_read() -> None:
    """Two runs without an item in common: dark text on white."""
    scores = tce.pairwise([[0, 0, 1, -1, -1], [-1, -1, -1, 0, 1], [0, 1, 1, 0, 0]], ["ari"], noise_label=-1)
    shown = [x for x in plots.plot_agreement(scores).texts if x.get_text() == "nan"]
    assert [x.get_color() for x in shown] == ["black"] * 2


def test_labels_are_no_mathematics_and_take_one_line() -> None:
    true = np.array(["$x_1$", "a\nb", "c\td", "$"] * 5, dtype=object)
    axes = plots.plot_table(tce.ContingencyTables.from_labels(true, true))
    shown = [x.get_text() for x in axes.get_yticklabels()]
    assert sorted(shown) == ["$", "$x_1$", "a?b", "c?d"]
    check_texts(axes.figure)
    long = plots.plot_scores(tce.evaluate(true, {"x" * 3000 + "end": true}))
    assert long.get_yticklabels()[0].get_text().endswith("xend")
    assert "..." in long.get_yticklabels()[0].get_text()


def test_names_by_label_go_to_their_clusterings() -> None:
    scores = tce.evaluate([0, 0, 1, 1], {"a": [0, 1, 0, 1], "b": [0, 0, 1, 1]}, ["ari"])
    for own, names in (
        (scores, {"b": "right", "a": "wrong"}),
        (tce.evaluate_tables(tce.ContingencyTables([[[1, 1], [1, 1]], [[2, 0], [0, 2]]])), {1: "right", 0: "wrong"}),
    ):
        axes = plots.plot_scores(own, "ari" if own is scores else "adjusted_rand", names=names)
        assert [label.get_text() for label in axes.get_yticklabels()] == ["right", "wrong"]
    with pytest.raises(ValueError, match="names: expected a name for each clustering; got none for 'b'"):
        plots.plot_scores(scores, names={"a": "wrong", "c": "right"})


def test_what_cannot_be_drawn_is_refused() -> None:
    tables, nothing = tce.ContingencyTables.from_labels([0, 1], [[0, 1], [0, 0]]), tce.ContingencyTables([[0, 0]])
    for call, message in (
        (lambda: plots.plot_table(tables), "tables: expected one table"),
        (lambda: plots.plot_table(tables[0], show="x"), "show: expected"),
        (lambda: plots.plot_table(nothing), "tables: expected a table with items"),
        (lambda: plots.plot_flow([[0, 1]]), "source: expected at least 2 clusterings; got 1"),
        (lambda: plots.plot_flow([[0, 1], [0, 1]], {"a", "b"}), "names: expected a list of names; got {"),
        (lambda: plots.plot_flow([[0, 1], [0, 1]], ["a"]), "names: expected 2 names; got 1"),
        (lambda: plots.plot_scores(tables), "scores: expected Scores"),
        (lambda: plots.plot_scores(tce.evaluate_tables(tables), "dice"), "measure: expected one of"),
        (lambda: plots.plot_scores(tce.evaluate_tables(tables), names=["a"]), "names: expected 2 names; got 1"),
        (lambda: plots.plot_agreement(tce.evaluate_tables(tables)), "scores: expected the result of pairwise"),
        (lambda: plots.plot_stability(tables), "stability: expected the result of cluster_stability"),
        (lambda: plots.plot_table(tables[0], match="x"), "^match: expected a Matching"),
        (lambda: plots.plot_flow(nothing), "^source: expected clusterings with items; got none"),
        (lambda: plots.plot_transitions(nothing), "^source: expected clusterings with items; got none"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_without_matplotlib_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'torchclusteval\[plots\]'"):
        plots.plot_flow([[0, 1], [0, 1]])


@pytest.mark.parametrize("layout", [None, "tight"])
def test_given_axes_have_a_layout(layout: Any) -> None:
    figure = Figure(figsize=(4, 3), layout=layout)
    plots.plot_scores(tce.evaluate([0, 1, 1], {LONG: [0, 1, 0]}), ax=figure.subplots())
    assert type(figure.get_layout_engine()).__name__ == ("TightLayoutEngine" if layout else "ConstrainedLayoutEngine")
    check_texts(figure)


def test_a_table_may_name_its_clustering() -> None:
    table = tce.ContingencyTables.from_labels(*labels(4))
    assert plots.plot_table(table, name="kmeans").get_xlabel() == "cluster of kmeans"
    assert "cluster of kmeans\n(" in plots.plot_table(table, name="kmeans", show="share").get_xlabel()
    check_texts(plots.plot_table(table, name=LONG).figure)


@pytest.mark.parametrize("count", [2, 70])
def test_no_interval_is_known(count: int) -> None:
    """Empty tables: a picture without bars, as of scores that are all nan."""
    tables = tce.ContingencyTables(torch.zeros(count, 3, 3, dtype=torch.int64))
    axes = plots.plot_scores(tce.bootstrap(tables, ["ari"], n_resamples=5))
    assert all(not len(part.get_offsets()) for part in axes.collections)


def test_faint_bands_and_edges_fade_where_there_are_many() -> None:
    true = np.repeat(np.arange(8), 130)
    moved = np.concatenate([[*([i] * 123), *(x for x in range(8) if x != i)] for i in range(8)])
    few = plots.plot_flow([true, np.roll(true, 3)]).collections[0].get_facecolor()
    assert set(few[:, 3]) == {0.4}
    many = plots.plot_flow([true, moved]).collections[0].get_facecolor()
    assert sorted(many[:, 3]) == pytest.approx([*([0.1] * 56), *([0.4] * 8)])
    greys = plots.plot_transitions([true, moved, true]).collections[0].get_colors()[:, 0]
    assert len(greys) == 128
    assert sorted(greys)[16:] == pytest.approx([0.96 - 0.63 / 130] * 112)
