"""A report on clusterings: one page of HTML with the ranking, its uncertainty, agreement, weak groups and stability.

``evidence`` computes what stands in it, ``summary`` and ``sections`` write it, ``page`` makes HTML of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Unpack

import numpy as np
import torch

from torchclusteval.common.checks import as_path, check_choice
from torchclusteval.common.optional import import_optional
from torchclusteval.common.output import write_text
from torchclusteval.common.progress import Progress, Steps
from torchclusteval.inference.bootstrap_options import UNITS, BootstrapOptions
from torchclusteval.inference.paired_comparison import PairedOptions
from torchclusteval.inference.resampling import check_progress
from torchclusteval.inference.sampling import seeded
from torchclusteval.labels.encoding import EncodedPair, argument_names, encode
from torchclusteval.labels.options import LabelOptions, check_names
from torchclusteval.labels.renaming import as_array
from torchclusteval.labels.shapes import check_indexes
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import Selection, find_measure, select
from torchclusteval.reports.evidence import Evidence, Labelling, gather, match_best
from torchclusteval.reports.page import page
from torchclusteval.reports.sections import MAX_SECTIONS, Section, sections_of
from torchclusteval.reports.summary import summary_of
from torchclusteval.scoring.no_clusterings import warn_of_no_clusterings
from torchclusteval.scoring.scores import leading
from torchclusteval.tables import ContingencyTables

__all__ = ["report"]

LIKE_NONE = "a column that does not look like a clustering"
REPORTED = "ami_arithmetic", "adjusted_rand", "v_measure", "bcubed_f", "one_to_one_accuracy", "variation_of_information"


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A report, as :func:`report` returns it; notebooks show it."""

    names: tuple[str, ...]  # of the clusterings
    evidence: Evidence  # the scores, intervals, differences ... that it shows
    html: str  # the page

    @property
    def best(self) -> str:
        """The name of the best clustering."""
        return self.names[self.evidence.best]

    def to_html(self, path: Any) -> None:
        """Write the page to a file, which is replaced."""
        write_text(as_path(path, "path"), self.html)

    def __repr__(self) -> str:
        return f"Report(clusterings={len(self.names)}, best={self.best!r})"

    def _repr_html_(self) -> str:
        frame = "width:100%;height:80vh;border:1px solid #ddd"
        return f'<iframe title="report" style="{frame}" srcdoc="{escape(self.html, quote=True)}"></iframe>'


def report(
    labels_true: Any,
    labels_pred: Any,
    measures: Selection = REPORTED,
    *,
    by: Any = None,
    sort: str | Measure | None = None,
    title: str = "Report on clusterings",
    n_resamples: int = 1000,
    confidence_level: float = 0.95,
    rng: int | torch.Generator = 0,
    resample: str | None = None,
    progress: Progress | None = None,
    **options: Unpack[PairedOptions],
) -> Report:
    """Rank clusterings, test the differences from the best, show where it is weak and which of its clusters hold.

    Args:
        labels_true: ``(N,)`` classes; None: no truth; clusterings are ranked by their agreement.
        labels_pred: ``(B, N)`` clusters; a data frame or a mapping names the clusterings.
        measures: as in ``evaluate``.
        by: ``(N,)`` ids of groups of items (documents, donors), each scored by itself.
        sort: the measure that ranks, by name or your own; by default ``ami_arithmetic``, or the first with a direction;
            without a truth ``adjusted_rand``, of their agreement.
        title: of the page.
        n_resamples: least number of draws of the items (groups of items); comparisons of many clusterings take more.
        confidence_level: of intervals; one minus this is the level of the tests, after Holm's correction.
        rng: source of the draws, a seed or a ``torch.Generator``. With a seed the same call gives the same page.
        resample: what is drawn, ``"items"`` or ``"classes"`` as in ``bootstrap``; with ``by`` only ``"groups"``.
        progress: called as ``progress(done, total)``, in thousandths of the work.
        **options: ``mask``, ``ignore_index``, ``noise_label``, ``noise``, ``missing``, ``item_dims`` and ``device`` of
            ``ContingencyTables.from_labels``.

    Returns:
        The report. ``to_html(path)`` writes one page that needs neither network nor scripts; ``evidence`` holds the
        results: intervals of the 200 best clusterings; differences, agreement and stability of the 60 best.

    Raises:
        ValueError: labels or options are not as described.
        ImportError: matplotlib is not installed.

    Example:
        >>> import torchclusteval as tce
        >>> true = ["a"] * 10 + ["b"] * 10
        >>> found = tce.report(true, {"kmeans": [0] * 9 + [1] * 11, "halves": [0, 1] * 10}, n_resamples=100)
        >>> found.best
        'kmeans'
    """
    check_names(options, PairedOptions.__annotations__)
    check_progress(progress)
    seeded(rng)
    import_optional("matplotlib.figure", "plots")
    chosen = list(select(measures))
    labels, facts = read_clusterings(labels_true, labels_pred, by, options), list[tuple[str, str]]()
    if labels_true is not None:
        tables = ContingencyTables.from_labels(labels_true, labels_pred, **options)
        doubtful = warn_of_no_clusterings(tables, options.get("noise", "ignore"))
        facts = [(LIKE_NONE, f"{name}: {reason}") for name, reason in doubtful.items()]
    lead = ranking_measure(chosen, sort, with_truth=labels_true is not None)
    return write_report(labels, chosen, lead, title, n_resamples, confidence_level, rng, facts, resample, progress)


