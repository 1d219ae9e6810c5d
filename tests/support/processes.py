"""Python processes of their own: one, a group started as torchrun starts it, or the ranks of a process group."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

ROOT = Path(__file__).parents[2]
_HANG_S = 900  # ends a process that hangs; no bound on the time of any work


def start(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    variables = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **environment}
    return subprocess.Popen(
        [sys.executable, *arguments], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def start_group(ranks: int, *arguments: str) -> list[subprocess.Popen[str]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    group = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return [start(*arguments, RANK=str(rank), **group) for rank in range(ranks)]


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit status, output and errors."""
    output, errors = process.communicate(timeout=_HANG_S)
    return process.returncode, output, errors


def of_ranks(work: Callable[[int, int], dict[Any, Any]], ranks: int, folder: Path) -> list[dict[Any, Any]]:
    """What every rank of a process group finds; a worker gets its rank and their number."""
    mp.spawn(_work, args=(work, ranks, folder), nprocs=ranks)  # type: ignore[attr-defined]
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(ranks)]


def _work(rank: int, work: Callable[[int, int], dict[Any, Any]], ranks: int, folder: Path) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=ranks)
    torch.save(work(rank, ranks), folder / f"{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()
