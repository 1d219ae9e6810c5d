"""Evaluation of measures: which formal properties does a measure have?

:func:`check_constraints` tries the four constraints of Amigó and others on random pairs of clusterings,
:func:`check_properties` the seven properties of Dom and of Rosenberg and Hirschberg over a parametric generator.
Both take a ``Measure``, a name, or any callable on tables.
"""

from torchclusteval.meta.constraints import CONSTRAINTS, check_constraints
from torchclusteval.meta.generator import READINGS, grid_tables, parametric_tables
from torchclusteval.meta.properties import PROPERTIES, check_properties

__all__ = ["CONSTRAINTS", "PROPERTIES", "READINGS", "check_constraints", "check_properties", "grid_tables"]
__all__ += ["parametric_tables"]
