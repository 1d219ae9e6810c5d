"""External evaluation of clusterings, many at once, on PyTorch tensors.

Labels become contingency tables, one for each clustering of a batch; every measure is a function of tables.
"""

import importlib
from typing import TYPE_CHECKING, Any

from torchclusteval import measures
from torchclusteval.cells.quantities import PairCounts
from torchclusteval.common.version import __version__ as __version__
from torchclusteval.inference import (
    adjusted_for_chance,
    bootstrap,
    cluster_stability,
    consensus,
    element_consistency,
    estimate_from_sample,
    multinomial_tables,
    paired_bootstrap,
    pairwise,
    permutation_test,
    random_tables,
    stability,
    transitions,
)
from torchclusteval.measures import MEASURES, Measure
from torchclusteval.overlap import OVERLAP_MEASURES, Memberships, evaluate_overlapping, read_memberships
from torchclusteval.scoring.breakdown import GroupScores, adjusted_rand_by_class, per_class, per_cluster, per_item
from torchclusteval.scoring.compiled import compile
from torchclusteval.scoring.coreference_files import read_conll
from torchclusteval.scoring.evaluation import evaluate, evaluate_tables
from torchclusteval.scoring.matching import Matching, match, relabel
from torchclusteval.scoring.matching_scores import MatchedScores, matched_scores, subset_accuracy
from torchclusteval.scoring.objects import per_object
from torchclusteval.scoring.pooling import pooled
from torchclusteval.scoring.scores import Scores, Summary
from torchclusteval.streaming import ContingencyAccumulator, evaluate_stream
from torchclusteval.tables import ContingencyTables

if TYPE_CHECKING:
    from torchclusteval import meta
    from torchclusteval.reports import report

__all__ = [
    "MEASURES",
    "OVERLAP_MEASURES",
    "ContingencyAccumulator",
    "ContingencyTables",
    "GroupScores",
    "MatchedScores",
    "Matching",
    "Measure",
    "Memberships",
    "PairCounts",
    "Scores",
    "Summary",
    "adjusted_for_chance",
    "adjusted_rand_by_class",
    "bootstrap",
    "cluster_stability",
    "compile",
    "consensus",
    "element_consistency",
    "estimate_from_sample",
    "evaluate",
    "evaluate_overlapping",
    "evaluate_stream",
    "evaluate_tables",
    "match",
    "matched_scores",
    "measures",
    "meta",
    "multinomial_tables",
    "paired_bootstrap",
    "pairwise",
    "per_class",
    "per_cluster",
    "per_item",
    "per_object",
    "permutation_test",
    "pooled",
    "random_tables",
    "read_conll",
    "read_memberships",
    "relabel",
    "report",
    "stability",
    "subset_accuracy",
    "transitions",
]


def __getattr__(name: str) -> Any:
    """``tce.meta``, ``tce.plots``, ``tce.studies`` and ``tce.report``, imported when they are used."""
    if name in ("meta", "plots", "studies"):
        return importlib.import_module(f"torchclusteval.{name}")
    if name == "report":
        return importlib.import_module("torchclusteval.reports").report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), "meta", "plots", "report", "studies"})
