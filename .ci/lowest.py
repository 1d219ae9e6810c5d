"""Print the lowest versions that pyproject.toml promises, as constraints: ``numpy>=2.2.0`` becomes ``numpy==2.2.0``."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
requirements = [*project["dependencies"], *(x for extra in project["optional-dependencies"].values() for x in extra)]
for requirement in sorted(set(requirements)):
    bound = re.fullmatch(r"([\w-]+)>=([\w.]+)(?:;.*)?", requirement)
    if bound is not None:
        print("{}=={}".format(*bound.groups()))
