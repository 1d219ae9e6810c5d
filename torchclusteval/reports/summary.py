"""What to know first of a report, and verdicts on the clusterings after the best."""

from typing import Any

from torchclusteval.common.formatting import format_number
from torchclusteval.inference.cluster_recovery import ClusterStability
from torchclusteval.reports.evidence import Best, Evidence, Labelling
from torchclusteval.reports.page import name, text
from torchclusteval.reports.tested import passes

REAL, ALIKE, SAME, UNSCORED = "told apart", "not told apart", "the same partition as", "no score"


def summary_of(labels: Labelling, found: Evidence, matched: Best | None) -> list[str]:
    """What to know first, sentences of HTML."""
    best, lead = f"<b>{text(labels.names[found.best])}</b>", name(found.lead.name)
    if found.scores is None:
        if found.typical is None:
            return ["One clustering and no truth: nothing to compare."]
        mean = format_number(float(found.typical[found.best]))
        return [f"Without a truth: {best} agrees most with the others, {lead} {mean} on average."]
    value = format_number(float(found.scores[found.lead.name][found.best]))
    count, record = len(labels.names), found.intervals[found.lead.name]
    span = f" ({confidence_of(found)} interval {between(record.low[0], record.high[0])})"
    span = "" if bool(record.low[0].isnan()) else span
    first = f"{best} is the best of {count} by {lead}:" if count > 1 else f"{best} has {lead}"
    points = [f"{first} {value}{span}."]
    if found.differences is not None:
        points += _beside_the_best(labels, found)
    if matched is not None:
        iou, sizes = matched.scores["iou"].tolist(), matched.table.class_sizes.tolist()
        order = weakest(sizes, iou)
        if len(order) > 1 and iou[at := order[0]] < 1:
            worst = f"overlap {format_number(iou[at])} (IoU)" if iou[at] > 0 else "no cluster is matched with it"
            many = f"{int(sizes[at])} item{'s' * (sizes[at] != 1)}"
            points.append(f"Its weakest class is {text(labels.classes[at])}, {many}: {worst}.")
    if found.stability is not None:
        points.append(_coming_back(labels, found.stability, found.best))
    return points


def _beside_the_best(labels: Labelling, found: Evidence) -> list[str]:
    """How many of the others are the same or cannot be told apart."""
    given = verdicts(labels, found)
    real, alike, unscored = (given.count(verdict) for verdict in (REAL, ALIKE, UNSCORED))
    same = len(given) - real - alike - unscored
    whom = "the others" if len(given) == len(labels.names) - 1 else f"the {len(given)} next ones"
    points = [f"{same} of {whom} {_verb(same, 'is', 'are')} the same partition."] if same else []
    if unscored:
        points.append(f"{unscored} of {whom} {_verb(unscored, 'has', 'have')} no score.")
    if alike and not can_be_real(found):
        points.append(f"With only {groups_of(labels)} no difference to {whom} can be shown.")
    elif alike:
        drawn = "classes" if str(found.differences.settings["resampled"]).startswith("classes") else "items"
        points.append(f"{alike} of {whom} cannot be told apart from it with these {drawn}.")
    elif real:
        rest = "the rest" if same or unscored else whom
        chosen = "though chosen as the best on the same items, which favours it"
        points.append(f"It is better than each of {rest}, beyond chance, {chosen}.")
    return points


def _coming_back(labels: Labelling, stability: ClusterStability, best: int) -> str:
    jaccard = stability.mean_jaccard
    count, stable, doubtful = len(jaccard), int((jaccard >= 0.75).sum()), int((jaccard < 0.6).sum())
    unknown = int(jaccard.isnan().sum())
    middle = count - stable - doubtful - unknown
    parts = (
        (stable, _verb(stable, "comes back", "come back")),
        (doubtful, _verb(doubtful, "does not", "do not") + ("" if stable else " come back")),
        (middle, _verb(middle, "is in between", "are in between")),
        (unknown, _verb(unknown, "has", "have") + " no items there"),
    )
    said = ", ".join(f"{number} {words}" for number, words in parts if number)
    if labels.groups is None:
        return f"Of its {count} cluster{'s' * (count != 1)}, looked for in the other clusterings, {said}."
    whole = len(labels.codes[best][labels.kept[best]].unique())
    one = f"its {whole} cluster{'s' * (whole != 1)} {_verb(whole, 'is', 'are')} in {count} parts"
    return f"Taken group by group, {one}. Of these, looked for in the same groups of the other clusterings, {said}."


def _verb(count: int, one: str, many: str) -> str:
    return one if count == 1 else many


def verdicts(labels: Labelling, found: Evidence) -> list[str]:
    """Of each clustering after the best: ``REAL``, ``ALIKE``, ``UNSCORED``, or what it is the same partition as."""
    record, same = found.differences[found.lead.name], f"{SAME} {labels.names[found.best]}"
    columns = (record.difference.tolist(), found.same.tolist(), passes(record.p_adjusted, _level(found)).tolist())
    return [
        UNSCORED if difference != difference else same if equal and not difference else REAL if real else ALIKE
        for difference, equal, real in zip(*columns, strict=True)
    ]


def can_be_real(found: Evidence) -> bool:
    """Whether so many draws, of so many groups, can show any difference."""
    return bool(found.differences.settings["smallest_p_adjusted"] < _level(found))


def p_shown(found: Evidence, p: float) -> str:
    """An adjusted p-value, with ≤ if it is the smallest that random draws can give."""
    settings = found.differences.settings
    least = settings["smallest_p_adjusted"]
    bound = least > 0 and not str(settings["resampled"]).startswith("all subsets") and p < _level(found)
    return ("≤ " if bound and p <= least * (1 + 1e-9) else "") + format_number(p)


def _level(found: Evidence) -> float:
    """Adjusted p-values below it pass."""
    return 1.0 - float(found.differences.settings["confidence_level"])


def groups_of(labels: Labelling) -> str:
    count = len(labels.group_names)
    return f"{count} group{'s' * (count != 1)} of items"


def confidence_of(found: Evidence) -> str:
    return f"{100 * found.intervals.settings['confidence_level']:g} %"


def between(low: Any, high: Any) -> str:
    if float(low) != float(low):
        return "none"
    return f"{format_number(float(low))} to {format_number(float(high))}"


def weakest(sizes: list[int], values: list[float]) -> list[int]:
    """The groups with items, in ascending order of a value, large ones first among equals."""
    return sorted((i for i, size in enumerate(sizes) if size > 0), key=lambda i: (values[i], -sizes[i]))
