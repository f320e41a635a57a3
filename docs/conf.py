"""Sphinx's settings; ``sphinx-build -W -b html docs docs/_build``.

Needs ``pip install 'pyopencl_gbdt[docs]'``. Tables that the code knows are put in while a page is
read, see ``tables.py``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import tables  # noqa: E402

import pyopencl_gbdt  # noqa: E402

project = "pyopencl_gbdt"
author = "the pyopencl_gbdt authors"
copyright = author
version = release = pyopencl_gbdt.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_theme_options = {
    "description": "Gradient-boosted decision trees on any device",
    "page_width": "1100px",
    "fixed_sidebar": True,
}
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
templates_path: list[str] = []

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

autodoc_mock_imports = ["cupy"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say shapes and units, which types cannot
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = False
#: Types in docstrings are words for people ("float32 array, shape (n_rows,)"), not references.
nitpick_ignore_regex = [("py:class", ".*"), ("py:exc", ".*")]


def fill_in(app: Any, page: str, source: list[str]) -> None:
    """Put generated tables into a page."""
    source[0] = tables.fill(source[0])


def setup(app: Any) -> None:
    """Connect what is run while pages are read."""
    app.connect("source-read", fill_in)
