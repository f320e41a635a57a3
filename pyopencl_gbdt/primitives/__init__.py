"""Parallel building blocks: each is one template, with variants that give equal bits."""

from pyopencl_gbdt.primitives.compact import Compact, compact
from pyopencl_gbdt.primitives.radix_sort import RadixSort, radix_sort
from pyopencl_gbdt.primitives.scan import Scan, scan
from pyopencl_gbdt.primitives.segmented_reduce import SegmentedReduce, segmented_reduce
from pyopencl_gbdt.primitives.segmented_scan import SegmentedScan, segmented_scan
from pyopencl_gbdt.primitives.stable_partition import StablePartition, stable_partition

__all__ = [
    "Compact",
    "RadixSort",
    "Scan",
    "SegmentedReduce",
    "SegmentedScan",
    "StablePartition",
    "compact",
    "radix_sort",
    "scan",
    "segmented_reduce",
    "segmented_scan",
    "stable_partition",
]
