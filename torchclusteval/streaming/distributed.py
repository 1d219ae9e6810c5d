"""Processes that share work: torchrun's process group, and sums and gathers over its ranks.

Without a process group, sums and gathers return this process's own part. ``group`` None is the default one.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from torchclusteval.common.formatting import brief

T = TypeVar("T")

_PATIENCE_S = 10.0  # for the other ranks to report that they wait in vain too
_exchanges: Counter[str] = Counter()  # of each group, by this rank


def is_single_process() -> bool:
    """Whether no process group is initialised."""
    return not (dist.is_available() and dist.is_initialized())


def group_ranks(group: Any = None) -> list[int] | None:
    """The ranks of a process group, None for the default one; None without process groups."""
    if group is not None and (is_single_process() or not isinstance(group, dist.ProcessGroup)):
        remedy = "torch.distributed.init_process_group() makes one, torch.distributed.group.WORLD"
        got = f"{brief(group)} ({remedy})"
        raise ValueError(f"group: expected a process group of torch.distributed, or None; got {got}")
    return None if is_single_process() else dist.get_process_group_ranks(group or dist.group.WORLD)


def rank_and_size() -> tuple[int, int]:
    """Rank of this process and number of processes: of the default group, else as torchrun announces them."""
    if not is_single_process():
        return dist.get_rank(), dist.get_world_size()
    ranks = int(os.environ.get("WORLD_SIZE", 1))
    return (int(os.environ["RANK"]), ranks) if ranks > 1 and "RANK" in os.environ else (0, 1)


@contextmanager
def process_group(device: torch.device) -> Iterator[tuple[int, int, torch.device]]:
    """Join the processes that torchrun started, and leave them at the end; an existing group is used and stays.

    They wait for each other for 30 minutes, or for ``TORCHCLUSTEVAL_TIMEOUT`` minutes, from the environment. Yields
    rank of this process, number of processes, and device of this one: ``"cuda"`` under torchrun is the rank's own.
    """
    if str(device) == "cuda" and "LOCAL_RANK" in os.environ:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    rank, ranks = rank_and_size()
    joins = is_single_process() and ranks > 1
    if joins:
        if device.type == "cuda":
            torch.cuda.set_device(device)
        minutes = float(os.environ.get("TORCHCLUSTEVAL_TIMEOUT", 30))
        backend = "nccl" if device.type == "cuda" else "gloo"
        try:
            dist.init_process_group(backend, timeout=timedelta(minutes=minutes))
        except RuntimeError as error:
            got = str(error).partition("\n")[0]
            raise ConnectionError(f"group: expected {ranks} ranks within {minutes:g} minutes; got {got}") from error
    try:
        yield rank, ranks, device
    finally:
        if joins:
            dist.destroy_process_group()


@contextmanager
def _exchange(group: Any) -> Iterator[None]:
    """When this rank waits in vain for an exchange, name the ranks that did not join it or left it."""
    ranks, own = dist.get_process_group_ranks(group or dist.group.WORLD), dist.get_rank()
    store, place = dist.distributed_c10d._get_default_store(), f"torchclusteval/{ranks}"
    _exchanges[place] += 1
    number = _exchanges[place]
    store.set(f"{place}/{own}", str(number))
    try:
        yield
    except RuntimeError as error:
        if not any(word in str(error).lower() for word in ("connection", "timed out", "timeout", "broken pipe")):
            raise
        missing = ranks[:1] if ranks[0] != own else []  # which may hold the store
        with suppress(RuntimeError):
            store.set(f"{place}/{own}/waits", "")
            came = [x for x in ranks if store.check([f"{place}/{x}"])]
            late = [x for x in ranks if x not in came or int(store.get(f"{place}/{x}")) < number]
            here = [x for x in ranks if x not in late]
            _await(store, [f"{place}/{x}/waits" for x in here])
            missing = late or [x for x in here if not store.check([f"{place}/{x}/waits"])]
            store.set(f"{place}/{own}/knows", "")
            if own == ranks[0]:  # whose end may take the store from the others
                _await(store, [f"{place}/{x}/knows" for x in here if x not in missing])
        who = f"from rank{'s' * (len(missing) > 1)} {', '.join(map(str, missing))}" if missing else "in time"
        longer = "timeout= of init_process_group, --timeout MINUTES of a command"
        remedy = f"see its messages and start all ranks again; slow ranks need a longer time-out: {longer}"
        raise ConnectionError(f"group: expected an answer from every rank; got none {who} ({remedy})") from error


def _await(store: Any, keys: list[str]) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not store.check(keys) and time.monotonic() < end:
        time.sleep(0.05)


def all_reduce_sum(parts: list[Tensor], group: Any = None, maximum: bool = False) -> list[Tensor]:
    """Sum tensors of one dtype, and of the same shapes on all ranks, by a single all-reduce; gradients end here.

    ``maximum``: the largest numbers instead.
    """
    if is_single_process():
        return parts
    flat = torch.cat([part.detach().reshape(-1) for part in parts])
    flat = flat.to(_transfer_device(flat.device, group))
    with _exchange(group):
        dist.all_reduce(flat, dist.ReduceOp.MAX if maximum else dist.ReduceOp.SUM, group=group)
    sums = flat.to(parts[0].device).split([part.numel() for part in parts])
    return [total.reshape(part.shape) for total, part in zip(sums, parts, strict=True)]


def all_gather_objects(value: T, group: Any = None) -> list[T]:
    """A small picklable value of every rank, in the order of ranks."""
    if is_single_process():
        return [value]
    values: list[Any] = [None] * dist.get_world_size(group)
    with _exchange(group):
        dist.all_gather_object(values, value, group=group)
    return values


@contextmanager
def raised_together(group: Any = None) -> Iterator[None]:
    """Raise on every rank where one of them raises, so that none waits for it."""
    problem: Exception | None = None
    try:
        yield
    except Exception as error:
        problem = error
    told = all_gather_objects(None if problem is None else f"{type(problem).__name__}: {problem}", group)
    if problem is not None:
        raise problem
    for rank, text in zip(group_ranks(group) or (), told, strict=False):
        if text is not None:
            raise ValueError(f"group: expected work on all ranks; rank {rank} raised {text}")


def all_gather_ragged(rows: Tensor, group: Any = None) -> list[Tensor]:
    """The rows ``(n, k)`` of every rank, in the order of ranks; ``n`` may differ and be 0, dtype and ``k`` do not."""
    if is_single_process():
        return [rows]
    device = _transfer_device(rows.device, group)
    count = torch.tensor([len(rows)], device=device)
    counts = [torch.zeros_like(count) for _ in range(dist.get_world_size(group))]
    with _exchange(group):
        dist.all_gather(counts, count, group=group)
        lengths = torch.cat(counts).tolist()
        padded = torch.nn.functional.pad(rows.to(device), (0, 0, 0, max(lengths) - len(rows)))
        gathered = [torch.empty_like(padded) for _ in lengths]
        dist.all_gather(gathered, padded, group=group)
    return [part[:length].to(rows.device) for part, length in zip(gathered, lengths, strict=True)]


def all_to_all(rows: Tensor, owner: Tensor, group: Any = None) -> Tensor:
    """Send each row ``(n, k)`` to its ``owner``, ``(n,)`` places in the group; returns the rows sent to this rank."""
    ranks, device = dist.get_world_size(group), _transfer_device(rows.device, group)
    sent = owner.bincount(minlength=ranks).to(device)
    received = torch.empty_like(sent)
    with _exchange(group):
        dist.all_to_all_single(received, sent, group=group)
        rows = rows[owner.argsort()].to(device)
        found = rows.new_empty(int(received.sum()), rows.shape[1])
        dist.all_to_all_single(found, rows, received.tolist(), sent.tolist(), group=group)
    return found.to(owner.device)


def _transfer_device(device: torch.device, group: Any) -> torch.device:
    """Where tensors must be for the group to send them: NCCL sends CUDA tensors only, Gloo mainly CPU tensors."""
    backend = dist.get_backend(group)
    if backend == dist.Backend.GLOO:
        return torch.device("cpu")
    if backend == dist.Backend.NCCL and device.type == "cpu":
        return torch.device("cuda", torch.cuda.current_device())
    return device
