"""Measures of pairs of items, and the sums in their formulas.

SS, SD, DS, DD are the numbers of unordered pairs joined by both sides, by the prediction only, by the truth only,
and by neither; M is the number of all pairs. They are exact float64 sums; products of two of them are
float64 too, since int64 products wrap near 70,000 items. On float tables the polynomial ``x (x - 1) / 2`` is kept.
"""

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor

from torchclusteval.cells.quantities import PairCounts
from torchclusteval.cells.sums import FACTS, FUNCTIONS, SUMS_OF_PAIRS, VALUES, WHOLE
from torchclusteval.common import kernels
from torchclusteval.common.checks import check_bools
from torchclusteval.common.lazy import cached_on_tables, lazy_property
from torchclusteval.common.numerics import sqrt_or_zero
from torchclusteval.measures.record import FROM_ZERO, SIGNED, UNIT, measure
from torchclusteval.measures.sums import Sums, ratio, weighted_harmonic_mean
from torchclusteval.tables import ContingencyTables

__all__ = ["adjusted_rand", "fowlkes_mallows", "hubert_gamma", "jaccard", "minkowski_score", "mirkin", "pair_counts"]
__all__ += ["pair_f", "pair_precision", "pair_recall", "rand"]


@cached_on_tables
def pair_counts(tables: ContingencyTables) -> PairCounts:
    """Pairs of items by whether each side puts them together.

    Returns:
        ``ss`` (same cluster, same class), ``sd``, ``ds``, ``dd``: ``(*batch,)`` float64; 0 without items.

    Source: Amigo et al. (2009), section 4.2.

    >>> [int(x) for x in tce.measures.pair_counts(tce.ContingencyTables([[2, 1], [0, 3]]))]
    [4, 3, 2, 6]
    """
    return tables.pairs


class PairSums:
    """Numbers of unordered pairs, ``(*batch,)`` float64 each, and sums of them."""

    def __init__(self, counts: PairCounts, known: Mapping[str, Tensor] | None = None) -> None:
        self.ss, self.sd, self.ds, self.dd = counts
        self._memo: dict[str, Tensor] = {}
        if known is not None:
            vars(self).update((name, known[name]) for name in SUMS_OF_PAIRS if name in known)

    @lazy_property
    def joined(self) -> Tensor:
        """Pairs joined by the prediction."""
        return self.ss + self.sd

    @lazy_property
    def wanted(self) -> Tensor:
        """Pairs of one class."""
        return self.ss + self.ds

    @lazy_property
    def separated(self) -> Tensor:
        """Pairs separated by the prediction."""
        return self.ds + self.dd

    @lazy_property
    def unwanted(self) -> Tensor:
        """Pairs of two classes."""
        return self.sd + self.dd

    @lazy_property
    def alike(self) -> Tensor:
        """Pairs treated alike by both sides."""
        return self.ss + self.dd

    @lazy_property
    def different(self) -> Tensor:
        """Pairs treated differently."""
        return self.sd + self.ds

    @lazy_property
    def every(self) -> Tensor:
        return self.joined + self.separated

    @lazy_property
    def determinant(self) -> Tensor:
        """``SS DD - SD DS``."""
        return self.ss * self.dd - self.sd * self.ds

    @lazy_property
    def products(self) -> tuple[Tensor, Tensor]:
        """Joined pairs times separated pairs of the prediction, and the same of the classes."""
        return self.joined * self.separated, self.wanted * self.unwanted

    @lazy_property
    def root_of_products(self) -> Tensor:
        """The square root of each product alone: both together would overflow near 1e20 items."""
        clusters, classes = self.products
        return sqrt_or_zero(clusters) * sqrt_or_zero(classes)


@cached_on_tables
def pair_sums(tables: ContingencyTables) -> PairSums:
    return PairSums(pair_counts(tables), tables._launched)


def sums_by_torch(
    counts: Tensor, class_sizes: Tensor, cluster_sizes: Tensor, whole: Tensor, facts: Tensor, values: Tensor
) -> None:
    """Write the sums of tables, as given by the functions of tables.

    Args:
        counts: ``(B, R, C)`` int64.
        class_sizes: result, ``(B, R)`` int64.
        cluster_sizes: result, ``(B, C)`` int64.
        whole: result, ``WHOLE`` by ``B`` int64: the last two are sums of the largest cells of classes and of clusters.
        facts: result, ``FACTS`` by ``B`` bool.
        values: result, ``VALUES`` by ``B`` float64: pairs, entropies in nats (nan without items), the sums of
            ``n^2 / c``, ``n^2 / r``, of the largest ``2 n / (r + c)`` of each class, and of these times ``r``.
    """
    tables = ContingencyTables(counts, validate=False)
    tables._memo["_launched"] = None
    class_sizes.copy_(tables.class_sizes)
    cluster_sizes.copy_(tables.cluster_sizes)
    pairs = PairSums(tables.pairs)
    for to, names in ((whole, WHOLE), (facts, FACTS), (values, VALUES)):
        found = [FUNCTIONS[name](tables) if name in FUNCTIONS else getattr(pairs, name) for name in names]
        to.copy_(torch.stack(found))


