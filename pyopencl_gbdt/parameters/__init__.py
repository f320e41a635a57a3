"""The table of parameters, the checked parameters, and the constraints of a training."""

from pyopencl_gbdt.parameters.parameters import Parameters

__all__ = ["Parameters"]
