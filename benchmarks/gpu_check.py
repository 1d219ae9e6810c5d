"""One command for a machine with a CUDA device: is it right there, does it wait, how fast is it.

    PYTHONPATH=. python benchmarks/gpu_check.py                       # under eight minutes; writes results/
    PYTHONPATH=. python benchmarks/gpu_check.py --device cpu --small  # half a minute, anywhere

First what is right (``gpu_correctness``), then what is fast (``gpu_speed``). The results file is written after every
section, so that a run that is cut off leaves what it had; sections that no time is left for are skipped and named.
A short table comes last. The exit status is 1 if an answer is wrong, a call waits or a section breaks.
"""

import argparse
import datetime
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpu_correctness as correctness
import gpu_speed as speed
import timing
import torch

BUDGET_S = 450.0
RANDOM_S = 150.0
RANDOM_BATCHES = 2000


def describe(device: torch.device) -> dict[str, Any]:
    if device.type != "cuda":
        return {"name": str(device)}
    facts = torch.cuda.get_device_properties(device)
    query = ["nvidia-smi", "--query-gpu=driver_version,clocks.sm,clocks.mem", "--format=csv,noheader"]
    state = subprocess.run(query, capture_output=True, text=True).stdout.strip() if shutil.which(query[0]) else ""
    return {
        "name": facts.name,
        "multiprocessors": facts.multi_processor_count,
        "memory_bytes": facts.total_memory,
        "cuda": torch.version.cuda,
        "driver_and_clocks": state,
    }


def sections(device: torch.device, small: bool, result: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Name -> its record, in the order they run."""
    sizes = speed.SMALL if small else speed.FULL
    batches = 20 if small else RANDOM_BATCHES
    return {
        "kernels are right": lambda: correctness.check_kernels(device),
        "counting is right": lambda: correctness.check_counting(device),
        "nothing waits": lambda: correctness.check_waiting(device),
        "tests": lambda: correctness.check_tests(device),
        "random batches": lambda: correctness.check_random(device, batches, RANDOM_S),
        "ceilings": lambda: speed.ceilings(device, sizes),
        "measures": lambda: speed.time_measures(device, sizes),
        "inference": lambda: speed.time_inference(device, sizes),
        "torchmetrics": lambda: speed.time_torchmetrics(device, sizes),
        "counting": lambda: speed.time_counting(device, sizes, result["ceilings"]["read_bytes_per_s"]),
        "study": lambda: speed.time_study(device, sizes),
    }


def run(device: torch.device, small: bool, path: Path) -> dict[str, Any]:
    start = time.perf_counter()
    result: dict[str, Any] = {"environment": timing.environment(["triton", "torchmetrics"])}
    result |= {"device": describe(device), "seconds": {}, "broken": {}, "skipped": []}
    for name, section in sections(device, small, result).items():
        began = time.perf_counter()
        if began - start > BUDGET_S:
            result["skipped"].append(name)
            continue
        print(f"{name} ...", flush=True)
        try:
            result[name] = section()
        except Exception as error:  # the other sections are worth having
            result["broken"][name] = f"{type(error).__name__}: {error}"
            traceback.print_exc()
        result["seconds"][name] = round(time.perf_counter() - began, 1)
        timing.save(path, result)
    return result


# --- the tables -----------------------------------------------------------------------------------------------


def show(result: dict[str, Any]) -> str:
    parts = [show_counting(result), show_measures(result), show_others(result), show_checks(result)]
    return "\n\n".join(part for part in parts if part)


def show_counting(result: dict[str, Any]) -> str:
    """One line a size and type; the kernels side by side, as shares of the read floor: uniform / 90 % in one cell."""
    records = result.get("counting", [])
    names = list(dict.fromkeys(r["kernel"] for r in records))
    lines: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for r in records:
        key = (str(speed.Shape(*(r[field] for field in speed.Shape._fields))), r["dtype"])
        lines.setdefault(key, {}).setdefault(r["kernel"], []).append(f"{r['share_of_read']:.1%}")
    rows = [[*key, *("/".join(found.get(name, ["-"])) for name in names)] for key, found in lines.items()]
    return timing.table(["counting, % of read (B, N, R, C)", "labels", *names], rows) if rows else ""


def show_measures(result: dict[str, Any]) -> str:
    rows = [
        [
            f"{r['set']}: {r['clusterings']} tables of {r['items']:,}",
            str(r.get("measures", "")),
            timing.seconds(r["seconds"]) if "seconds" in r else r["failed"][:40],
        ]
        for r in result.get("measures", [])
    ]
    return timing.table(["measures", "number", "time"], rows) if rows else ""


def show_others(result: dict[str, Any]) -> str:
    rows = [[f"{r['call']}, {r['tables']} tables", timing.seconds(r["seconds"])] for r in result.get("inference", [])]
    if study := result.get("study"):
        rows.append([f"study kishida, {study['configurations']} x {study['iterations']}", f"{study['seconds']:.1f} s"])
    epoch = result.get("torchmetrics", {})
    if "torchmetrics_s" in epoch:
        times = epoch["torchmetrics_s"], epoch["torchclusteval_s"]
        rows.append(["an epoch, seven measures", timing.seconds(times[1])])
        rows.append(["the same by torchmetrics", f"{timing.seconds(times[0])} ({times[0] / times[1]:.1f}x)"])
    if ceilings := result.get("ceilings"):
        rows += [[name, f"{rate / 1e9:.0f} GB/s"] for name, rate in ceilings.items()]
    return timing.table(["", "time"], rows) if rows else ""


def show_checks(result: dict[str, Any]) -> str:
    checks = {name: r for name, r in result.items() if isinstance(r, dict) and "failures" in r}
    rows = [[name, str(r["checked"]), str(len(r["failures"]))] for name, r in checks.items()]
    texts = [f"{name}: {text}" for name, r in checks.items() for text in r["failures"][:5]]
    texts += [f"{name} broke: {text}" for name, text in result["broken"].items()]
    texts += [f"{name}: skipped, out of time" for name in result["skipped"]]
    return "\n".join([timing.table(["check", "values", "wrong"], rows), *texts])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="cuda", help="cuda (default), cuda:1, cpu")
    parser.add_argument("--small", action="store_true", help="smallest sizes")
    parser.add_argument("--output", type=Path, help="results file (default: results/gpu_CARD_DATE.json)")
    options = parser.parse_args()
    device = torch.device(options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        parser.error("no CUDA device here; try --device cpu --small")
    timing.one_thread()
    card = describe(device)["name"].replace(" ", "_")
    path = options.output or timing.RESULTS / f"gpu_{card}_{datetime.date.today()}.json"
    result = run(device, options.small, path)
    print(show(result))
    wrong = any(r["failures"] for r in result.values() if isinstance(r, dict) and "failures" in r)
    return int(wrong or bool(result["broken"]))


if __name__ == "__main__":
    sys.exit(main())
