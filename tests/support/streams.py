"""Labels that come in chunks, of every kind, and tables by the labels of their cells."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval import ContingencyTables

Kind = Callable[[Tensor], Any]

KINDS: dict[str, Kind] = {
    "small": lambda x: x,
    "int32": lambda x: x.int(),
    "uint8": lambda x: x.to(torch.uint8),
    "huge and negative": lambda x: (x - 3) * 3_000_000_000_000_000_001,
    "uint64": lambda x: torch.from_numpy(x.numpy().astype(np.uint64) + np.uint64(2**63 - 2)),
    "text": lambda x: np.array([f"group {i}" for i in "zyxwvuts"], dtype=object)[x.numpy()],
    "lists": lambda x: x.tolist(),
}


def batch(n: int = 600, size: int = 3, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Classes ``(n,)`` and clusters ``(size, n)``; late chunks have labels that early ones lack."""
    generator = torch.Generator().manual_seed(seed)
    late = torch.arange(n) * 4 // n
    true = torch.randint(5, (n,), generator=generator)
    return true.minimum(late + 1), torch.randint(8, (size, n), generator=generator).minimum(2 * late + 1)


def cells_by_label(tables: ContingencyTables) -> dict[tuple[Any, ...], float]:
    """Count of each non-empty cell by table number and labels."""

    def name(names: Any, table: int, place: int) -> Any:
        if names is None:
            return place
        row = names.reshape(-1, names.shape[-1])[table if names.ndim > 1 else 0]
        return row[place] if isinstance(names, np.ndarray) else row[place].item()

    found = zip(*(x.tolist() for x in tables.cells()), strict=True)
    return {(b, name(tables.classes, b, i), name(tables.clusters, b, j)): count for b, i, j, count in found}


def margins_by_label(tables: ContingencyTables) -> list[dict[tuple[int, Any], float]]:
    """Items that one side alone groups, by table number and label of their class, of their cluster, and void ones."""
    found, void = [], tables._void_by_cluster
    sides = [(tables.classes, tables.unmatched_by_class), (tables.clusters, tables.unmatched_by_cluster)]
    sides += [] if void is None else [(tables.clusters, void)]
    for labels, sizes in sides:
        rows = sizes.reshape(-1, sizes.shape[-1]).tolist()
        named = [list(range(sizes.shape[-1]))] if labels is None else labels.reshape(-1, labels.shape[-1]).tolist()
        items = ((b, i, size) for b, row in enumerate(rows) for i, size in enumerate(row) if size)
        found.append({(b, named[b if len(named) > 1 else 0][i]): size for b, i, size in items})
    return found
