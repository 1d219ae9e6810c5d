"""Settings of Sphinx. The build needs no network, and neither does reading: mathematics is MathML, not a script."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import docstrings
import generate
import mathml

import torchclusteval

project = "torchclusteval"
author = "torchclusteval developers"
release = version = torchclusteval.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["data/**", "_build/**"]
nitpicky = False

html_theme = "furo"
html_title = f"torchclusteval {release}"
html_math_renderer = "mathml"
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["wide.css"]
html_theme_options = {"navigation_with_keys": True}

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_numpy_docstring = False
pygments_style = "default"


def setup(app: object) -> None:
    generate.write_all(Path(__file__).parent / "generated")
    mathml.add_to(app)
    docstrings.add_to(app)
