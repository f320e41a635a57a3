"""Sphinx's settings; CONTRIBUTING.md says how to build the pages."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import pyopencl_gbdt  # noqa: E402

project = "pyopencl_gbdt"
author = "the pyopencl_gbdt authors"
copyright = author
version = release = pyopencl_gbdt.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
#: Follows the reader's light or dark mode. On phones, a button opens the contents.
html_theme = "furo"
html_title = "pyopencl_gbdt"
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["tables.css"]
templates_path: list[str] = []

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

autodoc_mock_imports = ["cupy"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say shapes and units, which types cannot
napoleon_google_docstring = False
napoleon_use_rtype = False
# Attributes of several classes share names, such as n_rows, which links could not tell apart.
napoleon_use_ivar = True
#: Types in docstrings are words for people ("float32 array, shape (n_rows,)"), not references.
nitpick_ignore_regex = [("py:class", ".*"), ("py:exc", ".*")]
