"""Scores of a stream of labels."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from torchclusteval.common.checks import check_chunk_size
from torchclusteval.measures.registry import Selection, select
from torchclusteval.scoring.evaluation import evaluate_tables, with_zero_division
from torchclusteval.scoring.scores import Scores
from torchclusteval.streaming.accumulator import ContingencyAccumulator
from torchclusteval.tables import ContingencyTables


def evaluate_stream(
    chunks: Iterable[Any],
    measures: Selection = None,
    *,
    batch_shape: Sequence[int] | None = None,
    chunk_size: int | None = None,
    zero_division: float | None = None,
    **options: Any,
) -> Scores:
    """Score clusterings whose labels come in chunks; memory follows the tables, not the number of labels.

    Args:
        chunks: pairs ``(labels_true, labels_pred)``, or mappings of the arguments of
            :meth:`ContingencyAccumulator.update`, ``by`` among them.
        measures: as in ``evaluate``.
        batch_shape: shape of the batch of clusterings; by default that of the first chunk.
        chunk_size: tables to evaluate at a time, as in ``evaluate``.
        zero_division: likewise.
        **options: the other options of :class:`ContingencyAccumulator`.

    Returns:
        The scores of ``evaluate`` for all chunks at once.

    Raises:
        ValueError: chunks or options are not as described.

    >>> chunks = [([0, 0], [0, 0]), ([1, 1], [0, 1])]
    >>> tce.evaluate_stream(chunks, "purity")["purity"]
    tensor(0.7500, dtype=torch.float64)
    """
    measures = list(measures) if isinstance(measures, Iterator) else measures  # which are read twice
    with_zero_division(select(measures), zero_division)  # before any chunk is read: a misspelt name costs nothing
    check_chunk_size(chunk_size)
    single = isinstance(chunks, ContingencyTables) or getattr(chunks, "ndim", 1) == 0
    if single or not (hasattr(chunks, "__iter__") or hasattr(chunks, "__getitem__")):
        raise ValueError(f"chunks: expected pairs of labels or mappings; got {type(chunks).__name__}")
    for name in ("by", "mask", "weights"):
        if name in options:
            raise ValueError(f"{name}: expected in the chunks, as mappings of labels_true, labels_pred and {name}")
    accumulator = ContingencyAccumulator(batch_shape=() if batch_shape is None else batch_shape, **options)
    for chunk in chunks:
        given = _arguments(chunk)
        pair, own = accumulator._encode(**given)
        if batch_shape is None:
            batch_shape = pair.batch_shape
            accumulator = ContingencyAccumulator(batch_shape=batch_shape, **options)
        accumulator._add(pair, own)
    return evaluate_tables(accumulator.tables(), measures, chunk_size=chunk_size, zero_division=zero_division)


def _arguments(chunk: Any) -> dict[str, Any]:
    if isinstance(chunk, Mapping):
        return dict(chunk)
    if not isinstance(chunk, (tuple, list)) or len(chunk) != 2:
        got = f"{len(chunk)} parts" if isinstance(chunk, (tuple, list)) else type(chunk).__name__
        raise ValueError(f"chunks: expected pairs (labels_true, labels_pred) or mappings; got {got}")
    return {"labels_true": chunk[0], "labels_pred": chunk[1]}
