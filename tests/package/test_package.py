"""The shape of the package: import direction, public names, one registry that everything agrees with."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import torchclusteval as tce

PACKAGE = Path(tce.__file__).parent

# The order of all files: each may import only what stands before it. A line is a folder (`.`: the package itself), and
# the files in it.
FLOW = """
    common: version optional formatting checks threads numerics lazy progress figures __init__
    labels: noise vocabulary group_labels sources codes inputs renaming shapes absent encoding
    labels: groups_of_items blocks __init__
    cells: layouts margins balance quantities reductions table_sums pairs __init__
    counting: cpu cuda sparse dispatch listed groups intervals margins by_group soft constructors __init__
    .: tables
    measures: record ratios bcubed hypergeometric_means expected_mutual_info entropy
    measures: information_distances
    measures: batched_assignment assignment_ties outweighing_cells sparse_assignment sparse_ties assignment
    measures: greedy_assignment matching
    measures: pair_sums pairs
    measures: random_partitions random_models table_counts urn_codes reduced_information
    measures: pair_indices pair_correlations set_matching association
    measures: one_sided coreference entities segmentation tracking
    measures: parts one_sided_parts object_parts other_functions library_names aliases registry references __init__
    scoring: scores own_shapes evaluation group_rows breakdown objects matched_tables matching matching_scores
    scoring: compiled pooling coreference_files __init__
    inference: intervals hypergeometric draws sampling resampling cell_resampling group_resampling item_resampling
    inference: null_resampling bootstrap_options results bootstrap_intervals exact_expectations paired_comparison
    inference: permutation_tests agreement cluster_recovery coded_runs consensus_labels run_transitions
    inference: sampled_truth __init__
    overlap: inputs ragged linkage memberships comparison co_membership bcubed group_intersections community
    overlap: layouts plain_lines files matching element_centric hierarchy registry __init__
    streaming: distributed growing_cells label_vocabulary absent_labels states grouped_state accumulator
    streaming: stream_scores __init__
    sklearn: validation __init__
    torchmetrics: clustering_metric named_scores __init__
    plots: canvas layers agreement_plot flow_plot score_plots stability_plot table_plot transition_plot __init__
    reports: evidence page summary sections __init__
    meta: measure_argument constraints generator properties summary __init__
    studies: common runner
    studies/kishida: kmeans paper documents settings findings figures simulation __init__
    studies: __init__ amigo_figures constraints nvi overlap_cheat properties
    .: __init__
    cli: options
    cli/printing: score_table measure_text __init__
    cli/reading: columns dense_counts dialect sources table ahead arrow_columns csv_table memory_table
    cli/reading: arrow_table formats picking cell_counts read held_codes __init__
    cli/commands: label_file pictures score_uncertainty compare demo measures score_coreference score_overlapping
    cli/commands: score_match score_breakdown score_by_group score_against score relabelling stable_clusters
    cli/commands: agreed_labels report_page study __init__
    cli: __init__
    .: __main__
