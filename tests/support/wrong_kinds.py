"""Wrong kinds of things to pass as arguments, and what an error must say of one."""

from __future__ import annotations

import warnings
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
}
with warnings.catch_warnings():  # torch calls compressed and quantized tensors a beta state, or old
    warnings.simplefilter("ignore")
    ODD: dict[str, Any] = {
        "0-d array": np.array(3),
        "meta": torch.zeros(4, dtype=torch.int64, device="meta"),
        "meta in a list": [torch.zeros(4, dtype=torch.int64, device="meta")] * 2,
        "sparse": torch.tensor([0, 0, 1, 1]).to_sparse(),
        "compressed": torch.eye(4).to_sparse_csr(),
        "compressed in a list": [L, torch.eye(4).to_sparse_csr()],
        "quantized": torch.quantize_per_tensor(torch.ones(4), 1.0, 0, torch.quint8),
        "nested": torch.nested.nested_tensor([torch.tensor([0, 1]), torch.tensor([1])]),
        "complex": torch.tensor([1j, 0, 0, 1]).conj(),
        "gradient in a list": [L, torch.ones(4, requires_grad=True)],
        "0-d in a list": [L, torch.tensor(1)],
        "masked": np.ma.array(L, mask=[False, True, False, False]),
    }
WRONG |= ODD
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
        named = any(x in str(error).partition(":")[0] for x in names)
        return None if named else f"{type(error).__name__} without the name: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
