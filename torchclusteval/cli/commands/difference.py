"""The command ``difference``: the scores of clusterings less those of one, with intervals and p-values."""

import argparse
import math

import numpy as np

from torchclusteval.cli.commands.checks import check_noise, check_printing, parse_device
from torchclusteval.cli.commands.labels import given_labels
from torchclusteval.cli.commands.ranking import best_first, measures_and_sort, note_skipped, rows_of
from torchclusteval.cli.options import print_note, warnings_as_notes
from torchclusteval.cli.printing import Table, render
from torchclusteval.cli.reading.read import hold_table, parse_selection
from torchclusteval.common.progress import progress_bar
from torchclusteval.inference import paired_bootstrap
from torchclusteval.labels import LabelOptions, encode
from torchclusteval.measures.registry import MEASURES


def run(arguments: argparse.Namespace) -> str:
    """Read, test and print."""
    check_printing(arguments)
    check_noise(arguments)
    measures, sort = measures_and_sort(arguments)
    device, asked = parse_device(arguments.device), parse_selection(arguments)
    named = {"--truth": arguments.truth, "--against": arguments.against}
    (truth, reference, *others), _ = hold_table(asked, named)
    others = [one for one in others if one is not reference]
    if not others:
        raise ValueError(f"--against: expected another clustering beside {arguments.against!r}; got none")
    given = given_labels(asked, [reference, *others], truth)
    kept = encode(given.true, given.labels, LabelOptions.of(given.options)).mask
    against = given.labels.pop(reference.title)
    level = arguments.confidence_level or 0.95
    needed = math.ceil(2 * len(others) / (1 - level)) if arguments.correction else 0
    with warnings_as_notes(), progress_bar("bootstrap") as progress:
        found = paired_bootstrap(
            given.true,
            given.labels,
            against,
            measures,
            arguments.resamples or max(1000, needed),
            level,
            correction=arguments.correction,
            rng=arguments.seed or 0,
            device=device,
            progress=progress,
            **given.options,
        )
    skipped = note_skipped(found.skipped)
    columns: dict[str, np.ndarray] = {}
    if kept is not None and not bool(kept.all()):
        columns["coverage"] = (kept[1:] & kept[:1]).double().mean(-1).expand(len(others)).numpy()
    for name, record in found.items():
        values = {"": record.estimate_a, "_difference": record.difference, "_difference_low": record.low}
        values |= {"_difference_high": record.high, "_p": record.p_value}
        values |= {} if record.p_adjusted is None else {"_p_adjusted": record.p_adjusted}
        columns |= {name + key: value.numpy(force=True) + 0.0 for key, value in values.items()}  # -0 becomes 0
    print_note(f"note: differences, with {100 * level:g} % intervals, are to {arguments.against!r}")
    order = [*range(len(others))]
    if sort is not None:
        order = best_first(columns[sort], MEASURES[sort].better, arguments.top)
    table = Table(["clustering", *columns], rows_of([one.title for one in others], columns, order))
    head = {"n_items": len(truth), "truth": arguments.truth, "against": arguments.against, **skipped}
    return render(arguments, {"scores": table}, head)
