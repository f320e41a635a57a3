"""Parallel primitives on device arrays: scans, reductions, sorts, histograms and others.

Each has several variants for different devices; all variants give equal bits.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.public_names import at_first_use

if TYPE_CHECKING:
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
    from pyopencl_gbdt.primitives.segmented_radix_sort import (
        SegmentedRadixSort,
        segmented_radix_sort,
    )
    from pyopencl_gbdt.primitives.segmented_reduce import SegmentedReduce, segmented_reduce
    from pyopencl_gbdt.primitives.segmented_scan import SegmentedScan, segmented_scan
    from pyopencl_gbdt.primitives.stable_partition import StablePartition, stable_partition

#: The public names of each module, which is imported when one of them is first used.
_NAMES = {
    "compact": "Compact compact",
    "histogram": "CodeHistogram histogram",
    "multi_reduce": "MultiReduce multi_reduce",
    "multi_scan": "MultiScan multi_scan",
    "quantile_summary": "QuantileSummary SummaryBuild SummaryMerge SummaryPrune",
    "radix_sort": "RadixSort radix_argsort radix_sort",
    "reduce": "Reduce reduce",
    "run_length": "RunLength UniqueByKey run_length_encode unique_by_key",
    "scan": "Scan scan",
    "segmented_radix_sort": "SegmentedRadixSort segmented_radix_sort",
    "segmented_reduce": "SegmentedReduce segmented_reduce",
    "segmented_scan": "SegmentedScan segmented_scan",
    "stable_partition": "StablePartition stable_partition",
}


_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
_find = at_first_use(__name__, _MODULES)


class _Package(ModuleType):
    """The package, in which a function keeps its name beside a module of that name.

    Python would set a module as an attribute of its package when it is imported.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _MODULES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name == "quantile_summary":
        return importlib.import_module(f"{__name__}.{name}")
    return _find(name)


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
