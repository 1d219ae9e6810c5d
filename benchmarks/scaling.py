"""How the time grows with the number of clusterings, items and groups, next to scikit-learn and genieclust.

    python benchmarks/scaling.py            # about five minutes, 4 GB; writes and draws into results/
    python benchmarks/scaling.py --small    # a few seconds, to see that it works

Labels are made as in ``compare.py``; answers are compared first; CPU seconds on one thread, medians. A peer is timed on
the first clusterings and its time scaled up; its line ends where one clustering takes longer than ``MOST_PEER_S``.
The slope of a line is the exponent of the size with which our time grows, over the points of much work.
"""

import argparse
import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import timing
import torch
from compare import MEASURES, Shape, half_right, largest_difference
from peers import GENIECLUST, PEERS, SKLEARN, Peer, Values

import torchclusteval as tce

MOST_PEER_S = 1.0  # for one clustering
PEER_S = 0.3  # worth timing in each loop
SAMPLE_S = 0.03  # of our own time in each repeat
MUCH_S = 0.005  # from here on the cost of a call itself does not count
OURS, COUNTING = "torchclusteval", "counting alone"
COMPARED = tuple(peer for peer in PEERS if peer.package in (SKLEARN, GENIECLUST))


class Sweep(NamedTuple):
    """A line of points: shapes that differ in one size."""

    panel: str  # that field of Shape
    fixed: str  # the others, for the title of the panel
    label: str  # and at the line
    peers: bool
    shapes: tuple[Shape, ...]


def of_clusterings(items: int, groups: int, values: tuple[int, ...]) -> Sweep:
    shapes = tuple(Shape(b, items, groups) for b in values)
    return Sweep("clusterings", f"{items:,} items, {groups} groups", "", True, shapes)


def of_items(clusterings: int, groups: int, values: tuple[int, ...]) -> Sweep:
    """Peers only for one clustering: they take no batch, so that more of them take as long each."""
    shapes = tuple(Shape(clusterings, n, groups) for n in values)
    return Sweep("items", f"{groups} groups", f"B = {clusterings}", clusterings == 1, shapes)


def of_groups(clusterings: int, items: int, values: tuple[int, ...]) -> Sweep:
    """Peers only for many clusterings: one of so many items takes them seconds."""
    shapes = tuple(Shape(clusterings, items, k) for k in values)
    return Sweep("groups", "one and 100 clusterings", f"{clusterings} x {items:,} items", clusterings > 1, shapes)


# fmt: off
FULL = (
    of_clusterings(1000, 10, (1, 3, 10, 30, 100, 300, 1000, 2000, 3000, 10_000)),
    of_items(1, 10, (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000,
                     30_000_000, 100_000_000)),
    of_items(100, 10, (100, 300, 1000, 3000, 10_000, 30_000, 100_000)),
    of_groups(100, 10_000, (2, 3, 5, 10, 20, 30, 50, 70, 100, 141, 142, 200, 300, 500, 1000, 2000)),  # sparse from 142
    of_groups(1, 10_000_000, (2, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000)),
)
SMALL = (
    of_clusterings(100, 5, (1, 10)),
    of_items(1, 5, (100, 1000)),
    of_items(5, 5, (100, 1000)),
    of_groups(5, 200, (2, 20, 50)),
    of_groups(1, 1000, (2, 1000)),
)
# fmt: on


def time_peer(peer: Peer, truth: torch.Tensor, labels: torch.Tensor) -> dict[str, Any]:
    """Its time for all clusterings, after a comparison of the first."""
    peer.load()
    true, first = peer.form(truth), peer.form(labels[0])
    values: list[Values] = []
    once = timing.measure(lambda: values.append(peer.score(true, first)), repeats=1)
    measures = list(values[0])
    difference = largest_difference(tce.evaluate(truth, labels[:1], measures), values[:1])
    if not max(difference.values()) <= peer.tolerance:
        raise SystemExit(f"{peer.name} and torchclusteval differ: {difference}")
    count = max(1, min(len(labels), int(PEER_S / once.cpu_s)))
    preds = [peer.form(row) for row in labels[:count]]
    timed = timing.measure(lambda: [peer.score(true, pred) for pred in preds], repeats=3, budget_s=3 * PEER_S)
    return {**timed.record(), "cpu_s": timed.cpu_s * len(labels) / count, "timed_on": count}


def time_point(shape: Shape, peers: list[Peer], repeats: int) -> dict[str, Any]:
    truth, labels = half_right(shape, torch.Generator().manual_seed(0))
    tables = tce.ContingencyTables.from_labels
    calls = {
        COUNTING: lambda: tables(truth, labels),
        OURS: lambda: tce.evaluate(truth, labels, MEASURES),
    }
    times = {peer.package: time_peer(peer, truth, labels) for peer in peers}
    for name, call in calls.items():
        times[name] = timing.measure(call, repeats=repeats, sample_s=SAMPLE_S).record()
    point = {"shape": shape._asdict(), "layout": tables(truth, labels).layout, "times": times}
    shown = [f"{name} {timing.seconds(times[name]['cpu_s'])}" for name in times]
    print(f"{shape}: {', '.join(shown)} ({point['layout']})", flush=True)
    return point


