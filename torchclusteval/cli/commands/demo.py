"""The command ``demo``: the best of hundreds of bundled runs, its interval, and the runs that tie with it."""

import argparse
import textwrap
import time
from pathlib import Path
from typing import Any

from torchclusteval.cli.options import table_width
from torchclusteval.cli.printing import Table, as_text
from torchclusteval.cli.reading.held import hold_columns
from torchclusteval.cli.reading.selection import Selection
from torchclusteval.inference import bootstrap, paired_bootstrap
from torchclusteval.scoring.evaluation import evaluate_tables
from torchclusteval.tables import ContingencyTables

DATA = Path(__file__).parent.parent / "data" / "digits.csv.gz"
LEAD, COMPARED, DRAWS = "ami_arithmetic", 60, 2500  # 59 comparisons can pass 0.05 after Holm from 2360 draws on
_SHOWN, _WIDTH = 6, 80


def run(arguments: argparse.Namespace) -> str:
    """Score the bundled clusterings with every measure, then compare the best runs."""
    times = [time.perf_counter()]
    held = {one.title: one.labels for one in hold_columns(Selection(files=[str(DATA)]))[0]}
    truth, names = held.pop("truth"), [*held]
    times.append(time.perf_counter())
    tables = ContingencyTables.from_labels(truth, held)
    times.append(time.perf_counter())
    scores = evaluate_tables(tables, "all")
    times.append(time.perf_counter())
    runs = [name for name in names if name.startswith("kmeans_")]
    order = sorted(runs, key=lambda name: -scores[LEAD][names.index(name)].item())[:COMPARED]
    best, *others = order
    options: dict[str, Any] = {"n_resamples": DRAWS, "rng": 0, "resample": "items"}  # ten digits are all that there are
    drawn = bootstrap(tables[[names.index(name) for name in order]], [LEAD], **options)
    intervals, compared = drawn[LEAD], {name: held[name] for name in others}
    found = paired_bootstrap(truth, held[best], compared, [LEAD], correction="holm", **options)[LEAD]
    times.append(time.perf_counter())
    assert found.p_adjusted is not None
    p_values = found.p_adjusted.tolist()
    ties = [name for name, p in zip(others, p_values, strict=True) if p >= 0.05]
    verdicts = ["best", *("tie" if name in ties else "worse" for name in others)]
    ends = zip(intervals.low.tolist(), intervals.high.tolist(), strict=True)
    columns = (order, intervals.estimate.tolist(), [f"{low:.4f} to {high:.4f}" for low, high in ends])
    tested = ([None, *found.difference.tolist()], [None, *p_values], verdicts)
    rows = [*zip(*columns, *tested, strict=True)][:_SHOWN]
    n_items = int(tables.n_items[0])
    steps = {
        "reading the labels": f"{n_items} items, {len(names)} clusterings and the truth",
        "counting": f"{len(names)} contingency tables",
        "scoring": f"{len(scores)} measures, {len(scores) * len(names)} scores, in one call",
        "intervals and tests": f"the {COMPARED} best runs, {DRAWS} draws of the items",
    }
    tied = f"{ties[0]} and {len(ties) - 1} more" if ties[1:] else "".join(ties) or "none"
    said = f"The best run is {best}. It ties with {tied}: such a difference may be chance. "
    said += f"The other {len(others) - len(ties)} of the next {len(others)} are worse (p of a paired bootstrap, after "
    said += "Holm's correction, below 0.05). The best was chosen on these digits, which favours it. "
    said += f"Intervals and p are those of items drawn again: they hold for {drawn.settings['population']}."
    lines = [f"{len(runs)} runs of k-means on {n_items} handwritten digits (UCI): which is best?\n"]
    for (step, detail), start, end in zip(steps.items(), times, times[1:], strict=False):
        lines.append(f"  {step:<20}{end - start:6.3f} s   {detail}")
    ranking = Table(["run", LEAD, "95 % interval", "behind", "p", ""], rows)
    lines += ["", as_text(ranking, table_width() or _WIDTH), *textwrap.wrap(said, _WIDTH), ""]
    for name, high in (("all_singletons", "purity"), ("one_cluster", "completeness")):
        i = names.index(name)
        lines.append(f"{name}: {high} {scores[high][i]:.4f}, but adjusted_rand {scores['ari'][i]:.4f}")
    return "\n".join([*lines, _NEXT])


_NEXT = """
Next:
  torchclusteval score FILE.csv --truth COLUMN    your own file, a column a run
  torchclusteval report FILE.csv --truth COLUMN --output report.html
  torchclusteval measures                         `measures NAME` explains one
"""
