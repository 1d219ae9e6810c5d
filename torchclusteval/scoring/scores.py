"""Scores of a batch of clusterings: ranking, summary, export."""

import csv
import io
import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.checks import as_path, check_choice, check_count, is_key, is_listable
from torchclusteval.common.formatting import brief, format_number
from torchclusteval.common.numerics import DECIMALS, sum_reproducible
from torchclusteval.common.optional import DataFrame, import_optional
from torchclusteval.common.output import write_text
from torchclusteval.common.results import Printed, Shown
from torchclusteval.common.warn import warn
from torchclusteval.labels.group_labels import GroupLabels
from torchclusteval.labels.shapes import in_order_of
from torchclusteval.labels.sources import is_missing
from torchclusteval.labels.vocabulary import Vocabulary
from torchclusteval.measures.aliases import ByCanonicalName, ByMeasure, canonical
from torchclusteval.measures.record import Measure
from torchclusteval.scoring.partitions import same_partitions

_MAX_ROWS = 60  # in print
_FEW = 0.5  # share of items, below which there is a note
_BY_CLASS = {"completeness", "inverse_purity", "class_entropy", "class_projection_distance", "nvi_split"}
_BY_CLASS |= {"ami_clusters", "pair_recall", "bcubed_recall", "adjusted_wallace_recall"}


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Printed, ByMeasure[Tensor]):
    """Scores of a batch of clusterings: a mapping of canonical names to ``(*batch,)`` float64 tensors.

    Aliases (``ari``, ``nmi``, ``ami``, ``vi`` ...) work as keys.

    >>> scores = tce.evaluate([0, 0, 1, 1], [[0, 0, 1, 1], [0, 1, 0, 1]], ["ari", "purity"])
    >>> scores["ari"].tolist(), scores.best("ari"), scores.rank("purity").tolist()
    ([1.0, -0.5], 0, [1, 2])
    """

    _field = "values_by_name"

    values_by_name: Mapping[str, Tensor]  # (*batch,) float64 each
    measures: Mapping[str, Measure]
    n_items: Tensor  # (*batch,) items in each table
    share_scored: Tensor | None  # (*batch,) share of the unmasked items in the table; None: all
    skipped: Mapping[str, str]  # members of a set that do not apply -> why
    clusterings: tuple[Hashable, ...] | None = None  # names of the clusterings, where they are known
    groups: GroupLabels | None = None  # (G,) ids of the groups of items, the last batch dimension; None without ``by``
    n_considered: Tensor | None = None  # (*batch,) unmasked items (or their weight); None: as ``coverage`` says
    n_grouped: Tensor | None = None  # (*batch,) items that at least one side groups; None: those in each table
    doubtful: Mapping[Hashable, str] = field(default_factory=dict)  # columns unlike a clustering -> why
    of_pairs: bool = False  # whether the batch is (M, M), each clustering against each
    count: Tensor | None = None  # (B,) how often each partition occurs, from ``distinct``
    labelled: dict[str, Any] = field(default_factory=dict)  # the options of labels that define a partition
    listed: bool = False  # whether print shows a row for each clustering instead of a summary

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the measures, in order."""
        return tuple(self.values_by_name)

    @property
    def batch_shape(self) -> torch.Size:
        return self.n_items.shape

    @property
    def coverage(self) -> Tensor:
        """Share of the unmasked items (or of their weight) in the table, ``(*batch,)``; nan without any."""
        return self.n_items / self.n_items.double() if self.share_scored is None else self.share_scored

    def macro(self, weights: str | None = None) -> "Scores":
        """The mean of each measure over groups of items, the last batch dimension; groups with nan are left out.

        Args:
            weights: None: all groups count the same; ``"items"``: by their items (for measures of coreference,
                segmentation and tracking: all that at least one side groups).

        Returns:
            Scores ``(*batch,)``; nan where no group has a value; ``n_items`` and ``coverage`` are those of all items.
            ``tce.pooled`` gives the micro average.

        Raises:
            ValueError: the scores are those of a single table, or ``weights`` is not as described.
        """
        check_choice(weights, "weights", (None, "items"))
        if not self.batch_shape:
            raise ValueError("macro: expected scores of groups (evaluate(..., by=ids)); got scores of a single table")
        items = self.n_items.double()
        grouped = items if self.n_grouped is None else self.n_grouped.double()
        values = {}
        for name, value in self.items():
            own = grouped if self.measures[name].one_sided else items
            values[name] = _mean(value, own if weights else torch.ones_like(items))
        considered = items / self.coverage if self.n_considered is None else self.n_considered.double()
        total, considered = self.n_items.sum(-1), considered.nansum(-1)
        names, share = self.clusterings if len(self.batch_shape) == 2 else None, total.double() / considered
        return Scores(
            values, self.measures, total, share, self.skipped, names, None, considered, grouped.sum(-1), self.doubtful
        )

    def _select(self, places: list[int], **changes: Any) -> "Scores":
        """Scores of these clusterings, ``(B,)``, in this order."""
        at = torch.tensor(places, dtype=torch.int64, device=self.n_items.device)
        tensors = ("n_items", "share_scored", "n_considered", "n_grouped", "count")
        kept: dict[str, Any] = {key: x[at] for key in tensors if (x := getattr(self, key)) is not None}
        kept["values_by_name"] = {name: value[at] for name, value in self.items()}
        names = self.clusterings
        kept["clusterings"] = tuple(places) if names is None else tuple(names[i] for i in places)
        return replace(self, **(kept | changes), listed=True)

    def top(self, n: int = 10, name: str | None = None, *, within: Any = None) -> "Scores":
        """The ``n`` best clusterings, best first, equal ones in their order; print has a row for each.

        Args:
            n: the number of clusterings.
            name: the measure to rank by; None: as for :meth:`best`.
            within: ``(B,)`` a group for each clustering, such as its number of clusters: the ``n`` best of each group.
                A mapping or a pandas Series goes by the names of clusterings, or by their numbers without names.

        Returns:
            Scores ``(n,)``, or of all clusterings if they are fewer, with names: numbers where clusterings have none.

        Raises:
            ValueError: as :meth:`best`, scores of groups, or ``within`` is not one value for each clustering.

        >>> scores = tce.evaluate([0, 0, 1, 1], [[0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 1, 2]], ["ami", "purity"])
        >>> scores.top(1).clusterings, scores.top(1, "purity", within=[2, 2, 3]).clusterings
        ((1,), (1, 2))
        """
        check_count(n, "n")
        if self.groups is not None:
            raise ValueError("top: expected scores of clusterings; got scores of groups (scores.macro() averages them)")
        order = best_first(self._goodness(name).numpy(force=True), "higher")
        if within is None:
            return self._select(order[:n])
        each = f"a group for each of {len(order)} clusterings"
        given = in_order_of(self.clusterings or range(len(order)), within, "within", each)
        if isinstance(given, (str, bytes)) or not is_listable(given, "within"):
            raise ValueError(f"within: expected {each}, in their order; got {brief(within)}")
        groups = given.tolist() if hasattr(given, "tolist") else list(given)
        bad = [brief(x) for x in groups if not is_key(x) or is_missing(x)]
        if bad or len(groups) != len(order):
            raise ValueError(f"within: expected {each}; got {bad[0] if bad else len(groups)}")
        vocabulary = Vocabulary()
        numbers = vocabulary.numbers_of(groups)
        ranks = vocabulary.ranked()[1][numbers].tolist()
        by_group = itertools.groupby(sorted(order, key=ranks.__getitem__), key=ranks.__getitem__)
        return self._select([i for _, members in by_group for i in itertools.islice(members, n)])

    def distinct(self, labels_pred: Any, **options: Any) -> "Scores":
        """The distinct partitions among the clusterings, and how often each occurs (``count``).

        Args:
            labels_pred: the labels ``(B, N)`` that were scored; names of clusters do not matter.
            **options: ``mask`` (which leaves out items without a class too), ``weights``, ``noise_label``, ``noise``,
                ``absent_pred`` and ``item_dims`` as in :func:`evaluate`; the scores know all but the first two.

        Returns:
            Scores of the first clustering of each partition, in their order; ``top`` and ``to_csv`` keep ``count``.

        Raises:
            ValueError: labels are not ``(B, N)``, one row for each score, of the items that were scored, or have other
                names or another order; an option differs from that of the scores.

        >>> runs = [[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 1, 1]]
        >>> found = tce.evaluate([0, 0, 1, 1], runs, ["ami", "ari"]).distinct(runs)
        >>> print(found)
        Scores of 2 clusterings
        clustering  count  ami_arithmetic  adjusted_rand
        0               2          1.0000         1.0000
        2               1          0.0000         0.0000
        """
        for name in self.labelled.keys() & options.keys():
            if self.labelled[name] != options[name]:
                own, got = brief(self.labelled[name]), brief(options[name])
                raise ValueError(f"{name}: expected {own}, as in the scores; got {got}")
        most = self.n_items if self.n_grouped is None else self.n_grouped  # with items that only one side groups
        given = self.labelled | options
        first = same_partitions(labels_pred, self.clusterings, (self.n_items, most), **given)
        if self.batch_shape != (len(first),):
            got = f"{len(first)} for scores of shape {tuple(self.batch_shape)}"
            raise ValueError(f"labels_pred: expected the scored clusterings; got {got}")
        count = Counter(first)
        return self._select([*count], count=torch.tensor([*count.values()], device=self.n_items.device))

    def best(self, name: str | None = None) -> int:
        """Number of the best clustering (the first of equals), in the measure's own direction; nan never wins.

        Args:
            name: of a measure; None: the adjusted mutual information where it was computed, else the first with a
                direction. The same holds for ``best_clustering``, ``rank`` and ``top``.

        Raises:
            ValueError: the measure has no direction, the batch is not one-dimensional, or all values are nan.
        """
        goodness = self._goodness(name)
        if bool(goodness.isnan().all()):
            name = name or leading(self.measures.values(), "name").name
            raise ValueError(f"best: expected a clustering with a value of {name!r}; got only nan")
        best = int(goodness.nan_to_num(nan=-math.inf, posinf=math.inf, neginf=-1e308).argmax())
        if self.doubtful and self.clusterings is not None and self.clusterings[best] in self.doubtful:
            won = self.clusterings[best]
            warn(f"best: {won!r} does not look like a clustering: {self.doubtful[won]}; leave it out")
        return best

    def best_clustering(self, name: str | None = None) -> Hashable:
        """Name of the best clustering by :meth:`best`; ``top(1, within=...)`` has the best of each set of clusterings.

        Raises:
            ValueError: the clusterings have no names (those of a data frame or a mapping do), or as :meth:`best`.
        """
        if self.clusterings is None:
            raise ValueError("best_clustering: expected clusterings with names; got none (best gives the number)")
        return self.clusterings[self.best(name)]

    def rank(self, name: str | None = None) -> Tensor:
        """Rank of each clustering under a measure, ``(B,)`` int64: 1 is best, ties share a rank, nan comes last.

        Raises:
            ValueError: the measure has no direction, or the batch is not one-dimensional.
        """
        goodness = self._goodness(name).contiguous()
        missing = goodness.isnan()
        ordered = goodness[~missing].sort().values
        better = len(ordered) - torch.searchsorted(ordered, goodness, right=True)
        return torch.where(missing, len(ordered), better) + 1

    def _goodness(self, name: str | None) -> Tensor:
        """Values turned so that higher is better."""
        if name is None:
            name = leading(self.measures.values(), "name").name
        value = self[name].detach()
        known = name if name in self.values_by_name else canonical(name)
        better = self.measures[known].better
        if better is None:
            raise ValueError(f"{known}: expected a measure with a direction, such as 'adjusted_rand'; it has none")
        if len(self.batch_shape) != 1:
            shape = tuple(self.batch_shape)
            remedy = "evaluate several at once: labels_pred (B, N)" if not shape else "scores[name] has the values"
            remedy = remedy if self.groups is None else "scores.macro() averages the groups"
            raise ValueError(f"best, rank: expected one batch dimension; got shape {shape} ({remedy})")
        return (value if better == "higher" else -value).round(decimals=DECIMALS)

    def to_dict(self) -> dict[str, Any]:
        """Canonical names, found by aliases too, to nested lists (a float for a single clustering)."""
        return ByCanonicalName({name: value.tolist() for name, value in self.to_numpy().items()})

    def to_numpy(self) -> dict[str, np.ndarray]:
        """Canonical names, found by aliases too, to arrays of shape ``(*batch,)``."""
        return ByCanonicalName(zip(self.names, self._on_host(), strict=True))

    def _on_host(self, *others: Tensor) -> list[np.ndarray]:
        """The values of all measures, and other tensors of the batch, after a single wait for the device."""
        values = [x.detach() for x in (*self.values(), *others)]
        if any(x.device.type == "cpu" for x in values):
            return [x.cpu().numpy() for x in values]
        return list(torch.stack([x.double() for x in values]).cpu().numpy()) if values else []

    def to_pandas(self) -> DataFrame:
        """One row a clustering, one column a measure by its name in ``self.names``, not ``ari``; needs pandas."""
        pandas = import_optional("pandas", "pandas")
        levels = [pandas.Index(level, tupleize_cols=False) for level in self._levels()]
        index = levels[0] if len(levels) == 1 else pandas.MultiIndex.from_product(levels) if levels else None
        columns = {} if self.count is None else {"count": self.count.numpy(force=True)}
        columns |= {name: value.reshape(-1) for name, value in self.to_numpy().items()}
        return pandas.DataFrame(columns, index=index)

    def _levels(self) -> list[Any]:
        """Names (numbers) of clusterings along each dimension of the batch, and the ids of groups along the last."""
        levels: list[Any] = [range(n) if self.clusterings is None else self.clusterings for n in self.batch_shape]
        return levels if self.groups is None else [*levels[:-1], self.groups.tolist()]

    def to_csv(self, path: Any) -> None:
        """Write a CSV file with a row for each clustering (group, pair): its name or number, counts, and all scores."""
        stream, levels = io.StringIO(), self._levels()
        writer = csv.writer(stream, lineterminator="\n")
        dims = [f"batch {i}" for i in range(len(levels))] if len(levels) > 1 else ["clustering"]
        if self.groups is not None:
            dims = ["clustering", *dims[1:-1], "group"][-len(levels) :]
        dims = ["labels_true", "labels_pred"] if self.of_pairs else dims
        counts = {} if self.count is None else {"count": self.count}
        columns = [x.detach().reshape(-1).tolist() for x in (*counts.values(), *self.values())]
        writer.writerow([*dims[: len(levels)], *counts, *self])
        keys = itertools.product(*levels)
        writer.writerows([*key, *row] for key, row in zip(keys, zip(*columns, strict=True), strict=True))
        write_text(as_path(path, "path"), stream.getvalue())

    def summary(self) -> "Summary":
        """Mean, standard deviation and quantiles of each measure over the batch; nan is left out.

        With groups of items: over the clusterings, of the means over the groups.

        For ``pairwise``, each clustering against itself is left out too, and each pair counts once where its order
        does not matter.
        """
        return self.macro().summary() if self._by_group else self._summarise(self.to_numpy())

    def _summarise(self, values: Mapping[str, np.ndarray]) -> "Summary":
        if self.of_pairs:
            others = ~np.eye(self.batch_shape[0], dtype=bool)
            once = {name for name, measure in self.measures.items() if measure.swapped == name}
            values = {name: value[np.triu(others) if name in once else others] for name, value in values.items()}
        return Summary({name: _describe(value) for name, value in values.items()})

    @property
    def _by_group(self) -> bool:
        """Whether the batch has both clusterings and groups of items."""
        return self.groups is not None and len(self.batch_shape) > 1

    def _shown(self) -> Shown:
        """The values of a few clusterings, else their summary; means over groups of items."""
        if self._by_group:
            *batch, groups = map(str, self.batch_shape)
            head = f"Scores of {' x '.join(batch)} clusterings, means over {groups} groups (macro)"
            return self.macro()._shown()._replace(title=head)
        count = self.batch_shape.numel()
        shape = " x ".join(map(str, self.batch_shape)) or "1"
        what = "clustering" if self.groups is None else "group"
        head = f"Scores of {shape} {what}{'s' * (count != 1)}"
        *scores, coverage = self._on_host(self.coverage)
        values = dict(zip(self.names, scores, strict=True))
        if self.listed:
            own = {} if self.count is None else {"count": [str(x) for x in self.count.tolist()]}
            own |= {name: [*map(format_number, value.tolist())] for name, value in values.items()}
            lines = zip(self.clusterings or (), *own.values(), strict=True)
            rows = [[str(name), *row] for name, *row in itertools.islice(lines, _MAX_ROWS)]
            header = ["clustering", *own]
        elif count <= 6 and len(self.batch_shape) <= 1:
            flat = {name: value.reshape(-1).tolist() for name, value in values.items()}
            rows = [[name, *map(format_number, of_each)] for name, of_each in flat.items()]
            numbers = range(count) if self.clusterings is None else self.clusterings
            numbers = numbers if self.groups is None else tuple(self.groups.tolist())
            header = ["measure", *map(str, numbers)] if self.batch_shape else ["measure", "value"]
        else:
            header, rows, *_ = (self.summary() if self._by_group else self._summarise(values))._shown()
        notes = [f"left out: {name}, which {reason}" for name, reason in self.skipped.items()]
        notes += [f"{name} does not look like a clustering: {reason}" for name, reason in self.doubtful.items()]
        if self.listed and count > _MAX_ROWS:
            notes.append(f"{count - _MAX_ROWS} more rows: to_csv(path) and to_pandas() have them")
        if self.of_pairs:
            notes.append("each clustering against all others, without itself")
        of_partitions = any(not measure.one_sided for measure in self.measures.values())
        if of_partitions and bool((coverage < 1).any()):  # other measures count the items that one side lacks too
            least = "" if coverage.size == 1 else " at least"
            notes.append(f"items scored: {format_number(100 * float(coverage.min()))} %{least} (see coverage)")
            few = low_coverage(float(np.nanmin(coverage, initial=1.0)), self.measures.values())
            notes += [few] if few else []
        return Shown(header, rows, head, notes)


def low_coverage(share: float, measures: Iterable[Measure]) -> str:
    """What to say if few items are scored and a measure depends on the other items of a cluster; else nothing.

    Of a sample of classes only measures that see each class by itself have the value of all (a simulation).
    """
    seen = [x.name for x in measures if not x.one_sided and x.name not in _BY_CLASS]
    if not share < _FEW or not seen:
        return ""
    return (
        f"{100 * share:.3g} % of the items are scored; {seen[0]} and similar measures do not see the other items of a "
        "cluster, so they are too good if those have unknown classes (for a sample of classes: estimate_from_sample)"
    )


def leading(measures: Iterable[Measure], option: str) -> Measure:
    """The default measure for ranking: adjusted mutual information, or the first with a direction, or an error."""
    directed = {measure.name: measure for measure in measures if measure.better is not None}
    if not directed:
        raise ValueError(f"{option}: expected a measure with a direction (sort=, --sort); got none")
    return directed.get("ami_arithmetic", next(iter(directed.values())))


def best_first(values: np.ndarray, better: str | None, top: int | None = None) -> list[int]:
    """Numbers of the clusterings: best first, equal ones in the order of the input, nan last."""
    values = np.round(-values if better == "higher" else values, DECIMALS)
    order: list[int] = np.argsort(values, kind="stable").tolist()
    return order[:top]


def _mean(values: Tensor, weights: Tensor) -> Tensor:
    """Weighted mean over the last dimension of the values that are not nan."""
    weights = weights.masked_fill(values.isnan(), 0.0)
    weighted = torch.where(weights > 0, values * weights, 0.0)
    return sum_reproducible(weighted) / sum_reproducible(weights)


_QUANTILES = {"min": 0.0, "q25": 0.25, "median": 0.5, "q75": 0.75, "max": 1.0}


def _describe(values: np.ndarray) -> dict[str, float]:
    present = values[~np.isnan(values)]
    if not len(present):
        return dict.fromkeys(("mean", "sd", *_QUANTILES), math.nan)
    with np.errstate(invalid="ignore", over="ignore"):  # infinite and immense scores
        mean = float(present.mean())
        sd = float(present.std(ddof=1)) if len(present) > 1 else math.nan
        quantiles = np.quantile(
            present, list(_QUANTILES.values()), method="lower" if np.isinf(present).any() else "linear"
        )
    return {"mean": mean, "sd": sd, **dict(zip(_QUANTILES, quantiles.tolist(), strict=True))}


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Printed, ByMeasure[Mapping[str, float]]):
    """Name of a measure -> ``mean``, ``sd``, ``min``, ``q25``, ``median``, ``q75``, ``max`` over the batch.

    >>> scores = tce.evaluate([0, 0, 1, 1], [[0, 0, 1, 1], [0, 1, 0, 1]], "purity")
    >>> scores.summary()["purity"]["mean"]
    0.75
    """

    _field = "rows"

    rows: Mapping[str, Mapping[str, float]]

    def to_dict(self) -> dict[str, dict[str, float]]:
        return {name: dict(row) for name, row in self.rows.items()}

    def to_pandas(self) -> DataFrame:
        pandas = import_optional("pandas", "pandas")
        return pandas.DataFrame.from_dict(self.to_dict(), orient="index")

    def _shown(self) -> Shown:
        header = ["measure", "mean", "sd", *_QUANTILES]
        rows = [[name, *(format_number(row[key]) for key in header[1:])] for name, row in self.rows.items()]
        return Shown(header, rows)
