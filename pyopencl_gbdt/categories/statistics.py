"""Names in pickles and skops files of earlier versions: those of ``model.statistics``."""

from pyopencl_gbdt.model.statistics import LevelTable, Statistics

__all__ = ["LevelTable", "Statistics"]
