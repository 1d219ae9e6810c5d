"""Python processes of their own: one, or a group started as torchrun starts it."""

import os
import socket
import subprocess
import sys
from pathlib import Path

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
