"""Random document sets: a generator of term frequencies with classes, and tf-idf vectors.

The points that the description of the experiment leaves open, and that come nearer to its results, are fields of
:class:`DocumentModel`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from torchclusteval.common.checks import check_choice

__all__ = ["DocumentModel", "Documents", "generate_documents", "tfidf"]


@dataclass(frozen=True)
class DocumentModel:
    """How the frequencies of terms in documents are drawn.

    A term is general, or specific to one or more classes. Its mean frequency is drawn once, the frequency in
    a document from a normal distribution about it, and a random error is added. The defaults read the text of
    Kishida (2014) to the letter.
    """

    n_specific: int = 140
    n_general: int = 60
    membership: float = 0.1
    """Probability that a specific term belongs to a class; a term without one gets one class at random."""
    floor_first: bool = True
    """Whether frequencies are rounded down before the error is added."""
    clip_first: bool = True
    """Whether negative frequencies become 0 before the error is added."""
    error: Literal["added", "squared"] = "added"
    """Whether the error itself is added, or its square."""
    floor_last: bool = True
    """Whether frequencies are rounded down after the error is added; negative ones always become 0 there."""

    def __post_init__(self) -> None:
        check_choice(self.error, "error", ("added", "squared"))


class Documents(NamedTuple):
    """Document sets with their classes."""

    frequencies: Tensor  # (sets, N, M) float32, not negative; specific terms first
    labels: Tensor  # (sets, N) int64, class of each document


def generate_documents(
    model: DocumentModel,
    class_sizes: Sequence[int],
    error_mean: float,
    n_sets: int,
    *,
    generator: torch.Generator,
) -> Documents:
    """Draw document sets on the generator's device.

    Numbers are drawn in float32: frequencies are small, and the normal draws are the most expensive step.

    Args:
        model: the distributions and the reading of the text.
        class_sizes: documents in each class, each at least 1.
        error_mean: mean of the error; its deviation is 1.
        n_sets: number of sets.
        generator: source of all random numbers.

    Returns:
        Frequencies ``(sets, N, M)`` and classes ``(sets, N)``.

    Source: Kishida (2014), section 4.1 and Figure 1.
    """
    device, n_classes = generator.device, len(class_sizes)
    labels = torch.arange(n_classes, device=device).repeat_interleave(torch.tensor(list(class_sizes), device=device))
    order = torch.rand(n_sets, len(labels), generator=generator, device=device).argsort(1)
    labels = labels.expand(n_sets, -1).gather(1, order)
    means, deviations = _draw_parameters(model, n_classes, n_sets, generator)
    rows = (labels + torch.arange(n_sets, device=device)[:, None] * n_classes).flatten()
    shape = (n_sets, labels.shape[1], model.n_specific + model.n_general)
    x = torch.randn(shape, generator=generator, device=device)
    x.mul_(deviations.flatten(0, 1).index_select(0, rows).view(shape))
    x.add_(means.flatten(0, 1).index_select(0, rows).view(shape))
    if model.floor_first:
        x.floor_()
    if model.clip_first:
        x.clamp_(min=0)
    error = torch.randn(shape, generator=generator, device=device).add_(error_mean)
    x.add_(error.square_() if model.error == "squared" else error)
    if model.floor_last:
        x.floor_()
    return Documents(x.clamp_(min=0), labels)


def tfidf(frequencies: Tensor) -> Tensor:
    """Weight frequencies by x ln(N / n_j) and scale every document to unit length.

    Args:
        frequencies: ``(*batch, N, M)`` floating point, not negative.

    Returns:
        ``(*batch, N, M)`` of the same dtype.

    Degenerate: a term in no document weighs 0; a document without weighted terms stays zero.
    """
    n_documents = frequencies.shape[-2]
    documents_with_term = frequencies.sign().sum(-2, keepdim=True)
    weights = (n_documents / documents_with_term.clamp(min=1)).log()
    vectors = frequencies * weights
    lengths = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors.div_(lengths.masked_fill(lengths == 0, 1))


def _draw_parameters(
    model: DocumentModel, n_classes: int, n_sets: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Means and deviations of every term in the documents of every class, each ``(sets, classes, M)``."""

    def normal(mean: float, deviation: float, terms: int) -> Tensor:
        draws = torch.randn(n_sets, 1, terms, generator=generator, device=generator.device)
        return draws.mul_(deviation).add_(mean)

    belongs = _draw_memberships(model, n_classes, n_sets, generator)
    inside, outside = normal(4.0, 3.0, model.n_specific), normal(0.5, 1.0, model.n_specific)
    general = normal(3.0, 3.0, model.n_general).expand(-1, n_classes, -1)
    means = torch.cat([torch.where(belongs, inside, outside), general], dim=-1)
    return means, torch.cat([torch.where(belongs, 5.0, 1.0), torch.full_like(general, 3.0)], dim=-1)


def _draw_memberships(model: DocumentModel, n_classes: int, n_sets: int, generator: torch.Generator) -> Tensor:
    """Whether each specific term belongs to each class, ``(sets, classes, specific)`` bool."""
    shape = (n_sets, n_classes, model.n_specific)
    belongs = torch.rand(shape, generator=generator, device=generator.device) < model.membership
    one = torch.randint(n_classes, (n_sets, 1, model.n_specific), generator=generator, device=generator.device)
    classes = torch.arange(n_classes, device=generator.device)[:, None]
    return torch.where(belongs.any(1, keepdim=True), belongs, classes == one)
