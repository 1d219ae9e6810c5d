"""Wrong kinds of things to pass as arguments, and what an error must say of one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import torchclusteval as tce

L = [0, 0, 1, 1]
RUNS = [[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 1]]
TABLES = tce.ContingencyTables([[2, 1], [0, 3]])

WRONG: dict[str, Any] = {
    "None": None,
    "text": "x",
    "empty list": [],
    "object": object(),
    "immense": 10**30,
    "nan": float("nan"),
    "scalar tensor": torch.tensor(1),
    "negative": -1,
    "mapping": {},
    "fraction": 1.5,
    "vector": torch.tensor([1, 2]),
    "array": np.array([[0.5, 1.0], [2.0, 3.0]]),  # its text has two lines
    "0-d array": np.array(3),
    "sparse": torch.tensor([0, 0, 1, 1]).to_sparse(),
    "masked": np.ma.array(L, mask=[False, True, False, False]),
}
SEVERAL = {  # a partner that does not fit is named
    "labels_true": ("labels", "pred_a"),
    "labels_pred": ("labels",),
    "true": ("items",),
    "pred": ("items",),
    "reference": ("runs",),
    "class_sizes": ("cluster_sizes",),
    "item_dims": ("labels_true",),
}


def fails_rightly(call: Callable[[], Any], name: str) -> str | None:
    """None where the call works or refuses the argument by its name; else what is wrong with the error."""
    try:
        call()
    except (ValueError, TypeError) as error:
        names = (name, *SEVERAL.get(name, ()))
        if "\n" in str(error):
            return f"several lines: {error}"
        named = "Sparse" in str(error) or any(x in str(error).partition(":")[0] for x in names)
        return None if named else f"{type(error).__name__} without the name: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