def write_report(
    labels: Labelling,
    measures: list[Measure],
    lead: Measure,
    title: str,
    n_resamples: int,
    confidence_level: float,
    rng: int | torch.Generator,
    facts: Sequence[tuple[str, str]] = (),
    resample: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """The report on labels as codes; ``facts`` are rows of what was read."""
    check_choice(resample, "resample", (None, *UNITS, "groups"))
    if labels.groups is not None and resample in UNITS:
        raise ValueError(f"resample: expected 'groups' or None, as groups are drawn with by=; got {resample!r}")
    if labels.groups is None and resample == "groups":
        raise ValueError("resample: expected groups of items too (by=, --by) for 'groups'; got none")
    options = BootstrapOptions(n_resamples, confidence_level, None, None, resample)
    if not len(labels.names):
        raise ValueError("labels_pred: expected at least one clustering; got none")
    if not bool(labels.scored().any()):
        raise ValueError("labels_pred: expected items with labels on both sides; got none")
    kept = measures if lead in measures else [lead, *measures]
    steps = Steps(progress, 100 if labels.groups is None else 20)
    found = gather(labels, kept, lead, options, rng, steps)
    best, drawn, sections = match_best(labels, found), steps.step(), list[Section]()
    for section in sections_of(labels, found, best, facts):
        sections.append(section)
        drawn(len(sections), MAX_SECTIONS)
    drawn(1, 1)
    return Report(tuple(labels.names), found, page(title, summary_of(labels, found, best), sections))


def ranking_measure(measures: list[Measure], sort: str | Measure | None, *, with_truth: bool) -> Measure:
    """The measure that ranks, with a direction; names are those of ``measures`` first, which may be a user's own."""
    if sort is None:
        symmetric = [] if with_truth else [measure for measure in measures if measure.name == "adjusted_rand"]
        return leading(symmetric or measures, "sort")
    try:
        if isinstance(sort, Measure):
            select([*measures, sort])  # no two of one report have the same name
            measure = sort
        else:
            measure = next((one for one in measures if one.name == sort), None) or find_measure(sort)
    except ValueError as error:
        raise ValueError(f"sort: {str(error).partition(': ')[2]}") from None
    if measure.better is None:
        raise ValueError(f"sort: expected a measure with a direction; got {measure.name}, which has none")
    return measure


def read_clusterings(labels_true: Any, labels_pred: Any, by: Any, options: Mapping[str, Any]) -> Labelling:
    """Labels of a report as codes."""
    own = {"ignore_index": None, "missing": "ignore", "item_dims": options.get("item_dims") or 1}
    with argument_names(labels_true="labels_pred"):
        pred = encode(labels_pred, labels_pred, LabelOptions.of({**options, **own}))
    if len(pred.batch_shape) > 1:
        raise ValueError(f"labels_pred: expected shape (B, N) or (N,); got {(*pred.batch_shape, pred.n_items)}")
    count, n = pred.batch_shape.numel(), pred.n_items
    kept = _kept(pred, count)
    codes = (pred.pred.codes.long() - pred.pred.offset).expand(count, n).where(kept, 0)
    clusters = np.broadcast_to(as_array(pred.pred.group_labels, pred.pred.size), (count, pred.pred.size))
    series = getattr(labels_pred, "name", None)  # of a column of pandas or polars that stands alone
    names = pred.names or ([series] if isinstance(series, str) and series else range(count))
    labels = Labelling([str(x) for x in names], codes, lambda number: [*map(str, clusters[number].tolist())], kept)
    if labels_true is None:
        if by is not None:
            raise ValueError("by: expected None without a truth; got groups of items")
        return labels
    pair = encode(labels_true, labels_pred, LabelOptions.of(options))
    if pair.true.codes.shape[:-1].numel() != 1:
        raise ValueError(f"labels_true: expected one truth (N,); got shape {tuple(pair.true.codes.shape)}")
    known = (_kept(pair, count) | ~kept).all(0)  # what excludes an item from a clustering that has it is its class
    labels = replace(labels, true=_codes(pair).where(known, 0), classes=_groups(pair), with_class=known)
    if by is None:
        return labels
    with argument_names(labels_true="by", labels_pred="by"):
        groups = encode(by, by, LabelOptions(missing=options.get("missing", "error"), device=pair.device))
    if groups.batch_shape or groups.n_items != n:
        raise ValueError(f"by: expected ids of {n} items; got shape {(*groups.batch_shape, groups.n_items)}")
    check_indexes([*pair.indexes, *(("by", index) for _, index in groups.indexes)], n)
    grouped = _kept(groups, 1)[0]
    ids = _codes(groups).where(grouped, 0)
    return replace(labels, groups=ids, group_names=_groups(groups), with_class=known & grouped)


def _kept(pair: EncodedPair, count: int) -> torch.Tensor:
    shape = (count, pair.n_items)
    return torch.ones(shape, dtype=torch.bool, device=pair.device) if pair.mask is None else pair.mask.expand(shape)


def _codes(pair: EncodedPair) -> torch.Tensor:
    """``(N,)`` of the first side."""
    return (pair.true.codes.long() - pair.true.offset).reshape(pair.n_items)


def _groups(pair: EncodedPair) -> tuple[str, ...]:
    return tuple(map(str, as_array(pair.true.group_labels, pair.true.size).tolist()))
