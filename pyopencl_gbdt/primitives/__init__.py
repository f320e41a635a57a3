"""Parallel primitives on device arrays: scans, reductions, sorts, histograms and others.

Each has several variants for different devices; all variants give equal bits.
"""

from pyopencl_gbdt.primitives import quantile_summary
from pyopencl_gbdt.primitives.compact import Compact, compact
from pyopencl_gbdt.primitives.histogram import CodeHistogram, histogram
from pyopencl_gbdt.primitives.multi_reduce import MultiReduce, multi_reduce
from pyopencl_gbdt.primitives.multi_scan import MultiScan, multi_scan
from pyopencl_gbdt.primitives.quantile_summary import (
    QuantileSummary,
    SummaryBuild,
    SummaryMerge,
    SummaryPrune,
)
from pyopencl_gbdt.primitives.radix_sort import RadixSort, radix_argsort, radix_sort
from pyopencl_gbdt.primitives.reduce import Reduce, reduce
from pyopencl_gbdt.primitives.run_length import (
    RunLength,
    UniqueByKey,
    run_length_encode,
    unique_by_key,
)
from pyopencl_gbdt.primitives.scan import Scan, scan
from pyopencl_gbdt.primitives.segmented_radix_sort import SegmentedRadixSort, segmented_radix_sort
from pyopencl_gbdt.primitives.segmented_reduce import SegmentedReduce, segmented_reduce
from pyopencl_gbdt.primitives.segmented_scan import SegmentedScan, segmented_scan
from pyopencl_gbdt.primitives.stable_partition import StablePartition, stable_partition

__all__ = [
    "CodeHistogram",
    "Compact",
    "MultiReduce",
    "MultiScan",
    "QuantileSummary",
    "RadixSort",
    "Reduce",
    "RunLength",
    "Scan",
    "SegmentedRadixSort",
    "SegmentedReduce",
    "SegmentedScan",
    "StablePartition",
    "SummaryBuild",
    "SummaryMerge",
    "SummaryPrune",
    "UniqueByKey",
    "compact",
    "histogram",
    "multi_reduce",
    "multi_scan",
    "quantile_summary",
    "radix_argsort",
    "radix_sort",
    "reduce",
    "run_length_encode",
    "scan",
    "segmented_radix_sort",
    "segmented_reduce",
    "segmented_scan",
    "stable_partition",
    "unique_by_key",
]
