"""Metric objects of one measure, by torchmetrics' names."""

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from torchclusteval import measures as functions
from torchclusteval.common.checks import check_choice
from torchclusteval.common.formatting import brief
from torchclusteval.measures.record import Measure
from torchclusteval.measures.registry import MEASURES
from torchclusteval.torchmetrics.clustering_metric import ClusteringMetric

_MEANS = ("min", "geometric", "arithmetic", "max")
_NAMES_OF_ONE_TYPE = ("quantile", "nanquantile", "allclose", "isclose")
_OF_ONE_TYPE = {getattr(owner, name) for owner in (torch, Tensor) for name in _NAMES_OF_ONE_TYPE}  # refuse mixed types


class _Value(Tensor):
    """A result that ``torch.quantile`` and ``torch.allclose`` take together with a tensor of any float type.

    ``BootStrapper(metric, quantile=torch.tensor([0.05, 0.95]))`` takes quantiles of a stack of results, and tests
    compare results with ``torch.tensor(1.0)``. All other results computed from one are plain tensors, and so are
    copies and pickles.
    """

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        with torch._C.DisableTorchFunctionSubclass():
            values = [x.as_subclass(Tensor) if isinstance(x, cls) else x for x in args]
            if func in _OF_ONE_TYPE:
                values = [_as_float64(x) for x in values]
                kwargs.update({name: _as_float64(kwargs[name]) for name in ("input", "q", "other") if name in kwargs})
            result = func(*values, **kwargs)
            same = func in (Tensor.clone, Tensor.squeeze, torch.stack)  # steps from ``compute`` to a quantile
            return result.as_subclass(cls) if same else result


def _as_float64(x: Any) -> Any:
    return x.double() if isinstance(x, Tensor) and x.is_floating_point() else x


_EXAMPLE = """

    >>> from torchclusteval.torchmetrics import {name}
    >>> metric = {name}({arguments})
    >>> metric.update(torch.tensor([0, 0, 1, 2]), torch.tensor([0, 0, 1, 1]))  # predictions, then truth
    >>> round(float(metric.compute()), 4)
    {value}
    """


class _Score(ClusteringMetric):
    """One measure, as a scalar; a subclass names it, and the value of the example in its docstring."""

    _measure: str | Measure

    def __init_subclass__(cls, measure: str = "", example: float | None = None, arguments: str = "") -> None:
        super().__init_subclass__()
        if measure:
            cls._measure = measure
        if example is not None and cls.__doc__ is not None:
            cls.__doc__ += _EXAMPLE.format(name=cls.__name__, arguments=arguments, value=example)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__((self._measure,), **kwargs)

    def compute(self) -> Tensor:
        """The measure of all items so far, on all ranks: a float64 scalar."""
        (value,) = super().compute().values()
        return value.as_subclass(_Value) if type(value) is Tensor else value


class _AveragedScore(_Score):
    """A measure for each mean of the two entropies."""

    def __init__(self, average_method: str = "arithmetic", **kwargs: Any) -> None:
        check_choice(average_method, "average_method", _MEANS)
        ClusteringMetric.__init__(self, (f"{self._measure}_{average_method}",), **kwargs)
        self.average_method = average_method


class AdjustedRandScore(_Score, measure="adjusted_rand", example=0.5714):
    """Adjusted Rand index. Arguments: the options of :class:`ClusteringMetric` by name."""


class RandScore(_Score, measure="rand", example=0.8333):
    """Rand index. Arguments: the options of :class:`ClusteringMetric` by name."""


class FowlkesMallowsIndex(_Score, measure="fowlkes_mallows", example=0.7071):
    """Fowlkes-Mallows index. Arguments: the options of :class:`ClusteringMetric` by name."""


class MutualInfoScore(_Score, measure="mutual_information", example=0.6931):
    """Mutual information in nats. Arguments: the options of :class:`ClusteringMetric` by name."""


class HomogeneityScore(_Score, measure="homogeneity", example=1.0):
    """Homogeneity. Arguments: the options of :class:`ClusteringMetric` by name."""


class CompletenessScore(_Score, measure="completeness", example=0.6667):
    """Completeness. Arguments: the options of :class:`ClusteringMetric` by name."""


class NormalizedMutualInfoScore(_AveragedScore, measure="nmi", example=0.8):
    """Mutual information over a mean of both entropies.

    Args:
        average_method: ``"min"``, ``"geometric"``, ``"arithmetic"`` or ``"max"``.
        **kwargs: the options of :class:`ClusteringMetric`.
    """


class AdjustedMutualInfoScore(_AveragedScore, measure="ami", example=0.5714):
    """Normalised mutual information corrected for chance.

    Args:
        average_method: ``"min"``, ``"geometric"``, ``"arithmetic"`` or ``"max"``.
        **kwargs: the options of :class:`ClusteringMetric`.
    """


class VMeasureScore(_Score, example=0.8):
    """Weighted harmonic mean of homogeneity and completeness.

    Args:
        beta: weight of completeness, above 0.
        **kwargs: the options of :class:`ClusteringMetric`.
    """

    def __init__(self, beta: float = 1.0, **kwargs: Any) -> None:
        if isinstance(beta, bool) or not isinstance(beta, (int, float)) or not 0 < beta < float("inf"):
            raise ValueError(f"beta: expected a number above 0; got {brief(beta)}")
        function = partial(functions.v_measure, beta=beta)
        measure = replace(MEASURES["v_measure"], name=f"v_measure_beta_{beta:g}", function=function, swapped=None)
        ClusteringMetric.__init__(self, (measure,), **kwargs)
        self.beta = beta


class ClusterAccuracy(_Score, measure="one_to_one_accuracy", example=0.75, arguments="num_classes=2, num_clusters=3"):
    """Share of items on the diagonal under the best assignment of clusters to classes.

    Args:
        num_classes: number of classes, and of clusters unless ``num_clusters`` is given.
        **kwargs: the options of :class:`ClusteringMetric`.
    """

    def __init__(self, num_classes: int, **kwargs: Any) -> None:
        super().__init__(**{"num_clusters": num_classes, **kwargs}, num_classes=num_classes)
