"""The table of studies."""

import inspect
from pathlib import Path

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


QUICK = {"nvi": 2, "constraints": 20, "cheat": 2, "amigo-figures": None}  # iterations


@pytest.mark.parametrize("name", QUICK)
def test_results_are_reported_and_drawn(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    module, iterations = STUDIES[name].load(), QUICK[name]
    result = module.run() if iterations is None else module.run(iterations=iterations)
    assert module.report(result)
    assert len({tuple(row) for row in module.rows(result)}) == 1  # the same columns in every row
    module.plot(result, tmp_path / "figures.png")
    assert (tmp_path / "figures.png").read_bytes().startswith(b"\x89PNG")
