"""The command ``score-overlapping``: files of items with several groups, against the truth in the first of them."""

import argparse
import itertools
from collections.abc import Collection, Hashable

from torchclusteval.cli.commands.checks import check_printing, parse_list, parse_measure
from torchclusteval.cli.commands.ranking import columns_of, note_skipped, pictured, rows_of
from torchclusteval.cli.commands.resampling import plot_scores
from torchclusteval.cli.options import numbered, print_note, warnings_as_notes
from torchclusteval.cli.printing import Table, render
from torchclusteval.labels.inputs import check_device
from torchclusteval.labels.spelled import whole_number
from torchclusteval.overlap import OVERLAP_DEFAULT, OVERLAP_MEASURES, Memberships, evaluate_overlapping
from torchclusteval.overlap.files import LAYOUTS, read_memberships
from torchclusteval.overlap.inputs import no_item_in_common
from torchclusteval.scoring.scores import best_first

_LEADING = "extended_bcubed_f"


def run(arguments: argparse.Namespace) -> str:
    """Read, score and print."""
    check_printing(arguments)
    if len(arguments.files) < 2:
        raise ValueError("FILE: expected the truth and then at least one clustering; got one file")
    device = check_device(arguments.device or "cpu")
    asked = list(OVERLAP_DEFAULT if arguments.measures is None else parse_list(arguments.measures))
    sort = None if arguments.top is None else _LEADING
    if arguments.sort is not None:
        sort = parse_measure(arguments.sort, "--sort", OVERLAP_MEASURES).name
    true, *clusterings = (side.to(device) for side in _read(arguments))
    names = numbered(arguments.files[1:])
    scores = evaluate_overlapping(true, Memberships.stack(clusterings), [*asked, *([sort] if sort else [])])
    order, columns = [*range(len(names))], columns_of(scores, sort)
    if sort is not None:
        order = best_first(columns[sort], scores.measures[sort].better, arguments.top)
    if arguments.plot is not None:
        measure, drawn = pictured(scores, sort, arguments.top)
        plot_scores(arguments, measure, names, columns[measure.name], drawn)
    table = Table(["clustering", *columns], rows_of(names, columns, order))
    head = {"n_items": int(scores.n_items[0]), "truth": arguments.files[0], **note_skipped(scores.skipped)}
    return render(arguments, {"scores": table}, head)


def _read(arguments: argparse.Namespace) -> list[Memberships]:
    """Memberships of all files; each shares an item with the first."""
    layouts = parse_list(arguments.layout)
    wrong = next((name for name in layouts if name not in ("auto", *LAYOUTS)), None)
    if wrong is not None or len(layouts) not in (1, len(arguments.files)):
        got = f"{len(layouts)} for {len(arguments.files)} files" if wrong is None else repr(wrong)
        raise ValueError(f"--layout: expected auto, {', '.join(LAYOUTS)}, once or for each file; got {got}")
    read: list[Memberships] = []
    for path, layout in zip(arguments.files, itertools.cycle(layouts), strict=False):
        with warnings_as_notes():
            read.append(read_memberships(path, layout=layout, header=arguments.header))
        disjoint = no_item_in_common(read[0].items or (), read[-1].items or ())
        if disjoint is not None:
            got = f"others, no item is in both: {disjoint.partition(': ')[2]} (names must agree in every letter)"
            raise ValueError(f"{path}: expected items of {arguments.files[0]}; got {got}")
        _note_spellings(arguments.files[0], path, read[0].items or (), read[-1].items or ())
    return read


def _note_spellings(first: str, path: str, left: Collection[Hashable], right: Collection[Hashable]) -> None:
    """Print a note if items of the two files differ only in the spelling of a number, as 1 and 01."""
    ours, theirs = (
        {number: x for x in one if x not in other and (number := whole_number(str(x))) is not None}
        for one, other in ((left, {*right}), (right, {*left}))
    )
    if twins := [(ours[number], theirs[number]) for number in ours if number in theirs]:
        example = f"{twins[0][0]!r} in {first} and {twins[0][1]!r} in {path}"
        print_note(f"note: {len(twins)} items count twice, as their names differ: {example}")
