"""The table of studies."""

import inspect

import pytest

from torchclusteval.cli.commands.study import STUDY_OPTIONS
from torchclusteval.studies import STUDIES, amigo_figures, constraints, kishida, nvi, overlap_cheat, properties
from torchclusteval.studies.common import StudyModule

# mypy checks that every module has the functions of the protocol.
MODULES: tuple[StudyModule, ...] = (kishida, nvi, properties, constraints, overlap_cheat, amigo_figures)


def test_the_table_names_every_module() -> None:
    assert [study.load() for study in STUDIES.values()] == list(MODULES)


@pytest.mark.parametrize("name", STUDIES)
def test_the_table_keeps_its_promises(name: str) -> None:
    module = STUDIES[name].load()
    parameters = inspect.signature(module.run).parameters
    assert all(x.default is not x.empty for x in parameters.values())
    assert set(parameters) <= {*STUDY_OPTIONS, "progress"}
    if "preset" in parameters:
        with pytest.raises(ValueError, match=r"preset: expected one of .*; got 'absent'"):
            module.run("absent")
