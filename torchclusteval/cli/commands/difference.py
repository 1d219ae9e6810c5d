"""The command ``difference``: the scores of clusterings less those of one, with intervals and p-values."""

import argparse
import math
import warnings

import numpy as np
from torch import Tensor

from torchclusteval.cli.commands.checks import check_noise, check_printing, parse_device
from torchclusteval.cli.commands.ranking import best_first, measures_and_sort, note_skipped, rows_of
from torchclusteval.cli.options import print_note
from torchclusteval.cli.printing.tables import Table, render
from torchclusteval.cli.reading.held_codes import codes_of, codes_of_truth
from torchclusteval.cli.reading.read import hold_table, parse_selection
from torchclusteval.common.progress import progress_bar
from torchclusteval.inference import paired_bootstrap
from torchclusteval.measures.registry import MEASURES

_LEAST_RESAMPLES = 1000


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
    true, without_class = codes_of_truth(truth, asked.labels)
    codes, excluded = codes_of([reference, *others], asked.labels)
    mask = ~(without_class | excluded[0] | excluded[1:])
    level = arguments.confidence_level or 0.95
    needed = math.ceil(2 * len(others) / (1 - level)) if arguments.correction else 0
    with warnings.catch_warnings(record=True) as caught, progress_bar("bootstrap") as progress:
        warnings.simplefilter("always")
        found = paired_bootstrap(
            true,
            codes[1:],
            codes[0],
            measures,
            arguments.resamples or max(_LEAST_RESAMPLES, needed),
            level,
            correction=arguments.correction,
            rng=arguments.seed or 0,
            mask=mask,
            item_dims=1,
            device=device,
            progress=progress,
        )
    for warning in caught:
        print_note(f"note: {warning.message}")
    skipped = note_skipped(found.skipped)
    columns: dict[str, np.ndarray] = {}
    share = mask.double().mean(-1)
    if not bool((share == 1).all()):
        columns["coverage"] = _array(share)
    for name, record in found.items():
        columns |= {name: _array(record.estimate_a), f"{name}_difference": _array(record.difference)}
        columns |= {f"{name}_difference_low": _array(record.low), f"{name}_difference_high": _array(record.high)}
        columns[f"{name}_p"] = _array(record.p_value)
        if record.p_adjusted is not None:
            columns[f"{name}_p_adjusted"] = _array(record.p_adjusted)
    print_note(f"note: differences, with {100 * level:g} % intervals, are to {arguments.against!r}")
    order = [*range(len(others))]
    if sort is not None:
        order = best_first(columns[sort], MEASURES[sort].better, arguments.top)
    table = Table(["clustering", *columns], rows_of([one.title for one in others], columns, order))
    head = {"n_items": len(true), "truth": arguments.truth, "against": arguments.against, **skipped}
    return render(arguments, {"scores": table}, head)


def _array(values: Tensor) -> np.ndarray:
    found: np.ndarray = values.numpy(force=True) + 0.0  # -0 becomes 0
    return found
