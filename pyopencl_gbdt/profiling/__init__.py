"""Measure time and bytes of every kernel of a fit."""

from pyopencl_gbdt.profiling.profile import KernelTime, Profile

__all__ = ["KernelTime", "Profile"]
