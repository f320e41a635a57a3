"""Columns of categories: which they are, their levels, and the codes of rows."""

from pyopencl_gbdt.data.categories.levels import Levels

__all__ = ["Levels"]
