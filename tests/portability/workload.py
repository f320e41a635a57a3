"""All that a device with given capabilities can be asked to build."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from pyopencl_gbdt import primitives
from pyopencl_gbdt.booster import Boosting
from pyopencl_gbdt.dataset import Dataset
from pyopencl_gbdt.device import Capabilities, Variant, runnable
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.objectives import OBJECTIVES
from pyopencl_gbdt.parameters import Parameters
from pyopencl_gbdt.prediction import predict_margins
from pyopencl_gbdt.primitives.checks import MOVED_DTYPES, OFFSET_DTYPES, OPS, SCAN_DTYPES
from pyopencl_gbdt.primitives.radix_sort import DTYPES as KEY_DTYPES
from tests.device.plausible import LIBRARIES, few, templates
from tests.portability.null_device import NullDevice

N_ROWS = 9000
#: A byte a code, two bytes a code, and more codes than any local memory holds.
MAX_BINS = (255, 300, 9000)
#: Templates that no step and no primitive builds: yardsticks and probes.
TOOLS = frozenset({"copy", "math_probe"})

Prepare = Callable[[NullDevice, Variant], None]


def _scan(device: NullDevice, row: Variant) -> None:
    for dtype, op in itertools.product(SCAN_DTYPES, OPS):
        values = device.empty(N_ROWS, dtype)
        primitives.scan(values, op=op, variant=row)


def _segmented_scan(device: NullDevice, row: Variant) -> None:
    heads = device.empty(N_ROWS, np.uint8)
    for dtype, op in itertools.product(SCAN_DTYPES, OPS):
        primitives.segmented_scan(device.empty(N_ROWS, dtype), heads, op=op, variant=row)


def _segmented_reduce(device: NullDevice, row: Variant) -> None:
    for dtype, op, offset in itertools.product(SCAN_DTYPES, OPS, OFFSET_DTYPES):
        ends = device.empty(5, offset)
        primitives.segmented_reduce(device.empty(N_ROWS, dtype), ends, op=op, variant=row)


def _radix_sort(device: NullDevice, row: Variant) -> None:
    for dtype in KEY_DTYPES:
        keys = device.empty(N_ROWS, dtype)
        primitives.radix_sort(keys, variant=row)
        primitives.radix_sort(keys, device.empty(N_ROWS, np.uint32), variant=row)
        units = device.caps.compute_units  # a column for each
        sort = primitives.RadixSort(device, 10, dtype, columns=units, variant=row)
        sort.bind(device.empty((units, 10), dtype))


def _compact(device: NullDevice, row: Variant) -> None:
    flags = device.empty(N_ROWS, np.uint8)
    for dtype in MOVED_DTYPES:
        primitives.compact(device.empty(N_ROWS, dtype), flags, variant=row)


def _stable_partition(device: NullDevice, row: Variant) -> None:
    flags = device.empty(N_ROWS, np.uint8)
    for dtype, offset in itertools.product(MOVED_DTYPES, OFFSET_DTYPES):
        ends = device.empty(5, offset)
        primitives.stable_partition(device.empty(N_ROWS, dtype), flags, ends, variant=row)


PRIMITIVES: dict[str, Prepare] = {
    "scan": _scan,
    "segmented_scan": _segmented_scan,
    "segmented_reduce": _segmented_reduce,
    "radix_sort": _radix_sort,
    "compact": _compact,
    "stable_partition": _stable_partition,
}


def _fits(device: NullDevice) -> None:
    """Prepare trainings of every loss, histogram variant, code width, with and without weights."""
    rows = runnable("histogram", device.caps)
    label = np.arange(N_ROWS, dtype=np.float32) % 2
    for max_bin, weight in itertools.product(MAX_BINS, (None, np.ones(N_ROWS, np.float32))):
        data = Dataset(np.zeros((N_ROWS, 2), np.float32), label, weight)
        for name, objective in OBJECTIVES.items():
            for row in rows:
                device.label = row.name
                params = Parameters.from_dict(
                    {"objective": name, "max_bin": max_bin, "max_depth": 2, "histogram": row.name}
                )
                fit = Boosting(device, params, objective, data, 0.0)
                fit.watch(data.values)
    wide = Dataset(np.zeros((N_ROWS, 80), np.float32), label)  # more splits than `plan` compares
    Boosting(device, Parameters.from_dict({"max_depth": 2}), objective, wide, 0.0)


def _prediction(device: NullDevice) -> None:
    leaf = {name: np.zeros(1, np.float32) for name in ("threshold", "gain", "sum_hessian")}
    ends = {name: np.full(1, -1, np.int32) for name in ("left", "right", "parent")}
    tree = Tree(
        **ends,
        **leaf,
        feature=np.zeros(1, np.int32),
        default_left=np.zeros(1, np.bool_),
        split_kind=np.zeros(1, np.uint8),
        value=np.zeros((1, 1), np.float32),
        weight=np.zeros((1, 1), np.float32),
    )
    ensemble = Ensemble([tree], "reg:squarederror", 2, 0.0, 0.0)
    predict_margins(ensemble, np.zeros((N_ROWS, 2), np.float32), device)


def _others(device: NullDevice) -> None:
    """Build what nothing above built: tools, and templates that have no step yet."""
    built = {b.template for b in device.built.values()}
    for template in sorted(set(templates()) - LIBRARIES - built):
        for params in few(template):
            if params["wg_size"] <= device.caps.max_work_group:
                device.build(template, **params)


def everything(caps: Capabilities) -> NullDevice:
    """Prepare all that the library can do on a device; nothing runs.

    Parameters
    ----------
    caps : Capabilities

    Returns
    -------
    NullDevice
        Its ``built`` lists every program, its ``complaints`` what did not fit.
    """
    device = NullDevice(caps)
    for kernel, prepare in PRIMITIVES.items():
        for row in runnable(kernel, caps):
            device.label = row.name
            prepare(device, row)
    _fits(device)
    device.label = ""
    _prediction(device)
    _others(device)
    return device
