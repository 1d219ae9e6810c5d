"""The command ``compare``: clusterings in files against each other."""

import argparse
from typing import Any

from torchclusteval.cli.commands.checks import check_printing, parse_measure
from torchclusteval.cli.commands.files import save_picture
from torchclusteval.cli.commands.labels import given_labels
from torchclusteval.cli.printing import Table, render
from torchclusteval.cli.reading.held import hold_columns
from torchclusteval.cli.reading.selection import parse_selection
from torchclusteval.common.formatting import format_number, printable
from torchclusteval.common.progress import progress_bar
from torchclusteval.inference import pairwise, transitions
from torchclusteval.inference.agreement import stability_of
from torchclusteval.labels.inputs import check_device

_MAX_MATRIX_CLUSTERINGS = 12  # wider matrices only as CSV and JSON


def run(arguments: argparse.Namespace) -> str:
    """Agreement of clusterings with each other."""
    check_printing(arguments)
    measure = parse_measure(arguments.measure, "--measure")
    device, asked = check_device(arguments.device or "cpu"), parse_selection(arguments)
    held = hold_columns(asked)[0]
    names = [one.title for one in held]
    if len(names) < 2:
        raise ValueError(f"clusterings: expected at least two; got {len(names)}{held[0].table.remedy}")
    given = given_labels(asked, held)
    with progress_bar("all pairs") as progress:
        scores = pairwise(given.labels, [measure], device=device, progress=progress, **given.options)
    values = scores[measure.name].cpu() + 0.0  # -0 becomes 0
    if arguments.plot is not None:
        from torchclusteval import plots

        if arguments.picture in (None, "agreement"):
            save_picture(arguments.plot, plots.plot_agreement, scores, names=names)
        else:
            draw = plots.plot_flow if arguments.picture == "flow" else plots.plot_transitions
            save_picture(arguments.plot, draw, transitions(given.labels, **given.noise, device=device), names)
    found, matrix = stability_of(values, measure), values.tolist()
    medoid = None if found.medoid is None else names[found.medoid]
    title = f"{measure.name} of {len(names)} clusterings with each other: mean {format_number(found.overall)}"
    title += "" if medoid is None or len(names) < 3 else f"; the one most like the others is {printable(medoid)}"
    whole = len(names) <= _MAX_MATRIX_CLUSTERINGS
    means = zip(names, found.agreement.tolist(), matrix, strict=True)
    shown = Table(["clustering", "mean", *(names * whole)], [[name, mean, *(row * whole)] for name, mean, row in means])
    pairs = Table(["clustering", *names], [[name, *row] for name, row in zip(names, matrix, strict=True)])
    head: dict[str, Any] = {"measure": measure.name, "clusterings": names, "values": matrix}
    head |= {"agreement": found.agreement.tolist(), "overall": found.overall, "medoid": medoid}
    is_data = arguments.format in ("json", "csv")
    text = render(arguments, {} if arguments.format == "json" else {"": shown}, head, title, pairs)
    return text if whole or is_data else f"{text}\n--format csv or json has all pairs\n"
