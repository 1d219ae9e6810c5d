"""Import of optional packages on first use; the error names the extra."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame as DataFrame
else:
    DataFrame = "DataFrame"


def import_optional(module: str, extra: str) -> Any:
    """Import an optional module; an ImportError names its extra."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{package} is needed here: pip install 'torchclusteval[{extra}]' ({error})") from None
