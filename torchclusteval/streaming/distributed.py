"""Sums and gathers over the ranks of a process group; without one, every function returns its own part."""

from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

T = TypeVar("T")


def is_alone() -> bool:
    """Whether there is no process group to talk to."""
    return not (dist.is_available() and dist.is_initialized())


def sum_over(parts: list[Tensor], group: Any = None) -> list[Tensor]:
    """Sum tensors of one dtype over the ranks by a single all-reduce; gradients end here.

    Args:
        parts: tensors whose shapes agree on all ranks.
        group: a process group; None: the default one.
    """
    if is_alone():
        return parts
    flat = torch.cat([part.detach().reshape(-1) for part in parts])
    flat = flat.to(_place(flat.device, group))
    dist.all_reduce(flat, group=group)
    pieces = flat.to(parts[0].device).split([part.numel() for part in parts])
    return [piece.reshape(part.shape) for piece, part in zip(pieces, parts, strict=True)]


def gather_objects(value: T, group: Any = None) -> list[T]:
    """A small picklable value of every rank, in the order of ranks."""
    if is_alone():
        return [value]
    found: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(found, value, group=group)
    return found


def gather_rows(rows: Tensor, group: Any = None) -> list[Tensor]:
    """The rows of every rank, in the order of ranks, where ranks may have any number of them, or none.

    Args:
        rows: ``(n, k)``, of one dtype and one ``k`` on all ranks.
        group: a process group; None: the default one.
    """
    if is_alone():
        return [rows]
    place = _place(rows.device, group)
    count = torch.tensor([len(rows)], device=place)
    counts = [torch.zeros_like(count) for _ in range(dist.get_world_size(group))]
    dist.all_gather(counts, count, group=group)
    lengths = torch.cat(counts).tolist()
    padded = torch.nn.functional.pad(rows.to(place), (0, 0, 0, max(lengths) - len(rows)))
    found = [torch.empty_like(padded) for _ in lengths]
    dist.all_gather(found, padded, group=group)
    return [part[:length].to(rows.device) for part, length in zip(found, lengths, strict=True)]


def _place(device: torch.device, group: Any) -> torch.device:
    """Where the group can send from: NCCL knows CUDA tensors only, Gloo above all those of the CPU."""
    backend = dist.get_backend(group)
    if backend == dist.Backend.GLOO:
        return torch.device("cpu")
    if backend == dist.Backend.NCCL and device.type == "cpu":
        return torch.device("cuda", torch.cuda.current_device())
    return device
