"""Functions of other libraries on 200 random covers, each against the measure that has its values here."""

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import linear_sum_assignment

import torchclusteval as tce
from tests.support.peers import cover_pairs, ours_on_covers

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the libraries
Cover = list[list[int]]


def groups_of(cover: Cover) -> list[list[int]]:
    """Items by group, groups by number, items ascending."""
    by_group: dict[int, list[int]] = {}
    for item, groups in enumerate(cover):
        for group in groups:
            by_group.setdefault(group, []).append(item)
    return [by_group[group] for group in sorted(by_group)]


def check(
    theirs: Callable[[Cover, Cover], float], name: str, expected: Any = None, tolerance: float = 1e-9, step: int = 1
) -> None:
    """Equal to a measure here, or to ``expected``, which explains the difference, and different from the measure."""
    differ = False
    for sides, own in list(zip(cover_pairs(), ours_on_covers(name), strict=True))[::step]:
        found = theirs(*sides)
        wanted = own if expected is None else expected(own, *sides)
        assert found == pytest.approx(wanted, abs=tolerance), (name, sides)
        differ = differ or not math.isclose(found, own, abs_tol=tolerance)
    assert differ == (expected is not None)


def entropy_in_bits(numbers: Counter[Any]) -> float:
    n = sum(numbers.values())
    return -math.fsum(x / n * math.log2(x / n) for x in numbers.values())


def quality_with_a_plus(own: float, true: Cover, pred: Cover) -> float:
    """Joint entropy added, not subtracted, in bits."""
    joint = Counter((len(a), len(b)) for a, b in zip(true, pred, strict=True))
    return entropy_in_bits(Counter(map(len, true))) + entropy_in_bits(Counter(map(len, pred))) + entropy_in_bits(joint)


def closeness_of_single_sizes(own: float, true: Cover, pred: Cover) -> float:
    """Each size once, weighed by the size."""
    sizes = [{len(group) for group in groups_of(side)} for side in (true, pred)]
    return sum(min(x / sum(sizes[0]), x / sum(sizes[1])) for x in sizes[0] & sizes[1]) / 2


def full_groups_lost(own: float, true: Cover, pred: Cover) -> float:
    """Groups of all items on both sides do not tell of each other: the 0/0 is 1, here 0."""
    groups = [groups_of(side) for side in (true, pred)]
    full = [sum(len(group) == len(true) for group in side) / len(side) for side in groups]
    return own - sum(full) / 2 if all(full) else own


def nf1_of(true: Cover, pred: Cover, *, as_cdlib: bool) -> tuple[float, float]:
    """Mean F of the matches and NF1 of the clusters ``true`` against the classes ``pred``, in CDlib's order.

    As CDlib has it, an item counts in the first of its clusters only, each F is rounded to two decimals, all classes
    that share most items are matches, and clusters without one are left out; else as here.
    """
    clusters, classes = groups_of(true), groups_of(pred)
    seen: set[int] = set()
    values, matches = [], np.zeros((len(clusters), len(classes)))
    for i, cluster in enumerate(clusters):
        counted = [item for item in cluster if item not in seen] if as_cdlib else cluster
        seen.update(counted if as_cdlib else [])
        common = [len(set(counted) & set(group)) for group in classes]
        f = [2 * n / (len(cluster) + len(group)) for n, group in zip(common, classes, strict=True)]
        best = [j for j, n in enumerate(common) if n == max(common) > 0]
        if not as_cdlib:
            best = [j for j in best if f[j] == max(f[k] for k in best)]
            values.append(f[best[0]] if best else 0.0)
        else:
            shares = [(common[j] / len(cluster), common[j] / len(classes[j])) for j in best]
            values.extend(float(f"{2 * (x * y) / (x + y):.2f}") for x, y in shares)  # rounded as written there
        matches[i, best] = 1
    covered = (matches.sum(0) > 0).sum() if as_cdlib else matches[linear_sum_assignment(matches, maximize=True)].sum()
    mean = float(np.mean(values))
    return mean, mean * covered / len(classes) * covered / len(clusters)


@pytest.fixture
def lists_of_sparse_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    """clusim 0.4 needs a SciPy whose sparse matrices over a dense row sum were dense."""
    monkeypatch.setattr(scipy.sparse.csr_matrix, "tolist", lambda self: self.toarray().tolist(), raising=False)


@pytest.mark.usefixtures("lists_of_sparse_matrices")
def test_functions_of_clusim() -> None:
    """Its overlapping NMI is left out: it takes 1 - P11 for P00 in the formula of 2009, CDlib does not."""
    pytest.importorskip("clusim", reason="the peers extra is not installed")
    from clusim import sim
    from clusim.clustering import Clustering

    def of(function: Any) -> Callable[[Cover, Cover], float]:
        return lambda *sides: float(function(*(Clustering(elm2clu_dict=dict(enumerate(side))) for side in sides)))

    check(of(sim.omega_index), "omega_index", tolerance=1e-12)
    check(of(sim.element_sim), "overlap_element_centric", tolerance=1e-7)  # PageRank by iteration
    check(of(sim.geometric_accuracy), "geometric_accuracy")
    check(of(sim.overlap_quality), "overlap_quality", quality_with_a_plus)


