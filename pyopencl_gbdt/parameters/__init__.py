"""THE table of parameters, checked parameters, and constraints of a training."""

from pyopencl_gbdt.parameters.parameters import Parameters

__all__ = ["Parameters"]
