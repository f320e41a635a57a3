"""A name in pickles and skops files of earlier versions: that of ``model.combinations``."""

from pyopencl_gbdt.model.combinations import Part

__all__ = ["Part"]
