"""The command ``cluster-stability``: which clusters of a reference come back in other clusterings."""

import argparse
from dataclasses import replace

import numpy as np
import torch

from torchclusteval.cli.commands.checks import check_printing
from torchclusteval.cli.commands.files import save_picture
from torchclusteval.cli.options import print_note
from torchclusteval.cli.printing import Table, render
from torchclusteval.cli.reading.held_codes import codes_of, labels_of, note_columns
from torchclusteval.cli.reading.read import hold_table, parse_selection
from torchclusteval.inference import cluster_stability

_COLUMNS = ("size", "runs", "mean_jaccard", "recovered", "dissolved", "prediction_strength")
_NOISE = -2  # the code of noise


def run(arguments: argparse.Namespace) -> str:
    """Stability of each cluster of one column in the others."""
    check_printing(arguments)
    arguments.noise = "ignore"
    asked = parse_selection(arguments)
    held, _ = hold_table(asked, {"--reference": arguments.reference})
    held = list(dict.fromkeys(held))  # --columns may name the reference too, which is no run of its own
    if len(held) < 2:
        raise ValueError("clusterings: expected a column beside that of --reference; got none")
    codes, excluded = codes_of(held, asked.labels)
    note_columns(held)
    missing = torch.stack([row >= len(labels_of(one)) for row, one in zip(codes, held, strict=True)])
    labels, noise = labels_of(held[0]), codes[0][excluded[0] & ~missing[0]].tolist()[:1]
    codes, n_items = codes.masked_fill(excluded, _NOISE), codes.shape[1]
    without = int(missing[0].sum())
    if without == n_items:
        raise ValueError(f"--reference: expected a column with labels; {arguments.reference!r} has none")
    if without:
        print_note(f"note: {without} of {n_items} items have no label in {arguments.reference!r} and are left out")
        codes, missing = codes[:, ~missing[0]], missing[:, ~missing[0]]
    noise_label = None if arguments.noise_label is None else _NOISE
    found = cluster_stability(codes[0], codes[1:], ~missing[1:], noise_label=noise_label)
    clusters = [labels[noise[0] if code == _NOISE else code] for code in found.labels.tolist()]
    if arguments.plot is not None:
        from torchclusteval.plots import plot_stability

        save_picture(plot_stability(replace(found, labels=np.array(clusters, dtype=object))), arguments.plot)
    head = {"reference": arguments.reference, "n_items": n_items - without, "n_runs": len(held) - 1}
    values = [getattr(found, name).tolist() for name in _COLUMNS]
    rows = [dict(zip(("cluster", *_COLUMNS), row, strict=True)) for row in zip(clusters, *values, strict=True)]
    title = f"clusters of {arguments.reference} in {head['n_runs']} clusterings of {head['n_items']} items"
    return render(arguments, {"clusters": Table(["cluster", *_COLUMNS], rows)}, head, title)