"""


def flow() -> list[str]:
    """Files in their order, as paths without a suffix: ``labels/inputs``."""
    lines = (line.strip().partition(": ") for line in FLOW.strip().splitlines())
    return [str(Path(folder, file)) for folder, _, files in lines for file in files.split()]


def files() -> dict[str, Path]:
    return {str(path.relative_to(PACKAGE).with_suffix("")): path for path in sorted(PACKAGE.rglob("*.py"))}


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


def test_every_file_has_its_place() -> None:
    assert set(FILES) - set(flow()) == set(), "files without a place in FLOW"
    assert set(flow()) - set(FILES) == set(), "places in FLOW without a file"
    assert len(set(flow())) == len(flow())


@pytest.mark.parametrize("file", FILES)
def test_imports_go_one_way(file: str) -> None:
    earlier = set(flow()[: flow().index(file)])
    assert IMPORTS[file] - earlier == set()


def test_the_import_reader_sees_imports() -> None:
    """A reader that finds nothing would pass everything."""
    assert {"measures/registry", "scoring/scores", "tables"} <= IMPORTS["scoring/evaluation"]
    assert {"labels/__init__", "counting/__init__", "common/numerics"} <= IMPORTS["tables"]


def test_the_top_of_the_package_is_one_screen() -> None:
    entries = {path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"}
    assert len(entries) <= 20
    assert len([name for name in entries if name.endswith(".py")]) <= 5


def test_files_are_short() -> None:
    lengths = {file: len(path.read_text().splitlines()) for file, path in FILES.items()}
    assert {file: length for file, length in lengths.items() if length > 450} == {}


def test_no_test_imports_a_test() -> None:
    """What several tests share is in ``tests/support``."""
    imports = {
        str(path): [
            name for name in imported_names(path) if name.startswith("tests.") and not name.startswith("tests.support.")
        ]
        for path in (PACKAGE.parent / "tests").rglob("*.py")
    }
    assert {path: names for path, names in imports.items() if names} == {}


def public_functions(package: str) -> set[str]:
    module = importlib.import_module(f"torchclusteval.{package}".rstrip("."))
    return {name for name in getattr(module, "__all__", ()) if inspect.isfunction(getattr(module, name))}


@pytest.mark.parametrize("file", FILES)
def test_no_module_bears_the_name_of_a_public_function(file: str) -> None:
    """One would hide the other: ``studies.spherical_kmeans`` is a function, so no file there may be called so."""
    folder, name = Path(file).parent, Path(file).name
    packages = {".".join(folder.parts[:end]) for end in range(len(folder.parts) + 1)}
    assert name not in set().union(*map(public_functions, packages))


def test_public_names() -> None:
    assert len(set(tce.__all__)) == len(tce.__all__)
    assert [name for name in tce.__all__ if not hasattr(tce, name)] == []
    assert [name for name in tce.__all__ if name.startswith("_") and name != "__version__"] == []


@pytest.mark.parametrize("name", tce.__all__)
def test_public_objects_are_documented(name: str) -> None:
    value = getattr(tce, name)
    if inspect.isfunction(value) or inspect.isclass(value) or inspect.ismodule(value):
        assert inspect.getdoc(value), name


OPTIONAL = (
    "scipy",
    "sklearn",
    "pandas",
    "pyarrow",
    "anndata",
    "matplotlib",
    "tqdm",
    "torchmetrics",
    "genieclust",
    "clusim",
)

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
def test_torch_and_numpy_are_enough() -> None:
    command = [sys.executable, "-c", ALONE]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    assert run.stdout.strip() == "[0.8, 0.6] [0.8, 0.6]"


@pytest.mark.slow
def test_import_stays_light() -> None:
    """What only some users need is loaded where it is used."""
    code = (
        "import sys, torch, numpy; before = set(sys.modules); import torchclusteval; "
        "print(*(set(sys.modules) - before))"
    )
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    loaded = set(run.stdout.split())
    assert "torchclusteval" in loaded
    assert loaded & set(OPTIONAL) == set()


# the registry ---------------------------------------------------------------------------------------


def underlying(function: Any) -> Any:
    while isinstance(function, partial):
        function = function.func
    return function


def measure_functions() -> dict[str, Any]:
    """Public functions of ``tce.measures`` whose first argument is tables."""
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


PUBLIC = [
    *["entropy_classes", "entropy_clusters", "joint_entropy", "conditional_entropy", "class_entropy"],
    *["cluster_entropy", "homogeneity", "completeness", "v_measure", "variation_of_information"],
    *["normalized_vi", "nvi", "nvi_k", "mutual_information", "nmi", "ami", "q0", "q2"],
    *["expected_mutual_information", "purity", "inverse_purity", "purity_f", "clustering_f", "larsen_l"],
    *["van_dongen", "many_to_one_accuracy", "greedy_one_to_one_accuracy", "one_to_one_accuracy"],
    *["classification_error", "meila_heckerman_h", "misclassification_index", "micro_precision"],
    *["micro_recall", "edit_distance", "edit_quality", "pair_counts", "rand", "adjusted_rand", "jaccard"],
    *["fowlkes_mallows", "mirkin", "hubert_gamma", "minkowski_score", "pair_precision", "pair_recall"],
    *["pair_f", "bcubed_precision", "bcubed_recall", "bcubed_f"],
]


@pytest.mark.parametrize("name", PUBLIC)
def test_the_promised_functions_exist(name: str) -> None:
    assert name in measure_functions()


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


def test_public_modules_are_modules() -> None:
    assert isinstance(tce.measures, ModuleType)
