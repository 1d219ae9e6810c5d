"""Measures of segmentation, tracking and diarization: known values, and a slow reference in fractions."""

import json
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import torchclusteval as tce
from tests.support.objects import Objects, reference
from tests.support.strategies import sides_of_groups
from torchclusteval import ContingencyTables
from torchclusteval.measures import coreference, segmentation, tracking

A, B = [{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}]
C, D = [{11, 12, 13, 14}, {15}], [{11, 12}, {13, 17, 18}, {14, 15}]
CASES = json.loads((Path(__file__).parents[1] / "golden" / "objects.json").read_text())["cases"]
ROWS = {name: row for name, row in tce.MEASURES.items() if row.family in ("segmentation", "tracking")}
OPTIONS: dict[str, Callable[..., Tensor]] = {
    "vi_split_bits": segmentation.vi_split,
    "vi_merge_bits": segmentation.vi_merge,
    "adapted_rand_error_self_pairs": partial(segmentation.adapted_rand_error, self_pairs=True),
    **{f"object_ap_{x}": partial(segmentation.object_ap, threshold=x) for x in (0.25, 0.5, 0.6, 0.75)},
    **{f"object_f_{x}": partial(segmentation.object_f, threshold=x) for x in (0.25, 0.5, 0.6, 0.75)},
}


def function(name: str) -> Callable[..., Tensor]:
    found = OPTIONS.get(name) or getattr(segmentation, name, None) or getattr(tracking, name)
    assert callable(found)
    return found


def test_every_row_has_a_reference_and_a_known_value() -> None:
    assert ROWS.keys() <= set(NAMES)
    assert ROWS.keys() <= {name for case in CASES for name in case["expected"]} | {"vi_split_bits"}


def test_evaluating_with_another_value_for_zero_division() -> None:
    tables = ContingencyTables.from_documents({"a": [{1}], "b": [{1}], "c": [], "d": []}, {"b": [{2}], "c": [{3}]})
    for zero_division in (None, 0.0, 1.0):
        scores = tce.evaluate_tables(tables, list(ROWS), zero_division=zero_division, chunk_size=1)
        for name, value in values(tables, zero_division).items():
            if name in ROWS:
                torch.testing.assert_close(scores[name], value, equal_nan=True)
    pixels = ([0, 0, 1], [0, 2, 0])
    options: dict[str, Any] = {"absent_true": 0, "absent_pred": 0, "zero_division": 0.25}
    expected = {"adapted_rand_error": 0.25, "vi_split_bits": 0.25, "panoptic_quality": 0.0, "seg": 0.0}
    streamed = tce.evaluate_stream([pixels], list(expected), **options)
    for scores in (tce.evaluate(*pixels, list(expected), **options), streamed):
        assert scores.to_dict() == expected
    with pytest.raises(ValueError, match="zero_division: expected a number"):
        tce.evaluate(*pixels, "seg", zero_division=2.0)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_known_values(case: dict[str, Any], layout: str) -> None:
    tables = ContingencyTables.from_labels(case["true"], case["pred"], layout=layout, **case["options"])
    for name, exact in case["expected"].items():
        assert function(name)(tables).item() == pytest.approx(float(Fraction(exact)), rel=1e-14), name


NAMES = tuple(reference([{0}], [{0}], None))


def values(tables: ContingencyTables, zero_division: float | None = None) -> dict[str, Tensor]:
    return {name: function(name)(tables, zero_division=zero_division) for name in NAMES}


@pytest.mark.parametrize("zero_division", [None, 0.0, 1.0])
@pytest.mark.parametrize("layout", ["dense", "sparse"])
@settings(max_examples=30, deadline=None)
@given(batch=st.lists(sides_of_groups(8, 5), min_size=1, max_size=3))
def test_slow_reference(layout: str, zero_division: float | None, batch: list[tuple[Objects, Objects]]) -> None:
    sides = [dict(enumerate(pair[side] for pair in batch)) for side in (0, 1)]
    tables = ContingencyTables.from_documents(*sides, layout=layout)
    expected = [reference(*pair, zero_division) for pair in batch]
    found = values(tables, zero_division)
    for name, value in found.items():
        for i, wanted in enumerate(expected):
            assert value[i].item() == pytest.approx(float(wanted[name]), rel=1e-12, abs=1e-14, nan_ok=True), name
    turned = values(tables.mT, zero_division)
    for name, row in ROWS.items():
        if row.swapped is not None:
            torch.testing.assert_close(turned[row.swapped], found[name], rtol=1e-13, atol=1e-14, equal_nan=True)
    torch.testing.assert_close(found["idf1"], coreference.ceaf_m_f(tables, zero_division), equal_nan=True)
    for i in range(len(batch)):
        alone = values(tables[i], zero_division)
        for name, value in alone.items():
            torch.testing.assert_close(value, found[name][i], rtol=1e-13, atol=1e-14, equal_nan=True)


