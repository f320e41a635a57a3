"""All that a device with given capabilities can be asked to build."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt import primitives
from pyopencl_gbdt.booster import Boosting
from pyopencl_gbdt.dataset import Dataset
from pyopencl_gbdt.device import TABLE, Capabilities, DeviceArray, Variant, runnable
from pyopencl_gbdt.evaluation import Evaluation
from pyopencl_gbdt.metrics import get_metric
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.objectives import OBJECTIVES, get_objective
from pyopencl_gbdt.objectives.custom import DeviceObjective, KernelObjective
from pyopencl_gbdt.parameters import Parameters
from pyopencl_gbdt.prediction import predict_margins
from pyopencl_gbdt.primitives.buckets import BUCKET_DTYPES
from pyopencl_gbdt.primitives.buckets import DTYPES as SUMMED
from pyopencl_gbdt.primitives.checks import MOVED_DTYPES, OFFSET_DTYPES, OPS, SCAN_DTYPES
from pyopencl_gbdt.primitives.histogram import CODE_DTYPES
from pyopencl_gbdt.primitives.radix_sort import DTYPES as KEY_DTYPES
from pyopencl_gbdt.primitives.run_length import DTYPES as RUN_KEYS
from pyopencl_gbdt.primitives.segmented_radix_sort import DTYPES as SEGMENT_KEYS
from tests.device.plausible import LIBRARIES, MEANS, MEANS_OF_CLASSES, few, templates
from tests.objectives.samples import NEEDED
from tests.portability.null_device import NullDevice

N_ROWS = 9000
#: A byte a code, two bytes a code, and more codes than any local memory holds.
MAX_BINS = (255, 300, 9000)
#: Templates that no step and no primitive builds: yardsticks and probes.
TOOLS = frozenset({"copy", "math_probe"})

#: The label of what no GPU gets.
FOR_CPUS = "for CPUs"

F32 = npt.NDArray[np.float32]
Prepare = Callable[[NullDevice, Variant], None]


def _scan(device: NullDevice, row: Variant) -> None:
    for dtype, op in itertools.product(SCAN_DTYPES, OPS):
        values = device.empty(N_ROWS, dtype)
        primitives.scan(values, op=op, variant=row)
    primitives.scan(device.empty((N_ROWS, 2), np.int64), variant=row)


def _reduce(device: NullDevice, row: Variant) -> None:
    for dtype, op in itertools.product(SCAN_DTYPES, OPS):
        primitives.reduce(device.empty(N_ROWS, dtype), op=op, variant=row)
    primitives.reduce(device.empty((N_ROWS, 2), np.int64), variant=row)


def _segmented_scan(device: NullDevice, row: Variant) -> None:
    heads = device.empty(N_ROWS, np.uint8)
    for dtype, op in itertools.product(SCAN_DTYPES, OPS):
        primitives.segmented_scan(device.empty(N_ROWS, dtype), heads, op=op, variant=row)
    for offset in OFFSET_DTYPES:
        ends, pairs = device.empty(5, offset), device.empty((N_ROWS, 2), np.int64)
        primitives.segmented_scan(pairs, offsets=ends, variant=row)


def _segmented_reduce(device: NullDevice, row: Variant) -> None:
    for dtype, op, offset in itertools.product(SCAN_DTYPES, OPS, OFFSET_DTYPES):
        ends = device.empty(5, offset)
        primitives.segmented_reduce(device.empty(N_ROWS, dtype), ends, op=op, variant=row)


def _radix_sort(device: NullDevice, row: Variant) -> None:
    for dtype in KEY_DTYPES:
        keys = device.empty(N_ROWS, dtype)
        primitives.radix_sort(keys, variant=row)
        primitives.radix_argsort(keys, variant=row)
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


def _segmented_radix_sort(device: NullDevice, row: Variant) -> None:
    ends = [device.empty(5, offset) for offset in OFFSET_DTYPES]
    four, eight = device.empty(N_ROWS, np.uint32), device.empty(N_ROWS, np.int64)
    for dtype in SEGMENT_KEYS:  # with the values that take most, and some with the others
        keys = device.empty(N_ROWS, dtype)
        primitives.segmented_radix_sort(keys, ends[1], eight, variant=row)
        if dtype in (np.float32, np.float64):
            primitives.segmented_radix_sort(keys, ends[0], variant=row)
            primitives.segmented_radix_sort(keys, ends[1], four, descending=True, variant=row)


def _run_length(device: NullDevice, row: Variant) -> None:
    for dtype in RUN_KEYS:
        keys = device.empty(N_ROWS, dtype)
        primitives.run_length_encode(keys, variant=row)
        for of_values in RUN_KEYS:
            primitives.unique_by_key(keys, device.empty(N_ROWS, of_values), variant=row)


def _buckets(device: NullDevice) -> Iterator[tuple[DeviceArray, DeviceArray]]:
    """Values and bucket ids of every dtype."""
    for dtype, ids in itertools.product(SUMMED, BUCKET_DTYPES):
        yield device.empty(N_ROWS, dtype), device.empty(N_ROWS, ids)
    yield device.empty((N_ROWS, 2), np.int64), device.empty(N_ROWS, np.uint8)


def _multi_reduce(device: NullDevice, row: Variant) -> None:
    for values, ids in _buckets(device):
        primitives.multi_reduce(values, ids, 64, variant=row)


def _multi_scan(device: NullDevice, row: Variant) -> None:
    for values, ids in _buckets(device):
        primitives.multi_scan(values, ids, 64, variant=row)


def _histogram(device: NullDevice, row: Variant) -> None:
    pairs, rows = device.empty((N_ROWS, 2), np.int32), device.empty(100, np.uint32)
    for dtype, n_bins in itertools.product(CODE_DTYPES, (*MAX_BINS, 256)):
        codes = device.empty((N_ROWS, 20), dtype)
        primitives.histogram(codes, pairs, n_bins, variant=row)
        primitives.histogram(codes, pairs, n_bins, rows, variant=row)


PRIMITIVES: dict[str, Prepare] = {
    "histogram": _histogram,
    "segmented_radix_sort": _segmented_radix_sort,
    "run_length": _run_length,
    "multi_reduce": _multi_reduce,
    "multi_scan": _multi_scan,
    "scan": _scan,
    "reduce": _reduce,
    "segmented_scan": _segmented_scan,
    "segmented_reduce": _segmented_reduce,
    "radix_sort": _radix_sort,
    "compact": _compact,
    "stable_partition": _stable_partition,
}


#: Sampling, constraints and orders of growth; columns with weights where nothing bounds splits.
GROWN: tuple[dict[str, Any], ...] = (
    {"subsample": 0.5, "colsample_bynode": 0.5},
    {"monotone_constraints": [1, -1]},
    {"monotone_constraints": [1, -1], "interaction_constraints": [[0, 1]]},
    {"max_leaves": 3, "num_parallel_tree": 2},
    {"grow_policy": "lossguide", "max_leaves": 5},
    {"grow_policy": "lossguide", "max_leaves": 5, "max_bin": 300, "histogram": "bin_range_passes"},
)
#: Losses with and without weights, and with sampling by gradients, which is built for a loss: a
#: cheap one, a dear one, one with kernels of its own.
SAMPLED = ("binary:logistic", "reg:tweedie", "multi:softprob")
METHODS: tuple[dict[str, Any], ...] = (
    {"sampling_method": "goss"},
    {"sampling_method": "gradient_based", "subsample": 0.5},
)


def _data(weight: F32 | None, n_features: int = 2, **extra: Any) -> Dataset:
    label = np.arange(N_ROWS, dtype=np.float32) % 2
    return Dataset(np.zeros((N_ROWS, n_features), np.float32), label, weight, **extra)


def _fit(device: NullDevice, data: Dataset, params: dict[str, Any]) -> Boosting:
    name = params.get("objective", "reg:squarederror")
    p = Parameters.from_dict({"max_depth": 2, **NEEDED.get(name, {}), **params})
    return Boosting(device, p, get_objective(name, p), data, 0.0)


def _fits(device: NullDevice) -> None:
    """Prepare trainings of every histogram variant and code width, with and without weights.

    And of every loss, of some with weights, and of all that changes a tree.
    """
    for weight in (None, np.ones(N_ROWS, np.float32)):
        for max_bin in MAX_BINS:
            data = _data(weight)
            for row in runnable("histogram", device.caps):
                device.label = row.name
                params = {"max_bin": max_bin, "histogram": row.name}
                _fit(device, data, params).watch(data.values)
            device.label = ""
            _fit(device, data, {"max_bin": max_bin, "objective": "reg:absoluteerror"})
        of_two = np.array([1, 2], np.float32)
        plain, weighed = _data(weight), _data(weight, feature_weights=of_two)
        for name in OBJECTIVES if weight is None else SAMPLED:
            _fit(device, plain, {"objective": name})
        for name, method in itertools.product(SAMPLED, METHODS):
            _fit(device, plain, {"objective": name, **method})
        for params in GROWN:
            _fit(device, weighed if "colsample_bynode" in params else plain, params)
    wide = _data(None, 80)  # more splits than `plan` compares
    _fit(device, wide, {"objective": "huber"})


def _ranking(device: NullDevice) -> None:
    """Prepare ranking with drawn pairs and the bias of positions."""
    data = _data(None, group=[N_ROWS - 10, 10])
    own = {"lambdarank_pair_method": "mean", "lambdarank_unbiased": True}
    for name in ("rank:ndcg", "rank:map", "rank:pairwise"):
        _fit(device, data, {"objective": name, **own})


def _own_losses(device: NullDevice) -> None:
    """Prepare trainings with losses of a user's own, and a round's gradients."""
    data = Dataset(np.zeros((N_ROWS, 2), np.float32), np.zeros(N_ROWS))
    params = Parameters.from_dict({"objective": "custom", "max_depth": 2})
    for own in (KernelObjective("g = margin - label; h = 1.0f;"), DeviceObjective(lambda *_: None)):
        source = Boosting(device, params, own, data, 0.5).steps.source
        assert source is not None
        source.before_round(0)


def _fits_of_cpus(device: NullDevice) -> None:
    """Prepare trainings as a CPU does them; keep the programs of templates of their own."""
    known = {b.template for b in device.built.values()}
    cpu = NullDevice(replace(device.caps, kind="cpu"))
    _fits(cpu)
    own = {key: b for key, b in cpu.built.items() if b.template not in known}
    device.built |= {key: replace(b, label=FOR_CPUS) for key, b in own.items()}


def _metrics(device: NullDevice) -> None:
    """Prepare every metric of rows with and without weights, and some of every link."""
    label = np.arange(N_ROWS, dtype=np.float32) % 2
    metrics = {name: get_metric(name) for name in (*MEANS, "auc", "aucpr")}
    links = {objective.link: objective for objective in OBJECTIVES.values()}
    for link, weight in itertools.product(links, (None, np.full_like(label, 2))):
        objective = links[link]
        data = Dataset(np.zeros((N_ROWS, 2), np.float32), label, weight)
        params = Parameters.from_dict({"objective": objective.name, "max_depth": 2})
        fit = Boosting(device, params, objective, data, 0.0)
        fit.watch_training_rows()
        every = link == max(links) and weight is not None  # what takes most
        some = metrics if every else {name: metrics[name] for name in ("rmse", "auc")}
        Evaluation(fit.ws, objective, some, [(data, "train")], fit.evaluation)


def _other_metrics(device: NullDevice) -> None:
    """Prepare the metrics of classes, of queries and of times."""
    cases = {
        "multi:softprob": [*MEANS_OF_CLASSES, "auc", "aucpr"],
        "rank:ndcg": ["ndcg", "ndcg@5-", "map", "map@3", "pre"],
        "survival:cox": ["cox-nloglik"],
        "survival:aft": ["aft-nloglik", "interval-regression-accuracy"],
    }
    for (name, metrics), weight in itertools.product(cases.items(), (None, 2.0)):
        own = {"objective": name, "max_depth": 2, **NEEDED.get(name, {})}
        params, objective = Parameters.from_dict(own), get_objective(name, own)
        label = np.arange(N_ROWS, dtype=np.float32) % max(2, objective.n_outputs)
        weights = None if weight is None else np.full_like(label, weight)
        for sizes in ([N_ROWS], [10, N_ROWS - 10]):
            data = Dataset(np.zeros((N_ROWS, 2), np.float32), label, weights, group=sizes)
            fit = Boosting(device, params, objective, data, 0.0)
            fit.watch_training_rows()
            functions = {metric: get_metric(metric, params) for metric in metrics}
            Evaluation(fit.ws, objective, functions, [(data, "train")], fit.evaluation)


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
    lacking = {row.template for row in TABLE if row.lacks(device.caps)}
    for template in sorted(set(templates()) - LIBRARIES - built - lacking):
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
    _ranking(device)
    _own_losses(device)
    _fits_of_cpus(device)
    _metrics(device)
    _other_metrics(device)
    _prediction(device)
    _others(device)
    return device
