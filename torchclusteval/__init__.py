"""Compare clusterings with a known truth, hundreds at a time, on PyTorch tensors.

Labels become contingency tables, one for each clustering of a batch; every measure is a function of tables.
"""

import importlib
from typing import TYPE_CHECKING, Any

from torchclusteval.common.version import __version__ as __version__

if TYPE_CHECKING:  # for type checkers; at run time `__getattr__` imports each name when it is first used
    from torchclusteval import inference as inference
    from torchclusteval import measures as measures
    from torchclusteval import meta as meta
    from torchclusteval import overlap as overlap
    from torchclusteval import plots as plots
    from torchclusteval import sklearn as sklearn
    from torchclusteval import streaming as streaming
    from torchclusteval import studies as studies
    from torchclusteval import torchmetrics as torchmetrics
    from torchclusteval.inference import (
        adjusted_for_chance,
        bootstrap,
        cluster_stability,
        consensus,
        element_consistency,
        estimate_from_sample,
        multinomial_tables,
        paired_bootstrap,
        paired_groups,
        pairwise,
        permutation_test,
        random_tables,
        stability,
        transitions,
    )
    from torchclusteval.measures import MEASURES, Measure
    from torchclusteval.overlap import OVERLAP_MEASURES, Memberships, evaluate_overlapping, read_memberships
    from torchclusteval.reports import report
    from torchclusteval.scoring.breakdown import (
        GroupScores,
        adjusted_rand_by_class,
        per_class,
        per_cluster,
        per_item,
        per_object,
    )
    from torchclusteval.scoring.coreference_files import read_conll
    from torchclusteval.scoring.engine_sums import evaluate_sums
    from torchclusteval.scoring.evaluation import compile, evaluate, evaluate_tables, pooled
    from torchclusteval.scoring.matching import Matching, match, matched_scores, relabel, subset_accuracy
    from torchclusteval.scoring.scores import Scores
    from torchclusteval.streaming import ContingencyAccumulator, evaluate_stream
    from torchclusteval.tables import ContingencyTables

__all__ = ["MEASURES", "OVERLAP_MEASURES", "ContingencyAccumulator", "ContingencyTables", "GroupScores", "Matching"]
__all__ += ["Measure", "Memberships", "Scores", "adjusted_for_chance", "adjusted_rand_by_class", "bootstrap"]
__all__ += ["cluster_stability", "compile", "consensus", "element_consistency", "estimate_from_sample", "evaluate"]
__all__ += ["evaluate_overlapping", "evaluate_stream", "evaluate_sums", "evaluate_tables", "match", "matched_scores"]
__all__ += ["measures", "meta", "multinomial_tables", "paired_bootstrap", "paired_groups", "pairwise", "per_class"]
__all__ += ["per_cluster", "per_item", "per_object", "permutation_test", "pooled", "random_tables", "read_conll"]
__all__ += ["read_memberships", "relabel", "report", "stability", "subset_accuracy", "transitions"]


_MODULES = ("inference", "measures", "meta", "overlap", "plots", "sklearn", "streaming", "studies", "torchmetrics")
_SCORING = ("evaluation", "scores", "breakdown", "matching", "engine_sums", "coreference_files")
_HOMES = ("tables", "measures", *(f"scoring.{x}" for x in _SCORING), "overlap", "streaming", "inference", "reports")


if not TYPE_CHECKING:  # or type checkers would take every name

    def __getattr__(name: str) -> Any:
        """A public name, imported when it is first used, so that ``import torchclusteval`` takes no time."""
        if name in _MODULES:
            return importlib.import_module(f"torchclusteval.{name}")
        if name in __all__:
            for home in _HOMES:  # cheapest first
                module = importlib.import_module(f"torchclusteval.{home}")
                if hasattr(module, name):
                    return globals().setdefault(name, getattr(module, name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
