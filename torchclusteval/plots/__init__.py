"""Pictures of the package's results; needs the extra ``plots`` (matplotlib).

``plot_scores`` (scores with their intervals), ``plot_table`` (a matched table with its margins), ``plot_flow`` (items
between clusterings), ``plot_stability`` (how well clusters come back), ``plot_transitions`` (clusters over
resolutions) and ``plot_agreement`` (clusterings with each other) take ``ax=`` and return the axes with the picture;
``axes.figure.savefig`` writes a file. Figures have matplotlib's constrained layout, which makes room for labels; so
does the figure of your own axes, unless it has a layout already.

No figure uses pyplot, so none is shown and no global state changes. Long labels lose their middle. Colour-blind readers
can tell all colours apart: Okabe and Ito's palette, blues and cividis.
"""

from torchclusteval.plots.flows import plot_flow, plot_transitions
from torchclusteval.plots.heat_maps import plot_agreement, plot_table
from torchclusteval.plots.scores import plot_scores, plot_stability

__all__ = ["plot_agreement", "plot_flow", "plot_scores", "plot_stability", "plot_table", "plot_transitions"]
