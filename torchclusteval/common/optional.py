"""Packages that are needed for one thing only: loaded there, with a word on how to get them."""

from importlib import import_module
from typing import Any


def import_optional(module: str, extra: str) -> Any:
    """An optional module.

    Raises:
        ImportError: it is not installed; the message names the extra that brings it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{package} is needed here: pip install 'torchclusteval[{extra}]' ({error})") from None