def test_zero_division_is_the_value_without_items() -> None:
    nothing = ContingencyTables.from_groups([], [])
    taking = [name for name, row in tce.MEASURES.items() if row.zero_division]
    for value in (0.0, 0.25, math.nan, None):
        scores = tce.evaluate_tables(nothing, taking, zero_division=value)
        expected = math.nan if value is None else value
        assert {x: scores[x].item() for x in taking} == pytest.approx(dict.fromkeys(taking, expected), nan_ok=True)


def test_shares_of_items_combine() -> None:
    """As means weighted by what they divide by, also of items that only one side groups."""
    first, second = (ContingencyTables.from_groups(*sides) for sides in ((A, B), (C, D)))
    joint = ContingencyTables.from_groups(A + C, B + D)
    by = dict.fromkeys(("idp", "ceaf_m_precision", "diarization_purity"), "whole_cluster_sizes")
    by |= dict.fromkeys(("idr", "ceaf_m_recall", "diarization_coverage", "diarization_error_rate"), "whole_class_sizes")
    for name, sizes in {**by, "association_accuracy": "class_sizes"}.items():
        assert tce.MEASURES[name].combines == "mean"
        a, b = (getattr(tables, sizes).sum() for tables in (first, second))
        measure = tce.MEASURES[name]
        torch.testing.assert_close(measure(joint), (a * measure(first) + b * measure(second)) / (a + b), msg=name)


def test_matched_speakers_do_not_depend_on_their_names() -> None:
    counts = torch.tensor([[2, 2, 1], [2, 2, 1], [0, 3, 3]])
    for name in ("jaccard_error_rate", "jaccard_error_rate_pyannote"):
        values = {
            round(function(name)(ContingencyTables(counts[list(rows)][:, list(columns)])).item(), 14)
            for rows in permutations(range(3))
            for columns in permutations(range(3))
        }
        assert len(values) == 1, name


@settings(deadline=None)
@given(sides_of_groups(8, 5))
def test_without_items_of_one_side(image: tuple[Objects, Objects]) -> None:
    """Tables without margins are scored as if nothing were absent."""
    common = set().union(*image[0]) & set().union(*image[1])
    true, pred = ([group & common for group in side] for side in image)
    tables = ContingencyTables.from_groups(true, pred)
    plain = values(ContingencyTables(tables.to_dense().counts))
    for name, value in values(tables).items():
        assert torch.equal(value.nan_to_num(-1), plain[name].nan_to_num(-1)), name
    same = {
        "foreground_ari": "adjusted_rand",
        "idf1": "one_to_one_accuracy",
        "diarization_error_rate": "classification_error",
        "vi_split_bits": "class_entropy",
        "vi_merge_bits": "conditional_entropy",
    }
    for name, other in same.items():
        scale = math.log(2) if name.startswith("vi_") else 1.0
        value = tce.MEASURES[other](tables) / scale
        torch.testing.assert_close(plain[name], value, rtol=1e-13, atol=1e-15, equal_nan=True)


LABELS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30)
BACKGROUND: list[dict[str, Any]] = [{}, {"absent_true": 0}, {"absent_pred": 0}, {"absent_true": 0, "absent_pred": 0}]


@pytest.mark.parametrize("options", BACKGROUND, ids=str)
@settings(max_examples=40, deadline=None)
@given(pixels=LABELS, more=st.integers(0, 5))
def test_background(options: dict[str, Any], pixels: list[tuple[int, int]], more: int) -> None:
    """On either side, both or none; pixels of background on both sides change nothing."""
    true, pred = map(list, zip(*pixels, strict=True))
    objects = [
        [{i for i, x in enumerate(side) if x == label} for label in range(4) if label != absent]
        for side, absent in ((true, options.get("absent_true")), (pred, options.get("absent_pred")))
    ]
    found = values(ContingencyTables.from_labels(true, pred, **options))
    for name, wanted in reference(objects[0], objects[1], None).items():
        assert found[name].item() == pytest.approx(float(wanted), rel=1e-12, abs=1e-14, nan_ok=True), name
    if len(options) == 2:
        padded = ContingencyTables.from_labels([0] * more + true, [0] * more + pred, **options)
        assert all(torch.equal(x.nan_to_num(-1), found[name].nan_to_num(-1)) for name, x in values(padded).items())


