"""Corrections for chance under other random models than permutations, and the modified adjusted Rand index.

Gates and Ahn (2017) draw random partitions from all partitions of the items (``"all"``), or from those with the same
number of groups (``"num"``). Two-sided: both sides are random; one-sided: the classes stay as they are.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import check_bools, check_choice
from torchclusteval.common.lazy import cached_on_tables
from torchclusteval.common.numerics import float64, log_or_zero, safe_divide
from torchclusteval.measures import information
from torchclusteval.measures.expected_mutual_info import pair_information
from torchclusteval.measures.pairs import pair_sums
from torchclusteval.measures.random_partitions import MAX_KEPT, Array, group_sizes, joined_share
from torchclusteval.measures.record import SIGNED, TO_ONE, measure
from torchclusteval.measures.sums import OneTable, ratio, whole
from torchclusteval.tables import ContingencyTables

__all__ = ["adjusted_rand_of_model", "ami_of_model", "mari", "mari_raw"]

MODELS = ("num", "all")
AVERAGES = ("min", "geometric", "arithmetic", "max")

of_model = partial(measure, range=TO_ONE, source="gates2017", integer_only=True, on_host=True)


@cached_on_tables
def _numbers(tables: ContingencyTables) -> tuple[list[Any], ...]:
    """Items, classes and clusters of each table of the flattened batch, and None for any number of groups."""
    each = tables.n_items, tables.n_classes, tables.n_clusters
    numbers = [[x] if isinstance(tables, OneTable) else x.flatten().tolist() for x in each]
    return *numbers, [None] * len(numbers[0])


def _by_table(tables: ContingencyTables, value: Callable[..., float], *groups: list[Any]) -> Tensor:
    """A number for each table, ``(*batch,)``, from its items and numbers of groups; 0 for less than two items.

    Each distinct combination is worked out once.
    """
    keys = list(zip(_numbers(tables)[0], *groups, strict=True))
    known = {key: value(*key) if key[0] > 1 else 0.0 for key in dict.fromkeys(keys)}
    return _tensor([known[key] for key in keys], tables)


def _tensor(values: Any, tables: ContingencyTables) -> Tensor:
    """Float64 ``(*batch,)`` on the device of the tables."""
    if isinstance(tables, OneTable):
        return values[0]
    return torch.from_numpy(np.asarray(values, np.float64).reshape(tables.batch_shape)).to(tables.device)


@cached_on_tables
def _shares_of_pairs(tables: ContingencyTables) -> tuple[Tensor, Tensor]:
    """Of all pairs, those that the classes join, and those that one side alone joins."""
    pairs = pair_sums(tables)
    return safe_divide(pairs.wanted, pairs.every), safe_divide(pairs.different, pairs.every)


@of_model(
    "pairs",
    perfect=1.0,
    linear_in="pairs",
    variants={
        "adjusted_rand_num": {"model": "num", "symmetric": True},
        "adjusted_rand_num_one_sided": {"model": "num", "one_sided": True},
        "adjusted_rand_all": {"model": "all", "symmetric": True},
        "adjusted_rand_all_one_sided": {"model": "all", "one_sided": True},
    },
)
def adjusted_rand_of_model(tables: ContingencyTables, model: str = "num", one_sided: bool = False) -> Tensor:
    """Rand index corrected for chance under a random model, ``(RI - E) / (1 - E)``.

    ``E = p q + (1 - p)(1 - q)`` with the probabilities ``p`` and ``q`` that random clusters and random classes join a
    pair: ``S(N - 1, k) / S(N, k)`` for k groups (Stirling numbers of the second kind), ``B(N - 1) / B(N)`` for any
    (Bell numbers). ``adjusted_rand`` is the index of the third model, permutations.

    Args:
        model: ``"num"``: all partitions with the same number of groups are equally likely; ``"all"``: all partitions.
        one_sided: whether the classes stay as they are; ``q`` is then their share of joined pairs.

    Range: up to 1, higher is better; 0 is the mean over the random partitions.
    Degenerate: 1 for identical partitions; nan without items.
    Example: 0.3326
    """
    whole(tables)
    check_choice(model, "model", MODELS)
    check_bools(one_sided=one_sided)
    _, *groups, free = _numbers(tables)
    classes, clusters = groups if model == "num" else (free, free)
    p = _by_table(tables, joined_share, clusters)
    q = _shares_of_pairs(tables)[0] if one_sided else _by_table(tables, joined_share, classes)
    expected_difference = p * (1 - q) + q * (1 - p)
    return ratio(expected_difference - _shares_of_pairs(tables)[1], expected_difference, tables)


@lru_cache(MAX_KEPT)
def _information_of_groups(n: int, classes: int | None, clusters: int | None) -> float:
    """Mean information of random partitions of ``n`` items into so many groups; None: any number."""
    size, number = group_sizes(n, classes)
    if classes != clusters:
        return float((number * _information_of_sizes(n, tuple(size.tolist()), clusters)).sum())
    i, j = np.triu_indices(len(size))
    shares = pair_information(torch.from_numpy(size[i]), torch.from_numpy(size[j]), torch.tensor([n])).numpy()
    return float((shares * number[i] * number[j] * np.where(i == j, 1, 2)).sum())


@lru_cache(MAX_KEPT)
def _information_of_sizes(n: int, class_sizes: tuple[float, ...], clusters: int | None) -> Array:
    """What a class of each of these sizes adds to the mean information with random clusters."""
    size, number = group_sizes(n, clusters)
    classes = torch.tensor(class_sizes, dtype=torch.float64)[:, None]
    shares = pair_information(classes, torch.from_numpy(size), torch.tensor([n])).numpy()
    return np.asarray((shares * number).sum(1))


def _information_of_classes(tables: ContingencyTables, groups: list[Any]) -> Tensor:
    """Mean information of the classes as they are with random clusters, ``(*batch,)``."""
    items = _numbers(tables)[0]
    sizes = tables.class_sizes.reshape(len(items), tables.class_sizes.shape[-1]).cpu().numpy()
    rows: dict[tuple[int, int | None], list[int]] = {}
    for row, key in enumerate(zip(items, groups, strict=True)):
        rows.setdefault(key, []).append(row)
    mean = np.zeros(len(items))
    for (n, k), chosen in rows.items():
        if n > 1:
            own = sizes if len(chosen) == len(sizes) else sizes[chosen]
            distinct = sorted(set(own.ravel().tolist()))
            share = _information_of_sizes(n, tuple(distinct), k)
            mean[chosen] = share[np.searchsorted(distinct, own)].sum(1)
    return _tensor(mean, tables)


@of_model(
    "entropy",
    linear_in="information",
    variants={
        "ami_num": {"model": "num", "symmetric": True},
        "ami_num_one_sided": {"model": "num", "one_sided": True},
        "ami_all": {"model": "all", "symmetric": True},
        "ami_all_one_sided": {"model": "all", "one_sided": True},
    },
)
def ami_of_model(
    tables: ContingencyTables, model: str = "num", one_sided: bool = False, average: str = "arithmetic"
) -> Tensor:
    """Mutual information corrected for chance under a random model, ``(I - E[I]) / (d - E[I])``.

    ``d`` is the largest entropy that the model allows: an average of log R and log C, or log N. ``ami`` is the index
    of the third model, permutations.

    Args:
        model: ``"num"``: all partitions with the same number of groups are equally likely; ``"all"``: all partitions.
        one_sided: whether the classes stay as they are.
        average: ``"min"``, ``"geometric"``, ``"arithmetic"`` or ``"max"`` of log R and log C.

    Range: up to 1, higher is better; 0 is the mean over the random partitions. The true partition itself has the
        largest value of all with as many groups, which is below 1 where its groups differ in size.
    Degenerate: 0/0 (one group or all single items on both sides) is 1 for identical partitions, else 0; nan without
        items.
    Example: 0.3391
    """
    whole(tables)
    check_choice(model, "model", MODELS)
    check_bools(one_sided=one_sided)
    check_choice(average, "average", AVERAGES)
    of_groups = model == "num"
    bound = information.log_items(tables)
    undefined = bound == 0
    if of_groups:
        bound = information.average_of(log_or_zero(tables.n_classes), log_or_zero(tables.n_clusters), average)
        undefined = (bound == 0) | ((tables.n_classes == tables.n_items) & (tables.n_clusters == tables.n_items))
    _, *numbers, free = _numbers(tables)
    one, other = numbers if of_groups else (free, free)
    if one_sided:
        expected = _information_of_classes(tables, other)
    else:
        expected = _by_table(tables, _information_of_groups, one, other)
    return ratio(
        information.shared(tables) - expected,
        bound - expected,
        tables,
        undefined=undefined,
        identical=None,
        otherwise=float64(tables.identical),
        maximum=1.0,
    )


@cached_on_tables
def _modified_numerator(tables: ContingencyTables) -> Tensor:
    """Eight times the pairs joined by both sides, less their estimated mean, times the pairs of N - 2 items.

    The leading terms are those of the adjusted Rand index, which do not cancel.
    """
    pairs = pair_sums(tables)
    return 8 * pairs.determinant - 16 * pairs.ss * (tables._n_items_f64 - 2) + _shared_items(tables)


@cached_on_tables
def _shared_items(tables: ContingencyTables) -> Tensor:
    """Eight times the number of pairs of pairs (one of a class, one of a cluster) with one common item."""
    pairs = pair_sums(tables)
    squares = 2 * (pairs.ss + pairs.wanted + pairs.joined) + tables._n_items_f64  # of cells and sizes, less 2 N
    return 8 * (tables.sum(lambda cell: cell.n * (cell.r * cell.c)) - squares)


@measure("pairs", range=TO_ONE, perfect=1.0, symmetric=True, source="sundqvist2023", integer_only=True)
def mari(tables: ContingencyTables) -> Tensor:
    """Modified adjusted Rand index, ``(S - E M) / ((A + B) / 2 - E M)`` with the letters of ``mari_raw``.

    Range: up to 1, higher is better; negative for less agreement than of items drawn at random.
    Degenerate: 1 for identical partitions; else 0 for less than four items and where the denominator is 0 (two pairs
        against two other pairs of the same four items); nan without items.
    Example: 0.2857
    """
    whole(tables)
    n = tables._n_items_f64
    pairs = pair_sums(tables)
    largest = pairs.joined * pairs.unwanted + pairs.wanted * pairs.separated
    either = pairs.joined + pairs.wanted
    denominator = 4 * (largest - either * (2 * n - 3)) + 8 * pairs.ss + _shared_items(tables)
    undefined = (n < 4) | (denominator == 0)
    return ratio(_modified_numerator(tables), denominator, tables, undefined=undefined, maximum=1.0)


@measure("pairs", range=SIGNED, symmetric=True, source="sundqvist2023", chance_corrected=True, integer_only=True)
def mari_raw(tables: ContingencyTables) -> Tensor:
    """Share of the pairs joined by both sides less its mean for items drawn at random (multinomial), ``S / M - E``.

        E = (A B - S - 2 N - sum_ij n_ij r_i c_j + sum_ij n_ij^2 + sum_i r_i^2 + sum_j c_j^2) / (6 binom(N, 4))

    ``S``, ``A`` and ``B`` are the pairs joined by both sides, by the truth and by the prediction, of ``M`` in all. The
    unbiased estimate ``E`` is a share of the pairs of pairs without a common item: of those where the truth joins one
    and the prediction the other.

    Range: -1 to 1, higher is better; 0 is the mean over all permutations of one side, too.
    Degenerate: 0 for less than four items; nan without items.
    Example: 0.0667
    """
    whole(tables)
    n = tables._n_items_f64
    ways = n * (n - 1) * ((n - 2) * (n - 3))
    return ratio(_modified_numerator(tables) / 2, ways, tables, undefined=n < 4, identical=None)
