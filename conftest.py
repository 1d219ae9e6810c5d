"""Names that the examples of docstrings use: ``pytest --doctest-modules torchclusteval``."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import torchclusteval as tce


@pytest.fixture(autouse=True, scope="session")
def names_of_examples(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.update(tce=tce, torch=torch)
