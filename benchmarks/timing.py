"""One way to time for every benchmark: one thread, medians of repeats, and a record of the machine."""

import datetime
import json
import os
import platform
import resource
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from itertools import cycle
from pathlib import Path
from typing import Any, TypeVar

import torch

RESULTS = Path(__file__).parent / "results"
Case = TypeVar("Case")
Size = TypeVar("Size")


def sizes(*, small: Sequence[Size], full: Sequence[Size]) -> Sequence[Size]:
    """Sizes of a pytest-benchmark file: ``BENCHMARK_SIZES=full`` takes the large ones."""
    return full if os.environ.get("BENCHMARK_SIZES") == "full" else small


@dataclass(frozen=True)
class Timing:
    """Medians in seconds; ``warmed_up`` is False where the first call already used up the budget."""

    cpu_s: float
    wall_s: float
    cpu_all_s: tuple[float, ...]
    warmed_up: bool

    def record(self) -> dict[str, Any]:
        return asdict(self)


def one_thread() -> None:
    """Keep torch on one thread: more OpenMP threads than free cores make every figure worthless."""
    torch.set_num_threads(1)


def _once(call: Callable[[], object], calls: int = 1) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - cpu) / calls, (time.perf_counter() - wall) / calls


def measure(call: Callable[[], object], *, repeats: int = 7, budget_s: float = 4.0, sample_s: float = 0.0) -> Timing:
    """Median CPU and wall seconds of a call on the CPU.

    The first call warms up and is dropped, unless it alone takes longer than the budget: then it is the
    measurement. Repeats stop at their number or when the budget is used up, whichever comes first.

    Args:
        call: the work.
        repeats: most repeats after the warm-up.
        budget_s: wall seconds after which no further repeat starts.
        sample_s: about how long a repeat lasts at least: a short call is made several times in each.
    """
    start = time.perf_counter()
    samples = [_once(call)]
    warmed_up = samples[0][1] < budget_s
    if warmed_up:
        calls = 1 + int(sample_s / max(_once(call)[1], 1e-7)) if sample_s else 1
        samples = [_once(call, calls)]
        while len(samples) < repeats and time.perf_counter() - start < budget_s:
            samples.append(_once(call, calls))
    cpu, wall = zip(*samples, strict=True)
    return Timing(statistics.median(cpu), statistics.median(wall), tuple(cpu), warmed_up)


def measure_on(
    device: torch.device,
    call: Callable[[Case], object],
    cases: Sequence[Case],
    *,
    repeats: int = 7,
    calls: int = 10,
) -> float:
    """Median seconds of one call on a device.

    Args:
        device: where the work runs; on CUDA the clock is a pair of events around ``calls`` calls.
        call: the work, for one of the cases.
        cases: inputs of the same size, taken in turn, so that a cache does not hold the next one.
        repeats: how many times ``calls`` calls are timed, after three rounds of warm-up.
        calls: calls between two looks at the clock.
    """
    turn = cycle(cases)

    def burst() -> float:
        if device.type != "cuda":
            start = time.perf_counter()
            for _ in range(calls):
                call(next(turn))
            return time.perf_counter() - start
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for _ in range(calls):
            call(next(turn))
        last.record()
        last.synchronize()
        return float(first.elapsed_time(last)) / 1e3

    for _ in range(3):
        burst()
    return statistics.median(burst() for _ in range(repeats)) / calls


def peak_megabytes() -> float:
    """Most memory that this process has had: VmHWM where there is one, since ru_maxrss can count the parent's."""
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        return int(fields["VmHWM"].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def environment(packages: Iterable[str] = ()) -> dict[str, Any]:
    """Machine, date and versions, for the head of a results file."""
    import torchclusteval

    return {
        "date": datetime.date.today().isoformat(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torchclusteval": getattr(torchclusteval, "__version__", None) or _version("torchclusteval"),
        **{package: _version(package) for package in ("torch", "numpy", *packages)},
    }


def save(path: Path, content: dict[str, Any]) -> None:
    """Write a results file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")
    print(f"written: {path}")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Text columns, the first to the left, the others to the right."""
    lines = [head, *rows]
    first, *others = (max(map(len, column)) for column in zip(*lines, strict=True))
    return "\n".join("  ".join([line[0].ljust(first), *map(str.rjust, line[1:], others)]).rstrip() for line in lines)


def seconds(value: float) -> str:
    """Seconds in a unit that keeps three digits readable."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"
