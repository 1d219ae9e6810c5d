"""Numbers without gaps for integer labels, by a lookup table over their range or by a sort."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.numerics import min_max

SHIFT_BEYOND = 1 << 31  # beyond this, labels are shifted: products with the number of columns could leave 64 bits
_MAX_LOOKUP_ENTRIES = 1 << 22  # a lookup table may always have this many entries
_LOOKUP_BLOCK_LABELS = 1 << 16


def bounds(values: Tensor, keep: Tensor | None) -> tuple[int, int]:
    """Smallest and largest value of the kept items; (0, 0) without any."""
    if values.numel() == 0 or (keep is not None and keep.numel() == 0):
        return 0, 0
    if keep is None:
        return min_max(values)
    limits = torch.iinfo(values.dtype)
    ends = (values.masked_fill(~keep, limits.max).amin(), values.masked_fill(~keep, limits.min).amax())
    low, high = torch.stack(ends).tolist()
    return (low, high) if low <= high else (0, 0)


def bounds_of_both(first: Tensor, second: Tensor) -> list[tuple[int, int] | None]:
    """Smallest and largest value of both sides, after a single wait for the device; None: they are not on one."""
    if first.is_cpu or second.is_cpu or not (first.numel() and second.numel()):
        return [None, None]
    ends = [end.long() for x in (first, second) for end in torch.aminmax(x)]
    low, high, least, most = torch.stack(ends).tolist()
    return [(low, high), (least, most)]


def restrict(keep: Tensor, shape: torch.Size) -> Tensor:
    """Whether an item counts anywhere in the batch, in the shape of one side's labels."""
    keep = keep.expand(np.broadcast_shapes(keep.shape, shape))
    while keep.dim() > len(shape):
        keep = keep.any(0)
    for dim, size in enumerate(shape):
        if size == 1 and keep.shape[dim] != 1:
            keep = keep.any(dim, keepdim=True)
    return keep


def compact_codes(values: Tensor, keep: Tensor | None, low: int, span: int) -> tuple[Tensor, Tensor]:
    """Codes without gaps, and the value of each code: ``(K,)`` for the whole batch, or ``(*batch, K)``."""
    n = values.shape[-1]
    rows = values.reshape(-1, n)
    kept = None if keep is None else keep.reshape(-1, n)
    joined = rows.reshape(1, -1), None if kept is None else kept.reshape(1, -1)
    narrow = span <= max(4 * values.numel(), _MAX_LOOKUP_ENTRIES)
    codes, groups = _look_up(*joined, low, span) if narrow else _rank(*joined)
    codes, count = codes.reshape(rows.shape), groups.shape[-1]
    if len(rows) > 1 and len(rows) * count <= max(4 * values.numel(), _MAX_LOOKUP_ENTRIES):
        row_codes, row_groups = _look_up(codes, kept, 0, count)
        if 2 * row_groups.shape[-1] <= count:
            codes, groups = row_codes, groups[0, row_groups]
    elif len(rows) > 1 and count > n:
        codes, groups = _rank(rows, kept)
    groups = groups[0] if len(groups) == 1 else groups.reshape(*values.shape[:-1], -1)
    return codes.reshape(values.shape), groups


def is_filled_range(values: Tensor, keep: Tensor | None, low: int, high: int) -> bool:
    """Whether nine in ten numbers of a range are labels of the first row: labels then serve as codes."""
    n, span = values.shape[-1], high - low + 1
    if n < 2 * span or max(-low, high) >= SHIFT_BEYOND:
        return False
    step = max(1, n // (8 * span))
    row, kept = (None if x is None else x.reshape(-1, n)[:1, ::step] for x in (values, keep))
    assert row is not None
    return 10 * int(_present(row, kept, low, span)[:, :span].sum()) >= 9 * span


def _present(rows: Tensor, keep: Tensor | None, low: int, span: int) -> Tensor:
    """Which values of a range each row has, ``(b, span + 1)``; the last entry is for excluded items."""
    present = torch.zeros(len(rows) * (span + 1), dtype=torch.bool, device=rows.device)
    for _, at in _entries(rows, keep, low, span):
        present.index_fill_(0, at, True)
    return present.view(len(rows), span + 1)


def _look_up(rows: Tensor, keep: Tensor | None, low: int, span: int) -> tuple[Tensor, Tensor]:
    """Codes of each row by a table over the range of values; ``rows`` is ``(b, n)``."""
    size, n = rows.shape
    present = _present(rows, keep, low, span)
    present[:, span] = False
    rank = present.cumsum(1) - 1
    groups = torch.zeros(size, max(1, int(rank[:, -1].max()) + 1), dtype=torch.int64, device=rows.device)
    row, value = present.nonzero().unbind(-1)
    groups[row, rank[row, value]] = value + low
    code_of = rank.clamp_(min=0).to(torch.int32).view(-1)
    codes = torch.empty(size * n, dtype=torch.int32, device=rows.device)
    for start, at in _entries(rows, keep, low, span):
        torch.index_select(code_of, 0, at, out=codes[start : start + len(at)])
    return codes.view(size, n), groups


def _entries(rows: Tensor, keep: Tensor | None, low: int, span: int) -> Iterator[tuple[int, Tensor]]:
    """Yield (first label, index into a table of ``span + 1`` entries per row) by blocks, which stay in the cache."""
    size, n = rows.shape
    block = _LOOKUP_BLOCK_LABELS if rows.device.type == "cpu" else rows.numel()
    height, width = max(1, block // n), min(n, block)
    offsets = torch.arange(size, device=rows.device).unsqueeze(-1) * (span + 1)
    for top in range(0, size, height):
        part = slice(top, top + height)
        for first in range(0, n, width):
            columns = slice(first, first + width)
            at = rows[part, columns].long() - low
            if keep is not None:
                at = torch.where(keep[part, columns], at, span)
            yield top * n + first, at.add_(offsets[part]).reshape(-1)


def _rank(rows: Tensor, keep: Tensor | None) -> tuple[Tensor, Tensor]:
    """Codes of each row by a sort; ``rows`` is ``(b, n)`` with any values."""
    if keep is not None:
        filler = rows.masked_fill(~keep, torch.iinfo(rows.dtype).max).amin(-1, keepdim=True)
        rows = torch.where(keep, rows, filler)
    ordered, order = rows.sort(-1)
    starts = torch.zeros_like(order)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    rank = starts.cumsum(-1)
    groups = torch.zeros(len(rows), int(rank[:, -1].max()) + 1, dtype=torch.int64, device=rows.device)
    groups.scatter_(1, rank, ordered.long())
    return torch.empty_like(rank).scatter_(1, order, rank), groups
