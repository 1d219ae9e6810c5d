"""The command ``cluster-stability``: which clusters of a reference come back in other clusterings."""

import argparse
from dataclasses import replace

from torchclusteval.cli.commands.checks import check_printing
from torchclusteval.cli.commands.files import save_picture
from torchclusteval.cli.commands.labels import given_labels
from torchclusteval.cli.options import print_note
from torchclusteval.cli.printing import Table, render
from torchclusteval.cli.reading.held import hold_columns
from torchclusteval.cli.reading.selection import parse_selection
from torchclusteval.inference import cluster_stability


def run(arguments: argparse.Namespace) -> str:
    """Stability of each cluster of one column in the others."""
    check_printing(arguments)
    arguments.noise = "ignore"
    asked = parse_selection(arguments)
    held, _ = hold_columns(asked, {"--reference": arguments.reference})
    held = list(dict.fromkeys(held))  # --columns may name the reference too, which is no run of its own
    if len(held) < 2:
        raise ValueError("clusterings: expected a column other than that of --reference; got none")
    if asked.spells_missing(asked.noise_label):  # missing labels are of items that a run lacks
        asked = replace(asked, noise_label=None)
    given = given_labels(asked, held)
    reference, *others = given.labels.values()
    n_items, without = len(held[0]), 0 if reference.missing is None else int(reference.missing.sum())
    if without == n_items:
        raise ValueError(f"--reference: expected a column with labels; {arguments.reference!r} has none")
    if without:
        print_note(f"note: {without} of {n_items} items have no label in {arguments.reference!r} and are left out")
    found = cluster_stability(reference, dict(enumerate(others)), noise_label=given.noise["noise_label"])
    if arguments.plot is not None:
        from torchclusteval.plots import plot_stability

        save_picture(arguments.plot, plot_stability, found)
    head = {"reference": arguments.reference, "n_items": n_items - without, "n_runs": len(held) - 1}
    values = {"cluster": found.labels.tolist(), **found.to_dict()}
    del values["labels"]
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    title = f"clusters of {arguments.reference} in {head['n_runs']} clusterings of {head['n_items']} items"
    return render(arguments, {"clusters": Table([*values], rows)}, head, title)
