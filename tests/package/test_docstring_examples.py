"""Every public name has an example in its docstring, and prints what stands there."""

import doctest
import importlib
import inspect
import re

import pytest
import torch

import torchclusteval as tce
from tests.support.processes import ROOT

NAMES = ["", "measures", "inference", "overlap", "streaming", "meta", "studies", "sklearn", "torchmetrics", "plots"]
TEMPLATE = re.compile(r'_EXAMPLE = """[^"]*"""')  # of examples that only differ in a name and a value
EVERY = {path: TEMPLATE.sub("", path.read_text()) for path in sorted((ROOT / "torchclusteval").rglob("*.py"))}
FILES = [path for path, text in EVERY.items() if re.search(">>> |, example=", text) and path.stem != "__main__"]


@pytest.mark.parametrize("name", NAMES)
def test_every_public_callable_has_an_example(name: str) -> None:
    module = importlib.import_module(f"torchclusteval.{name}".rstrip("."))
    public = {x: getattr(module, x) for x in module.__all__}
    lacking = [x for x, value in public.items() if callable(value) and ">>> " not in (inspect.getdoc(value) or "")]
    assert lacking == []


@pytest.mark.parametrize("file", [str(path.relative_to(ROOT)) for path in FILES])
def test_examples_print_what_stands_there(file: str) -> None:
    module = importlib.import_module(file.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    finder, names = doctest.DocTestFinder(exclude_empty=True), {"tce": tce, "torch": torch, "__name__": "__main__"}
    found = finder.find(module, module.__name__, extraglobs=names)
    examples = [test for test in found if test.examples]
    assert examples
    for test in examples:
        report: list[str] = []
        doctest.DocTestRunner(verbose=False).run(test, out=report.append)
        assert not report, "".join(report)
