"""Entropies and information, in nats per item, for the measures built on them.

Sums run term by term over cells: differences of whole entropies would cancel near independence. Each quantity is kept
on its tables.
"""

import math

import torch
from torch import Tensor

from torchclusteval.cells.sums import CANCELLED, Independence, launched, unwrapped
from torchclusteval.common.checks import check_choice, check_number
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import (
    at_least,
    larger,
    log_binomial,
    log_factorial,
    log_or_zero,
    of_whole_numbers,
    smaller,
    sqrt_or_zero,
    sum_reproducible,
)
from torchclusteval.measures.expected_mutual_info import expected_mutual_information
from torchclusteval.measures.expected_on_device import expected_on_device
from torchclusteval.measures.sums import OneTable, whole
from torchclusteval.tables import ContingencyTables

MANY = 1 << 15  # items


def in_base(nats: Tensor, base: float) -> Tensor:
    check_number(base, "base", 1, exclusive=True)
    return nats if base == math.e else nats / math.log(base)


@launched
def of_classes(tables: ContingencyTables) -> Tensor:
    """H(C)."""
    return tables._divide_by_items(sum_reproducible(tables._class_sizes_f64 * tables._class_surprisal))


@launched
def of_clusters(tables: ContingencyTables) -> Tensor:
    """H(K)."""
    return tables._divide_by_items(sum_reproducible(tables._cluster_sizes_f64 * tables._cluster_surprisal))


@launched
def classes_given_clusters(tables: ContingencyTables) -> Tensor:
    """H(C|K)."""
    return tables._item_mean(lambda cell: cell.n * cell.surprisal_given_cluster)


@launched
def clusters_given_classes(tables: ContingencyTables) -> Tensor:
    """H(K|C)."""
    return tables._item_mean(lambda cell: cell.n * cell.surprisal_given_class)


@launched
def shared(tables: ContingencyTables) -> Tensor:
    """I, the mutual information."""
    on_host = tables._most_items is not None
    if tables.is_integer and not on_host:
        return _by_differences(tables)
    nats = tables._class_surprisal
    mean = tables._item_mean(lambda cell: cell.n * (cell.at_classes(nats) - cell.surprisal_given_cluster))
    if on_host:
        if mean.min().item() >= CANCELLED:
            return mean
        mean = torch.where(mean < CANCELLED, _by_differences(tables), mean)
    return at_least(mean, 0)  # rounding noise only


def _by_differences(tables: ContingencyTables) -> Tensor:
    """I of whole items: ``sum n log(1 + t) - E t`` over N, with ``E = r c / N`` and ``t = (n - E) / E``.

    No term is below 0. An empty cell adds E; sparse tables add what their cells have above their E.
    """
    of = Independence(tables.n_items, tables.class_sizes, tables.cluster_sizes, tables._squares_fit)
    total = tables.sum(of.divergence)
    if tables.layout == "sparse":
        total = total + unwrapped(tables.sum(of.wrapped), tables.sum(of.excess)) / tables._n_items_f64
    return tables._divide_by_items(total)


@cached_on_tables
def expected(tables: ContingencyTables) -> Tensor:
    """E[I], the mean of I over all permutations of one side."""
    if isinstance(tables, OneTable):
        return tables.number(expected)
    if whole(tables).device.type == "cpu" and not torch.compiler.is_compiling():
        return expected_mutual_information(tables.class_sizes, tables.cluster_sizes)
    sizes = tables.class_sizes, tables.cluster_sizes
    return expected_on_device(*(x.reshape(-1, x.shape[-1]) for x in sizes)).reshape(tables.batch_shape)


@launched
def is_fixed(tables: ContingencyTables) -> Tensor:
    """Whether permutations change nothing: one of the sides is one group, or all single items."""
    one_group = (tables.n_classes <= 1) | (tables.n_clusters <= 1)
    return one_group | (tables.n_classes == tables.n_items) | (tables.n_clusters == tables.n_items)


@cached_on_tables
def above_chance(tables: ContingencyTables) -> Tensor:
    """I - E[I]."""
    return shared(tables) - expected(tables)


@launched
def joint(tables: ContingencyTables) -> Tensor:
    """H(C, K)."""
    return of_classes(tables) + clusters_given_classes(tables)


@launched
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
    return log_or_zero(larger(tables.n_classes, tables.n_clusters))


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


@cached_on_tables
def mean_entropy(tables: ContingencyTables) -> Tensor:
    """(H(C) + H(K)) / 2."""
    return (of_classes(tables) + of_clusters(tables)) / 2


def average_entropy(tables: ContingencyTables, average: str, allowed: tuple[str, ...]) -> Tensor:
    """An average of H(C) and H(K) as :func:`average_of`, or ``"joint"``, H(C, K)."""
    check_choice(average, "average", allowed)
    if average == "joint":
        return joint(tables)
    if average == "arithmetic":
        return mean_entropy(tables)
    return average_of(of_classes(tables), of_clusters(tables), average)


def histogram_code(sizes: Tensor, tables: ContingencyTables) -> Tensor:
    """Nats per item to say how many of each group's items fall in each of q classes."""
    others = (tables.n_classes - 1).clamp(min=0).unsqueeze(-1)
    most = tables._most_items
    if most is None or most > MANY:  # where logarithms of factorials cancel
        ways = log_binomial(sizes.double(), others.double())
    else:
        whole, *parts = (of_whole_numbers(log_factorial, x, 2 * MANY) for x in (sizes + others, others, sizes))
        ways = whole - parts[0] - parts[1]
    return tables._divide_by_items(sum_reproducible(ways))


@cached_on_tables
def code_length(tables: ContingencyTables) -> Tensor:
    """Nats per item for its class, given the clusters and each cluster's counts of the classes."""
    return classes_given_clusters(tables) + histogram_code(tables.cluster_sizes, tables)
