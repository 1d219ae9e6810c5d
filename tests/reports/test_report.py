"""The report: what stands on the page, that it is whole, and that labels cannot break it."""

import base64
import itertools
import re
import warnings
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import torchclusteval as tce
from torchclusteval.inference.intervals import two_sided
from torchclusteval.reports import Report
from torchclusteval.reports.tested import ends, holm

VOID = {"meta", "link", "wbr", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Reads a page and raises where elements are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.kinds: list[str] = []
        self.pictures: dict[str, str] = {}  # SVG by what it says to those who cannot see it
        self.words: list[str] = []
        self.headings: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.kinds.append(tag)
        self.links += [given[key] for key in ("src", "href") if key in given]
        if tag == "img":
            kind, _, data = given["src"].partition(",")
            assert kind == "data:image/svg+xml;base64"
            self.pictures[given["alt"]] = base64.b64decode(data).decode()
        self.ids += [given["id"]] if "id" in given else []
        assert not any(key.startswith("on") for key in given)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = set(self.open)
        if not inside & {"style", "script"}:
            self.words.append(data)
        if "h2" in inside:
            self.headings.append(data)
        if inside & {"td", "th"} and self.rows:
            self.rows[-1][-1] += data

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def row(self, first: str) -> list[str]:
        return next(row for row in self.rows if first in row)


def clusterings(count: int, items: int = 90, classes: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A truth, and copies of it with more and more noise."""
    random = np.random.default_rng(seed)
    true = random.integers(0, classes, items)
    noise = 0.1 + 0.85 * np.arange(count) / max(1, count)
    pred = np.where(random.uniform(size=(count, items)) < noise[:, None], random.integers(0, classes, items), true)
    return true, pred


def page_of(found: Report) -> Page:
    page = Page(found.html)
    check_alone(page, found.html)
    return page


def check_alone(page: Page, html: str) -> None:
    """Nothing is loaded, every picture is whole, and ids are unique."""
    assert [x for x in page.links if not x.startswith(("#", "data:"))] == []
    assert len(page.ids) == len(set(page.ids))
    assert {x[1:] for x in page.links if x.startswith("#")} <= set(page.ids)
    assert "@import" not in html
    assert "url(" not in html
    assert page.pictures
    for picture in page.pictures.values():
        assert len(list(ElementTree.fromstring(picture).iter())) > 20
        assert not re.search(r"(href=\"|url\()(?!#|data:image/png;)", picture)


def test_the_page_says_what_the_functions_say() -> None:
    true, pred = clusterings(8)
    names = [f"run {i}" for i in range(8)]
    found = tce.report(true, dict(zip(names, pred, strict=True)), n_resamples=200, title="Eight runs")
    page = page_of(found)
    assert page.headings == [
        "What was read",
        "Ranking",
        "Differences from the best",
        "Agreement of the clusterings",
        f"The best clustering: {found.best}",
        "Its weakest classes and clusters",
        "Stability of its clusters",
    ]
    scores = tce.evaluate(true, pred, ["ami", "ari"])
    best = scores.best("ami")
    assert found.best == names[best]
    assert f"cluster of {found.best}" in page.pictures[f"matched table of {found.best}"]
    assert f"stability of the clusters of {found.best}" in page.pictures
    drawn = page.pictures[f"differences of {found.best} to the others, with intervals"]
    assert f"difference of ami arithmetic ({found.best} minus another)" in drawn
    assert found.names == tuple(names)
    ranks = [row for row in page.rows if row and row[0].isdigit() and len(row) > 5 and row[1] in names]
    assert [row[1] for row in ranks] == [names[i] for i in torch.argsort(-scores["ami"], stable=True).tolist()]
    assert ranks[0][2] == f"{float(scores['ami'][best]):.4f}"
    assert ranks[0][4] == f"{float(scores['ari'][best]):.4f}"
    others = [i for i in torch.argsort(-scores["ami"], stable=True).tolist() if i != best]
    difference = page.row(names[others[-1]])
    assert difference
    verdicts = [row for row in page.rows if row and row[-1] in ("told apart", "not told apart")]
    assert len(verdicts) == 7
    assert [row[1] for row in verdicts] == [f"{float(scores['ami'][best] - scores['ami'][i]):.4f}" for i in others]
    expected = tce.cluster_stability(pred[best], pred[others])
    shown = {row[0]: row[3] for row in page.rows if len(row) == 7 and row[2] == "7"}
    assert shown == {
        str(label): f"{value:.4f}" for label, value in zip(expected.labels.tolist(), expected.mean_jaccard, strict=True)
    }
    draws = found.evidence.differences.settings["n_resamples"]
    same = tce.paired_bootstrap(true, pred[best], pred[others], ["ami"], draws, rng=0)["ami"]  # as difference has it
    assert torch.equal(found.evidence.differences["ami_arithmetic"].p_value, same.p_value)
    assert page.text.startswith("Eight runs Eight runs")
    assert "all are scored" in page.text


@pytest.mark.slow
def test_the_same_call_gives_the_same_page() -> None:
    true, pred = clusterings(4)
    assert tce.report(true, pred, n_resamples=100).html == tce.report(true, pred, n_resamples=100).html
    assert tce.report(true, pred, n_resamples=100).html != tce.report(true, pred, n_resamples=100, rng=1).html


HOSTILE = [
    '<script>alert("x")</script>',
    "<b>bold</b>",
    "a & b",
    "'\"><img src=x onerror=y>",
    "$x_1$",
    "]]>",
    "new\nline",
]


def test_labels_are_text() -> None:
    random = np.random.default_rng(1)
    true = np.array(HOSTILE, dtype=object)[random.integers(0, 7, 80)]
    pred = {name: np.array(HOSTILE, dtype=object)[random.integers(0, 7, 80)] for name in HOSTILE}
    found = tce.report(true, pred, n_resamples=60, title="<i>title</i> & more")
    page = page_of(found)
    assert page.kinds.count("script") == 1
    assert page.kinds.count("img") == len(page.pictures) == 5
    for label in HOSTILE[:6]:
        assert label in page.text
        assert label in [cell for row in page.rows for cell in row]
    assert "<i>title" not in found.html
    assert 'alert("x")' not in re.sub(r"<script>.*?</script>", "", found.html.replace("&quot;", '"').split("<body>")[0])


@pytest.mark.slow
def test_items_without_a_class_are_counted() -> None:
    true, pred = clusterings(5)
    labels = true.astype(object)
    labels[:30] = None
    few = tce.report([None] * 50 + labels[50:].tolist(), pred, missing="ignore", n_resamples=20)
    assert "44.4 % of the items are scored; ami_arithmetic and similar measures do not see" in page_of(few).text
    with pytest.raises(ValueError, match="labels_true: expected a label for every item"):
        tce.report(labels, pred)
    page = page_of(tce.report(labels, pred, missing="ignore", n_resamples=100))
    assert page.row("items without a class, not scored")[1] == "30"
    assert "a class and a cluster, 66.7 % of all." in page.text
    assert "count, also the 30 without a class, which are not scored" in page.text
    expected = tce.evaluate(true[30:], pred[:, 30:], ["ami"])["ami"]
    ranks = [row for row in page.rows if row and row[0] == "1" and len(row) > 5]
    assert ranks[0][2] == f"{float(expected.max()):.4f}"
    ignored = page_of(tce.report(np.where(true == 3, -7, true), pred, ignore_index=-7, n_resamples=100))
    assert ignored.row("items without a class, not scored")[1] == str((true == 3).sum())


@pytest.mark.slow
def test_noise_shows_as_coverage() -> None:
    true, pred = clusterings(4)
    pred[1, :45] = -1
    page = page_of(tce.report(true, pred, noise_label=-1, n_resamples=100))
    assert page.row("items that a clustering leaves out (noise, missing, masked)")[1] == "0 to 45"
    ranks = {row[1]: row for row in page.rows if row and row[0].isdigit() and len(row) > 6}
    assert "a class and a cluster, 50 % to 100 % of all." in page.text
    assert "without a class, which are not scored" not in page.text
    assert ranks["1"][4] == "50 %"
    assert ranks["0"][4] == "100 %"
    single = page_of(tce.report(true, pred, noise_label=-1, noise="singletons", n_resamples=100))
    assert "all are scored" in single.text


def test_groups_of_items_are_scored_by_themselves() -> None:
    true, pred = clusterings(4, items=200)
    ids = np.array([f"donor {x}" for x in np.arange(200) % 5], dtype=object)
    asked: dict[str, Any] = {"measures": ["bcubed_f", "ari"], "sort": "bcubed_f", "n_resamples": 200}
    found = tce.report(true, pred, by=ids, **asked)
    assert tce.report(true, pred, by=ids, resample="groups", **asked).html == found.html
    page = page_of(found)
    assert "subsets of the groups, and hold for new groups of items like these." in page.text
    macro = tce.evaluate(true, pred, ["bcubed_f"], by=ids).macro()["bcubed_f"]
    pooled = tce.pooled(tce.ContingencyTables.from_labels(true, pred, by=ids), ["bcubed_f"])["bcubed_f"]
    whole = tce.evaluate(true, pred, ["bcubed_f"])["bcubed_f"]
    ranks = {row[1]: row for row in page.rows if row and row[0].isdigit() and len(row) == 7}
    for column, values in ((2, macro), (4, whole), (5, pooled)):
        assert {name: row[column] for name, row in ranks.items()} == {str(i): f"{x:.4f}" for i, x in enumerate(values)}
    assert {row[3] for row in ranks.values()} == {"none"}  # no interval of five groups
    assert not any("interval" in drawn for drawn in [*page.pictures][:1])
    assert "The best clustering, group by group" in page.headings
    groups = [row for row in page.rows if row and row[0].startswith("donor") and len(row) == 5 and row[1] == "40"]
    own = tce.evaluate(true, pred[int(found.best)], ["bcubed_f"], by=ids)["bcubed_f"]
    assert sorted(row[4] for row in groups) == sorted(f"{x:.4f}" for x in own.tolist())
    assert [row[4] for row in groups] == sorted((row[4] for row in groups), reverse=True)  # as in the picture
    assert "of each group of items, the best first" in page.text
    clusters = len(set(pred[int(found.best)].tolist()))
    parts = sum(len(set(pred[int(found.best)][ids == x].tolist())) for x in set(ids.tolist()))
    assert f"Taken group by group, its {clusters} clusters are in {parts} parts. Of these" in page.text


def grouped(groups: int, others: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A truth of 20 items a group, a good clustering, and others with more noise."""
    random = np.random.default_rng(seed)
    ids = np.arange(groups * 20) // 20
    true = random.integers(0, 3, len(ids))
    noise = random.uniform(size=(others + 1, len(ids))) < np.linspace(0.1, 0.45, others + 1)[:, None]
    return ids, true, np.where(noise, random.integers(0, 3, noise.shape), true)


def test_intervals_and_p_values_over_groups_by_enumeration() -> None:
    """Means over all 127 subsets of seven groups; p-values are those of all 128 ways to exchange two clusterings."""
    ids, true, pred = grouped(7, 3)
    found = tce.report(true, pred, by=ids, measures=["ari"], n_resamples=300).evidence
    values = tce.evaluate(true, pred, ["ari"], by=ids)["ari"]
    subsets = [[i for i in range(7) if n >> i & 1] for n in range(1, 128)]
    means = torch.stack([values[:, some].mean(1) for some in subsets]).sort(0).values
    record = found.intervals["ari"]
    for place, number in enumerate(found.order):  # 2 * 3 / 128 is below .05, 2 * 4 / 128 is not
        torch.testing.assert_close(record.low[place], means[2, number])
        torch.testing.assert_close(record.high[place], means[-3, number])
    away = values[found.order[0]] - values[found.order[1:]]
    signs = torch.tensor(list(itertools.product([1.0, -1.0], repeat=7)), dtype=torch.float64)
    expected = ((signs @ away.mT).abs() >= away.sum(1).abs() - 1e-9).double().mean(0)
    torch.testing.assert_close(found.differences["ari"].p_value, expected)


VERDICTS = ("told apart", "not told apart")


@pytest.mark.parametrize("groups", [None, 6, 7, 40])
def test_intervals_and_verdicts_agree(groups: int | None) -> None:
    """An interval leaves out 0 where the adjusted p-value is below the level, and only there."""
    ids, true, pred = grouped(groups or 8, 9)
    made = tce.report(true, pred, by=None if groups is None else ids, measures=["ari"], n_resamples=200)
    found, record = made.evidence, made.evidence.differences["ari"]
    real = record.p_adjusted < 0.05
    assert ((record.low > 0) | (record.high < 0)).tolist() == real.tolist()
    assert groups in (6, 7) or bool(real.any())
    given = {row[0]: (row[2], row[-1]) for row in page_of(made).rows if row and row[-1] in VERDICTS}
    for name, low, passed in zip(found.order[1:], record.low, real, strict=True):
        shown, verdict = given[str(name)]
        assert verdict == ("told apart" if passed else "not told apart")
        assert (shown == "none") == bool(low.isnan())


def test_one_page_draws_one_unit() -> None:
    """Items are biased for the clustering with many items split off, not for the best: classes are drawn of all."""
    rng = np.random.default_rng(0)
    true = np.repeat(np.arange(20), 300)
    split = np.where(rng.random(6000) < np.linspace(0.02, 0.2, 20)[true], 20 + np.arange(6000), true)
    good, better = (np.where(rng.random(6000) < share, (true + 1) % 20, true) for share in (0.05, 0.03))
    runs, measures = {"split": split, "good": good, "better": better}, ["v_measure"]
    by_default = tce.bootstrap(tce.ContingencyTables.from_labels(true, runs), measures, 200, rng=0)
    assert by_default.settings["resampled"] == "items or classes"
    for resample, drawn in ((None, "classes"), ("items", "items")):
        with warnings.catch_warnings(record=True) as said:  # the bias of items, where these are named
            warnings.simplefilter("always")
            made = tce.report(true, runs, measures=measures, n_resamples=200, resample=resample)
        assert sum("for 'split'" in str(x.message) for x in said) == (drawn == "items")
        assert made.evidence.intervals.settings["resampled"] == drawn
        record, settings = made.evidence.differences["v_measure"], made.evidence.differences.settings
        assert settings["resampled"] == drawn
        assert ((record.low > 0) | (record.high < 0)).tolist() == (record.p_adjusted < 0.05).tolist()
        assert f"intervals come from drawing {drawn}" in made.html
        assert f"on the same {drawn} drawn again" in made.html
    with pytest.warns(UserWarning, match="more than one standard error from the estimate of v_measure: ") as told:
        made = tce.report(true, [split, split[::-1]], measures=measures, n_resamples=200, resample="items")
    assert (len(told), made.html.count("of v_measure: an item drawn twice")) == (1, 1)


@pytest.mark.parametrize("draws", [1, 7, 39, 40, 199, 1000])
def test_ends_and_holm_agree(draws: int) -> None:
    """Of all p-values that so many draws can give, with ties at levels: against Holm's procedure, step by step."""
    generator = torch.Generator().manual_seed(draws)
    for level in (0.05, 0.1, 0.5):
        values = torch.randn(draws, 30, generator=generator).double() + torch.linspace(0, 4, 30).double()
        p_values = two_sided(values, torch.zeros(30).double(), torch.zeros(30).double())
        adjusted, levels = holm(p_values, [*range(28), 3, 3], torch.arange(30) == 5, level)
        low, high = ends(values[:, :28], levels[:28], torch.full((28,), 2 / (draws + 1)).double())
        counted = [i for i in range(28) if i != 5]
        left = sorted(counted, key=lambda i: float(p_values[i]))
        while left and float(p_values[left[0]]) * len(left) < level * (1 - 1e-12):
            left.pop(0)
        for i in counted:
            assert bool(adjusted[i] < level * (1 - 1e-12)) == (i not in left)
            assert bool((low[i] > 0) | (high[i] < 0)) == (i not in left), (level, i)
        assert adjusted[28] == adjusted[29] == adjusted[3]


def test_equal_partitions_are_one_comparison() -> None:
    """Holm by hand: three distinct differences, though one comes three times and one is none."""
    ids, true, pred = grouped(40, 3)
    runs = np.concatenate([pred, 2 - pred[[2, 2, 0]]])
    for by in (None, ids):
        found = tce.report(true, runs, by=by, measures=["ari"], n_resamples=400).evidence
        record = found.differences["ari"]
        assert found.differences.settings["comparisons"] == 3
        p = dict(zip(found.order[1:], record.p_value.tolist(), strict=True))
        adjusted = dict(zip(found.order[1:], record.p_adjusted.tolist(), strict=True))
        worst, expected = 0.0, {}
        for rank, i in enumerate(sorted((1, 2, 3), key=lambda i: p[i])):
            expected[i] = worst = max(worst, min(1.0, p[i] * (3 - rank)))
        assert {i: adjusted[i] for i in (1, 2, 3)} == pytest.approx(expected)
        assert adjusted[4] == adjusted[5] == adjusted[2]
        assert adjusted[6] == 1
        places = {number: place for place, number in enumerate(found.order[1:])}
        for end in (record.low, record.high):
            for number in (4, 5):
                assert end[places[number]] == pytest.approx(end[places[2]].item(), rel=1e-12)
        ranked = {number: place for place, number in enumerate(found.order)}
        for end in (found.intervals["ari"].low, found.intervals["ari"].high):
            for number, other in ((4, 2), (5, 2), (6, 0)):  # clusters are added in the order of their numbers
                assert end[ranked[number]] == pytest.approx(end[ranked[other]].item(), rel=1e-12)


def test_agreement_is_that_within_groups() -> None:
    """Noise does not agree because items of one group have labels that others lack."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.arange(12).repeat_interleave(10)
    true, pred = torch.randint(3, (120,), generator=generator), torch.randint(3, (4, 120), generator=generator)
    found = tce.report(true, pred, by=ids, measures=["ari"], n_resamples=100).evidence
    order = found.order
    expected = torch.stack([tce.pairwise(pred[order][:, ids == i], ["ari"])["ari"] for i in range(12)]).nanmean(0)
    torch.testing.assert_close(found.agreement["ari"], expected)


def test_few_groups_tell_nothing_apart() -> None:
    """The signs of five differences that agree have a p-value of 1/16; of a single one 1."""
    true = [0, 0, 1, 1] * 5
    pred = [[0, 0, 1, 1] * 5, [0, 1, 0, 1] * 5]
    for count, least in ((1, 1.0), (5, 1 / 16)):
        n, ids = 4 * count, [i // 4 for i in range(4 * count)]
        found = tce.report(true[:n], [row[:n] for row in pred], by=ids, measures=["ari"], n_resamples=300)
        assert found.evidence.differences["ari"].p_value.tolist() == [least]
        html = found._repr_html_()
        assert "beyond chance" not in html
        assert "interval" not in " ".join(page_of(found).pictures)
        assert f"There are {count} groups: too few for an interval of 95 %" in html
        page = page_of(found)
        assert "cannot be told apart" not in page.text
        groups = "5 groups" if count == 5 else "1 group"
        assert f"With only {groups} of items no difference to the others can be shown." in page.text
        said = f"with {groups} of items and 1 comparison adjusted p-values are at least {least:.4f}"
        assert f"No difference can be shown here: {said}." in page.text
        assert "≤" not in page.text


def test_enough_groups_for_one_comparison_are_too_few_for_many() -> None:
    """The signs of seven differences have p-values from 1/64: below .05 for up to three comparisons."""
    true, ids = [0, 0, 1, 1] * 7, [i // 4 for i in range(28)]
    halves = [[*[0, 1, 0, 1] * 6, 2 * i, 1, 0, 1] for i in range(4)]  # each another partition of the last group
    for others, floor in ((3, 3 / 64), (4, 4 / 64)):
        found = tce.report(true, [true, *halves[:others]], by=ids, measures=["rand"], n_resamples=300)
        settings = found.evidence.differences.settings
        assert (settings["comparisons"], settings["smallest_p_adjusted"]) in ((others, floor), (2, 2 / 64))
        assert "≤" not in page_of(found).text  # all subsets are tried


def test_the_same_partition_is_named() -> None:
    """Copies with other names of the clusters, one of them without some items; each is no finding of its own."""
    true, pred = clusterings(3, items=200)
    less = np.where(np.arange(200) < 20, -1, 9 - pred[0])
    runs = {"a": pred[0], "renamed": 7 - pred[0], "less": less, "b": pred[1], "c": pred[2]}
    found = tce.report(true, runs, noise_label=-1, measures=["ami"], n_resamples=100)
    page = page_of(found)
    best = found.best
    assert best in ("a", "renamed", "less")
    given = {row[0]: row[-1] for row in page.rows if len(row) == 5 and row[0] in runs}
    copies = {"a", "renamed", "less"} - {best}
    assert {name for name, verdict in given.items() if verdict == f"the same partition as {best}"} == copies
    assert {row[1] for row in page.rows if len(row) == 5 and row[0] in copies} == {"0.0000"}
    assert "2 of the others are the same partition." in page.text
    assert "as the other side" not in page.text  # by their numbers
    alike = list(given.values()).count("not told apart")
    assert (f"{alike} of the others cannot be told apart" in page.text) == (alike > 0)
    assert ("It is better than each of the rest" in page.text) == (alike == 0)


def test_the_same_partition_within_each_group() -> None:
    true, pred = clusterings(1, items=120)
    ids = np.arange(120) % 8
    other = np.where(ids < 4, pred[0], 3 - pred[0])  # another partition of all items
    found = tce.report(true, {"a": pred[0], "b": other}, by=ids, measures=["ari"], n_resamples=100)
    assert page_of(found).row("0.0000 to 0.0000")[-1] == "the same partition as a"


def test_the_smallest_p_value_is_a_bound() -> None:
    """Every draw favours the truth, so the p-value is 2 / (99 + 1), adjusted for one comparison."""
    true = np.arange(200) % 4
    runs = {"truth": true + 1, "other": np.arange(200) // 50}
    page = page_of(tce.report(true, runs, measures=["ari"], n_resamples=99))
    assert [row[3:] for row in page.rows if row and row[-1] == "told apart"] == [["≤ 0.0200", "told apart"]]
    assert "≤: the smallest value that this number of draws and comparisons can give." in page.text
    assert page.text.count("n_resamples=") == 1  # for adjusted values, not for those before
    assert "It is better than each of the others, beyond chance, though chosen as the best on the same" in page.text


def test_the_summary_names_all_clusters() -> None:
    """Clusters whole, in two halves (Jaccard index 1/2), and in parts of 14 and 6 (.7) in the other clustering."""
    true = [0] * 20 + [1] * 20 + [2] * 20
    other = [0] * 20 + [1] * 10 + [3] * 10 + [2] * 14 + [4] * 6
    page = page_of(tce.report(true, [true, other], n_resamples=50))
    said = "Of its 3 clusters, looked for in the other clusterings, 1 comes back, 1 does not, 1 is in between."
    assert said in page.text
    page = page_of(tce.report([0] * 20 + [1] * 20, [[0] * 20 + [1] * 20, [0, 1] * 20], n_resamples=50))
    assert "Of its 2 clusters, looked for in the other clusterings, 2 do not come back." in page.text


def test_without_a_truth_the_typical_clustering_comes_first() -> None:
    _, pred = clusterings(6)
    found = tce.report(None, pred)
    page = page_of(found)
    expected = tce.stability(pred)["ari"]
    assert found.best == str(expected.medoid)
    ranks = [row for row in page.rows if row and row[0].isdigit() and len(row) == 3]
    assert ranks[0][2] == f"{float(expected.agreement.max()):.4f}"
    assert page.headings == ["What was read", "Ranking", "Agreement of the clusterings", "Stability of its clusters"]
    with pytest.raises(ValueError, match=r"resample: expected groups of items too .by=, --by. for 'groups'; got none"):
        tce.report([0, 1] * 10, [0, 1] * 10, resample="groups")
    for unit in ("items", "classes"):
        with pytest.raises(ValueError, match=rf"resample: expected .groups. or None, as groups are .* got '{unit}'"):
            tce.report([0, 1] * 10, [0, 1] * 10, by=[0, 1] * 10, resample=unit)
    with pytest.raises(ValueError, match="by: expected None without a truth"):
        tce.report(None, pred, by=[0] * 90)
    with pytest.raises(ValueError, match="expected at most 500 clusterings without a truth; got 501"):
        tce.report(None, np.zeros((501, 4), dtype=int))


@pytest.mark.slow
def test_one_clustering_and_one_item() -> None:
    page = page_of(tce.report([0, 0, 1], [0, 1, 1], n_resamples=50))
    assert "Differences from the best" not in page.headings
    assert page_of(tce.report([0], [[0], [1]], n_resamples=50)).headings
    Page(tce.report(None, [0, 1, 1]).html)
    with pytest.raises(ValueError, match="expected items with labels on both sides; got none"):
        tce.report([], [[], []])


@pytest.mark.slow
def test_many_clusterings_are_cut_to_the_best() -> None:
    true, pred = clusterings(2667, items=120)
    found = tce.report(true, pred, measures=["ari", "vi"], n_resamples=100)
    page = page_of(found)
    assert "Intervals are of the best 200 of 2667." in page.text
    assert {row[0] for row in page.rows if len(row) == 5} >= {str(rank + 1) for rank in range(2667)}
    assert "The 60 best clusterings with each other" in page.text
    assert len(found.evidence.agreement["ari"]) == 60
    assert len(found.html) < 3_000_000
    assert "agreement of 60 clusterings by adjusted_rand" in page.pictures


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_an_own_measure_ranks(better: Any) -> None:
    """By its name or its record, among the measures or in addition to them; the lead ranks the picture too."""
    true, pred = clusterings(4)
    own = tce.Measure("mine", "pairs", lambda t: t.n_clusters.double() + t.n_cells.double(), (0, 100), better=better)
    scores = tce.evaluate(true, pred, [own])
    expected = scores.best("mine")
    calls: tuple[tuple[list[Any], Any], ...] = ((["ari", own], "mine"), (["ari", own], own), (["ari"], own))
    for measures, sort in calls:
        found = tce.report(true, pred, measures=measures, sort=sort, n_resamples=50)
        assert found.best == str(int(expected))
        page = page_of(found)
        assert f"mine ({better} is better)" in page.text
        assert any(f"mine with 95 % intervals ({better} is better)" in drawn for drawn in page.pictures.values())
    other = tce.Measure("mine", "pairs", tce.MEASURES["purity"].function, (0, 1), better="higher")
    with pytest.raises(ValueError, match=r"^sort: "):
        tce.report(true, pred, measures=["ari", own], sort=other)
    with pytest.raises(ValueError, match=r"^sort: expected the name of a measure; got 'mine'"):
        tce.report(true, pred, measures=["ari"], sort="mine")


def test_progress_goes_through_all_steps() -> None:
    true, pred = clusterings(3, items=40)
    for labels_true, by in ((true, None), (true, np.arange(40) % 2), (None, None)):
        seen: list[tuple[int, int]] = []
        tce.report(labels_true, pred, by=by, n_resamples=20, progress=lambda *x, seen=seen: seen.append(x))
        assert len(seen) > 6
        assert seen == sorted(seen)
        assert seen[-1] == (1000, 1000)


def test_wrong_arguments_are_refused() -> None:
    true, pred = clusterings(3)
    for call, message in (
        (lambda: tce.report(true, pred, sort="entropy_classes"), "sort: expected a measure with a direction"),
        (lambda: tce.report(true, pred, by=[1, 2]), "by: expected ids of 90 items"),
        (lambda: tce.report(true, pred, n_resamples=0), "resamples: expected"),
        (lambda: tce.report(true, pred, progress=5), "progress: expected a function"),  # type: ignore[arg-type]
        (lambda: tce.report(true, pred[None]), r"labels_pred: expected shape \(B, N\)"),
        (lambda: tce.report(true[:-1], pred), "expected one number of items"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="weights: expected one of the options mask"):
        tce.report(true, pred, weights=true)  # type: ignore[call-arg]


@pytest.mark.slow
def test_it_is_written_and_shown_in_notebooks(tmp_path: Path) -> None:
    true, pred = clusterings(3)
    found = tce.report(true, pred, n_resamples=50)
    found.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == found.html
    with pytest.raises(FileNotFoundError, match=r"no/page.html'$"):
        found.to_html(tmp_path / "no" / "page.html")
    frame = found._repr_html_()
    assert frame.startswith("<iframe")
    assert "<script" not in frame
    assert repr(found) == f"Report(clusterings=3, best={found.best!r})"


@pytest.fixture
def file(tmp_path: Path) -> str:
    true, pred = clusterings(5)
    path = tmp_path / "labels.csv"
    rows = [["kind", "donor", *(f"run_{i}" for i in range(5))]]
    rows += [[f"type {t}", f"d{i % 3}", *map(str, pred[:, i])] for i, t in enumerate(true)]
    rows[5][0] = "NA"
    path.write_text("\n".join(map(",".join, rows)) + "\n")
    return str(path)


def test_the_command_writes_the_page(file: str, tmp_path: Path, run: Any, error: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("torchclusteval.common.progress._SECONDS_OF_A_LINE", 0)
    target = str(tmp_path / "report.html")
    command = ["report", file, "--truth", "kind", "--exclude", "donor", "--output", target, "--resamples", "100"]
    assert "--missing ignore" in error(*command)
    result = run(*command, "--missing", "ignore")
    assert "report: 100% 1000/1000" in result.err
    page, html = Page(Path(target).read_text()), Path(target).read_text()
    check_alone(page, html)
    assert result.out.startswith("5 clusterings; the best by ami_arithmetic is run_")
    assert page.row("file")[1] == file
    assert page.row("items without a class, not scored")[1] == "1"
    true, pred = clusterings(5)
    kept = np.arange(90) != 4
    ranks = [row for row in page.rows if row and row[0] == "1" and len(row) > 5]
    expected = tce.evaluate(true[kept], pred[:, kept], ["ami"])["ami"]
    assert ranks[0][2] == f"{float(expected.max()):.4f}"
    assert "type 3" in page.text
    assert "--overwrite replaces it" in error(*command, "--missing", "ignore")


@pytest.mark.slow
def test_the_command_takes_groups_and_no_truth(file: str, tmp_path: Path, run: Any, error: Any) -> None:
    target = str(tmp_path / "report.html")
    command = ["report", file, "--output", target, "--overwrite", "--resamples", "60", "--missing", "ignore"]
    run(*command, "--truth", "kind", "--by", "donor")
    assert "groups of items" in Page(Path(target).read_text()).text
    run(*command, "--columns", "run_*")
    assert "Without a truth" in Page(Path(target).read_text()).text
    assert "--by: expected --truth COLUMN too" in error(*command, "--by", "donor")
    wrong = error("report", file, "--output", str(tmp_path / "report.txt"))
    assert "--output: expected a file that ends in .html" in wrong


def test_a_column_alone_keeps_its_name() -> None:
    true, pred = clusterings(1)
    for name, shown in (("leiden", "leiden"), (None, "0"), ("", "0")):
        assert tce.report(true, pd.Series(pred[0], name=name), n_resamples=100).names == (shown,)
    assert tce.report(true, torch.as_tensor(pred[0]), n_resamples=100).names == ("0",)


@pytest.mark.parametrize("others", [1, 2, 70])
@pytest.mark.parametrize("grouped", [False, True])
def test_clusterings_without_a_score(others: int, grouped: bool) -> None:
    """All noise: neither worse nor alike."""
    true, pred = torch.arange(30) % 3, torch.arange(30) % 4
    runs = torch.stack([pred, *[torch.full((30,), -1)] * others])
    by = torch.arange(30) % 6 if grouped else None
    made = tce.report(true, runs, ["ari"], by=by, noise_label=-1, n_resamples=20)
    page = Page(made.html)
    said = " ".join(page.words)
    assert re.search(r"\d+ of the (others|\d+ next ones) ha(s|ve) no score", said)
    assert "cannot be told apart" not in said
    assert "No two clusterings have items that both group." in said


@pytest.mark.parametrize("place", [0, 3])
def test_without_a_truth_a_clustering_without_labels_is_last(place: int) -> None:
    runs = [[0, 0, 1, 1, 2], [1, 1, 0, 0, 0], [0, 1, 1, 0, 1]]
    runs.insert(place, [-1] * 5)
    made = tce.report(None, torch.tensor(runs), noise_label=-1, n_resamples=10)
    assert made.best == str(runs.index([1, 1, 0, 0, 0]))
    assert made.evidence.order[-1] == place


def test_the_groups_of_items_go_by_their_index() -> None:
    true, frame = pd.Series(["a", "b"] * 4), pd.DataFrame({"k": [0, 1] * 4})
    with pytest.raises(ValueError, match="by: expected the index of labels_true"):
        tce.report(true, frame, by=pd.Series([0, 0, 0, 0, 1, 1, 1, 1], index=range(7, -1, -1)), n_resamples=20)
