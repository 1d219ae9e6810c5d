"""What Kishida (2014) prints: Tables 1 and 2, and the groups of measures read off Figure 2."""

from __future__ import annotations

from collections.abc import Mapping

ERRORS = (0.0, 0.5, 1.0, 1.5, 2.0)

MEASURE_NAMES: Mapping[str, str] = {
    "purity": "pur",
    "inverse_purity": "invpur",
    "clustering_f": "F",
    "bcubed_f": "BCF",
    "rand": "Rand",
    "adjusted_rand": "ARI",
    "jaccard": "Jacrd",
    "fowlkes_mallows": "FM",
    "nmi_min": "NMI-min",
    "nmi_geometric": "NMI-sqrt",
    "nmi_arithmetic": "NMI-sum",
    "nmi_max": "NMI-max",
    "nmi_joint": "NMI-joint",
    "v_measure": "Vm",
    "van_dongen_normalized": "vDon",
}
"""Names of the package and of the paper's tables, in the paper's order."""

# fmt: off
TABLE_1: Mapping[str, tuple[float, ...]] = {
    "purity":                (0.867, 0.834, 0.716, 0.431, 0.301),
    "inverse_purity":        (0.955, 0.941, 0.906, 0.749, 0.567),
    "clustering_f":          (0.886, 0.857, 0.749, 0.449, 0.302),
    "bcubed_f":              (0.890, 0.858, 0.752, 0.452, 0.296),
    "rand":                  (0.965, 0.956, 0.919, 0.765, 0.698),
    "adjusted_rand":         (0.817, 0.771, 0.622, 0.242, 0.068),
    "jaccard":               (0.728, 0.671, 0.508, 0.210, 0.107),
    "fowlkes_mallows":       (0.841, 0.802, 0.681, 0.382, 0.222),
    "nmi_min":               (0.950, 0.931, 0.874, 0.604, 0.339),
    "nmi_geometric":         (0.926, 0.901, 0.818, 0.504, 0.274),
    "nmi_arithmetic":        (0.925, 0.901, 0.815, 0.494, 0.267),
    "nmi_max":               (0.903, 0.873, 0.765, 0.425, 0.226),
    "nmi_joint":             (0.866, 0.825, 0.697, 0.337, 0.157),
    "v_measure":             (0.925, 0.901, 0.815, 0.494, 0.267),
    "van_dongen_normalized": (0.106, 0.134, 0.229, 0.541, 0.757),
}
"""Averages over 1000 sets, balanced classes, ten clusters; one value per error mean in ``ERRORS``."""

TABLE_2: Mapping[str, tuple[float, ...]] = {
    "purity":                ( 0.009,  0.015,  0.078,  0.268,  0.315),
    "inverse_purity":        (-0.163, -0.153, -0.134, -0.074,  0.002),
    "clustering_f":          (-0.117, -0.112, -0.057,  0.130,  0.168),
    "bcubed_f":              (-0.102, -0.089, -0.037,  0.122,  0.165),
    "rand":                  (-0.100, -0.096, -0.088, -0.030, -0.038),
    "adjusted_rand":         (-0.186, -0.153, -0.062,  0.098,  0.089),
    "jaccard":               (-0.159, -0.112,  0.009,  0.149,  0.136),
    "fowlkes_mallows":       (-0.109, -0.081, -0.002,  0.143,  0.168),
    "nmi_min":               (-0.092, -0.114, -0.155, -0.089,  0.013),
    "nmi_geometric":         (-0.122, -0.130, -0.139, -0.029,  0.048),
    "nmi_arithmetic":        (-0.124, -0.131, -0.138, -0.022,  0.053),
    "nmi_max":               (-0.149, -0.144, -0.124,  0.016,  0.072),
    "nmi_joint":             (-0.193, -0.195, -0.180, -0.021,  0.038),
    "v_measure":             (-0.124, -0.131, -0.138, -0.022,  0.053),
    "van_dongen_normalized": ( 0.170,  0.170,  0.146,  0.011, -0.033),
}
"""Averages for biased minus averages for balanced classes, ten clusters."""
# fmt: on

FIGURE_2_GROUPS = (
    frozenset({"bcubed_f", "nmi_joint", "nmi_geometric", "nmi_arithmetic", "v_measure"}),
    frozenset({"jaccard", "adjusted_rand", "fowlkes_mallows"}),
    frozenset({"clustering_f", "nmi_max", "van_dongen_normalized"}),
)