def _sample(device: torch.device) -> kernels.Arguments:
    """Tables of several tiles, with empty rows and columns."""
    counts = torch.arange(3 * 37 * 70, device=device).view(3, 37, 70) % 11 * (torch.arange(70, device=device) % 5 > 0)
    counts[1, 20:] = 0
    shapes = [(3, 37), (3, 70), (len(WHOLE), 3), (len(FACTS), 3), (len(VALUES), 3)]
    dtypes = [*[torch.int64] * 3, torch.bool, torch.float64]
    results = [torch.zeros(x, dtype=y, device=device) for x, y in zip(shapes, dtypes, strict=True)]
    return [counts, *results], {}


kernels.define("sums", "torchclusteval.cells.triton_sums", sums_by_torch, _sample)


@cached_on_tables
def squared_items(tables: ContingencyTables) -> Tensor:
    return tables._n_items_f64**2


PAIRS = Sums((pair_counts, 4))
PAIRS_BY_SQUARE = Sums((pair_counts, 4), squared_items)
pair_index = partial(measure, "pairs", sums=PAIRS)  # a formula of the numbers of pairs
linear = partial(pair_index, linear_in="pairs")
corrected = partial(linear, chance_corrected=True)


@linear(range=UNIT, perfect=1.0, symmetric=True, source="rand1971")
def rand(tables: ContingencyTables) -> Tensor:
    """Share of the pairs treated alike by both sides, ``(SS + DD) / M``.

    Degenerate: 1 for a single item; nan without items.
    Example: 0.6667
    """
    pairs = pair_sums(tables)
    return ratio(pairs.alike, pairs.every, tables)


@corrected(range=(-0.5, 1.0), perfect=1.0, symmetric=True, source="hubert1985")
def adjusted_rand(tables: ContingencyTables) -> Tensor:
    """Rand index corrected for chance.

        ARI = 2 (SS DD - SD DS) / ((SS + SD)(SD + DD) + (SS + DS)(DS + DD))

    Range: -0.5 to 1, higher is better; 0 is the mean over all permutations of one side.
    Degenerate: 1 where the partitions are identical (0/0); nan without items.
    Source: Hubert and Arabie (1985); lower bound from Chacon and Rastrojo (2022).
    Example: 0.3243
    """
    pairs = pair_sums(tables)
    return ratio(2 * pairs.determinant, pairs.joined * pairs.unwanted + pairs.wanted * pairs.separated, tables)


@pair_index(range=UNIT, perfect=1.0, symmetric=True, source="jaccard1901")
def jaccard(tables: ContingencyTables) -> Tensor:
    """Pairs joined by both sides among those joined by either, ``SS / (SS + SD + DS)``.

    Degenerate: 1 where no side joins a pair (0/0); nan without items.
    Source: Jaccard (1901); Kishida, section 3.2.
    Example: 0.4444
    """
    pairs = pair_sums(tables)
    return ratio(pairs.ss, pairs.joined + pairs.ds, tables)


@linear(range=UNIT, perfect=1.0, symmetric=True, source="fowlkes1983")
def fowlkes_mallows(tables: ContingencyTables) -> Tensor:
    """Geometric mean of pair precision and pair recall, ``SS / sqrt((SS + SD)(SS + DS))``.

    Degenerate: 1 where no side joins a pair (scikit-learn gives 0), 0 where only one side joins none; nan without
        items. On float tables 0 where SS or the radicand is not positive.
    Example: 0.6172
    """
    pairs = pair_sums(tables)
    radicand = pairs.joined * pairs.wanted
    if not tables.is_integer:
        radicand = radicand.masked_fill(pairs.ss <= 0, 0.0)
    return ratio(pairs.ss, sqrt_or_zero(radicand), tables, maximum=1.0)


