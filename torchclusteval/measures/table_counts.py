"""How many tables of whole numbers have given sums of rows and columns: exact where it is cheap, else an estimate."""

import math
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from torchclusteval.common.numerics import log_binomial

Array = NDArray[np.float64]

MOST_STATES = 1 << 12  # cells of the array that counts exactly
MAX_KEPT = 1 << 12  # exact results kept between calls


def log_number_of_tables(rows: Array, columns: Array) -> Array:
    """Logarithm of the number of tables with these sums, ``(B,)`` of ``(B, R)`` and ``(B, C)``; zeros are padding.

    Exact where one side has at most `MOST_STATES` vectors of sums up to its own, ``prod(c_j + 1)``; else the estimate
    of Jerdee, Kirkley and Newman (2022), the mean of both ways to make it.
    """
    states = [np.log1p(sums).sum(-1) for sums in (rows, columns)]
    one_group = np.minimum((rows > 0).sum(-1), (columns > 0).sum(-1)) <= 1
    exact = (np.minimum(*states) <= math.log(MOST_STATES) + 1e-9) & ~one_group
    result = np.zeros(len(rows))
    far = ~exact & ~one_group
    if far.any():
        both = np.zeros((2, int(far.sum()), max(rows.shape[1], columns.shape[1])))
        both[0, :, : rows.shape[1]], both[1, :, : columns.shape[1]] = rows[far], columns[far]
        estimates = _estimate(*(x.reshape(-1, both.shape[2]) for x in (both, both[::-1])))
        result[far] = estimates.reshape(2, -1).mean(0)
    for table in exact.nonzero()[0].tolist():
        small, other = (rows, columns) if states[0][table] <= states[1][table] else (columns, rows)
        result[table] = _count(_sorted(other[table]), _sorted(small[table]))
    return result


def _sorted(sums: Array) -> tuple[int, ...]:
    return tuple(sorted(int(x) for x in sums.tolist() if x > 0))


@lru_cache(MAX_KEPT)
def _count(rows: tuple[int, ...], columns: tuple[int, ...]) -> float:
    """Row by row: in how many ways each vector of sums can be what is left for the other rows.

    A row takes a vector from what is left. What is left adds up to the other rows, so that all vectors of the right sum
    are what a row can leave.
    """
    shape = tuple(x + 1 for x in columns)
    total = np.indices(shape).sum(0)
    ways = np.zeros(shape)
    ways[tuple(columns)] = 1.0
    left = sum(columns)
    for row in rows:
        left -= row
        for axis in range(len(columns)):  # sums over all vectors that are at least as large
            ways = np.flip(np.flip(ways, axis).cumsum(axis), axis)
        ways = np.where(total == left, ways, 0.0)
    return math.log(ways.flat[0])


def _estimate(rows: Array, columns: Array) -> Array:
    """The rows as if each were spread over the columns by one symmetric Dirichlet-multinomial model."""
    from scipy.special import gammaln

    n, m, squares = rows.sum(-1), (rows > 0).sum(-1).astype(np.float64), (columns * columns).sum(-1)
    single = squares == n  # columns of one item: exact
    above = (columns * (n[:, None] - columns)).sum(-1) * (1 + 1 / m) / np.where(single, 1.0, squares - n)  # alpha - 1
    # log binom(x + a - 1, x) of rows with alpha, of columns with m, less that of n with m alpha
    x = np.concatenate([rows, columns, n[:, None]], 1)
    each = np.broadcast_to(above[:, None], rows.shape), np.broadcast_to(m[:, None] - 1, columns.shape)
    y = np.concatenate([*each, (m * above + m - 1)[:, None]], 1)
    ways = log_binomial(torch.from_numpy(x), torch.from_numpy(y)).numpy()
    value = np.where(single, gammaln(n + 1) - gammaln(rows + 1).sum(-1), ways[:, :-1].sum(-1) - ways[:, -1])
    return np.asarray(value)