def run(sweep: Sweep, peers: list[Peer], repeats: int) -> dict[str, Any]:
    going = peers if sweep.peers else []
    points = []
    for shape in sweep.shapes:
        points.append(time_point(shape, going, repeats))
        times = points[-1]["times"]
        going = [p for p in going if times[p.package]["cpu_s"] / shape.clusterings <= MOST_PEER_S]
    found = {"panel": sweep.panel, "fixed": sweep.fixed, "label": sweep.label, "slope": slope(points, sweep.panel)}
    print(f"{sweep.panel}, {sweep.label or sweep.fixed}: slope {found['slope']}", flush=True)
    return {**found, "points": points}


def slope(points: list[dict[str, Any]], size: str) -> float | None:
    """The exponent of the size in our time, by least squares of the logarithms; None for fewer than three points."""
    known = [(p["shape"][size], p["times"][OURS]["cpu_s"]) for p in points if p["times"][OURS]["cpu_s"] >= MUCH_S]
    if len(known) < 3:
        return None
    x, y = np.log(known).T
    return round(float(np.polyfit(x, y, 1)[0]), 3)


# the picture ----------------------------------------------------------------------------------------------

# Okabe and Ito's colours; shapes of markers and dashes tell the lines apart without them
LOOKS: dict[str, dict[str, Any]] = {
    SKLEARN: {"color": "#D55E00", "marker": "s", "label": "scikit-learn, 9 measures"},
    GENIECLUST: {"color": "#009E73", "marker": "^", "label": "genieclust, 11 measures"},
    OURS: {"color": "#0072B2", "marker": "o", "label": f"torchclusteval, {len(MEASURES)} measures", "linewidth": 2},
    COUNTING: {"color": "#56B4E9", "marker": ".", "label": "its counting alone", "linestyle": "--"},
}
AXES = {
    "clusterings": "clusterings in one call, B",
    "items": "items in each, N",
    "groups": "groups on each side, K",
}


def draw(content: dict[str, Any], path: Path) -> None:
    """Three panels, one for each size, that share the axis of seconds a clustering."""
    from matplotlib.figure import Figure

    machine = content["environment"]
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    panels = dict(zip(AXES, figure.subplots(1, 3, sharey=True), strict=True))
    for sweep in content["sweeps"]:
        draw_sweep(panels[sweep["panel"]], sweep)
    panels["clusterings"].set_ylabel("CPU time per clustering", fontsize=9)
    lines = {line.get_label(): line for axes in panels.values() for line in axes.get_lines()}
    shown = {look["label"]: lines[look["label"]] for look in LOOKS.values() if look["label"] in lines}
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    processor = machine["cpu"].replace("(R)", "")
    title = f"Time to score one clustering (CPU time, one thread of an {processor}, torch {machine['torch']})"
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, dpi=200)
    print(f"written: {path}")


def draw_sweep(axes: Any, sweep: dict[str, Any]) -> None:
    from matplotlib.ticker import EngFormatter

    points, size = sweep["points"], sweep["panel"]
    for name, look in LOOKS.items():
        found = [(p["shape"], p["times"][name]["cpu_s"]) for p in points if name in p["times"]]
        if found:
            seconds = [cpu / shape["clusterings"] for shape, cpu in found]
            axes.plot([shape[size] for shape, _ in found], seconds, markersize=4, **look)
            if name == OURS:
                words = [sweep["label"], "" if sweep["slope"] is None else f"slope {sweep['slope']:.2f}"]
                note(axes, ", ".join(filter(None, words)), found[0][0][size], seconds[0], look["color"])
    layouts = [p["layout"] for p in points]
    if "dense" in layouts and "sparse" in layouts:
        switch = points[layouts.index("sparse")]["shape"][size]
        axes.axvline(switch, color="0.6", linestyle=":", linewidth=1, zorder=0)
        axes.text(switch * 1.1, 0.02, "sparse\ntables", color="0.35", fontsize=8, transform=axes.get_xaxis_transform())
    axes.set(xscale="log", yscale="log")
    axes.set_xlabel(AXES[size], fontsize=9)
    axes.set_title(sweep["fixed"], fontsize=9)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.yaxis.set_major_formatter(EngFormatter(unit="s"))
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.3)


def note(axes: Any, text: str, x: float, y: float, color: str) -> None:
    """A word below a point."""
    from matplotlib.patheffects import withStroke

    outline = [withStroke(linewidth=2.5, foreground="white")]
    settings = {"fontsize": 8, "color": color, "path_effects": outline, "zorder": 4}
    axes.annotate(text, (x, y), (0, -13), textcoords="offset points", **settings)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="smallest sizes, one repeat")
    parser.add_argument("--output", type=Path, help="results file (default: results/scaling_DATE.json); PNG next to it")
    options = parser.parse_args()
    timing.one_thread()
    peers = [peer for peer in COMPARED if peer.present]
    sweeps = [run(sweep, peers, 1 if options.small else 7) for sweep in (SMALL if options.small else FULL)]
    path = options.output or timing.RESULTS / f"scaling_{datetime.date.today()}.json"
    environment = timing.environment(["scikit-learn", "scipy", "genieclust"])
    content = {"environment": environment, "measures": MEASURES, "sweeps": sweeps}
    timing.save(path, content)
    draw(content, path.with_suffix(".png"))


if __name__ == "__main__":
    main()
