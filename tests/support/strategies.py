"""Random inputs of the laws: a few small clusterings, as label lists and as tables."""

from collections import Counter

import torch
from hypothesis import strategies as st

from torchclusteval import ContingencyTables

LAYOUTS = ("dense", "sparse")

Groups = list[set[int]]
Pair = tuple[list[int], list[int]]  # (labels_true, labels_pred)


@st.composite
def label_pairs(draw: st.DrawFn, min_items: int = 1, max_items: int = 12) -> Pair:
    """Two clusterings of the same items; each may be one block, all singletons, or a copy of the other."""
    n = draw(st.integers(min_items, max_items))

    def side() -> list[int]:
        shape = draw(st.sampled_from(["few groups", "any", "any", "one block", "singletons"]))
        if shape == "one block":
            return [0] * n
        if shape == "singletons":
            return list(range(n))
        top = 2 if shape == "few groups" else max(n - 1, 0)
        return draw(st.lists(st.integers(0, top), min_size=n, max_size=n))

    true = side()
    return true, list(true) if draw(st.integers(0, 5)) == 0 else side()


def batches(min_items: int = 1, max_items: int = 12, max_size: int = 5) -> st.SearchStrategy[list[Pair]]:
    return st.lists(label_pairs(min_items, max_items), min_size=1, max_size=max_size)


# A cell is empty or at least 1: there the ranges are promised.
FLOAT_CELLS = st.one_of(st.just(0.0), st.floats(1, 50, width=32))


@st.composite
def float_counts(draw: st.DrawFn) -> torch.Tensor:
    size, rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    n = size * rows * columns
    cells = torch.tensor(draw(st.lists(FLOAT_CELLS, min_size=n, max_size=n)), dtype=torch.float64)
    return cells.view(size, rows, columns)


def random_counts(*shape: int, high: int = 6, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, high, shape, generator=torch.Generator().manual_seed(seed))


def counts_of(pair: Pair, n_rows: int, n_columns: int) -> list[list[int]]:
    cells = Counter(zip(*pair, strict=True))
    return [[cells[i, j] for j in range(n_columns)] for i in range(n_rows)]


def in_layout(counts: torch.Tensor, layout: str) -> ContingencyTables:
    tables = ContingencyTables(counts, validate=False)  # some look like counts with their totals
    return tables.to_sparse() if layout == "sparse" else tables


def stacked(batch: list[Pair], device: torch.device | None = None) -> torch.Tensor:
    """Counts, made without the package; all tables of a batch get the size of the largest."""
    n_rows, n_columns = (max(max(pair[side], default=0) for pair in batch) + 1 for side in (0, 1))
    counts = [counts_of(pair, n_rows, n_columns) for pair in batch]
    return torch.tensor(counts, dtype=torch.int64, device=device)


def disjoint(groups: Groups) -> Groups:
    """The groups without the items of those before."""
    seen: set[int] = set()
    left = []
    for group in groups:
        left.append(group - seen)
        seen |= group
    return left


@st.composite
def sides_of_groups(draw: st.DrawFn, items: int, most: int) -> tuple[Groups, Groups]:
    """True and predicted groups of up to ``most`` of so many items, each item in one group of a side or in none."""
    groups = st.lists(st.sets(st.integers(0, items - 1), max_size=most), max_size=4)
    true = disjoint(draw(groups))
    return true, [set(x) for x in true] if draw(st.integers(0, 4)) == 0 else disjoint(draw(groups))
