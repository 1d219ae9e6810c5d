"""Options are checked before any work: a misspelt one costs nothing, however large the labels are."""

from collections.abc import Callable
from typing import Any

import pytest

import torchclusteval as tce
from torchclusteval import ContingencyAccumulator, ContingencyTables


class Untouched:
    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"labels were touched ({name}) before the options were checked")

    __array__ = __iter__ = __len__ = property(lambda self: self.__getattr__("values"))


X: Any = Untouched()
TABLES = object.__new__(ContingencyTables)  # without cells: to look at them is an AttributeError

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "evaluate": lambda **o: tce.evaluate(X, X, **o),
    "evaluate_stream": lambda **o: tce.evaluate_stream(iter([X]), **o),
    "evaluate_tables": lambda **o: tce.evaluate_tables(TABLES, **o),
    "evaluate_overlapping": lambda **o: tce.evaluate_overlapping(X, X, **o),
    "compile": lambda **o: tce.compile(**o),
    "from_labels": lambda **o: ContingencyTables.from_labels(X, X, **o),
    "from_cells": lambda **o: ContingencyTables.from_cells(X, X, **o),
    "ContingencyAccumulator": lambda **o: ContingencyAccumulator(**o),
    "per_item": lambda **o: tce.per_item(X, X, **o),
    "pairwise": lambda **o: tce.pairwise(X, **o),
    "stability": lambda **o: tce.stability(X, **o),
    "bootstrap": lambda **o: tce.bootstrap(TABLES, **o),
    "permutation_test": lambda **o: tce.permutation_test(TABLES, **o),
    "paired_bootstrap": lambda **o: tce.paired_bootstrap(X, X, X, **o),
    "paired_groups": lambda **o: tce.paired_groups(TABLES, TABLES, **o),
}

LABELS = "evaluate evaluate_stream from_labels ContingencyAccumulator per_item pairwise stability paired_bootstrap"
MEASURES = (
    "evaluate evaluate_stream evaluate_tables evaluate_overlapping compile pairwise stability bootstrap "
    "permutation_test paired_bootstrap paired_groups"
)
RESAMPLING = "bootstrap permutation_test paired_bootstrap"

# Wrong values of an option, and the functions that take it.
WRONG: dict[str, tuple[list[Any], str]] = {
    "noise": (["cluter", None, 1, ["ignore"]], LABELS),
    "missing": (["drop", None, "NA", ["error"]], f"{LABELS} from_cells"),
    "item_dims": ([0, -1, 1.5, "2", True], LABELS),
    "device": (["gpu", "cuda:x", 1.5], LABELS),
    "layout": (["fast", None, ["dense"]], "evaluate from_labels"),
    "validate": (["no", 2, None, 0, []], f"{LABELS.replace(' pairwise stability paired_bootstrap', '')}"),
    "num_classes": ([0, 2.0, "3", True], "evaluate evaluate_stream from_labels ContingencyAccumulator per_item"),
    "num_clusters": ([0, -2], "evaluate evaluate_stream from_labels ContingencyAccumulator per_item"),
    "measures": (["adjusted_rnd", [], [3], 3], MEASURES),
    "chunk_size": ([0, 1.5, "8", True], f"evaluate evaluate_stream evaluate_tables evaluate_overlapping {RESAMPLING}"),
    "correction": (["bonferroni", "Holm", 1, ["holm"]], "permutation_test paired_bootstrap paired_groups"),
    "test": (["sign", None, ["bootstrap"]], "paired_groups"),
    "macro": ([1, "yes", None], "bootstrap paired_groups"),
    "alternative": (["greater", None, ["better"]], "permutation_test"),
    "method": (["BCa", 1, ["bca"]], "bootstrap paired_bootstrap"),
    "n_resamples": ([0, 1.5, "100", True, 10**9], f"{RESAMPLING} paired_groups"),
    "confidence_level": ([0, 1, 95, "0.95"], "bootstrap paired_bootstrap paired_groups"),
    "rng": ([-1, 1.5, "0", True, 2**63], f"{RESAMPLING} paired_groups"),
    "progress": ([1, "bar"], f"pairwise stability {RESAMPLING} paired_groups"),
}
CASES = [(f, option, x) for option, (values, names) in WRONG.items() for f in names.split() for x in values]


@pytest.mark.parametrize(("function", "option", "value"), CASES)
def test_a_wrong_option_is_refused_before_labels_are_read(function: str, option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{option}: expected"):
        FUNCTIONS[function](**{option: value})


@pytest.mark.parametrize("function", FUNCTIONS)
def test_unknown_options_are_refused(function: str) -> None:
    if function == "compile":  # passes its options on to torch
        return
    with pytest.raises((TypeError, ValueError), match="wieghts"):
        FUNCTIONS[function](wieghts=[1])
    if function in ("pairwise", "stability", "paired_bootstrap"):
        with pytest.raises(TypeError, match="weights: expected one of the options mask"):
            FUNCTIONS[function](weights=[1])


def test_labels_are_untouched() -> None:
    """An object that allowed a look would prove nothing."""
    for name in LABELS.split():
        if name != "ContingencyAccumulator":
            with pytest.raises((AssertionError, ValueError), match=r"touched|chunks"):
                FUNCTIONS[name]()
