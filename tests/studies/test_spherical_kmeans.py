"""Batched spherical k-means against a plain loop with the formulas as Kishida (2014) prints them."""

import numpy as np
import pytest
import torch

from torchclusteval.studies.kishida import kmeans
from torchclusteval.studies.kishida.simulation import DocumentModel, generate_documents, tfidf

pytestmark = pytest.mark.slow


def spherical_kmeans(vectors, n_clusters, **options):
    """Of vectors of any length; those of zeros stay at length zero."""
    lengths = vectors.norm(dim=-1, keepdim=True)
    unit = vectors / lengths.masked_fill(lengths == 0, 1)
    return kmeans.spherical_kmeans((unit @ unit.mT).double(), n_clusters, **options)


def plain_kmeans(vectors, n_clusters, criterion, max_passes):
    """One set, one item at a time; cluster sums and J_k are summed anew from the members at every step."""
    v = [x / (np.linalg.norm(x) or 1.0) for x in vectors]
    own = [max(range(n_clusters), key=lambda k: (v[i] @ v[k], -k)) for i in range(len(v))]
    own[:n_clusters] = range(n_clusters)
    for number in range(1, max_passes + 1):
        moved = False
        for i in range(len(v)):
            if own.count(own[i]) == 1:
                continue
            sums = [sum(v[j] for j in range(len(v)) if own[j] == k) for k in range(n_clusters)]
            gain = [plain_gain(c, v[i], criterion) for c in sums]
            gain[own[i]] = -np.inf
            best = int(np.argmax(gain))
            if gain[best] > plain_loss(sums[own[i]], v[i], criterion) + 1e-9:
                own[i] = best
                moved = True
        if not moved:
            return own, number
    return own, max_passes


def plain_gain(c, v, criterion):
    if criterion == "cosine":
        return v @ c / np.linalg.norm(c)
    j, after = np.linalg.norm(c), np.linalg.norm(c + v)
    return (np.linalg.norm(c) / after - 1) * j + (2 * v @ c + 1) / after


def plain_loss(c, v, criterion):
    if criterion == "cosine":
        return v @ (c - v) / np.linalg.norm(c - v)
    j, after = np.linalg.norm(c), np.linalg.norm(c - v)
    return (1 - np.linalg.norm(c) / after) * j + (2 * v @ c - 1) / after


def documents(n_sets, sizes, seed, error=1.0):
    model = DocumentModel(n_specific=30, n_general=10)
    generator = torch.Generator().manual_seed(seed)
    return tfidf(generate_documents(model, sizes, error, n_sets, generator=generator)[0].double())


def directions(n_sets, n_items, n_dims, seed):
    return torch.randn(n_sets, n_items, n_dims, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("criterion", ["density", "cosine"])
@pytest.mark.parametrize("n_clusters", [1, 2, 4, 11])
@pytest.mark.parametrize("kind", ["documents", "directions"])
def test_clusters_are_those_of_the_plain_loop(criterion, n_clusters, kind):
    vectors = documents(12, (6, 6, 6, 6), seed=1) if kind == "documents" else directions(12, 24, 5, seed=2)
    found = spherical_kmeans(vectors, n_clusters, criterion=criterion, max_passes=20)
    for i, x in enumerate(vectors.numpy()):
        labels, passes = plain_kmeans(x, n_clusters, criterion, 20)
        assert found.labels[i].tolist() == labels
        assert found.passes[i] == passes


@pytest.mark.parametrize("max_passes", [20, 21])
def test_sets_that_go_to_and_fro_end_where_the_plain_loop_stops(max_passes):
    vectors = documents(200, (6, 6, 6, 6), seed=12)[[53, 121]]
    found = spherical_kmeans(vectors, 6, criterion="cosine", max_passes=max_passes)
    assert found.passes.tolist() == [max_passes] * 2
    assert not found.converged.any()
    for x, labels in zip(vectors.numpy(), found.labels, strict=True):
        assert labels.tolist() == plain_kmeans(x, 6, "cosine", max_passes)[0]


def test_no_single_move_improves_the_objective():
    vectors = directions(5, 30, 6, seed=4)
    found = spherical_kmeans(vectors, 5)
    assert found.converged.all()
    unit = vectors / vectors.norm(dim=-1, keepdim=True)

    def objective(set_number, labels):
        sums = torch.zeros(5, 6, dtype=torch.float64).index_add_(0, labels, unit[set_number])
        return sums.norm(dim=1).sum().item()

    for s, labels in enumerate(found.labels):
        best = objective(s, labels)
        for item in range(30):
            if (labels == labels[item]).sum() > 1:
                for k in range(5):
                    trial = labels.clone()
                    trial[item] = k
                    assert objective(s, trial) <= best + 2e-9


def test_lengths_do_not_matter_and_zero_vectors_are_allowed():
    vectors = directions(4, 20, 3, seed=6)
    scaled = vectors * torch.linspace(0.1, 50, 20, dtype=torch.float64)[:, None]
    assert torch.equal(spherical_kmeans(vectors, 4).labels, spherical_kmeans(scaled, 4).labels)

    vectors[:, [0, 9]] = 0  # a seed, and an item whose gain and loss are 0 everywhere
    for criterion in ("density", "cosine"):
        labels = spherical_kmeans(vectors, 4, criterion=criterion).labels
        assert all(len(row.unique()) == 4 for row in labels)


@pytest.mark.parametrize("criterion", ["density", "cosine"])
def test_a_cluster_whose_sum_is_zero(criterion):
    """Three directions 120 degrees apart start together; the best clusters are the upper two and the lower two."""
    upper, left, right = (0.0, 1.0), (-(3**0.5) / 2, -0.5), (3**0.5 / 2, -0.5)
    found = spherical_kmeans(torch.tensor([[upper, upper, left, right]], dtype=torch.float64), 2, criterion=criterion)
    assert found.labels.tolist() == [[1, 1, 0, 0]]
    assert found.converged
