"""The experiments of the source papers, each as one command.

``STUDIES`` is the table that the command line prints and runs. A row names a module with the functions of
:class:`~torchclusteval.studies.common.StudyModule`, which is imported when the study is used, and the keyword arguments
of its ``run``: ``preset`` (a name in the module's ``PRESETS``), ``iterations``, ``seed``, ``device``,
``output`` (a .csv path) and ``progress`` (True, False, or None for a bar on a terminal only).

A study with ``output`` among its options writes the CSV file itself, with a JSON file of settings, versions and
time beside it, goes on where an interrupted run stopped, and may run under torchrun. Then every process gets
the whole result, and only the one where ``torchclusteval.studies.runner.rank()`` is 0 should print and plot.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from torchclusteval.studies.common import StudyModule

__all__ = ["STUDIES"]


@dataclass(frozen=True)
class Study:
    """A row of the table of studies."""

    name: str
    summary: str
    module: str
    """Dotted name of the module."""
    options: tuple[str, ...] = ()
    """All keyword arguments of ``run``; the command line offers each but ``progress``."""

    def load(self) -> StudyModule:
        """Import the module."""
        return cast(StudyModule, importlib.import_module(self.module))


_ROWS = (
    Study(
        "kishida",
        "15 measures on spherical k-means of random document sets: Tables 1 and 2, Figures 2 to 7 (Kishida 2014)",
        "torchclusteval.studies.kishida",
        ("preset", "iterations", "seed", "device", "output", "progress"),
    ),
    Study(
        "nvi",
        "Tables 1, 3 and 4, and the bias of V toward many clusters (Reichart and Rappoport 2009)",
        "torchclusteval.studies.nvi",
        ("iterations", "seed", "device", "output", "progress"),
    ),
    Study(
        "properties",
        "P1 to P7 of nine measures over 31,360 parametric tables: Table 2 (Rosenberg and Hirschberg 2007)",
        "torchclusteval.studies.properties",
        ("preset", "device"),
    ),
    Study(
        "constraints",
        "four formal constraints on every measure, by random pairs of clusterings (Amigo et al. 2009)",
        "torchclusteval.studies.constraints",
        ("preset", "iterations", "seed", "device"),
    ),
    Study(
        "cheat",
        "a system that cheats among systems of known quality: purity against extended BCubed (Amigo et al. 2009)",
        "torchclusteval.studies.overlap_cheat",
        ("iterations", "seed", "device"),
    ),
    Study(
        "amigo-figures",
        "extended BCubed on the examples of figures 14 to 23 (Amigo et al. 2009)",
        "torchclusteval.studies.amigo_figures",
    ),
)

STUDIES: Mapping[str, Study] = {row.name: row for row in _ROWS}

_MODULES = ("runner", *(row.module.rpartition(".")[2] for row in _ROWS))  # imported when they are used


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
