"""The pages that are made from the package at every build of the documentation."""

import importlib
import re
from types import ModuleType

import pytest

import torchclusteval as tce
from tests.support.pages import DOCS

pytest.importorskip("docutils")


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        return importlib.import_module("generate")


@pytest.mark.parametrize("name", [*tce.MEASURES, *tce.OVERLAP_MEASURES])
def test_every_measure_has_formula_and_facts(generate: ModuleType, name: str) -> None:
    text = generate.section({**tce.MEASURES, **tce.OVERLAP_MEASURES}[name])
    assert f"### `{name}`" in text
    assert re.search(r"\n(\$\$\n.+\n\$\$|```text\n.+\n```)\n", text), "no formula"
    for fact in ("Range", "Degenerate", "Source"):
        assert re.search(rf"^\* {fact}: \S", text, re.MULTILINE), fact


def test_every_public_name_is_in_the_reference(generate: ModuleType) -> None:
    text = generate.reference()
    for name in generate.MODULES:
        module = importlib.import_module(f"torchclusteval.{name}".rstrip("."))
        missing = [x for x in module.__all__ if not re.search(rf"[.`]{x}\b", text)]
        assert missing in ([], ["measures", "meta"]), name


def test_every_results_file_is_shown(generate: ModuleType) -> None:
    text = generate.benchmarks()
    newest = {re.sub(r"_\d{4}-\d\d-\d\d$", "", x.stem) for x in (DOCS.parent / "benchmarks/results").glob("*.json")}
    assert newest
    assert all(f"## {name.replace('_', ' ').capitalize()}\n" in text for name in newest)


def test_the_table_of_all_measures_is_narrow(generate: ModuleType) -> None:
    """Six columns in small letters fit a window of 1,000 pixels; a column more does not."""
    text = generate.measures()
    table = text.partition("```{rst-class} dense\n```\n\n")[2]
    assert table.splitlines()[0] == "| measure | family | range | better | sides exchanged | notes |"
    assert max(len(line) for line in table.partition("\n\n")[0].splitlines()) < 125
    assert "table.dense" in (DOCS / "static" / "wide.css").read_text()
