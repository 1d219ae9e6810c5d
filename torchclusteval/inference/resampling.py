"""Replicates in blocks and pieces: the same numbers for every chunk size, in bounded memory.

Replicates come in blocks of 256, each with its own generator; a block draws the tables of the batch in pieces
whose size depends on the tables alone. A chunk of several blocks only decides how much is scored at a time.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from torchclusteval.cells.layouts import SparseCells
from torchclusteval.inference import sampling
from torchclusteval.measures.record import Measure
from torchclusteval.scoring.evaluation import evaluate_tables
from torchclusteval.tables import ContingencyTables

PIECE_CELLS = 1 << 20  # cells drawn at a time
_FEW_CELLS = 4096  # a table may always be drawn dense up to this many cells

Progress = Callable[[int, int], object]  # called with replicates done and in all
Draw = Callable[[slice, int, torch.Generator], Tensor]  # tables of the batch, replicates -> (replicates, tables, ...)
Values = dict[str, Tensor]


def replicated(
    draw: Draw,
    score: Callable[[Tensor, slice], Values],
    *,
    tables: int,
    cells: int,
    blocks: Sequence[tuple[torch.Generator, int]],
    chunk_size: int | None,
    progress: Progress | None,
    together: bool = False,
) -> Values:
    """Score every replicate of every table.

    Args:
        draw: draws replicates of some tables of the flattened batch.
        score: values ``(replicates, tables)`` by name of what was drawn.
        tables: size of the flattened batch.
        cells: numbers that one replicate of one table takes.
        blocks: generators and numbers of replicates.
        chunk_size: replicates scored at a time, in whole blocks; None: as many as fit.
        progress: called after each piece.
        together: draw once for the whole batch.

    Returns:
        Name -> ``(replicates, tables)`` float64.
    """
    check_progress(progress)
    run = max(1, tables if together else min(tables, PIECE_CELLS // (sampling.BLOCK * cells)))
    part = max(1, min(sampling.BLOCK, PIECE_CELLS // (run * cells)))
    step = max(1, (chunk_size or PIECE_CELLS // max(1, cells * tables)) // sampling.BLOCK)
    total = sum(size for _, size in blocks)
    found: dict[str, Tensor] = {}
    done = 0
    for first in range(0, len(blocks), step):
        chunk = blocks[first : first + step]
        for start in range(0, tables, run):
            at = slice(start, min(start + run, tables))
            for where, drawn in _pieces(draw, at, chunk, first, part):
                for name, value in score(drawn, at).items():
                    if name not in found:
                        found[name] = value.new_empty(total, tables)
                    found[name][where, at] = value
                done += drawn.shape[0] * (at.stop - at.start)
                if progress is not None:
                    progress(done // tables, total)
    return found


def _pieces(
    draw: Draw, at: slice, chunk: Sequence[tuple[torch.Generator, int]], first: int, part: int
) -> Iterator[tuple[slice, Tensor]]:
    """Where replicates go, and the replicates; whole blocks together where a block is one piece."""
    if part == sampling.BLOCK:
        drawn = torch.cat([draw(at, size, source) for source, size in chunk])
        start = first * sampling.BLOCK
        yield slice(start, start + len(drawn)), drawn
        return
    for number, (source, size) in enumerate(chunk, first):
        for offset in range(0, size, part):
            drawn = draw(at, min(part, size - offset), source)
            start = number * sampling.BLOCK + offset
            yield slice(start, start + len(drawn)), drawn


def values_of(tables: ContingencyTables, measures: Sequence[Measure]) -> Values:
    """Values of the measures on tables, ``(*batch,)``."""
    return {name: value.detach() for name, value in evaluate_tables(tables, list(measures)).items()}


def check_chunk(chunk_size: int | None) -> int | None:
    return None if chunk_size is None else sampling.check_count(chunk_size, "chunk_size")


def check_progress(progress: Progress | None) -> None:
    """Raise on what cannot be called."""
    if progress is not None and not callable(progress):
        raise ValueError(f"progress: expected a function of two numbers or None; got {progress!r}")


# --- the bootstrap: cells drawn again ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CellList:
    """The cells of a flattened batch of tables that resampling may fill: all of them, or the non-empty ones."""

    shape: tuple[int, int]
    counts: Tensor  # (B, Z) int64; zeros pad
    keys: Tensor | None  # (B, Z) int64 ascending, row * C + column, R * C for padding; None: Z numbers all cells

    @property
    def is_dense(self) -> bool:
        return self.keys is None

    def build(self, counts: Tensor, at: slice | Tensor) -> ContingencyTables:
        """Tables ``(*some, b)`` from counts ``(*some, b, Z)`` of some tables of the batch."""
        rows, columns = self.shape
        if self.keys is None:
            return ContingencyTables(counts.unflatten(-1, self.shape), validate=False)
        batch = counts.shape[:-1]
        number = torch.arange(batch.numel(), device=counts.device).reshape(*batch, 1).expand(counts.shape)
        filled = counts > 0
        keys = self.keys[at].expand(counts.shape)[filled]
        row = keys.div(columns, rounding_mode="floor")
        cells = SparseCells(batch, (rows, columns), number[filled], row, keys - row * columns, counts[filled])
        return ContingencyTables.wrap_cells(cells)

    def find(self, keys: Tensor) -> Tensor:
        """Where cells ``row * C + column``, ``(B, Y)``, are in the list."""
        return keys if self.keys is None else torch.searchsorted(self.keys, keys)


def cell_list(tables: ContingencyTables) -> CellList:
    """All cells where the tables are small or well filled, else the non-empty ones."""
    shape = (tables.shape[-2], tables.shape[-1])
    size, cells = tables.batch_shape.numel(), shape[0] * shape[1]
    if cells > _FEW_CELLS:  # a look at how many are filled waits for the device
        batch, row, column, count = tables.cells()
        filled = torch.bincount(batch, minlength=size)
        if cells > 4 * (int(filled.max()) if size else 0):
            keys, counts = padded(batch, filled, (row * shape[1] + column, count), (cells, 0))
            return CellList(shape, counts, keys)
    return CellList(shape, tables.to_dense().counts.reshape(size, cells), None)


def padded(batch: Tensor, sizes: Tensor, lists: Sequence[Tensor], fillers: Sequence[int]) -> list[Tensor]:
    """Lists over the whole batch ``(Z,)``, sorted by ``batch``, as rows ``(B, longest)``."""
    longest = max(1, int(sizes.max())) if sizes.numel() else 1
    first = sizes.cumsum(0) - sizes
    place = batch * longest + torch.arange(len(batch), device=batch.device) - first[batch]
    rows = []
    for values, filler in zip(lists, fillers, strict=True):
        row = values.new_full((len(sizes) * longest,), filler).index_copy_(0, place, values)
        rows.append(row.reshape(len(sizes), longest))
    return rows


# --- the permutation model: margins held fixed ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Permuter:
    """Random tables with the margins of each table of a flattened batch, and how they are drawn."""

    method: str  # "margins": from the margins alone; "items": the labels of all items are permuted
    draw: Draw
    build: Callable[[Tensor, slice], ContingencyTables]
    cells: int  # numbers that one replicate of one table takes
    order: Tensor  # (B,) the table of the batch that each of these is


def permuter(tables: ContingencyTables) -> Permuter:
    """Draw from the margins where dense tables are no larger than a list of the items, else permute the items."""
    size = tables.batch_shape.numel()
    # Groups in descending order put padding last, tables in order of groups make it small within a piece.
    rows, columns = (
        x.reshape(size, x.shape[-1]).sort(descending=True).values for x in (tables.class_sizes, tables.cluster_sizes)
    )
    order = ((rows > 0).sum(-1) * (columns.shape[-1] + 1) + (columns > 0).sum(-1)).argsort(stable=True)
    groups = [_most_groups(x) for x in (rows, columns)]
    items = int(tables.n_items.max()) if size else 0
    if groups[0] * groups[1] > max(_FEW_CELLS, items):
        return _item_permuter(tables, items)
    rows, columns = rows[order], columns[order]

    def draw(at: slice, count: int, source: torch.Generator) -> Tensor:
        class_sizes, cluster_sizes = (x[at, : _most_groups(x[at])] for x in (rows, columns))
        return sampling.fixed_margins(class_sizes, cluster_sizes, count, source)

    def build(drawn: Tensor, at: slice) -> ContingencyTables:
        return ContingencyTables(drawn, validate=False)

    return Permuter("margins", draw, build, groups[0] * groups[1], order)


def _most_groups(sizes: Tensor) -> int:
    """Columns of ``(B, G)`` sizes up to the last that is not empty; at least 1."""
    return max(1, int((sizes > 0).sum(-1).max())) if sizes.numel() else 1


def _item_permuter(tables: ContingencyTables, items: int) -> Permuter:
    """Permute the clusters of the items of one table at a time; shorter tables leave the end of a row unused."""
    flat = tables.batch_shape.numel()
    batch, row, column, count = tables.cells()
    sizes = tables.n_items.reshape(flat)
    bounds = torch.searchsorted(batch, torch.arange(flat + 1, device=tables.device)).tolist()

    def labels(at: slice) -> tuple[Tensor, Tensor]:
        cells = slice(bounds[at.start], bounds[at.stop])
        true, pred = (torch.repeat_interleave(x[cells], count[cells]) for x in (row, column))
        return true, pred

    def draw(at: slice, replicates: int, source: torch.Generator) -> Tensor:
        n = int(sizes[at])
        permuted = (torch.randperm(n, generator=source, device=tables.device) for _ in range(replicates))
        return torch.stack(list(permuted)).unsqueeze(1)  # (replicates, 1, n)

    def build(drawn: Tensor, at: slice) -> ContingencyTables:
        true, pred = labels(at)
        return ContingencyTables.from_labels(
            true,
            pred[drawn],
            num_classes=tables.shape[-2],
            num_clusters=tables.shape[-1],
            validate=False,
            layout="sparse",
        )

    # More than a piece of cells, so that a piece is one table.
    order = torch.arange(flat, device=tables.device)
    return Permuter("items", draw, build, max(items, PIECE_CELLS // sampling.BLOCK), order)
