"""Random document sets: a generator of term frequencies with classes, and tf-idf vectors.

Every point that the description of the experiment leaves open is a field of :class:`DocumentModel`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from torchclusteval.common.formatting import brief

__all__ = ["DocumentModel", "Documents", "generate_documents", "tfidf"]

Order = Literal["random", "by_class"]
Means = Literal["term", "term_and_class"]
Spread = Literal["deviation", "variance"]
ErrorForm = Literal["added", "squared"]


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
    order: Order = "random"
    """Sequence of the documents: a random permutation, or class after class. The first ones seed k-means."""
    means: Means = "term"
    """Whether the means of a specific term are drawn once, or anew for every class."""
    spread: Spread = "deviation"
    """Whether the second parameter of the paper's normal distributions is a deviation or a variance."""
    floor_first: bool = True
    """Whether frequencies are rounded down before the error is added."""
    clip_first: bool = True
    """Whether negative frequencies become 0 before the error is added."""
    error: ErrorForm = "added"
    """Whether the error itself is added, or its square."""
    floor_last: bool = True
    """Whether frequencies are rounded down after the error is added; negative ones always become 0 there."""

    def __post_init__(self) -> None:
        for name, kind in (("order", Order), ("means", Means), ("spread", Spread), ("error", ErrorForm)):
            value, allowed = getattr(self, name), get_args(kind)
            if value not in allowed:
                raise ValueError(f"{name}: expected one of {allowed}; got {brief(value)}")
        if self.n_specific < 1 or self.n_general < 0:
            raise ValueError(
                f"n_specific, n_general: expected at least 1 and 0; got {self.n_specific}, {self.n_general}"
            )
        if not 0 <= self.membership <= 1:
            raise ValueError(f"membership: expected a probability; got {self.membership}")


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
    labels = _draw_labels(model, class_sizes, n_sets, generator)
    means, deviations = _draw_parameters(model, len(class_sizes), n_sets, generator)
    n_terms = model.n_specific + model.n_general
    rows = (labels + torch.arange(n_sets, device=labels.device)[:, None] * len(class_sizes)).flatten()
    shape = (n_sets, labels.shape[1], n_terms)
    x = torch.randn(shape, generator=generator, device=labels.device)
    x.mul_(deviations.flatten(0, 1).index_select(0, rows).view(shape))
    x.add_(means.flatten(0, 1).index_select(0, rows).view(shape))
    if model.floor_first:
        x.floor_()
    if model.clip_first:
        x.clamp_(min=0)
    error = torch.randn(shape, generator=generator, device=labels.device).add_(error_mean)
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


def _draw_labels(model: DocumentModel, class_sizes: Sequence[int], n_sets: int, generator: torch.Generator) -> Tensor:
    device = generator.device
    sizes = torch.tensor(list(class_sizes), device=device)
    labels = torch.arange(len(class_sizes), device=device).repeat_interleave(sizes).expand(n_sets, -1)
    if model.order == "by_class":
        return labels.contiguous()
    return labels.gather(1, torch.rand(labels.shape, generator=generator, device=device).argsort(1))


def _draw_parameters(
    model: DocumentModel, n_classes: int, n_sets: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Means and deviations of every term in the documents of every class, each ``(sets, classes, M)``."""

    def second(value: float) -> float:
        return value if model.spread == "deviation" else math.sqrt(value)

    def normal(mean: float, spread: float, *shape: int) -> Tensor:
        draws = torch.randn(shape, generator=generator, device=generator.device)
        return draws.mul_(second(spread)).add_(mean)

    draws = n_classes if model.means == "term_and_class" else 1
    belongs = _draw_memberships(model, n_classes, n_sets, generator)
    inside = normal(4.0, 3.0, n_sets, draws, model.n_specific)
    outside = normal(0.5, 1.0, n_sets, draws, model.n_specific)
    general = normal(3.0, 3.0, n_sets, 1, model.n_general).expand(-1, n_classes, -1)
    means = torch.cat([torch.where(belongs, inside, outside), general], dim=-1)
    specific = torch.where(belongs, second(5.0), second(1.0))
    return means, torch.cat([specific, torch.full_like(general, second(3.0))], dim=-1)


def _draw_memberships(model: DocumentModel, n_classes: int, n_sets: int, generator: torch.Generator) -> Tensor:
    """Whether each specific term belongs to each class, ``(sets, classes, specific)`` bool."""
    shape = (n_sets, n_classes, model.n_specific)
    belongs = torch.rand(shape, generator=generator, device=generator.device) < model.membership
    one = torch.randint(n_classes, (n_sets, 1, model.n_specific), generator=generator, device=generator.device)
    classes = torch.arange(n_classes, device=generator.device)[:, None]
    return torch.where(belongs.any(1, keepdim=True), belongs, classes == one)
