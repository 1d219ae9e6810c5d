"""Cells of sparse tables that are in a best one-to-one matching because they outweigh what they rule out.

A cell rules out one other cell of its row and one of its column. If the heaviest of these weigh no more together, a
matching without the cell gets no worse by taking it. Where two sides agree on most groups, little is left to be solved.
"""

from typing import Any

import numpy as np
import torch

Array = np.ndarray[Any, Any]

_MAX_ROUNDS, _FEW_TAKEN = 8, 50  # rounds go on as long as more than one of so many cells is taken
_MAX_CELLS_OF_ROW = 4  # on average, of the tables that are looked at: in others few cells outweigh the others


def outweighing_cells(table: Array, row: Array, column: Array, weight: Array) -> tuple[Array, Array]:
    """Cells of a best matching of each table, and cells that are to be matched besides, both ``(Z,)`` bool.

    Tables of many cells in a row are left as they are.
    """
    row_code, table_of_row = _codes(table, row)
    n_tables = int(table.max(initial=-1)) + 1
    n_rows = np.bincount(table_of_row[np.bincount(row_code, minlength=len(table_of_row)) > 0], minlength=n_tables)
    few = (np.bincount(table, minlength=n_tables) <= _MAX_CELLS_OF_ROW * n_rows)[table]
    if few.all():
        column_code, table_of_column = _codes(table, column)
        taken, rest = take_outweighing(row_code, column_code, weight, len(table_of_row), len(table_of_column))
        left = np.zeros(len(row), bool)
        left[rest] = True
        return taken, left
    chosen, left = np.zeros(len(row), bool), ~few
    if few.any():
        chosen[few], left[few] = outweighing_cells(table[few], row[few], column[few], weight[few])
    return chosen, left


def take_outweighing(row: Array, column: Array, weight: Array, n: int, m: int) -> tuple[Array, Array]:
    """Cells of a best matching, ``(Z,)`` bool, and the numbers of the cells left, which share no group with them.

    Args:
        row: ``(Z,)`` int64, below ``n``.
        column: ``(Z,)`` int64, below ``m``.
        weight: ``(Z,)`` int64 or float64, not negative; a cell occurs once.
    """
    chosen, rest = np.zeros(len(row), bool), np.arange(len(row))
    for _ in range(_MAX_ROUNDS):
        sides, worth = ((row[rest], n), (column[rest], m)), weight[rest]
        heaviest = np.flatnonzero((worth == _largest_at(*sides[0], worth)) & (worth == _largest_at(*sides[1], worth)))
        for group, size in sides:  # the first one of each row and column
            first = np.empty(size, np.int64)
            first[group[heaviest[::-1]]] = heaviest[::-1]
            heaviest = heaviest[first[group[heaviest]] == heaviest]
        others = worth.copy()
        others[heaviest] = 0
        ruled_out = _largest_at(*sides[0], others) + _largest_at(*sides[1], others)
        taken = heaviest[worth[heaviest] >= ruled_out[heaviest]]
        chosen[rest[taken]] = True
        free = np.ones(len(rest), bool)
        for group, size in sides:
            used = np.zeros(size, bool)
            used[group[taken]] = True
            free &= ~used[group]
        rest = rest[free]
        if len(taken) * _FEW_TAKEN <= len(rest):
            break
    return chosen, rest


def _codes(table: Array, group: Array) -> tuple[Array, Array]:
    """``(Z,)`` code of the group of each cell, other ones in other tables, and the table of each code."""
    width = int(group.max(initial=0)) + 1
    keys, bound = table * width + group, (int(table.max(initial=-1)) + 1) * width
    if bound <= 4 * len(keys) + 1024:
        return keys, np.arange(bound) // width
    distinct, codes = np.unique(keys, return_inverse=True)
    return codes, distinct // width


def _largest_at(group: Array, size: int, values: Array) -> Array:
    """For each value the largest of its group."""
    places, weights = torch.from_numpy(group), torch.from_numpy(values)
    largest = torch.zeros(size, dtype=weights.dtype).scatter_reduce_(0, places, weights, "amax")
    found: Array = largest[places].numpy()
    return found