def test_per_object() -> None:
    """By hand: the objects 1 and 2 of the first known image, with the share of each in VI split and merge."""
    case = CASES[0]
    tables = ContingencyTables.from_labels(case["true"], case["pred"], absent_true=0, absent_pred=0)
    for layout in (tables, tables.to_sparse()):
        found = tce.per_object(layout)
        assert found["size"].tolist() == [5, 7]
        assert found["best_match"].tolist() == [1, 2]
        assert found["missed"].tolist() == [0, 0]
        assert found["iou"].tolist() == [4 / 6, 4 / 8]
        split = [(4 * math.log2(5 / 4) + math.log2(5)) / 12, (4 * math.log2(7 / 4) + 3 * math.log2(7 / 3)) / 12]
        assert found["vi_bits"].tolist() == pytest.approx(split, rel=1e-14)
        assert found["vi_bits"].sum().item() == pytest.approx(segmentation.vi_split(layout).item(), rel=1e-14)
        other = tce.per_object(layout.mT)
        assert other["size"].tolist() == [5, 5, 3]
        assert other["missed"].tolist() == [1 / 5, 0, 0]
        assert other["vi_bits"].sum().item() == pytest.approx(segmentation.vi_merge(layout).item(), rel=1e-14)


def test_objects_without_overlap() -> None:
    tables = ContingencyTables.from_groups({"a": {1, 2}, "b": {3}, "c": set()}, {"x": {2, 3, 4}, "y": {9}})
    found = tce.per_object(tables)
    assert found.to_dict()["best_match"] == ["x", "x", None]
    assert found["iou"].tolist()[:2] == [1 / 4, 1 / 3]
    assert found["iou"][2].isnan()
    assert tce.per_object(tables.mT).to_dict()["best_match"] == ["b", None]


def test_resampling_refuses_what_it_does_not_draw() -> None:
    tables = ContingencyTables.from_groups([{1, 2}, {3}], [{1}, {2, 3, 4}])
    for statistic in (tce.bootstrap, tce.permutation_test):
        with pytest.raises(ValueError, match=r"measures: expected applicable measures; got 'seg'"):
            statistic(tables, ["seg", "rand"])
    assert tce.bootstrap(tables.without_margins(), "seg", n_resamples=5)["seg"].estimate.item() == 1 / 4


def test_pooled_over_images() -> None:
    """Sums over the images, then the value; means of the images are others."""
    generator = torch.Generator().manual_seed(4)
    images = torch.randint(0, 4, (2, 6, 8, 9), generator=generator)
    images[0, 0], images[1, 1] = 0, 0  # without objects of one side
    tables = ContingencyTables.from_labels(*images, item_dims=2, absent_true=0, absent_pred=0)
    found = tce.pooled(tables, ["segmentation", "tracking"])
    assert set(found) == set(ROWS)
    side_by_side = images + 10 * torch.arange(6)[:, None, None] * (images > 0)
    whole = ContingencyTables.from_labels(*side_by_side.flatten(1), absent_true=0, absent_pred=0)
    apart = {"foreground_ari", "symmetric_best_dice", "vi_split_bits", "vi_merge_bits"}
    for name in set(ROWS) - apart:  # images share no objects, so all of them are one large image
        torch.testing.assert_close(found[name], ROWS[name](whole), rtol=1e-12, atol=1e-14, msg=name)
    items, bits = tables._n_items_f64, {name: ROWS[name](tables).nan_to_num(0) for name in apart}
    for name in ("vi_split_bits", "vi_merge_bits"):
        torch.testing.assert_close(found[name], (bits[name] * items).sum() / items.sum(), rtol=1e-12, atol=0)
    zeros = tce.pooled(tables[:0], ["seg", "jaccard_error_rate"], zero_division=0.0)
    assert zeros.to_dict() == {"seg": 0.0, "jaccard_error_rate": 0.0}
    same = ContingencyTables.from_labels(images[0], images[0], item_dims=2, absent_true=0, absent_pred=0)
    assert {n: x.item() for n, x in tce.pooled(same, list(ROWS)).items()} == {n: r.perfect for n, r in ROWS.items()}


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_masses_on_a_threshold(layout: str) -> None:
    """Rounding of masses does not move an IoU of exactly 1/2, or half of an object, over the threshold."""
    counts = torch.tensor([[1.0, 0.0], [1.0, 2.0]], dtype=torch.float64)  # 1/2 and 2/3
    names = ["object_ap_0.5", "object_f_0.5", "panoptic_quality", "recognition_quality", "seg"]
    expected = {"object_ap_0.5": 1.0, "object_f_0.5": 1.0, "panoptic_quality": 1 / 3, "recognition_quality": 0.5}
    for factor in (1.0, 1.0000000000000002, 0.1, 1 / 3, 7.3, 1e-7, 123456.789):
        tables = ContingencyTables(counts * factor)
        scores = tce.evaluate_tables(tables if layout == "dense" else tables.to_sparse(), names)
        for name, value in expected.items():
            assert scores[name].item() == pytest.approx(value, rel=1e-9), (name, factor)
        assert scores["seg"].item() == pytest.approx((1 / 2 + 2 / 3) / 2, rel=1e-9)


