"""Spherical k-means in the style of Hartigan and Wong, batched over data sets.

The search visits items one at a time, in all sets together, and updates the clusters after each visit. It keeps the
Gram matrix of the unit vectors, and the products of every item with every cluster sum; a move adds (subtracts) one row
of that matrix.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor

Criterion = Literal["density", "cosine"]

_TOLERANCE = 1e-9


class KMeansResult(NamedTuple):
    """Clusterings of ``S`` data sets."""

    labels: Tensor  # (S, N) int64, clusters 0..K-1
    passes: Tensor  # (S,) int64, including the pass without a move
    converged: Tensor  # (S,) bool, False where max_passes ended the search


def spherical_kmeans(
    gram: Tensor, n_clusters: int, criterion: Criterion = "density", *, max_passes: int = 100
) -> KMeansResult:
    r"""Cluster the items of every data set by direction, one move at a time.

    With v the unit vectors and c_k the sum of v over cluster k, the first ``n_clusters`` items are the seeds, and every
    other item joins the seed of largest cosine. Then each pass visits all items in order: item i moves from its cluster
    to the best other cluster if the gain exceeds the loss by more than 1e-9. Under ``"density"`` these are

        gain_k = |c_k + v_i| - |c_k|,     loss = |c_own| - |c_own - v_i|,

    changes of the objective ``sum_k |c_k|``, and under ``"cosine"``

        gain_k = v_i . c_k / |c_k|,       loss = v_i . (c_own - v_i) / |c_own - v_i|,

    cosines with each cluster without the item, times the length of v. A cluster keeps its only member. Of equal gains
    the lowest cluster wins. The search ends after a pass without a move, or unconverged after ``max_passes``.
    ``gram`` is ``(S, N, N)`` float64, the cosines of all pairs of items, and 0 for a vector of zeros, also with itself.

    Source: Kishida (2014), appendix; the gain and loss of ``"density"`` are the increase and decrease of
    ``J_k = |c_k|`` there, written without the division.
    """
    n_sets, n_items = gram.shape[:2]
    labels = gram[:, :, :n_clusters].argmax(-1)  # the seed of largest cosine
    labels[:, :n_clusters] = torch.arange(n_clusters, device=gram.device)
    passes = torch.zeros(n_sets, dtype=torch.int64, device=gram.device)
    converged = torch.zeros(n_sets, dtype=torch.bool, device=gram.device)
    before = labels.clone()  # at the start of the last pass
    sets, search = torch.arange(n_sets, device=gram.device), _Search.begin(gram, labels, n_clusters)
    while len(sets) > 0:
        start = search.labels.clone()
        for item in range(n_items):
            search.visit(item, sets, gram, criterion == "density")
        passes[sets] += 1
        moved = (search.labels != start).any(1)
        alternating = moved & (search.labels == before[sets]).all(1)  # between two clusterings, without end
        odd = (max_passes - passes[sets]) % 2 == 1
        labels[sets] = torch.where((alternating & odd)[:, None], start, search.labels)
        converged[sets] = ~moved
        passes[sets] = torch.where(alternating, max_passes, passes[sets])
        before[sets] = start
        going = moved & (passes[sets] < max_passes)
        sets, search = sets[going], _Search(*(x[going] for x in search))
    return KMeansResult(labels=labels, passes=passes, converged=converged)


class _Search(NamedTuple):
    """The state of the search in the ``S`` unfinished sets."""

    labels: Tensor  # (S, N) int64
    products: Tensor  # (S, K, N), v_i . c_k
    norms2: Tensor  # (S, K), |c_k|^2
    sizes: Tensor  # (S, K)

    @classmethod
    def begin(cls, gram: Tensor, labels: Tensor, n_clusters: int) -> "_Search":
        member = torch.nn.functional.one_hot(labels, n_clusters).to(gram.dtype).mT  # (S, K, N)
        products = member @ gram
        return cls(labels.clone(), products, (products * member).sum(2), member.sum(2))

    def visit(self, item: int, sets: Tensor, gram: Tensor, density: bool) -> None:
        """Move an item in the sets that gain from it; ``sets`` are the numbers of the sets in ``gram``."""
        own, square = self.labels[:, item, None], gram[:, item, item, None].index_select(0, sets)  # |v|^2: 1 or 0
        products, norms2 = self.products[:, :, item], self.norms2
        norms, products_own = norms2.sqrt(), products.gather(1, own)
        rest2 = (norms2.gather(1, own) - 2 * products_own + square).clamp_(min=0)  # |c_own - v|^2
        grown2 = (norms2 + 2 * products + square).clamp_(min=0)  # |c_k + v|^2
        rest = rest2.sqrt()
        if density:
            values, loss = grown2.sqrt() - norms, norms.gather(1, own) - rest
        else:
            values = products / norms.masked_fill(norms == 0, 1)
            loss = (products_own - square) / rest.masked_fill(rest == 0, 1)
        loss = (loss + _TOLERANCE).masked_fill_(self.sizes.gather(1, own) == 1, torch.inf)
        best = values.scatter_(1, own, loss).argmax(1)
        moving = (best != own[:, 0]).nonzero()[:, 0]
        source, target = own[moving, 0], best[moving]
        row = gram[sets[moving], item]
        for cluster, sign, changed2 in ((target, 1, grown2[moving, target]), (source, -1, rest2[moving, 0])):
            self.products[moving, cluster] += sign * row
            norms2[moving, cluster] = changed2
            self.sizes[moving, cluster] += sign
        self.labels[moving, item] = target
