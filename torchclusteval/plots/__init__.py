"""Pictures of what the package returns; needs the extra ``plots`` (matplotlib).

``plot_scores`` (scores with their intervals), ``plot_table`` (a matched table with its margins), ``plot_flow`` (items
between clusterings), ``plot_stability`` (which clusters come back), ``plot_transitions`` (clusters over
resolutions) and ``plot_agreement`` (clusterings with each other) take ``ax=`` and return the axes that they drew on;
``axes.figure.savefig`` writes a file. Figures have matplotlib's constrained layout, which makes room for labels; the
figure of axes that are given gets it too, unless it has a layout.

Figures are made without pyplot, so nothing is shown and no global state is touched. Long labels lose their middle.
Colours are from Okabe and Ito's palette, blues and cividis, which colour-blind readers tell apart.
"""

from torchclusteval.plots.flows import plot_flow, plot_transitions
from torchclusteval.plots.heat_maps import plot_agreement, plot_table
from torchclusteval.plots.scores import plot_scores, plot_stability

__all__ = ["plot_agreement", "plot_flow", "plot_scores", "plot_stability", "plot_table", "plot_transitions"]
