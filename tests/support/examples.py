"""Write an example into the docstring of each measure that lacks one: ``python -m tests.support.examples``.

What it prints comes from the slow references, never from the package; a measure whose options by default are no row of
the registry, or that has no reference, is named and left as it is.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

import torchclusteval as tce
from tests.support import coreference, objects
from tests.support.reference import REFERENCE, labels_of, reference

COUNTS = [[2, 1], [0, 3]]
GROUPS: tuple[list[set[int]], list[set[int]]] = ([{1, 2, 3}, {4, 5}], [{1, 2}, {3, 4, 6}])
WIDTH = 120


def main() -> None:
    for name in tce.measures.__all__:
        function = getattr(tce.measures, name)
        if inspect.isfunction(function) and ">>> " not in (function.__doc__ or ""):
            lines = example(name, function)
            if lines is None:
                print(f"{name}: no reference for its default options")
            else:
                insert(function, lines)


def example(name: str, function: Callable[..., Any]) -> list[str] | None:
    rows = [measure for measure in tce.MEASURES.values() if underlying(measure.function) is function]
    if not rows:
        return None
    one_sided = rows[0].one_sided
    made = (
        f"tce.ContingencyTables.from_groups({GROUPS[0]}, {GROUPS[1]})"
        if one_sided
        else f"tce.ContingencyTables({COUNTS})"
    )
    tables = tce.ContingencyTables.from_groups(*GROUPS) if one_sided else tce.ContingencyTables(COUNTS)
    value = float(function(tables))
    found = [expected(row.name, one_sided) for row in rows]
    agreeing = [x for x in found if x is not None and math.isclose(x, value, abs_tol=1e-9)]
    if not agreeing:
        return None
    shown = repr(torch.tensor(agreeing[0], dtype=torch.float64))
    call = f">>> tce.measures.{name}({made})"
    if len(call) + 4 > WIDTH:
        return [f">>> tables = {made}", f">>> tce.measures.{name}(tables)", shown]
    return [call, shown]


def expected(name: str, one_sided: bool) -> float | None:
    """The value of a row by its slow reference, of ``GROUPS`` or of ``COUNTS``."""
    if not one_sided:
        return reference(name, *labels_of(COUNTS)) if name in REFERENCE else None
    values = {**coreference.reference(*GROUPS, None), **objects.reference(*GROUPS, None)}
    return None if values.get(name) is None else float(values[name])


def underlying(function: Any) -> Any:
    while isinstance(function, partial):
        function = function.func
    return function


def insert(function: Callable[..., Any], lines: list[str]) -> None:
    """Put lines at the end of the docstring of a function, in its file."""
    path = Path(inspect.getsourcefile(function) or "")
    text = path.read_text().splitlines()
    definitions = (node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef))
    end = next(node.body[0].end_lineno for node in definitions if node.name == function.__name__)
    assert end is not None
    assert text[end - 1].strip() == '"""', f"{function.__name__}: expected a docstring of several lines"
    text[end - 1 : end - 1] = ["", *(f"    {line}" for line in lines)]
    path.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
