"""Draw and score resamples in bounded memory, with the same numbers for every chunk size.

Resamples come in blocks of 256, each with its own generator, which begins anew for each run of tables. How many
resamples one draw covers depends on the tables alone; a chunk of several blocks only decides how many are scored at a
time.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from torchclusteval.common.formatting import brief
from torchclusteval.inference.sampling import RESAMPLES_PER_BLOCK, seeded_blocks
from torchclusteval.measures.record import Measure
from torchclusteval.scoring.evaluation import evaluate_tables
from torchclusteval.tables import ContingencyTables

MAX_DRAWN_CELLS = 1 << 20  # cells in one draw

Progress = Callable[[int, int], object]  # called as progress(done, total)
Values = dict[str, Tensor]  # name of a measure -> its values


class Resampler(Protocol):
    """A way to draw resamples of a flattened batch of tables, and to score them."""

    @property
    def n_tables(self) -> int:
        """Size of the flattened batch."""

    @property
    def n_elements(self) -> int:
        """Elements per resample and table, for the memory bound."""

    @property
    def shared(self) -> bool:
        """Whether one draw serves all tables of the batch."""

    @property
    def device(self) -> torch.device:
        """The device of the tables."""

    def draw(self, at: slice, count: int, generator: torch.Generator) -> Tensor:
        """Draw ``count`` resamples of the tables ``at``: ``(count, tables, ...)``, or ``(count, ...)`` if shared."""

    def score(self, drawn: Tensor, at: slice, measures: Sequence[Measure]) -> Values:
        """Values ``(count, tables)`` of resamples drawn for the tables ``at``."""


class JackknifeResampler(Resampler, Protocol):
    """A resampler that can leave out single elements."""

    def accelerations(self, measures: Sequence[Measure]) -> Values:
        """For BCa, ``(B,)`` by name."""


def score_resamples(
    resampler: Resampler,
    measures: Sequence[Measure],
    resamples: int,
    generator: torch.Generator | None,
    chunk_size: int | None,
    progress: Progress | None,
    widths: Sequence[int] | None = None,
) -> Values:
    """Score so many resamples of every table: name -> ``(resamples, tables)`` float64.

    Args:
        generator: source of the one seed; None: torch's own.
        chunk_size: resamples to score at a time, in whole blocks; None: as many as fit.
        progress: called as ``progress(done, total)`` after each draw.
        widths: elements of each table that is drawn by itself; None: ``resampler.n_elements``.
    """
    blocks = seeded_blocks(resamples, resampler.device, generator)
    tables, elements = resampler.n_tables, resampler.n_elements
    fitting = MAX_DRAWN_CELLS // (RESAMPLES_PER_BLOCK * max(1, elements))
    tables_per_draw = max(1, tables if resampler.shared else min(tables, fitting))
    blocks_per_chunk = max(1, (chunk_size or MAX_DRAWN_CELLS // max(1, elements * tables)) // RESAMPLES_PER_BLOCK)
    values = {m.name: torch.empty(resamples, tables, dtype=torch.float64, device=resampler.device) for m in measures}
    done = 0
    for first in range(0, len(blocks), blocks_per_chunk):
        chunk = blocks[first : first + blocks_per_chunk]
        for start in range(0, tables, tables_per_draw):
            at = slice(start, min(start + tables_per_draw, tables))
            own = tables_per_draw * elements if widths is None or tables_per_draw > 1 else widths[start]
            resamples_per_draw = max(1, min(RESAMPLES_PER_BLOCK, MAX_DRAWN_CELLS // max(1, own)))
            for rows, drawn in _draws(resampler, at, chunk, first, resamples_per_draw):
                for name, value in resampler.score(drawn, at, measures).items():
                    values[name][rows, at] = value
                done += drawn.shape[0] * (at.stop - at.start)
                if progress is not None:
                    progress(done // tables, resamples)
    return values


def _draws(
    resampler: Resampler, at: slice, chunk: Sequence[tuple[torch.Generator, int]], first: int, resamples_per_draw: int
) -> Iterator[tuple[slice, Tensor]]:
    """The draws of a chunk of blocks, and the numbers of their resamples; ``first`` is the number of its first block.

    Where one draw covers a block, all blocks of the chunk are scored together.
    """
    for generator, _ in chunk:
        generator.manual_seed(generator.initial_seed())
    if resamples_per_draw == RESAMPLES_PER_BLOCK:
        drawn = torch.cat([resampler.draw(at, size, generator) for generator, size in chunk])
        start = first * RESAMPLES_PER_BLOCK
        yield slice(start, start + len(drawn)), drawn
        return
    for number, (generator, size) in enumerate(chunk, first):
        for offset in range(0, size, resamples_per_draw):
            drawn = resampler.draw(at, min(resamples_per_draw, size - offset), generator)
            start = number * RESAMPLES_PER_BLOCK + offset
            yield slice(start, start + len(drawn)), drawn


def names_of_tables(tables: ContingencyTables) -> tuple[Hashable, ...] | None:
    """Names of the clusterings, or ids of the groups of items, of a batch in one dimension."""
    if len(tables.batch_shape) != 1:
        return None
    return tables.names if tables.groups is None else tuple(tables.groups.tolist())


def tables_of_codes(true: Tensor, pred: Tensor, shape: Sequence[int], **options: Any) -> ContingencyTables:
    """Tables of this shape from codes ``(*batch, N)`` of the classes and clusters of the items."""
    options |= {"num_classes": shape[0], "num_clusters": shape[1], "item_dims": 1}
    return ContingencyTables.from_labels(true, pred, **options)


def values_of(tables: ContingencyTables, measures: Sequence[Measure]) -> Values:
    """Values of the measures on tables, ``(*batch,)``."""
    return {name: value.detach() for name, value in evaluate_tables(tables, list(measures)).items()}


def differences(a: Values, b: Values) -> Values:
    """``a - b`` of each measure, and 0 where both are the same infinity."""
    return {name: torch.where(a[name] == b[name], 0.0, a[name] - b[name]) for name in a}


def check_progress(progress: Progress | None) -> None:
    """Raise on an argument that cannot be called."""
    if progress is not None and not callable(progress):
        raise ValueError(f"progress: expected a function of two numbers or None; got {brief(progress)}")
