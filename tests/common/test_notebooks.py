"""What notebooks show: the same cells as in print, escaped."""

import re
from html import unescape
from typing import Any

import numpy as np
import pytest

import torchclusteval as tce

TRUE = [0, 0, 0, 1, 1, 1, 2, 2]
PRED = np.array([[0, 0, 1, 1, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1, 1, 1], [2, 2, 2, 1, 1, 1, 0, 0]])


def cells(shown: Any) -> list[list[str]]:
    html = shown._repr_html_()
    rows = re.findall("<tr>(.*?)</tr>", html)
    return [[unescape(x) for x in re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]


def printed(shown: Any, first: int) -> list[list[str]]:
    return [re.split(" {2,}", line.strip()) for line in str(shown).splitlines()[first:] if "  " in line]


SCORES = tce.evaluate(TRUE, PRED, ["ari", "nmi", "vi"])
TABLES = tce.ContingencyTables.from_labels(TRUE, PRED)


@pytest.mark.parametrize(
    ("shown", "first"),
    [
        (SCORES, 1),
        (tce.evaluate(TRUE, PRED[0], ["ari", "nmi"]), 1),
        (tce.evaluate(TRUE, np.repeat(PRED, 4, 0), ["ari", "nmi"]), 1),
        (SCORES.summary(), 0),
        (tce.per_class(TABLES[0]), 0),
        (tce.per_class(TABLES), 1),
        (tce.matched_scores(TABLES, tce.match(TABLES)), 1),
        (tce.per_cluster(tce.ContingencyTables.from_labels(["a"] * 5 + ["b"] * 3, PRED[0])), 0),
        (tce.bootstrap(TABLES, ["ari", "vi"], 20), 1),
        (tce.bootstrap(TABLES, ["ari"], 20)["ari"], 0),
        (tce.stability(PRED)["ari"], 1),
        (tce.cluster_stability(PRED[0], PRED[1:]), 0),
    ],
    ids=lambda x: type(x).__name__,
)
def test_a_notebook_shows_what_is_printed(shown: Any, first: int) -> None:
    assert cells(shown) == printed(shown, first)
    assert str(shown).splitlines()[0] in unescape(re.sub("<[^>]*>", "", shown._repr_html_())) or first == 0


def test_one_clustering_shows_its_values() -> None:
    scores = tce.evaluate(TRUE, PRED[0], ["ari"])
    assert cells(scores) == [["measure", "value"], ["adjusted_rand", f"{float(scores['ari']):.4f}"]]


def test_notes_are_shown() -> None:
    scores = tce.evaluate(TRUE, PRED, ["ari"], noise_label=2)
    assert "items scored: 62.5000 % at least" in scores._repr_html_()


def test_names_are_text() -> None:
    hostile = '<script>alert("x")</script>'
    scores = tce.evaluate(TRUE, {hostile: PRED[0], "a & b": PRED[1]}, ["ari"])
    groups = tce.per_class(tce.ContingencyTables.from_labels([hostile] * 4 + ["b"] * 4, ["<b>"] * 4 + ["&"] * 4))
    for shown in (scores, groups):
        assert "<script" not in shown._repr_html_()
        assert "<b>" not in shown._repr_html_()
        assert hostile in [x for row in cells(shown) for x in row]


def test_batches_of_groups_are_named() -> None:
    assert "batch_shape=(3,)" in tce.per_class(TABLES)._repr_html_()
