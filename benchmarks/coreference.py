"""All measures of coreference over documents, next to the formulas of the field's scorers as plain Python.

python benchmarks/coreference.py            # a minute; writes results/
python benchmarks/coreference.py --small    # a few seconds, to see that it works

One thread, CPU seconds. Values are compared first. The plain Python does as the scorers do: a dictionary from each
mention to its entity, loops over pairs of mentions for LEA and BLANC, SciPy for matching. Our time includes the coding
and counting of labels.
"""

import argparse
import datetime
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import timing
from scipy.optimize import linear_sum_assignment

import torchclusteval as tce

TOLERANCE = 1e-12
Entities = list[set[int]]


class Size(NamedTuple):
    documents: int
    mentions: int  # of a document
    entities: int
    plain_documents: int  # that the plain Python scores; its time is scaled up


FULL = Size(1000, 200, 50, 100)
SMALL = Size(20, 30, 8, 5)


def labels(size: Size, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Entities of the key and the response, ``(documents, mentions)``; -1: the side does not have the mention."""
    random = np.random.default_rng(seed)
    key = random.integers(0, size.entities, (size.documents, size.mentions))
    other = random.integers(0, size.entities + 5, key.shape)
    response = np.where(random.random(key.shape) < 0.8, key, other)
    key[random.random(key.shape) < 0.08] = -1
    response[random.random(key.shape) < 0.08] = -1
    return key, response


def groups(row: np.ndarray) -> Entities:
    found: dict[int, set[int]] = {}
    for mention, entity in enumerate(row.tolist()):
        if entity >= 0:
            found.setdefault(entity, set()).add(mention)
    return list(found.values())


def divide(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else 0.0


def f_of(precision: float, recall: float) -> float:
    return divide(2 * precision * recall, precision + recall)


def links(entity: set[int]) -> int:
    return len(entity) * (len(entity) - 1) // 2


def same_links(entity: set[int], entity_of: dict[int, int]) -> int:
    """Pairs of its mentions that the other side has in one entity."""
    found = (entity_of.get(mention) for mention in entity)
    return sum(a is not None and a == b for a, b in combinations(found, 2))


def one_side(true: Entities, pred: Entities) -> dict[str, float]:
    """Recall of each family; with the sides exchanged, precision."""
    entity_of = {mention: j for j, entity in enumerate(pred) for mention in entity}
    n = sum(map(len, true))
    muc = muc_most = bcubed = lea = exact = closest = 0.0
    for entity in true:
        parts = Counter(entity_of[mention] for mention in entity if mention in entity_of)
        found = sum(parts.values())
        muc += found - len(parts)
        muc_most += len(entity) - 1
        bcubed += sum(count**2 for count in parts.values()) / len(entity)
        alone = len(entity) == 1
        resolved = (
            float(any(len(pred[j]) == 1 for j in parts)) if alone else same_links(entity, entity_of) / links(entity)
        )
        lea += len(entity) * resolved
        exact += any(count == len(entity) == len(pred[j]) for j, count in parts.items())
        closest += max((count / (len(entity) + len(pred[j]) - count) for j, count in parts.items()), default=0.0)
    return {
        "muc": divide(muc, muc_most),
        "coref_bcubed": divide(bcubed, n),
        "lea": divide(lea, n),
        "exact_cluster": divide(exact, len(true)),
        "closest_cluster": divide(closest, len(true)),
    }


def matched(true: Entities, pred: Entities, *, similar: bool) -> float:
    weights = np.array([[len(a & b) * (2 / (len(a) + len(b)) if similar else 1) for b in pred] for a in true])
    rows, columns = linear_sum_assignment(weights, maximize=True)
    return float(weights[rows, columns].sum())


def blanc(true: Entities, pred: Entities) -> dict[str, float]:
    """Both sides have links and pairs of other entities here, so that no part is left out."""
    counts = []  # of links and of pairs of other entities: all of the side, and those that the other side has too
    for side, other in ((true, pred), (pred, true)):
        entity_of = {mention: j for j, entity in enumerate(other) for mention in entity}
        mentions = [(i, entity_of.get(mention)) for i, entity in enumerate(side) for mention in entity]
        same = kept = apart = kept_apart = 0
        for (i, a), (j, b) in combinations(mentions, 2):
            if i == j:
                same += 1
                kept += a is not None and a == b
            else:
                apart += 1
                kept_apart += a is not None and b is not None and a != b
        counts.append((kept / same, kept_apart / apart))
    recalls, precisions = counts
    f = [f_of(p, r) for p, r in zip(precisions, recalls, strict=True)]
    return {"blanc_recall": sum(recalls) / 2, "blanc_precision": sum(precisions) / 2, "blanc_f": sum(f) / 2}


def plain(true: Entities, pred: Entities) -> dict[str, float]:
    """All measures of the family of one document."""
    recall, precision = one_side(true, pred), one_side(pred, true)
    items, clustered = sum(map(len, true)), sum(map(len, pred))
    most, similar = matched(true, pred, similar=False), matched(true, pred, similar=True)
    recall |= {"ceaf_m": divide(most, items), "ceaf_e": divide(similar, len(true))}
    precision |= {"ceaf_m": divide(most, clustered), "ceaf_e": divide(similar, len(pred))}
    found = blanc(true, pred)
    for name in ("muc", "coref_bcubed", "ceaf_m", "ceaf_e", "lea", "exact_cluster"):
        values = {"recall": recall[name], "precision": precision[name], "f": f_of(precision[name], recall[name])}
        found |= {f"{name}_{side}": value for side, value in values.items()}
    found["conll_f"] = (found["muc_f"] + found["coref_bcubed_f"] + found["ceaf_e_f"]) / 3
    found |= {f"closest_cluster_{x}": y["closest_cluster"] for x, y in (("recall", recall), ("precision", precision))}
    unchanged = [entity for entity in true if entity in pred]
    found["grouping_accuracy"] = divide(sum(map(len, unchanged)), len(set().union(*true) | set().union(*pred)))
    pieces = [
        len({j for j, other in enumerate(right) if entity & other}) + bool(entity - set().union(*right)) - 1
        for left, right in ((true, pred), (pred, true))
        for entity in left
    ]
    found["merge_distance"] = sum(pieces)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="smallest sizes, one repeat")
    parser.add_argument("--output", type=Path, help="results file (default: results/coreference_DATE.json)")
    options = parser.parse_args()
    timing.one_thread()
    size = SMALL if options.small else FULL
    key, response = labels(size)

    def ours() -> tce.Scores:
        return tce.evaluate(key, response, "coreference", absent_true=-1, absent_pred=-1)

    scores = ours()
    count = size.plain_documents
    documents = [(groups(a), groups(b)) for a, b in zip(key[:count], response[:count], strict=True)]
    values = [plain(*document) for document in documents]
    if values[0].keys() != {*scores.names}:
        raise SystemExit(f"other measures: {values[0].keys() ^ {*scores.names}}")
    differences = {
        name: float(np.abs(scores[name][:count].numpy() - [value[name] for value in values]).max()) for name in scores
    }
    if not max(differences.values()) <= TOLERANCE:
        raise SystemExit(f"differs by {differences}")
    repeats = 1 if options.small else 7
    own = timing.measure(ours, repeats=repeats)
    other = timing.measure(lambda: [plain(*document) for document in documents], repeats=repeats)
    plain_s = other.cpu_s * size.documents / count
    record = {
        **size._asdict(),
        "measures": len(scores),
        "largest_difference": max(differences.values()),
        "torchclusteval": own.record(),
        "plain_python": other.record(),
        "times_faster": plain_s / own.cpu_s,
    }
    path = options.output or timing.RESULTS / f"coreference_{datetime.date.today()}.json"
    timing.save(path, {"environment": timing.environment(["scipy"]), "coreference": record})
    print(
        f"{len(scores)} measures of {size.documents} documents of {size.mentions} mentions: "
        f"{timing.seconds(own.cpu_s)}, plain Python {timing.seconds(plain_s)}, {plain_s / own.cpu_s:.3g}x"
    )


if __name__ == "__main__":
    main()
