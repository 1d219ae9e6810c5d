"""The sections of a report."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from html import escape
from typing import Any

import numpy as np
from torch import Tensor

from torchclusteval.common.formatting import format_number
from torchclusteval.plots import plot_agreement, plot_scores, plot_stability, plot_table
from torchclusteval.plots.scores import difference_series, draw_series, score_series
from torchclusteval.reports import summary
from torchclusteval.reports.evidence import MAX_RANKED, Best, Evidence, Labelling, agreement_measure, with_labels
from torchclusteval.reports.page import Cell, name, note, paragraph, picture, table, text
from torchclusteval.reports.tested import GOAL
from torchclusteval.scoring.breakdown import per_class, per_cluster
from torchclusteval.scoring.matching import match, matched_scores
from torchclusteval.scoring.scores import Scores, low_coverage
from torchclusteval.tables import ContingencyTables

MAX_SECTIONS = 7
_MAX_ROWS = 200  # of a table of groups
_MAX_LISTED = 3000  # clusterings in the ranking
_MAX_DRAWN = 60  # clusters in the picture of stability

Rows = list[list[Cell]]
Section = tuple[str, str, str]


def sections_of(
    labels: Labelling, found: Evidence, best: Best | None, facts: Sequence[tuple[str, str]]
) -> Iterator[Section]:
    """Anchor, heading and HTML of each section."""
    yield "read", "What was read", _read(labels, facts)
    yield "ranking", "Ranking", _ranking(labels, found)
    if found.differences is not None:
        yield "differences", "Differences from the best", _differences(labels, found)
    if found.agreement is not None:
        yield "agreement", "Agreement of the clusterings", _agreement(labels, found)
    if best is not None:
        shown = labels.names[found.best]
        yield "table", f"The best clustering: {shown}", _table(best, shown)
        yield "groups", "Its weakest classes and clusters", _classes(best) + _clusters(best.table)
    elif found.tables is not None:
        yield "groups", "The best clustering, group by group", _by_group(labels, found)
    if found.stability is not None:
        yield "stability", "Stability of its clusters", _stability(labels, found)


def _read(labels: Labelling, facts: Sequence[tuple[str, str]]) -> str:
    count, items = labels.codes.shape
    rows = [*facts, ("items", str(items)), ("clusterings", str(count))]
    if labels.true is not None:
        rows.append(("classes", str(len(labels.true[labels.scored().any(0)].unique()))))
        rows.append((f"items without {_needed(labels)}, not scored", str(items - int(_with_class(labels).sum()))))
    if labels.groups is not None:
        rows.append(("groups of items, each scored by itself", str(len(labels.group_names))))
    lacking = items - labels.kept.sum(1)
    if bool((lacking > 0).any()):
        span = _span(str(int(lacking.min())), str(int(lacking.max())))
        rows.append(("items that a clustering leaves out (noise, missing, masked)", span))
    body = "".join(
        f'<tr><th scope="row">{text(key)}</th><td class="text">{text(value)}</td></tr>' for key, value in rows
    )
    out = f'<div class="wide"><table><tbody>{body}</tbody></table></div>'
    if labels.true is None:
        return out
    shares = labels.scored().sum(1).double() / max(1, items)
    if not bool((shares < 1).any()):
        return out + paragraph("Every item has a class and a cluster in every clustering: all are scored.")
    return out + paragraph(
        f"Scores are of the items with a class and a cluster, {_span(_percent(shares.min()), _percent(shares.max()))} "
        "of all. A clustering that leaves out its difficult items looks better than one that does not: compare the "
        "column <i>scored</i> of the ranking."
    )


def _ranking(labels: Labelling, found: Evidence) -> str:
    lead, count, shown = found.lead, len(labels.names), found.order[:MAX_RANKED]
    if found.scores is None:
        return _typical(labels, found)
    level = summary.confidence_of(found)
    drawn = found.intervals.settings
    how = f"; {level} intervals come from drawing {drawn['resampled']}"
    if labels.groups is not None:
        how = ", the mean over the groups of items; intervals are those of means over subsets of the groups"
    out = paragraph(f"By {name(lead.name)} ({lead.better} is better){how}, and hold for {drawn['population']}.")
    out += "".join(note(escape(said[0].upper() + said[1:] + ".")) for said in found.intervals.notes)
    record, names = found.intervals[lead.name], [labels.names[i] for i in shown]
    spans = labels.groups is None or 2.0 ** (1 - len(labels.group_names)) < 1 - drawn["confidence_level"]
    low, high = (record.low, record.high) if spans else (None, None)
    series = score_series(lead.name, lead.better, names, record.estimate, low, high, f"{level} intervals")
    beside = " with intervals" if spans else ""
    out += picture(draw_series(series, None), f"{lead.name} of {len(shown)} clusterings{beside}, the best first")
    scores, items = found.scores, labels.codes.shape[1]
    others = [measure for measure in scores if measure != lead.name]
    shares = (labels.scored().sum(1).double() / max(1, items)).tolist()
    partial = min(shares) < 1
    header = ["", "clustering", lead.name, "interval"]
    header += ["all items"] * (found.together is not None)
    header += ["pooled"] * (found.pooled is not None) + ["scored"] * partial
    rows: Rows = []
    for rank, i in enumerate(found.order[:_MAX_LISTED]):
        low, high = (float(x[rank]) if rank < len(shown) else np.nan for x in (record.low, record.high))
        row: list[Cell] = [rank + 1, labels.names[i], float(scores[lead.name][i]), (summary.between(low, high), low)]
        row += [float(more[lead.name][i]) for more in (found.together, found.pooled) if more is not None]
        if partial:
            row.append((_percent(shares[i]), shares[i]))
        rows.append([*row, *(float(scores[measure][i]) for measure in others)])
    out += table([*header, *others], rows, words=(1,), best=0)
    if few := low_coverage(float(labels.scored().sum(1).min() / max(1, items)), scores.measures.values()):
        out += note(f"{few}.")
    if count > len(shown):
        cut = f" Shown are the best {_MAX_LISTED}; <code>torchclusteval score --sort</code> ranks all."
        out += note(f"Intervals are of the best {len(shown)} of {count}.{cut * (count > _MAX_LISTED)}")
    if not spans:
        few = f"There are {len(labels.group_names)} groups: too few for an interval of {level}"
        out += note(f"{few}, and for any difference to be told from chance at this level.")
    if found.together is not None:
        out += note("<i>all items</i> is the score of the items of all groups together.")
    if found.pooled is not None:
        out += note("<i>pooled</i> adds up the sums of the groups, then scores (micro average).")
    return out


def _typical(labels: Labelling, found: Evidence) -> str:
    order = "There is no truth: clusterings are in the order of their mean agreement with the others."
    out = paragraph(f"{order} That says how typical they are, not how good.")
    if found.typical is None:
        return out
    shown = enumerate(found.order)
    rows: Rows = [[rank + 1, labels.names[i], float(found.typical[i])] for rank, i in shown]
    return out + table(["", "clustering", f"mean {found.lead.name}"], rows, words=(1,), best=0)


def _differences(labels: Labelling, found: Evidence) -> str:
    record, settings = found.differences[found.lead.name], found.differences.settings
    given, best = summary.verdicts(labels, found), labels.names[found.best]
    others, tests = len(given), settings["comparisons"]
    names = [labels.names[i] for i in found.order[1 : others + 1]]
    times = f"{tests} comparison{'s' * (tests != 1)}"
    drawn = settings["resampled"]
    after = "the clustering after it" if others == 1 else f"each of the {others} clusterings after it"
    again = f"on the same {drawn} drawn again {settings['n_resamples']} times"
    if labels.groups is not None:
        again = f"over {settings['n_resamples']} subsets of the groups of items, as if the two were exchanged in each"
    out = paragraph(
        f"The difference of {text(best)} to {after}, {again}. "
        f"A clustering is told apart where the p-value, adjusted for {times} (Holm), is below "
        f"{1 - settings['confidence_level']:.2g}: that holds for <b>{given.count(summary.REAL)}</b> of them. "
        "Intervals, where there are any, are adjusted alike: they leave out 0 for these, and for no others. Equal "
        "partitions count as one."
    )
    if tests and not summary.can_be_real(found):
        least = format_number(settings["smallest_p_adjusted"])
        few = f"with {summary.groups_of(labels)} and {times} adjusted p-values are at least {least}"
        out += paragraph(f"No difference can be shown here: {few}.")
    span = "" if bool(record.low.isnan().all()) else f"{summary.confidence_of(found)} intervals"
    axes = draw_series(difference_series(found.lead.name, best, "another", names, record, span), None)
    out += picture(axes, f"differences of {best} to the others{', with intervals' if span else ''}")
    shown = [summary.p_shown(found, p) for p in record.p_adjusted.tolist()]
    columns = (x.tolist() for x in (record.difference, record.low, record.high, record.p_adjusted))
    rows: Rows = [
        [one, value, (summary.between(low, high), low), (said, p), verdict]
        for one, said, verdict, value, low, high, p in zip(names, shown, given, *columns, strict=True)
    ]
    out += table(["clustering", "difference", "interval", "p adjusted", "verdict"], rows, words=(0, 4))
    if any(p.startswith("≤") for p in shown):
        more = f"down to {GOAL:g} take {2 * tests / GOAL - 1:.0f} draws (n_resamples=, --resamples)"
        out += note(f"≤: the smallest value that this number of draws and comparisons can give. Values {more}.")
    notes = [said for said in found.differences.notes if said not in found.intervals.notes]
    out += "".join(note(escape(said[0].upper() + said[1:] + ".")) for said in notes)
    return out + note(
        "The best was chosen on the same items, which favours it: on new items the differences are smaller."
    )


def _agreement(labels: Labelling, found: Evidence) -> str:
    measure, count = agreement_measure(found.lead), len(found.compared)
    values = found.agreement[measure.name].cpu().numpy()[~np.eye(count, dtype=bool)]
    if np.isnan(values).all():
        return paragraph("No two clusterings have items that both group.")
    low, high, mean = (format_number(float(of(values))) for of in (np.nanmin, np.nanmax, np.nanmean))
    which = "All clusterings" if count == len(labels.names) else f"The {count} best clusterings"
    out = paragraph(
        f"{which} with each other by {name(measure.name)}: from {low} to {high}, on average {mean}. Clusterings that "
        "are alike stand together; the tree joins the most alike first."
    )
    if labels.groups is not None:
        out += note("Each number is the mean over the groups of items.")
    axes = plot_agreement(found.agreement, measure.name)
    return out + picture(axes, f"agreement of {count} clusterings by {measure.name}")


def _table(best: Best, name: str) -> str:
    share = _percent(float(best.scores["accuracy"]))
    out = paragraph(
        f"Classes (rows) and clusters (columns), matched one to one so that most items fit: {share} of the items are "
        "in the cluster of their class (framed). Colours show the share of a class; bars are the sizes."
    )
    if not bool(best.matching.unique):
        out += note("Another matching fits as many items; shown is one of them.")
    return out + picture(plot_table(best.table, best.matching, name=name), f"matched table of {name}")


def _classes(best: Best) -> str:
    classes, names, clusters = per_class(best.table), _names(best.table.classes), _names(best.table.clusters)
    partner = [clusters[i] if i >= 0 else "none" for i in best.matching.cluster_of_class.tolist()]
    scores, sizes = best.scores, classes["size"].tolist()
    shares = [x.tolist() for x in (scores["iou"], scores["precision"], scores["recall"], classes["purity"])]
    rows: Rows = [[names[i], sizes[i], partner[i], *(x[i] for x in shares)] for i in summary.weakest(sizes, shares[0])]
    largest = "<i>Largest share</i> is that of the class in one cluster."
    out = paragraph(f"Classes, the worst first, with the cluster that each is matched with. {largest}")
    header = ["class", "size", "cluster", "iou", "precision", "recall", "largest share"]
    return f"<h3>Classes</h3>{out}{_cut_table(header, rows, words=(0, 2))}"


def _clusters(one: ContingencyTables) -> str:
    clusters, names = per_cluster(one), _names(one.clusters)
    sizes, likes = clusters["size"].tolist(), clusters["best_match"].tolist()
    shares = [clusters[key].tolist() for key in ("best_jaccard", "purity", "entropy")]
    rows: Rows = [
        [names[i], sizes[i], str(likes[i]), *(x[i] for x in shares)] for i in summary.weakest(sizes, shares[0])
    ]
    out = paragraph(
        "Clusters, the worst first, with the class that each is most like; <i>purity</i> is the share of its "
        "largest class, <i>entropy</i> that of its classes (nats)."
    )
    header = ["cluster", "size", "most like", "jaccard", "purity", "entropy"]
    return f"<h3>Clusters</h3>{out}{_cut_table(header, rows, words=(0, 2))}"


def _by_group(labels: Labelling, found: Evidence) -> str:
    assert found.tables is not None
    lead, values, tables = found.lead, found.by_group.cpu(), found.tables[found.best].to("cpu")
    ids = [labels.group_names[int(i)] for i in tables.groups.tolist()] if tables.groups is not None else []
    known = [i for i, x in enumerate(values.tolist()) if x == x]
    order = sorted(known, key=lambda i: -float(values[i]) if lead.better == "higher" else float(values[i]))
    out = paragraph(
        f"{text(labels.names[found.best])}: {name(lead.name)} of each group of items, the best first; "
        f"{_span(*(format_number(float(values[order[at]])) for at in (0, -1)))}."
    )
    names = tuple(ids[i] for i in order)
    scores = Scores({lead.name: values[order]}, {lead.name: lead}, tables.n_items[order], None, {}, names)
    out += picture(plot_scores(scores, lead.name), f"{lead.name} of each group of items")
    counts = list(zip(tables.n_items.tolist(), tables.n_classes.tolist(), tables.n_clusters.tolist(), strict=True))
    rows: Rows = [[ids[i], *counts[i], float(values[i])] for i in order]
    out += _cut_table(["group", "items", "classes", "clusters", lead.name], rows)

    matched, sizes = matched_scores(tables, match(tables)), tables.class_sizes
    weakest = [(float(matched["iou"][g, i]), -int(sizes[g, i]), g, i) for g, i in (sizes > 0).nonzero().tolist()]
    rows = []
    for iou, size, g, i in sorted(weakest, key=lambda entry: entry[:2]):
        shares = (float(matched[key][g, i]) for key in ("precision", "recall"))
        rows.append([f"{ids[g]} / {labels.classes[i]}", -size, iou, *shares])
    out += "<h3>Its weakest classes</h3>"
    out += _cut_table(["group / class", "size", "iou", "precision", "recall"], rows)
    last = order[-1]
    worst = with_labels(labels, tables[last], _names(tables[last].clusters))
    drawn = picture(plot_table(worst), f"matched table of {ids[last]}")
    return f"{out}<h3>Its worst group: {text(ids[last])}</h3>{drawn}"


def _stability(labels: Labelling, found: Evidence) -> str:
    stability, runs, best = found.stability, len(found.compared) - 1, labels.names[found.best]
    which = "the other clusterings" if runs == len(labels.names) - 1 else f"the {runs} next best clusterings"
    out = paragraph(
        f"The Jaccard index of each cluster of {text(best)} with the most similar cluster of {which}, the most "
        "stable first: from .75 a cluster is stable, below .6 it is not to be trusted. Clusterings of different "
        "methods or numbers of clusters are a harder test than resamples of one method."
    )
    unscored = int((labels.kept[found.best] & ~_with_class(labels)).sum())
    if unscored:
        without = f"also the {unscored} without {_needed(labels)}, which are not scored"
        out += note(f"Here all items of {text(best)} count, {without}: sizes differ from those above.")
    order = stability.mean_jaccard.nan_to_num(nan=2.0).argsort(stable=True)[:_MAX_DRAWN]
    chosen = {x.name: getattr(stability, x.name)[..., order] for x in fields(stability) if x.name != "labels"}
    clusters = np.array(stability.labels.tolist(), dtype=object)[order.cpu().numpy()]
    drawn = replace(stability, labels=clusters, **chosen)
    if len(drawn.size) < len(stability.size):
        out += note(f"The picture shows the {len(drawn.size)} least stable of {len(stability.size)}.")
    out += picture(plot_stability(drawn), f"stability of the clusters of {best}")
    _, *keys = columns = stability.to_dict()
    rows: Rows = [[str(label), *values] for label, *values in zip(*columns.values(), strict=True)]
    rows.sort(key=lambda row: 1.0 if row[3] != row[3] else -float(row[3]))  # type: ignore[arg-type]
    return out + _cut_table(["cluster", *keys], rows)


def _names(labels: Any) -> list[str]:
    return [] if labels is None else [str(x) for x in labels.tolist()]


def _needed(labels: Labelling) -> str:
    return "a class" if labels.groups is None else "a class or a group"


def _with_class(labels: Labelling) -> Tensor:
    return labels.kept.new_ones(labels.codes.shape[1]) if labels.with_class is None else labels.with_class


def _cut_table(header: list[str], rows: Rows, words: tuple[int, ...] = (0,)) -> str:
    shown = table(header, rows[:_MAX_ROWS], words=words)
    return shown + (note(f"Shown are {_MAX_ROWS} of {len(rows)}.") if len(rows) > _MAX_ROWS else "")


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _percent(share: Any) -> str:
    return f"{100 * float(share):.3g} %"
