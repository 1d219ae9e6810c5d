"""The sections of a report."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.formatting import format_number
from torchclusteval.inference.cluster_recovery import ClusterStability
from torchclusteval.plots import plot_agreement, plot_scores, plot_stability, plot_table
from torchclusteval.plots.score_plots import difference_series, draw_series, score_series
from torchclusteval.reports.evidence import FEW_GROUPS, MAX_RANKED, Best, Evidence, Labelling, agreement_measure
from torchclusteval.reports.page import Cell, name, paragraph, picture, table, text
from torchclusteval.reports.summary import (
    REAL,
    between,
    can_be_real,
    confidence_of,
    few_groups,
    groups_of,
    p_shown,
    verdicts,
)
from torchclusteval.scoring.breakdown import GroupScores, per_class, per_cluster
from torchclusteval.scoring.matching import match
from torchclusteval.scoring.matching_scores import matched_scores
from torchclusteval.tables import ContingencyTables

_MAX_ROWS = 200  # of a table of groups
_MAX_DRAWN = 60  # clusters in the picture of stability

Section = tuple[str, str, str]


def sections_of(labels: Labelling, found: Evidence, best: Best | None, facts: list[tuple[str, str]]) -> list[Section]:
    """Anchor, heading and HTML of each section."""
    made: list[Section] = [("read", "What was read", _read(labels, found, facts))]
    made.append(("ranking", "Ranking", _ranking(labels, found)))
    if found.differences is not None:
        made.append(("differences", "Which differences are real", _differences(labels, found)))
    if found.agreement is not None:
        made.append(("agreement", "Agreement of the clusterings", _agreement(labels, found)))
    if best is not None:
        made.append(
            (
                "table",
                f"The best clustering: {labels.names[found.best]}",
                _table(best, labels.names[found.best]),
            )
        )
        made.append(("groups", "Its weakest classes and clusters", _weakest(best)))
    elif found.tables is not None:
        made.append(("groups", "The best clustering, group by group", _by_group(labels, found)))
    if found.stability is not None:
        made.append(("stability", "Stability of its clusters", _stability(labels, found)))
    return made


# --- sections -----------------------------------------------------------------------------------------------


def _read(labels: Labelling, found: Evidence, facts: list[tuple[str, str]]) -> str:
    count, items = labels.codes.shape
    rows = [*facts, ("items", str(items)), ("clusterings", str(count))]
    if labels.true is not None:
        rows.append(("classes", str(len(set(labels.true[_any_item(labels)].tolist())))))
        without = items - int(_with_class(labels).sum())
        rows.append(("items without a class, not scored", str(without)))
    if labels.groups is not None:
        rows.append(("groups of items, each scored by itself", str(len(labels.group_names))))
    kept = labels.kept.sum(1)
    lacking = items - kept
    if bool((lacking > 0).any()):
        low, high = int(lacking.min()), int(lacking.max())
        rows.append(
            (
                "items that a clustering leaves out (noise, missing, masked)",
                _span(str(low), str(high)),
            )
        )
    body = "".join(
        f'<tr><th scope="row">{text(key)}</th><td class="text">{text(value)}</td></tr>' for key, value in rows
    )
    out = f'<div class="wide"><table><tbody>{body}</tbody></table></div>'
    if labels.true is not None:
        scored = labels.scored().sum(1)
        if bool((scored < items).any()):
            shares = scored.double() / max(1, items)
            out += paragraph(
                "Scores are of the items with a class and a cluster, "
                f"{_span(_percent(shares.min()), _percent(shares.max()))} of all. A clustering that leaves out "
                "its difficult items looks better than one that does not: compare the column <i>scored</i> of the "
                "ranking."
            )
        else:
            out += paragraph("Every item has a class and a cluster in every clustering: all are scored.")
    return out


def _ranking(labels: Labelling, found: Evidence) -> str:
    lead, count = found.lead, len(labels.names)
    if found.scores is None:
        return _typical(labels, found)
    shown = found.order[:MAX_RANKED]
    first = f"By {name(lead.name)} ({lead.better} is better)"
    if labels.groups is not None:
        first += ", the mean over the groups of items; intervals come from drawing groups again"
    else:
        first += f"; {confidence_of(found)} intervals come from drawing items again, with replacement"
    out = paragraph(first + ".")
    assert found.intervals is not None
    record = found.intervals[lead.name]
    names, span = [labels.names[i] for i in shown], f"{confidence_of(found)} intervals"
    axes = draw_series(
        score_series(lead.name, lead.better, names, record.estimate, record.low, record.high, span), None
    )
    out += picture(axes, f"{lead.name} of {len(shown)} clusterings with intervals, the best first")
    scores, items = found.scores, labels.codes.shape[1]
    others = [measure for measure in scores if measure != lead.name]
    partial = bool((labels.scored().sum(1) < items).any())
    header = ["", "clustering", lead.name, "interval"]
    header += ["pooled"] if found.pooled is not None else []
    header += ["scored"] if partial else []
    rows: list[list[Cell]] = []
    for rank, i in enumerate(shown):
        row: list[Cell] = [rank + 1, labels.names[i], float(scores[lead.name][i])]
        row.append((between(record.low[rank], record.high[rank]), float(record.low[rank])))
        if found.pooled is not None:
            row.append(float(found.pooled[lead.name][i]))
        if partial:
            share = float(labels.scored(i).sum() / max(1, items))
            row.append((_percent(share), share))
        rows.append([*row, *(float(scores[measure][i]) for measure in others)])
    out += table([*header, *others], rows, words=(1,), best=0)
    if count > len(shown):
        out += paragraph(
            f"Shown are the best {len(shown)} of {count}; the others score "
            f"{_span(*map(format_number, _ends(scores[lead.name][found.order[len(shown) :]])))}.",
            "note",
        )
    if few_groups(labels):
        out += paragraph(
            f"There are {len(labels.group_names)} groups: with fewer than {FEW_GROUPS} the intervals say little more "
            "than the lowest and the highest score of a group, and no difference can be told from chance at 95 %.",
            "note",
        )
    if labels.groups is not None and found.pooled is not None:
        out += paragraph("<i>pooled</i> adds up the sums of the groups, then scores (micro average).", "note")
    return out


def _typical(labels: Labelling, found: Evidence) -> str:
    out = paragraph(
        "There is no truth: clusterings are in the order of their mean agreement with the others. That says "
        "how typical they are, not how good."
    )
    if found.typical is None:
        return out
    rows: list[list[Cell]] = [
        [rank + 1, labels.names[i], float(found.typical[i])] for rank, i in enumerate(found.order[:MAX_RANKED])
    ]
    return out + table(["", "clustering", f"mean {found.lead.name}"], rows, words=(1,), best=0)


def _differences(labels: Labelling, found: Evidence) -> str:
    assert found.differences is not None
    record, settings = found.differences[found.lead.name], found.differences.settings
    given = verdicts(labels, found)
    others = len(given)
    best = text(labels.names[found.best])
    names = [labels.names[i] for i in found.order[1 : others + 1]]
    times = f"{others} comparison{'s' * (others != 1)}"
    drawn = "groups of items" if labels.groups is not None else "items"
    after = "the clustering after it" if others == 1 else f"each of the {others} clusterings after it"
    out = paragraph(
        f"The difference of {best} to {after}, on the same {drawn} drawn again {settings['n_resamples']} times. "
        f"A difference is real where its p-value, adjusted for {times} (Holm), is below "
        f"{1 - settings['confidence_level']:.2g}: that holds for <b>{given.count(REAL)}</b> of them."
    )
    least = format_number(settings["smallest_p_adjusted"])
    if not can_be_real(found):
        few = f"with {groups_of(labels)} and {times} adjusted p-values are at least {least}"
        out += paragraph(f"No difference can be shown here: {few}.")
    span = f"{confidence_of(found)} intervals"
    series = difference_series(found.lead.name, labels.names[found.best], "another", names, record, span)
    axes = draw_series(series, None)
    out += picture(axes, f"differences of {labels.names[found.best]} to the others, with intervals")
    assert record.p_adjusted is not None
    shown = [(p_shown(found, p), p) for p in record.p_adjusted.tolist()]
    rows: list[list[Cell]] = [
        [
            names[i],
            float(record.difference[i]),
            (between(record.low[i], record.high[i]), float(record.low[i])),
            shown[i],
            given[i],
        ]
        for i in range(others)
    ]
    out += table(["clustering", "difference", "interval", "p adjusted", "verdict"], rows, words=(0, 4))
    if any(p.startswith("≤") for p, _ in shown):
        out += paragraph("≤: the smallest value that this number of draws and comparisons can give.", "note")
    return out + paragraph(
        "The best was chosen on the same items, which favours it: on new items the differences are smaller.", "note"
    )


def _agreement(labels: Labelling, found: Evidence) -> str:
    assert found.agreement is not None
    measure, count = agreement_measure(found.lead), len(found.compared)
    matrix = found.agreement[measure.name]
    off = ~np.eye(count, dtype=bool)
    values = matrix.cpu().numpy()[off]
    if np.isnan(values).all():
        return paragraph("No two clusterings have items that both group.")
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    which = "All clusterings" if count == len(labels.names) else f"The {count} best clusterings"
    out = paragraph(
        f"{which} with each other by {name(measure.name)}: from {format_number(low)} to {format_number(high)}, "
        f"on average {format_number(float(np.nanmean(values)))}. Clusterings that are alike stand together; the tree "
        "joins the most alike first."
    )
    if labels.groups is not None:
        out += paragraph("Each number is the mean over the groups of items.", "note")
    axes = plot_agreement(found.agreement, measure.name)
    return out + picture(axes, f"agreement of {count} clusterings by {measure.name}")


def _table(best: Best, name: str) -> str:
    share = _percent(float(best.scores["accuracy"]))
    out = paragraph(
        f"Classes (rows) and clusters (columns), matched one to one so that most items fit: {share} of the items are "
        "in the cluster of their class (framed). Colours show the share of a class; bars are the sizes."
    )
    if not bool(best.matching.unique):
        out += paragraph("Another matching fits as many items; shown is one of them.", "note")
    return out + picture(plot_table(best.table, best.matching, name=name), f"matched table of {name}")


def _weakest(best: Best) -> str:
    one, matching, scores = best
    classes, clusters = per_class(one), per_cluster(one)
    partner = matching.cluster_of_class.tolist()
    class_names, names = _names(one.classes), _names(one.clusters)
    rows: list[list[Cell]] = []
    order = _filled(classes, scores["iou"])
    for i in order:
        found = partner[i]
        row: list[Cell] = [class_names[i], int(classes["size"][i]), names[found] if found >= 0 else "none"]
        rows.append(
            [*row, *(float(scores[key][i]) for key in ("iou", "precision", "recall")), float(classes["purity"][i])]
        )
    out = paragraph(
        "Classes, the worst first, with the cluster that each is matched with. <i>Largest share</i> is that of "
        "the class in one cluster."
    )
    header = ["class", "size", "cluster", "iou", "precision", "recall", "largest share"]
    out += "<h3>Classes</h3>" + table(header, rows[:_MAX_ROWS], words=(0, 2))
    return out + "<h3>Clusters</h3>" + _clusters(one, clusters)


def _clusters(one: ContingencyTables, clusters: GroupScores) -> str:
    names = _names(one.clusters)
    rows: list[list[Cell]] = []
    for i in _filled(clusters, torch.as_tensor(clusters["best_jaccard"])):
        row: list[Cell] = [names[i], int(clusters["size"][i]), str(clusters["best_match"][i])]
        rows.append([*row, *(float(clusters[key][i]) for key in ("best_jaccard", "purity", "entropy"))])
    out = paragraph(
        "Clusters, the worst first, with the class that each is most like; <i>purity</i> is the share of its "
        "largest class, <i>entropy</i> that of its classes (nats)."
    )
    header = ["cluster", "size", "most like", "jaccard", "purity", "entropy"]
    return out + table(header, rows[:_MAX_ROWS], words=(0, 2)) + _cut(len(rows))


def _by_group(labels: Labelling, found: Evidence) -> str:
    assert found.by_group is not None
    assert found.tables is not None
    lead, values = found.lead, found.by_group.cpu()
    tables = found.tables[found.best].to("cpu")
    ids = [labels.group_names[int(i)] for i in tables.groups.tolist()] if tables.groups is not None else []
    sizes, classes, clusters = tables.n_items.tolist(), tables.n_classes.tolist(), tables.n_clusters.tolist()
    known = [i for i, x in enumerate(values.tolist()) if x == x]
    order = sorted(known, key=lambda i: float(values[i]) if lead.better == "higher" else -float(values[i]))
    out = paragraph(
        f"{text(labels.names[found.best])}: {name(lead.name)} of each group of items, the worst first; "
        f"{_span(*(format_number(float(values[order[at]])) for at in (0, -1)))}."
    )
    scores = _as_scores(found, values[order], [ids[i] for i in order])
    out += picture(plot_scores(scores, lead.name), f"{lead.name} of each group of items")
    rows: list[list[Cell]] = [[ids[i], sizes[i], classes[i], clusters[i], float(values[i])] for i in order]
    out += table(["group", "items", "classes", "clusters", lead.name], rows[:_MAX_ROWS]) + _cut(len(rows))
    return out + _weakest_of_groups(labels, tables, ids, order)


def _as_scores(found: Evidence, values: Tensor, names: list[str]) -> Any:
    from torchclusteval.scoring.scores import Scores

    return Scores({found.lead.name: values}, {found.lead.name: found.lead}, values.long(), None, {}, tuple(names))


def _weakest_of_groups(labels: Labelling, tables: ContingencyTables, ids: list[str], order: list[int]) -> str:
    """The weakest classes over all groups, and the table of the worst group."""
    scores, sizes = matched_scores(tables, match(tables)), tables.class_sizes
    rows: list[tuple[float, int, list[Cell]]] = []
    for g, i in (sizes > 0).nonzero().tolist():
        iou = float(scores["iou"][g, i])
        row: list[Cell] = [f"{ids[g]} / {labels.classes[i]}", int(sizes[g, i]), iou]
        shares = (float(scores["precision"][g, i]), float(scores["recall"][g, i]))
        rows.append((iou, -int(sizes[g, i]), [*row, *shares]))
    rows.sort(key=lambda entry: entry[:2])
    out = "<h3>Its weakest classes</h3>"
    out += table(["group / class", "size", "iou", "precision", "recall"], [row for *_, row in rows][:_MAX_ROWS])
    out += _cut(len(rows))
    worst = order[0]
    one = tables[worst]
    return (
        out
        + f"<h3>Its worst group: {text(ids[worst])}</h3>"
        + picture(plot_table(_with_labels(labels, one)), f"matched table of {ids[worst]}")
    )


def _with_labels(labels: Labelling, one: ContingencyTables) -> ContingencyTables:
    rows = one.shape[-2]
    classes = np.array([*labels.classes, *[""] * rows][:rows], dtype=object)
    return one._replace(classes=classes, names=None, by=None, margins=None)


def _stability(labels: Labelling, found: Evidence) -> str:
    assert found.stability is not None
    stability, runs = found.stability, len(found.compared) - 1
    best = text(labels.names[found.best])
    which = "the other clusterings" if runs == len(labels.names) - 1 else f"the {runs} next best clusterings"
    out = paragraph(
        f"Each cluster of {best} beside the most similar cluster of {which}, by the Jaccard index: from .75 a cluster "
        "is stable, below .6 it is not to be trusted. Clusterings of different methods or numbers of clusters are a "
        "harder test than resamples of one method."
    )
    unscored = int((labels.kept[found.best] & ~_with_class(labels)).sum())
    if unscored:
        out += paragraph(
            f"Here all items of {best} count, also the {unscored} without a class, which are not scored: sizes are not "
            "those above.",
            "note",
        )
    drawn = _least_stable(stability)
    if len(drawn.size) < len(stability.size):
        out += paragraph(f"The picture shows the {len(drawn.size)} least stable of {len(stability.size)}.", "note")
    out += picture(plot_stability(drawn), f"stability of the clusters of {labels.names[found.best]}")
    keys = ("mean_jaccard", "recovered", "dissolved", "prediction_strength")
    rows: list[list[Cell]] = [
        [str(label), int(size), int(count), *values]
        for label, size, count, *values in zip(
            stability.labels.tolist(),
            stability.size.tolist(),
            stability.runs.tolist(),
            *(getattr(stability, key).tolist() for key in keys),
            strict=True,
        )
    ]
    rows.sort(key=lambda row: -1.0 if row[3] != row[3] else float(row[3]))  # type: ignore[arg-type]
    header = ["cluster", "size", "runs", *keys]
    return out + table(header, rows[:_MAX_ROWS]) + _cut(len(rows))


# --- parts --------------------------------------------------------------------------------------------------


def _least_stable(stability: ClusterStability) -> ClusterStability:
    order = stability.mean_jaccard.nan_to_num(nan=2.0).argsort(stable=True)[:_MAX_DRAWN]
    labels = np.array(stability.labels.tolist(), dtype=object)[order.cpu().numpy()]
    columns = ("size", "runs", "mean_jaccard", "recovered", "dissolved", "prediction_strength")
    chosen = {key: getattr(stability, key)[order] for key in columns}
    return replace(stability, labels=labels, jaccard=stability.jaccard[:, order], **chosen)


def _names(labels: Any) -> list[str]:
    return [] if labels is None else [str(x) for x in labels.tolist()]


def _filled(groups: GroupScores, values: Tensor) -> list[int]:
    """The groups with items, in ascending order of a value, large ones first among equals."""
    sizes = groups["size"].tolist()
    return sorted((i for i, size in enumerate(sizes) if size > 0), key=lambda i: (float(values[i]), -sizes[i]))


def _any_item(labels: Labelling) -> Tensor:
    return labels.scored().any(0)


def _with_class(labels: Labelling) -> Tensor:
    return labels.kept.new_ones(labels.codes.shape[1]) if labels.with_class is None else labels.with_class


def _cut(count: int) -> str:
    return paragraph(f"Shown are {_MAX_ROWS} of {count}.", "note") if count > _MAX_ROWS else ""


def _ends(values: Tensor) -> tuple[float, float]:
    known = values[~values.isnan()]
    return (float(known.min()), float(known.max())) if len(known) else (float("nan"), float("nan"))


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _percent(share: Any) -> str:
    return f"{100 * float(share):.3g} %"
