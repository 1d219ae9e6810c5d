"""Tables to values: 23 measures and all that need no host, as they are and compiled, on 1000 tables of 10 x 10.

    python benchmarks/measures.py            # about two minutes, most of it compiling; writes results/
    python benchmarks/measures.py --small    # a few seconds, to see that it works

One thread, CPU seconds. The tables are counted before the clock starts, and each call gets fresh ones, which keep
nothing of an earlier call. Compiled values are compared with the others first.
"""

import argparse
import datetime
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import timing
import torch
from compare import MEASURES, Shape, half_right
from torch import Tensor

import torchclusteval as tce

FULL, SMALL = Shape(1000, 100, 10), Shape(20, 100, 10)
Evaluator = Callable[[tce.ContingencyTables], tce.Scores]
TOLERANCE = 1e-12


def counts_of(shape: Shape) -> Tensor:
    return tce.ContingencyTables.from_labels(*half_right(shape, torch.Generator().manual_seed(0))).counts


def on_fresh_tables(evaluate: Evaluator, counts: Tensor) -> tce.Scores:
    return evaluate(tce.ContingencyTables(counts, validate=False))


def way(name: str, evaluate: Evaluator, counts: Tensor, expected: tce.Scores) -> dict[str, Any]:
    """First call, which may compile, and median of later ones."""
    start = time.process_time()
    scores = on_fresh_tables(evaluate, counts)
    first = time.process_time() - start
    off = max(float((scores[m] - expected[m]).abs().nan_to_num().max()) for m in scores.names)
    if off > TOLERANCE:
        raise SystemExit(f"{name}: off by {off:.1e}")
    timed = timing.measure(partial(on_fresh_tables, evaluate, counts), repeats=101)
    return {"way": name, "measures": len(scores.names), "first_call_s": first, **timed.record()}


def run(shape: Shape, names: list[str], compiled: list[str]) -> list[dict[str, Any]]:
    counts = counts_of(shape)
    expected = tce.evaluate_tables(tce.ContingencyTables(counts), "all")
    return [
        way("eager", partial(tce.evaluate_tables, measures=names), counts, expected),
        way("eager", partial(tce.evaluate_tables, measures=compiled), counts, expected),
        way("compiled", tce.compile(compiled), counts, expected),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="few tables and measures")
    parser.add_argument("--output", type=Path, help="results file (default: results/measures_DATE.json)")
    options = parser.parse_args()
    timing.one_thread()
    shape = SMALL if options.small else FULL
    on_device = [measure.name for measure in tce.measures.registry.select("all") if not measure.on_host]
    rows = run(shape, MEASURES, on_device[::20] if options.small else on_device)
    path = options.output or timing.RESULTS / f"measures_{datetime.date.today()}.json"
    timing.save(path, {"environment": timing.environment(), "shape": shape._asdict(), "rows": rows})
    shown = [(f"{r['measures']} {r['way']}", timing.seconds(r["cpu_s"]), f"{r['first_call_s']:.2f} s") for r in rows]
    print(timing.table((f"measures of {shape}", "a call", "the first"), shown))


if __name__ == "__main__":
    main()