@pytest.mark.usefixtures("lists_of_sparse_matrices")
def test_element_centric_similarity_of_each_item_of_clusim() -> None:
    pytest.importorskip("clusim", reason="the peers extra is not installed")
    from clusim.clustering import Clustering
    from clusim.sim import element_sim_elscore

    import torchclusteval as tce

    for sides in cover_pairs()[::10]:
        scores, places = element_sim_elscore(*(Clustering(elm2clu_dict=dict(enumerate(side))) for side in sides))
        true, pred = map(tce.Memberships.from_lists, sides)
        own = tce.overlap.overlap_element_centric_per_item(true, pred)
        np.testing.assert_allclose([scores[places[i]] for i in range(len(sides[0]))], own.numpy(), rtol=0, atol=1e-6)


@pytest.mark.usefixtures("lists_of_sparse_matrices")
def test_functions_of_cdlib() -> None:
    cdlib = pytest.importorskip("cdlib", reason="the peers extra is not installed")
    import networkx as nx
    from cdlib import evaluation

    def of(function: Any) -> Callable[[Cover, Cover], float]:
        def call(*sides: Cover) -> float:
            graph = nx.empty_graph(len(sides[0]))
            communities = [cdlib.NodeClustering(groups_of(side), graph, "", overlap=True) for side in sides]
            return float(function(*communities).score)

        return call

    def by_size(cover: Cover) -> Cover:
        """Numbered as CDlib orders communities, the largest first."""
        order = sorted(groups_of(cover), key=len, reverse=True)
        return [[k for k, group in enumerate(order) if item in group] for item in range(len(cover))]

    check(of(evaluation.omega), "omega_index", tolerance=1e-12)
    lfk, mgh = (getattr(evaluation, f"overlapping_normalized_mutual_information_{name}") for name in ("LFK", "MGH"))
    check(of(lfk), "overlapping_nmi_lfk", full_groups_lost, tolerance=1e-12)
    check(of(mgh), "overlapping_nmi_max", tolerance=1e-12)
    check(of(evaluation.ecs), "overlap_element_centric", tolerance=1e-7)
    check(of(evaluation.geometric_accuracy), "geometric_accuracy")
    check(of(evaluation.overlap_quality), "overlap_quality", quality_with_a_plus)
    check(of(evaluation.partition_closeness_simple), "partition_closeness_simple", closeness_of_single_sizes)
    # its first argument is the clusters
    swapped = [(b, a) for a, b in cover_pairs()]
    for (true, pred), own in zip(swapped, ours_on_covers("nf1"), strict=True):
        mean, value = nf1_of(by_size(true), by_size(pred), as_cdlib=True)
        assert of(evaluation.f1)(true, pred) == pytest.approx(mean, abs=1e-9)
        assert of(evaluation.nf1)(true, pred) == pytest.approx(value, abs=1e-9)
        assert nf1_of(true, pred, as_cdlib=False)[1] == pytest.approx(own, abs=1e-12)


def test_python_bcubed() -> None:
    bcubed = pytest.importorskip("bcubed", reason="the peers extra is not installed")

    def sets(side: Cover) -> dict[int, set[int]]:
        return dict(enumerate(map(set, side)))

    check(lambda true, pred: bcubed.precision(sets(pred), sets(true)), "extended_bcubed_precision", tolerance=1e-12)
    check(lambda true, pred: bcubed.recall(sets(pred), sets(true)), "extended_bcubed_recall", tolerance=1e-12)


def test_identity_of_tracks_of_motmetrics() -> None:
    """Frames with one object and one hypothesis each."""
    motmetrics = pytest.importorskip("motmetrics", reason="the peers extra is not installed")
    from tests.support.peers import label_pairs, ours

    names = ("idp", "idr", "idf1")
    own = [ours(name) for name in names]
    for number in itertools.islice((k for k in range(200) if len(label_pairs()[k][0]) <= 30), 0, 150, 10):
        accumulator = motmetrics.MOTAccumulator(auto_id=True)
        for true, pred in zip(*label_pairs()[number], strict=True):
            accumulator.update([int(true)], [int(pred)], [[0.0]])
        found = motmetrics.metrics.create().compute(accumulator, metrics=list(names)).iloc[0]
        assert [found[name] for name in names] == pytest.approx([values[number] for values in own], abs=1e-12)


def test_turns_of_pyannote() -> None:
    diarization = pytest.importorskip("pyannote.metrics.diarization", reason="the peers extra is not installed")
    from pyannote.core import Annotation, Segment

    random = np.random.default_rng(3)
    for _ in range(20):
        sides = []
        for speakers in random.integers(1, 5, 2):
            bounds = random.uniform(1, 9, 16).cumsum().tolist()
            turns = [(a, b, int(random.integers(speakers))) for a, b in itertools.pairwise(bounds)]
            sides.append(turns[:: random.integers(1, 3)])
        annotations = []
        for turns in sides:
            annotations.append(Annotation())
            for number, (start, end, speaker) in enumerate(turns):
                annotations[-1][Segment(start, end), number] = f"speaker {speaker}"
        tables = tce.ContingencyTables.from_intervals(*sides)
        for kind in ("ErrorRate", "Purity", "Coverage", "Homogeneity", "Completeness"):
            (own,) = tce.evaluate_tables(tables, f"pyannote:Diarization{kind}").values()
            theirs = getattr(diarization, f"Diarization{kind}")()(*annotations)
            assert own.item() == pytest.approx(theirs, abs=1e-9), kind
        (own,) = tce.evaluate_tables(tables, "pyannote:JaccardErrorRate").values()
        assert own.item() == pytest.approx(diarization.JaccardErrorRate()(*annotations), abs=1e-9)
