"""What every test shares: one thread, repeatable examples, the devices at hand."""

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None, print_blob=False)
settings.load_profile("repeatable")


DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


@pytest.fixture(scope="session", params=DEVICES)
def device(request: pytest.FixtureRequest) -> torch.device:
    return torch.device(request.param)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Memory tests first: a later call could reuse heap that earlier tests leave behind, and its peak look lower."""
    items.sort(key=lambda item: item.get_closest_marker("memory") is None)
