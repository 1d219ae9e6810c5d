"""Entropies and information, in nats for an item: what the measures built on them are made of.

Sums run term by term over cells: differences of whole entropies would cancel near independence. Each quantity is kept
on its tables.
"""

import math

import torch
from torch import Tensor

from torchclusteval.common.checks import check_choice, check_number
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import (
    at_least,
    larger,
    log_factorial,
    log_or_zero,
    smaller,
    sqrt_or_zero,
    sum_reproducible,
)
from torchclusteval.measures.expected_mutual_info import expected_mutual_information
from torchclusteval.measures.sums import whole
from torchclusteval.tables import ContingencyTables


def in_base(nats: Tensor, base: float) -> Tensor:
    check_number(base, "base", 1, exclusive=True)
    return nats if base == math.e else nats / math.log(base)


@cached_on_tables
def of_classes(tables: ContingencyTables) -> Tensor:
    """H(C)."""
    return tables._divide_by_items(sum_reproducible(tables._class_sizes_f64 * tables._class_surprisal))


@cached_on_tables
def of_clusters(tables: ContingencyTables) -> Tensor:
    """H(K)."""
    return tables._divide_by_items(sum_reproducible(tables._cluster_sizes_f64 * tables._cluster_surprisal))


@cached_on_tables
def classes_given_clusters(tables: ContingencyTables) -> Tensor:
    """H(C|K)."""
    return tables._item_mean(lambda cell: cell.n * cell.surprisal_given_cluster)


@cached_on_tables
def clusters_given_classes(tables: ContingencyTables) -> Tensor:
    """H(K|C)."""
    return tables._item_mean(lambda cell: cell.n * cell.surprisal_given_class)


@cached_on_tables
def shared(tables: ContingencyTables) -> Tensor:
    """I, the mutual information."""
    nats = tables._class_surprisal
    mean = tables._item_mean(lambda cell: cell.n * (cell.at_classes(nats) - cell.surprisal_given_cluster))
    return at_least(mean, 0)  # rounding noise only


@cached_on_tables
def expected(tables: ContingencyTables) -> Tensor:
    """E[I], the mean of I over all permutations of one side."""
    return expected_mutual_information(whole(tables).class_sizes, tables.cluster_sizes)


@cached_on_tables
def above_chance(tables: ContingencyTables) -> Tensor:
    """I - E[I]."""
    return shared(tables) - expected(tables)


@cached_on_tables
def joint(tables: ContingencyTables) -> Tensor:
    """H(C, K)."""
    return of_classes(tables) + clusters_given_classes(tables)


@cached_on_tables
def variation(tables: ContingencyTables) -> Tensor:
    """H(C|K) + H(K|C)."""
    return classes_given_clusters(tables) + clusters_given_classes(tables)


@cached_on_tables
def larger_remainder(tables: ContingencyTables) -> Tensor:
    """The larger one of H(C|K) and H(K|C)."""
    return larger(classes_given_clusters(tables), clusters_given_classes(tables))


@cached_on_tables
def log_items(tables: ContingencyTables) -> Tensor:
    return log_or_zero(tables._n_items_f64)


@cached_on_tables
def log_groups(tables: ContingencyTables) -> Tensor:
    """Logarithm of the larger one of the numbers of classes and of clusters."""
    return log_or_zero(torch.maximum(tables.n_classes, tables.n_clusters).double())


def average_of(classes: Tensor, clusters: Tensor, average: str) -> Tensor:
    """The ``"min"``, ``"geometric"``, ``"arithmetic"`` or ``"max"`` of both, or one: ``"classes"``, ``"clusters"``."""
    if average == "min":
        return smaller(classes, clusters)
    if average == "geometric":
        return sqrt_or_zero(classes * clusters)
    if average == "arithmetic":
        return (classes + clusters) / 2
    if average == "max":
        return larger(classes, clusters)
    return classes if average == "classes" else clusters


def average_entropy(tables: ContingencyTables, average: str, allowed: tuple[str, ...]) -> Tensor:
    """An average of H(C) and H(K) as :func:`average_of`, or ``"joint"``, H(C, K)."""
    check_choice(average, "average", allowed)
    if average == "joint":
        return joint(tables)
    return average_of(of_classes(tables), of_clusters(tables), average)


def histogram_code(sizes: Tensor, tables: ContingencyTables) -> Tensor:
    """Nats an item to say how many of each group's items fall in each of q classes."""
    others = (tables.n_classes - 1).clamp(min=0).unsqueeze(-1)
    most = None if tables._most_items is None else 2 * tables._most_items
    ways = log_factorial(sizes + others, most) - log_factorial(others, most) - log_factorial(sizes, most)
    return tables._divide_by_items(sum_reproducible(ways))


@cached_on_tables
def code_length(tables: ContingencyTables) -> Tensor:
    """Nats an item for its class, given the clusters and each cluster's counts of the classes."""
    return classes_given_clusters(tables) + histogram_code(tables.cluster_sizes, tables)
