"""The document generator against exact expectations, and tf-idf against a loop."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import norm

from torchclusteval.studies.kishida.simulation import DocumentModel, generate_documents, tfidf

BALANCED = (10,) * 10
BIASED = (50, 20, 5, 5, 5, 3, 3, 3, 3, 3)
UNROUNDED: dict[str, Any] = {"rounded": False}


def draw(model=None, sizes=BALANCED, error=0.0, n_sets=8, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return generate_documents(model or DocumentModel(), sizes, error, n_sets, generator=generator)


@pytest.mark.parametrize("sizes", [BALANCED, BIASED])
def test_classes_have_their_sizes(sizes):
    frequencies, classes = draw(sizes=sizes)
    assert frequencies.shape == (8, 100, 200)
    assert all(torch.bincount(labels).tolist() == list(sizes) for labels in classes)
    assert len({tuple(labels.tolist()) for labels in classes}) == 8


def floored_mean(location, scale, low):
    """E[max(floor(x), low)] for a normal x: low plus the probabilities of x reaching each whole number above."""
    steps = np.arange(low + 1, low + 200)
    return low + norm.sf(steps, location, scale).sum()


def text_mean(mean, scale, error):
    """Mean frequency when both roundings are done, summed over the first whole frequency."""
    first = np.arange(0, 200)
    below = np.concatenate([[0.0], norm.cdf(first[1:], mean, scale)])
    probabilities = np.diff(np.concatenate([below, [1.0]]))
    return sum(p * floored_mean(k + error, 1.0, 0) for k, p in zip(first, probabilities, strict=True))


def unclipped_mean(mean, scale, error):
    """E[max(x + e, 0)], both normal."""
    location, spread = mean + error, math.hypot(scale, 1.0)
    return location * norm.cdf(location / spread) + spread * norm.pdf(location / spread)


@pytest.mark.parametrize("membership", [0.0, 0.1])
@pytest.mark.parametrize(("reading", "mean_of"), [({}, text_mean), (UNROUNDED, unclipped_mean)])
def test_mean_frequencies_are_the_exact_ones(membership, reading, mean_of):
    """General and specific terms within four standard errors of the expectation over all draws.

    A term's frequencies share its mean, so the standard error comes from averages per term.
    """
    error = 1.0
    both = [math.hypot(a, b) for a, b in ((3, 3), (3, 5), (1, 1))]
    belongs = membership + (1 - membership) ** 10 / 10
    specific = belongs * mean_of(4.0, both[1], error) + (1 - belongs) * mean_of(0.5, both[2], error)
    general = mean_of(3.0, both[0], error)

    model = DocumentModel(membership=membership, **reading)
    terms = draw(model, error=error, n_sets=100, seed=3)[0].double().mean(1)
    for values, expected in ((terms[:, :140], specific), (terms[:, 140:], general)):
        assert abs(values.mean().item() - expected) < 4 * values.std().item() / math.sqrt(values.numel())


def test_squared_error_adds_its_second_moment():
    """E[x + e^2] = E[x] + 1 + error^2 where nothing is rounded or cut."""
    quiet = dict(UNROUNDED, n_specific=1, n_general=400)
    plain = draw(DocumentModel(**quiet), n_sets=40)[0]
    raised = draw(DocumentModel(**quiet, squared_error=True), error=3.0, n_sets=40)[0]
    far = plain.mean(1, keepdim=True).expand_as(plain) > 9  # terms whose frequencies stay clear of the cut
    gap = (raised - plain)[far].double()
    # The error itself has mean 0 in the plain draw.
    assert abs(gap.mean().item() - 10) < 4 * gap.std().item() / math.sqrt(len(gap))


def test_tfidf_is_the_formula():
    frequencies = draw(n_sets=2)[0].double()
    frequencies[0, :, 7] = 0  # a term in no document
    frequencies[1, 3] = 0  # a document without terms
    weighted = tfidf(frequencies)
    for x, found in zip(frequencies.tolist(), weighted.tolist(), strict=True):
        n_j = [sum(document[j] > 0 for document in x) for j in range(200)]
        for document, vector in zip(x, found, strict=True):
            plain = [f * math.log(100 / n) if n else 0.0 for f, n in zip(document, n_j, strict=True)]
            length = math.sqrt(math.fsum(w * w for w in plain)) or 1.0
            assert vector == pytest.approx([w / length for w in plain], abs=1e-14)