@linear(
    better="lower",
    perfect=0.0,
    symmetric=True,
    metric=True,
    variants={
        "mirkin": {"range": FROM_ZERO, "source": "mirkin1996", "combines": "sum"},
        "mirkin_normalized": {"normalized": True, "range": UNIT, "source": "meila2007", "sums": PAIRS_BY_SQUARE},
    },
)
def mirkin(tables: ContingencyTables, normalized: bool = False) -> Tensor:
    """Ordered pairs treated differently by the two sides, ``2 (SD + DS)``; a metric.

    Args:
        normalized: divide by the square of the number of items.

    Range: 0 to N (N - 1) (normalized: to 1 - 1/N), lower is better.
    Degenerate: 0 for a single item; nan without items.
    Source: Mirkin (1996); normalised form of Meila (2007).
    Example: 10.
    """
    check_bools(normalized=normalized)
    different = 2 * pair_sums(tables).different
    scale = squared_items(tables) if normalized else different**0
    return ratio(different, scale, tables, identical=0.0)


@linear(
    symmetric=True,
    variants={
        "hubert_gamma": {"range": UNIT, "source": "jain1988"},
        "hubert_gamma_normalized": {
            "normalized": True,
            "range": SIGNED,
            "perfect": 1.0,
            "source": "hubert1985",
            "chance_corrected": True,
        },
    },
)
def hubert_gamma(tables: ContingencyTables, normalized: bool = False) -> Tensor:
    """Agreement of the two indicators "same group" over all pairs.

    Args:
        normalized: False: mean product of the indicators, ``SS / M``; True: their correlation,
            ``(SS DD - SD DS) / sqrt((SS + SD)(SS + DS)(SD + DD)(DS + DD))``.

    Range: 0 to 1 (normalized: -1 to 1), higher is better.
    Degenerate: raw, 0 for a single item; normalized, 1 for identical partitions, else 0 where an indicator is
        constant; nan without items.
    Source: Hubert and Arabie (1985); Jain and Dubes (1988).
    Example: 0.2667
    """
    check_bools(normalized=normalized)
    pairs = pair_sums(tables)
    if not normalized:
        return ratio(pairs.ss, pairs.every, tables, identical=None)
    return ratio(pairs.determinant, pairs.root_of_products, tables, maximum=1.0)


@pair_index(range=FROM_ZERO, better="lower", perfect=0.0, source="wu2009")
def minkowski_score(tables: ContingencyTables) -> Tensor:
    """Root of the wrong pairs over the pairs within classes, ``sqrt((SD + DS) / (SS + DS))``.

    Degenerate: infinity where only the prediction joins pairs; nan without items.
    Source: Wu, Xiong and Chen (2009), after Jiang, Tang and Zhang (2004).
    Example: 0.9129
    """
    pairs = pair_sums(tables)
    share = ratio(pairs.different, pairs.wanted, tables, identical=0.0, otherwise=float("inf"))
    return sqrt_or_zero(share)


@linear(range=UNIT, perfect=1.0, swapped="pair_recall", source="wallace1983")
def pair_precision(tables: ContingencyTables) -> Tensor:
    """Share of pairs of one class among the pairs joined by the prediction, ``SS / (SS + SD)``.

    Degenerate: where the prediction joins no pair, 1 for identical partitions, else 0; nan without items.
    Source: Kishida, section 3.2 (the asymmetric factors of Fowlkes-Mallows, Wallace 1983).
    Example: 0.5714
    """
    pairs = pair_sums(tables)
    return ratio(pairs.ss, pairs.joined, tables)


@linear(range=UNIT, perfect=1.0, swapped="pair_precision", source="wallace1983")
def pair_recall(tables: ContingencyTables) -> Tensor:
    """Share of pairs joined by the prediction among the pairs of one class, ``SS / (SS + DS)``.

    Degenerate: where the classes join no pair, 1 for identical partitions, else 0; nan without items.
    Example: 0.6667
    """
    pairs = pair_sums(tables)
    return ratio(pairs.ss, pairs.wanted, tables)


@linear(range=UNIT, perfect=1.0, symmetric=True, source="rijsbergen1979")
def pair_f(tables: ContingencyTables, alpha: float = 0.5) -> Tensor:
    """Weighted harmonic mean of pair precision and pair recall.

    Degenerate: 0 where precision or recall is 0, 1 for identical partitions; nan without items.
    Source: van Rijsbergen (1979), over pairs.
    Example: 0.6154
    """
    return weighted_harmonic_mean(pair_precision(tables), pair_recall(tables), tables, alpha, positive=False)