def slow_panoptic(true: list[Any], pred: list[Any], void: Any) -> tuple[float, int, int]:
    """Kirillov et al.: sums of IoU, true objects, and predicted ones less those that are void; background is 0."""
    sizes_true = Counter(t for t in true if t not in (0, void))
    sizes_pred = Counter(p for t, p in zip(true, pred, strict=True) if p != 0 and t != void)
    of_void = Counter(p for t, p in zip(true, pred, strict=True) if p != 0 and t == void)
    both = Counter((t, p) for t, p in zip(true, pred, strict=True) if t not in (0, void) and p != 0)
    total, matched = 0.0, set()
    for (t, p), n in both.items():
        iou = n / (sizes_true[t] + sizes_pred[p] - n)
        if iou > 0.5:
            total += iou
            matched.add(p)
    left_out = [p for p in sizes_pred if p not in matched and of_void[p] > sizes_pred[p]]
    return total, len(sizes_true), len(sizes_pred) - len(left_out)


NO_OBJECT: dict[str, Any] = {"absent_true": 0, "absent_pred": 0, "ignore_index": 255}


def void_images(seed: int, n_images: int) -> tuple[np.ndarray, np.ndarray]:
    """Predicted objects are the true ones, moved, with some over the void alone or for the most part."""
    rng = np.random.default_rng(seed)
    true = np.repeat(rng.choice([0, 1, 2, 3, 255, 255], (n_images, 12)), 5, 1)
    pred = np.where(true == 255, rng.choice([4, 5, 6, 0], (n_images, 1)), true)
    return true, np.where(rng.random(pred.shape) < 0.35, np.roll(pred, 3, 1), pred)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"layout": "sparse"},
        {"num_classes": 4, "num_clusters": 7},
        {"num_classes": 4, "num_clusters": 7, "validate": False},
        {"num_classes": 300},
        {"weights": True},
        {"mask": True},
        {"item_dims": 2},
    ],
    ids=str,
)
def test_objects_in_the_void(options: dict[str, Any]) -> None:
    true, pred = void_images(1, 40)
    sums = [slow_panoptic(t.tolist(), p.tolist(), 255) for t, p in zip(true, pred, strict=True)]
    assert sum(n for *_, n in sums) < sum(len(set(p) - {0}) for p in pred) - 5
    expected = [2 * total / (n_true + n_pred) for total, n_true, n_pred in sums]
    asked: dict[str, Any] = dict(options)
    if "weights" in options:
        asked["weights"] = np.full(true.shape, 2.0)
    if "mask" in options:
        asked["mask"] = np.pad(np.ones_like(true, bool), ((0, 0), (0, 9)))
        true, pred = (np.pad(x, ((0, 0), (0, 9)), constant_values=3) for x in (true, pred))
    if "item_dims" in options:
        true, pred = (x.reshape(-1, 6, 10) for x in (true, pred))
    tables = ContingencyTables.from_labels(true, pred, **NO_OBJECT, **asked)
    assert segmentation.panoptic_quality(tables).tolist() == pytest.approx(expected, abs=1e-12)
    if options.keys() <= {"num_classes", "num_clusters", "validate"}:
        chunks = [(true[:, :25], pred[:, :25]), (true[:, 25:], pred[:, 25:])]
        stream = tce.evaluate_stream(chunks, ["panoptic_quality"], **NO_OBJECT, **options)
        assert stream["panoptic_quality"].tolist() == pytest.approx(expected, abs=1e-12)
    pooled = 2 * sum(x for x, *_ in sums) / sum(a + b for _, a, b in sums)
    assert tce.pooled(tables, ["panoptic_quality"])["panoptic_quality"].item() == pytest.approx(pooled, abs=1e-12)
    matched = tce.match(tables).tables
    assert segmentation.panoptic_quality(matched).tolist() == pytest.approx(expected, abs=1e-12)
    assert segmentation.panoptic_quality(tables[3:5].to("cpu")).tolist() == pytest.approx(expected[3:5], abs=1e-12)
    # no other number knows the void
    kept = (true != 255) & asked.get("mask", np.ones_like(true, bool))
    plain = ContingencyTables.from_labels(true, pred, **{**NO_OBJECT, **asked, "ignore_index": None, "mask": kept})
    one, other = (x.to_dense() for x in (tables, plain))
    assert one.n_items.tolist() == other.n_items.tolist()
    assert one.unmatched_by_cluster.sum(-1).tolist() == other.unmatched_by_cluster.sum(-1).tolist()
    for name in ("foreground_ari", "object_f_0.5", "aggregated_jaccard", "mutual_information"):
        values = [tce.evaluate_tables(x, [name])[name].tolist() for x in (tables, plain)]
        assert values[0] == pytest.approx(values[1], abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ("n_images", "options"),
    [(30, {}), (3000, {}), (30, {"num_classes": 4}), (3000, {"num_classes": 4}), (300, {"num_clusters": 2100})],
)
def test_objects_in_the_void_by_image(n_images: int, options: dict[str, Any]) -> None:
    """Objects with numbers of their own in each image: many images are packed."""
    true, pred = void_images(2, n_images)
    expected = []
    for t, p in zip(true, pred, strict=True):
        total, n_true, n_pred = slow_panoptic(t.tolist(), p.tolist(), 255)
        expected.append(2 * total / (n_true + n_pred) if n_true + n_pred else math.nan)
    number = np.arange(n_images)[:, None]
    own_true = true if options else np.where((true == 0) | (true == 255), true, true + 256 * (number + 1))
    own_pred = np.where(pred == 0, 0, pred + 7 * number)
    by = np.broadcast_to(number, true.shape)
    tables = ContingencyTables.from_labels(own_true.ravel(), own_pred.ravel(), by=by.ravel(), **NO_OBJECT, **options)
    assert segmentation.panoptic_quality(tables).tolist() == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_one_object_in_the_void() -> None:
    """A matched one counts; half void is not most; text, and labels that the void alone lacks or has."""
    true, pred = [1, 1, 1, 1, 255, 255, 255, 0], [7, 7, 7, 7, 8, 8, 8, 8]
    for names in (lambda x: x, lambda x: list(map(str, x))):
        options: dict[str, Any] = {name: names([label])[0] for name, label in NO_OBJECT.items()}
        tables = ContingencyTables.from_labels(names(true), names(pred), **options)
        assert tables.clusters.tolist() == names([7, 8])
        assert [getattr(segmentation, f"{x}_quality")(tables).item() for x in ("panoptic", "recognition")] == [1, 1]
        half = ContingencyTables.from_labels(names([1] * 4 + [255, 0]), names([7] * 4 + [8, 8]), **options)
        assert segmentation.panoptic_quality(half).item() == pytest.approx(2 / 3)
    for lacking in ("absent_true", "absent_pred"):  # one of them will do
        own = {name: x for name, x in NO_OBJECT.items() if name != lacking}
        expected = slow_panoptic([9 if x == 0 and lacking == "absent_true" else x for x in true], pred, 255)
        value = tce.evaluate(true, pred, ["panoptic_quality"], **own)["panoptic_quality"].item()
        assert value == pytest.approx(2 * expected[0] / sum(expected[1:]))
        twice = tce.evaluate([*true[:7]] * 2, [*pred[:7]] * 2, ["panoptic_quality"], by=[0] * 7 + [1] * 7, **own)
        assert twice["panoptic_quality"].tolist() == [1, 1]  # where no item is without an object
    gaps = ContingencyTables.from_labels(true, [*pred[:4], None, math.nan, 8, 8], **NO_OBJECT)
    assert segmentation.panoptic_quality(gaps).item() == pytest.approx(2 / 3)
    only = ContingencyTables.from_labels([255, 255], [7, 8], **NO_OBJECT)
    assert math.isnan(segmentation.panoptic_quality(only).item())
