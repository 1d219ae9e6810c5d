"""Tables and measures to scores: evaluation, the scores of a batch, breakdown by group and item."""

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
from torchclusteval.scoring.matching import MatchedScores, Matching, match, matched_scores, relabel, subset_accuracy
from torchclusteval.scoring.scores import Scores, Summary

__all__ = [
    "GroupScores",
    "MatchedScores",
    "Matching",
    "Scores",
    "Summary",
    "adjusted_rand_by_class",
    "compile",
    "evaluate",
    "evaluate_sums",
    "evaluate_tables",
    "match",
    "matched_scores",
    "per_class",
    "per_cluster",
    "per_item",
    "per_object",
    "pooled",
    "read_conll",
    "relabel",
    "subset_accuracy",
]
