"""The experiments of the source papers, each as one command.

``STUDIES`` is the table behind ``torchclusteval study``. A row names a module with the functions of
:class:`~torchclusteval.studies.common.StudyModule`, imported on first use. Each ``run`` takes some of these keyword
arguments: ``preset`` (a name in the module's ``PRESETS``), ``iterations`` (number of random sets, pairs of clusterings
or gold standards), ``seed`` (of all random numbers), ``device`` (where to draw and score; except in ``cheat``, random
numbers differ by device), ``output`` (a .csv path) and ``progress`` (True, False, or None for a bar on a terminal and a
line each half minute elsewhere).

A study with ``output`` writes the CSV file, and next to it a JSON file of settings, versions and time. It resumes an
interrupted run, and may run under torchrun: every process gets the whole result, and the one with
``torchclusteval.studies.runner.rank() == 0`` should print and plot alone.
"""

import importlib
from collections.abc import Mapping
from typing import NamedTuple, cast

from torchclusteval.studies.common import StudyModule

__all__ = ["STUDIES"]


class Study(NamedTuple):
    module: str
    summary: str

    def load(self) -> StudyModule:
        return cast(StudyModule, importlib.import_module(f"torchclusteval.studies.{self.module}"))


STUDIES: Mapping[str, Study] = {
    "kishida": Study(
        "kishida",
        "15 measures on spherical k-means of random document sets: Tables 1 and 2, Figures 2 to 7 (Kishida 2014)",
    ),
    "nvi": Study("nvi", "Tables 1, 3 and 4, and the bias of V toward many clusters (Reichart and Rappoport 2009)"),
    "properties": Study(
        "properties", "P1 to P7 of nine measures over 31,360 parametric tables: Table 2 (Rosenberg and Hirschberg 2007)"
    ),
    "constraints": Study(
        "constraints", "four formal constraints on every measure, by random pairs of clusterings (Amigo et al. 2009)"
    ),
    "cheat": Study(
        "overlap_cheat",
        "a system that cheats among systems of known quality: purity against extended BCubed (Amigo et al. 2009)",
    ),
    "amigo-figures": Study("amigo_figures", "extended BCubed on the examples of figures 14 to 23 (Amigo et al. 2009)"),
}
