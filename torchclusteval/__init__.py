"""External evaluation of clusterings, many at once, on PyTorch tensors.

Labels become contingency tables, one for each clustering of a batch; every measure is a function of tables.
"""

from torchclusteval import measures, meta
from torchclusteval.breakdown import GroupScores, per_class, per_cluster, per_item
from torchclusteval.compiled import compile
from torchclusteval.measures import MEASURES, Measure
from torchclusteval.overlap import OVERLAP_MEASURES, Memberships, evaluate_overlapping, read_memberships
from torchclusteval.scoring import Scores, Summary, evaluate, evaluate_tables
from torchclusteval.streaming import ContingencyAccumulator, evaluate_stream
from torchclusteval.tables import ContingencyTables, PairCounts

__version__ = "0.1.0"

__all__ = [
    "MEASURES",
    "OVERLAP_MEASURES",
    "ContingencyAccumulator",
    "ContingencyTables",
    "GroupScores",
    "Measure",
    "Memberships",
    "PairCounts",
    "Scores",
    "Summary",
    "compile",
    "evaluate",
    "evaluate_overlapping",
    "evaluate_stream",
    "evaluate_tables",
    "measures",
    "meta",
    "per_class",
    "per_cluster",
    "per_item",
    "read_memberships",
]
