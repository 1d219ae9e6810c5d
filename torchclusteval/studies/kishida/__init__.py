"""The document study of Kishida (2014): fifteen measures on spherical k-means of random document sets.

Two distributions of 100 documents over ten classes, five means of the error and seven numbers of clusters make
70 configurations of 1000 sets.
"""

from torchclusteval.studies.kishida.findings import plot, report
from torchclusteval.studies.kishida.simulation import CLASS_SIZES, ENTROPIES, PRESETS, plan, rows, run

__all__ = ["CLASS_SIZES", "ENTROPIES", "PRESETS", "plan", "plot", "report", "rows", "run"]
