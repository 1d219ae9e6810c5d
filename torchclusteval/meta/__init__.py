"""Evaluation of measures: which formal properties does a measure have?

:func:`check_constraints` tries the four constraints of Amigó and others on random pairs of clusterings,
:func:`check_properties` the seven properties of Dom and of Rosenberg and Hirschberg over a parametric generator.
Both take a ``Measure``, a name, or any callable on tables.
"""

from torchclusteval.meta.constraints import CONSTRAINTS, ConstraintReport, Counterexample, check_constraints
from torchclusteval.meta.generator import READINGS, Grid, Reading, grid_tables, parametric_tables
from torchclusteval.meta.properties import PROPERTIES, PropertyRates, check_properties
from torchclusteval.meta.summary import markdown_table

__all__ = [
    "CONSTRAINTS",
    "PROPERTIES",
    "READINGS",
    "ConstraintReport",
    "Counterexample",
    "Grid",
    "PropertyRates",
    "Reading",
    "check_constraints",
    "check_properties",
    "grid_tables",
    "markdown_table",
    "parametric_tables",
]
