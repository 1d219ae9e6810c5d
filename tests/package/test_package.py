"""The shape of the package: import direction, public names, one registry that everything agrees with."""

import ast
import graphlib
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import torchclusteval as tce

PACKAGE = Path(tce.__file__).parent

# The order of the folders (files at the top by their name): each imports only from itself and from those before it.
FLOW = [
    *("common", "labels", "cells", "counting", "tables", "measures", "scoring", "inference"),
    *("overlap", "streaming", "sklearn", "torchmetrics", "plots", "reports", "meta", "studies"),
    *("__init__", "cli", "__main__"),
]


def files() -> dict[str, Path]:
    paths = sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyi")])
    return {str(path.relative_to(PACKAGE).with_suffix("")): path for path in paths}


def imported_names(path: Path) -> Iterator[str]:
    """Full dotted names of what a file of the package or of the tests imports, at any depth of its code."""
    inside = path.relative_to(PACKAGE.parent).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = inside[: len(inside) - node.level + 1] if node.level else []
            module = ".".join([*start, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def file_of(name: str) -> str:
    """The file that defines a dotted name of the package: that of the longest module in it."""
    parts = name.split(".")[1:]
    for end in range(len(parts), -1, -1):
        for file in (Path(*parts[:end]), Path(*parts[:end], "__init__")):
            if str(file) in FILES:
                return str(file)
    raise AssertionError(f"{name} is in no file")


FILES = files()
IMPORTS = {
    file: {file_of(name) for name in imported_names(path) if name.split(".")[0] == "torchclusteval"}
    for file, path in FILES.items()
}


def folder_of(file: str) -> str:
    return Path(file).parts[0]


def test_every_folder_has_its_place() -> None:
    assert set(map(folder_of, FILES)) == set(FLOW)


@pytest.mark.parametrize("file", FILES)
def test_imports_go_one_way(file: str) -> None:
    allowed = FLOW[: FLOW.index(folder_of(file)) + 1]
    assert {name for name in IMPORTS[file] if folder_of(name) not in allowed} == set()


def test_no_imports_go_in_a_circle() -> None:
    assert list(graphlib.TopologicalSorter(IMPORTS).static_order())


def test_the_import_reader_sees_imports() -> None:
    """A reader that finds nothing would pass everything."""
    assert {"measures/registry", "scoring/scores", "tables"} <= IMPORTS["scoring/evaluation"]
    assert {"labels/encoding", "counting/by_group", "common/numerics"} <= IMPORTS["tables"]


def test_the_top_of_the_package_is_one_screen() -> None:
    entries = {path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"}
    assert len(entries) <= 22
    assert len([name for name in entries if name.endswith(".py")]) <= 5


def test_no_test_imports_a_test() -> None:
    """What several tests share is in ``tests/support``."""
    imports = {
        str(path): [x for x in imported_names(path) if x.startswith("tests.") and not x.startswith("tests.support.")]
        for path in (PACKAGE.parent / "tests").rglob("*.py")
    }
    assert {path: names for path, names in imports.items() if names} == {}


OPTIONAL = ("sklearn", "pandas", "pyarrow", "anndata", "matplotlib", "torchmetrics", "genieclust", "clusim")

ALONE = f"""
import sys
for name in {OPTIONAL}:
    sys.modules[name] = None  # as if it were not installed
import torchclusteval as tce
scores = tce.evaluate([0, 0, 1, 1, 2], [[0, 0, 1, 1, 1], [0, 1, 2, 3, 4]], "all")
sparse = tce.evaluate([0, 0, 1, 1, 2], [[0, 0, 1, 1, 1], [0, 1, 2, 3, 4]], "all", layout="sparse")
assert not scores.skipped and not sparse.skipped
print(scores["one_to_one_accuracy"].tolist(), sparse["one_to_one_accuracy"].tolist())
"""


@pytest.mark.slow
def test_required_packages_are_enough() -> None:
    command = [sys.executable, "-c", ALONE]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    assert run.stdout.strip() == "[0.8, 0.6] [0.8, 0.6]"


def loaded_by(code: str) -> set[str]:
    show = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    command = [sys.executable, "-c", f"{code}\n{show}"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    return set(run.stdout.splitlines()[-1].split())


def test_import_loads_nothing_else() -> None:
    """Names come when they are used."""
    loaded = loaded_by("import torchclusteval as tce; tce.__version__; dir(tce)")
    assert loaded & {"torch", "numpy", "scipy", *OPTIONAL} == set()


PUBLIC_MODULES = ("inference", "overlap", "streaming", "meta", "studies", "sklearn", "torchmetrics", "plots")


def test_names_are_those_that_type_checkers_see() -> None:
    names = [name for name in imported_names(PACKAGE / "__init__.py") if name.startswith("torchclusteval.")]
    for home, _, name in (name.rpartition(".") for name in names):
        assert getattr(tce, name) is getattr(importlib.import_module(home), name), name
    assert {name.rpartition(".")[2] for name in names} == {*tce.__all__, *PUBLIC_MODULES, "__version__"}
    assert {*tce.__all__, "plots", "studies"} <= set(dir(tce))
    with pytest.raises(AttributeError, match="no attribute 'evaluat'"):
        tce.evaluat  # type: ignore[attr-defined]  # noqa: B018


def test_the_public_surface_is_small() -> None:
    """Names promised in addition to the functions of ``tce.measures``."""
    promised = {*tce.__all__, *(x for name in PUBLIC_MODULES for x in getattr(tce, name).__all__)}
    assert len(promised) <= 115


def underlying(function: Any) -> Any:
    while isinstance(function, partial):
        function = function.func
    return function


def measure_functions() -> dict[str, Any]:
    found = inspect.getmembers(tce.measures, inspect.isfunction)
    return {
        name: function
        for name, function in found
        if not name.startswith("_") and next(iter(inspect.signature(function).parameters), "") == "tables"
    }


def test_every_function_has_a_row_and_every_row_a_function() -> None:
    functions = measure_functions()
    used = {underlying(measure.function) for measure in tce.MEASURES.values()}
    assert {name for name, function in functions.items() if function not in used} == {"pair_counts"}
    assert used <= set(functions.values())


def test_measure_functions_state_their_conventions() -> None:
    """Range, degenerate values, source and every option; the shapes, alike for all, stand in the package alone."""
    for name, function in measure_functions().items():
        text = inspect.getdoc(function) or ""
        _, *options = inspect.signature(function).parameters
        headings = ["Range:", "Degenerate:", "Source:"] if name != "pair_counts" else ["Returns:", "Source:"]
        for part in [*headings, *(["Args:"] if options else []), *(f"    {option}: " for option in options)]:
            assert part in text, f"{name}: {part}"
        assert "tables: " not in text, name
        assert name == "pair_counts" or "(*batch" not in text, name


def test_aliases_lead_to_measures() -> None:
    aliases = tce.measures.ALIASES
    assert {"nmi", "ami", "ari", "vi", "fmi"} <= set(aliases)
    assert aliases["nmi"] == "nmi_arithmetic"
    assert set(aliases.values()) <= set(tce.MEASURES)
    assert not {alias.lower() for alias in aliases} & set(tce.MEASURES)
    assert len({alias.lower() for alias in aliases}) == len(aliases)
    for alias, name in aliases.items():
        scores = tce.evaluate([0, 0, 1], [0, 1, 1], alias.upper())
        assert scores[alias] == scores[alias.upper()] == scores[name]


def test_the_registry_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        tce.MEASURES["rand"] = tce.MEASURES["jaccard"]  # type: ignore[index]
    with pytest.raises(AttributeError):
        tce.MEASURES["rand"].name = "other"  # type: ignore[misc]


def test_every_part_of_the_package_has_a_purpose() -> None:
    """A module's docstring says what belongs there."""
    for path in FILES.values():
        assert ast.get_docstring(ast.parse(path.read_text())), path.relative_to(PACKAGE)


def test_files_are_no_longer_than_a_thousand_lines() -> None:
    lengths = {file: len(path.read_text().splitlines()) for file, path in FILES.items()}
    assert {file: length for file, length in lengths.items() if length > 1000} == {}
