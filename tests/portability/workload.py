"""All that a device with given capabilities can be asked to build."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from pyopencl_gbdt import primitives
from pyopencl_gbdt.device import TABLE, Capabilities, DeviceArray, Variant, runnable
from pyopencl_gbdt.device.drivers import measured_facts
from pyopencl_gbdt.explain.proximity import count_same
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.linear_leaves import LinearTerms
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.prediction import predict, predict_sparse
from pyopencl_gbdt.prediction.contributions.device_walk import DeviceWalk, plan_sums
from pyopencl_gbdt.prediction.contributions.kinds import Kind
from pyopencl_gbdt.prediction.contributions.path_factors import path_factors
from pyopencl_gbdt.prediction.contributions.quantum import Starts
from pyopencl_gbdt.prediction.margins import predict_margins
from pyopencl_gbdt.prediction.packing import packed
from pyopencl_gbdt.prediction.predict_codes import CodeWalk
from pyopencl_gbdt.prediction.walk_cells import margins_of_cells
from pyopencl_gbdt.primitives import histogram_kernel
from pyopencl_gbdt.primitives.checks import MOVED_DTYPES, OFFSET_DTYPES, OPS, SCAN_DTYPES
from pyopencl_gbdt.primitives.chunks import BUCKET_DTYPES
from pyopencl_gbdt.primitives.chunks import DTYPES as SUMMED
from pyopencl_gbdt.primitives.histogram import CODE_DTYPES
from pyopencl_gbdt.primitives.radix_sort import DTYPES as KEY_DTYPES
from pyopencl_gbdt.primitives.run_length import DTYPES as RUN_KEYS
from pyopencl_gbdt.primitives.segmented_radix_sort import DTYPES as SEGMENT_KEYS
from tests.device.plausible import LIBRARIES, few, templates
from tests.portability import prepared_fits
from tests.portability.null_device import FOR_CPUS, N_ROWS, NullDevice
from tests.portability.prepared_fits import MAX_BINS
from tests.portability.problems import present

#: Templates that no step and no primitive builds: yardsticks and probes.
TOOLS = frozenset({"copy", "device_facts", "math_probe"})

Prepare = Callable[[NullDevice, Variant], None]


def _scan(device: NullDevice, variant: Variant) -> None:
    for dtype, op in itertools.product(SCAN_DTYPES, OPS):
        values = device.empty(N_ROWS, dtype)
        primitives.scan(values, op=op, variant=variant)
    primitives.scan(device.empty((N_ROWS, 2), np.int64), variant=variant)


def _reduce(device: NullDevice, variant: Variant) -> None:
    for dtype, op in itertools.product(SCAN_DTYPES, OPS):
        primitives.reduce(device.empty(N_ROWS, dtype), op=op, variant=variant)
    primitives.reduce(device.empty((N_ROWS, 2), np.int64), variant=variant)


def _segmented_scan(device: NullDevice, variant: Variant) -> None:
    heads = device.empty(N_ROWS, np.uint8)
    for dtype, op in itertools.product(SCAN_DTYPES, OPS):
        primitives.segmented_scan(device.empty(N_ROWS, dtype), heads, op=op, variant=variant)
    for offset in OFFSET_DTYPES:
        ends, pairs = device.empty(5, offset), device.empty((N_ROWS, 2), np.int64)
        primitives.segmented_scan(pairs, offsets=ends, variant=variant)


def _segmented_reduce(device: NullDevice, variant: Variant) -> None:
    for dtype, op in itertools.product(SCAN_DTYPES, OPS):
        values = device.empty(N_ROWS, dtype)
        for offset in OFFSET_DTYPES if op == "sum" else OFFSET_DTYPES[:1]:
            primitives.segmented_reduce(values, device.empty(5, offset), op=op, variant=variant)


def _radix_sort(device: NullDevice, variant: Variant) -> None:
    for dtype in KEY_DTYPES:
        keys = device.empty(N_ROWS, dtype)
        primitives.radix_sort(keys, variant=variant)
        primitives.radix_argsort(keys, variant=variant)
        primitives.radix_sort(keys, device.empty(N_ROWS, np.uint32), variant=variant)
        units = device.caps.compute_units  # a column for each
        sort = primitives.RadixSort(device, 10, dtype, columns=units, variant=variant)
        sort.bind(device.empty((units, 10), dtype))


def _compact(device: NullDevice, variant: Variant) -> None:
    flags = device.empty(N_ROWS, np.uint8)
    for dtype in MOVED_DTYPES:
        primitives.compact(device.empty(N_ROWS, dtype), flags, variant=variant)


def _stable_partition(device: NullDevice, variant: Variant) -> None:
    flags = device.empty(N_ROWS, np.uint8)
    for dtype, offset in itertools.product(MOVED_DTYPES, OFFSET_DTYPES):
        ends = device.empty(5, offset)
        primitives.stable_partition(device.empty(N_ROWS, dtype), flags, ends, variant=variant)


def _segmented_radix_sort(device: NullDevice, variant: Variant) -> None:
    ends = [device.empty(5, offset) for offset in OFFSET_DTYPES]
    four, eight = device.empty(N_ROWS, np.uint32), device.empty(N_ROWS, np.int64)
    for dtype in SEGMENT_KEYS:  # with the values that take most, and some with the others
        keys = device.empty(N_ROWS, dtype)
        primitives.segmented_radix_sort(keys, ends[1], eight, variant=variant)
        if dtype in (np.float32, np.float64):
            primitives.segmented_radix_sort(keys, ends[0], variant=variant)
            primitives.segmented_radix_sort(keys, ends[1], four, descending=True, variant=variant)


def _run_length(device: NullDevice, variant: Variant) -> None:
    for dtype in RUN_KEYS:
        keys = device.empty(N_ROWS, dtype)
        primitives.run_length_encode(keys, variant=variant)
        for of_values in RUN_KEYS:
            primitives.unique_by_key(keys, device.empty(N_ROWS, of_values), variant=variant)


def _buckets(device: NullDevice) -> Iterator[tuple[DeviceArray, DeviceArray]]:
    """Values and bucket ids of every dtype."""
    for dtype, ids in itertools.product(SUMMED, BUCKET_DTYPES):
        yield device.empty(N_ROWS, dtype), device.empty(N_ROWS, ids)
    yield device.empty((N_ROWS, 2), np.int64), device.empty(N_ROWS, np.uint8)


def _multi_reduce(device: NullDevice, variant: Variant) -> None:
    for values, ids in _buckets(device):
        primitives.multi_reduce(values, ids, 64, variant=variant)


def _multi_scan(device: NullDevice, variant: Variant) -> None:
    for values, ids in _buckets(device):
        primitives.multi_scan(values, ids, 64, variant=variant)


def _histogram(device: NullDevice, variant: Variant) -> None:
    pairs, rows = device.empty((N_ROWS, 2), np.int32), device.empty(100, np.uint32)
    for dtype, n_bins in itertools.product(CODE_DTYPES, (*MAX_BINS, 256)):
        codes = device.empty((N_ROWS, 20), dtype)
        primitives.histogram(codes, pairs, n_bins, variant=variant)
        primitives.histogram(codes, pairs, n_bins, rows, variant=variant)
        with patch.object(histogram_kernel, "_LEAST_PAIRED", 0):  # as with many rows
            primitives.histogram(codes, pairs, n_bins, variant=variant)


def _quantile_summary(device: NullDevice, variant: Variant) -> None:
    values, weights = device.empty(N_ROWS, np.float32), device.empty(N_ROWS, np.int64)
    for offset in OFFSET_DTYPES:
        ends = device.empty(5, offset)
        summary = primitives.quantile_summary.build(values, weights, ends, variant=variant)
    merged = primitives.quantile_summary.merge(summary, summary, variant=variant)
    primitives.quantile_summary.prune(merged, 256, variant=variant)


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
    "quantile_summary": _quantile_summary,
}


def full_tree(depth: int) -> Tree:
    """Return a tree whose leaves have one depth, and whose splits are equal."""
    n_inner = 2**depth - 1
    inner = np.arange(2 * n_inner + 1) < n_inner
    left = np.where(inner, 1 + 2 * np.arange(inner.size), -1).astype(np.int32)
    zeros = np.zeros(inner.size, np.float32)
    return Tree(
        left=left,
        right=np.where(inner, left + 1, -1).astype(np.int32),
        parent=np.append(-1, np.repeat(np.arange(n_inner), 2)).astype(np.int32),
        feature=np.zeros(inner.size, np.int32),
        default_left=np.zeros(inner.size, np.bool_),
        split_kind=np.zeros(inner.size, np.uint8),
        value=zeros[:, None],
        weight=zeros[:, None],
        threshold=zeros,
        gain=zeros,
        sum_hessian=zeros,
    )


def tree_of_sets(depth: int) -> Tree:
    """Return the same with splits by one set of codes."""
    tree = full_tree(depth)
    n_inner = int((~tree.is_leaf).sum())
    return replace(
        tree,
        split_kind=(~tree.is_leaf).astype(np.uint8),
        sets=np.full(n_inner, 5, np.uint32),
        set_begin=np.minimum(np.arange(tree.n_nodes + 1), n_inner).astype(np.int32),
    )


def _with_vectors(model: Ensemble) -> Ensemble:
    """Return a model of two outputs whose leaves have the model's values twice."""
    trees = [replace(t, value=t.value.repeat(2, 1), weight=t.weight.repeat(2, 1))
             for t in model.trees]  # fmt: skip
    zeros = (0.0, 0.0)
    return replace(model, trees=trees, base_margin=zeros, base_score=zeros, n_outputs=2)


def _with_terms(model: Ensemble) -> Ensemble:
    """Return the model whose leaves are functions of column 0."""
    trees = []
    for tree in model.trees:
        ones = np.ones(int(tree.is_leaf.sum()))
        trees.append(tree.with_linear(LinearTerms(ones, ones, 0 * ones, ones)))
    return replace(model, trees=trees)


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
    values = np.zeros((N_ROWS, 2), np.float32)
    predict_margins(ensemble, values, device)
    for link in ("exponential", "sigmoid", "softmax"):
        predict_margins(ensemble, values, device, link=link)
    of_tables = Ensemble([full_tree(depth) for depth in (2, 9)], "reg:squarederror", 2, 0.0, 0.0)
    predict_margins(of_tables, values, device)
    trees = packed(of_tables)
    assert trees.codes is not None
    device.label = FOR_CPUS
    walk = CodeWalk(device, trees, trees.codes, N_ROWS, 2**20)
    device.label = ""
    walk.take(values)
    walk.add(device.empty(N_ROWS, np.float32), (0, trees.n_trees))
    of_sets = Ensemble([tree_of_sets(2)], "reg:squarederror", 2, 0.0, 0.0)
    predict_margins(of_sets, values, device)
    with patch.object(predict, "plan_tables", lambda *_: None):
        predict_margins(of_sets, values, device)
    leaves = np.zeros((3, 2), np.int32)
    assert len(list(count_same(device, leaves, leaves))) == 1
    for model in (of_tables, of_sets):
        predict_margins(_with_vectors(model), values, device)
        predict_margins(_with_terms(model), values, device)
        for _ in margins_of_cells(device, model, values, [0], values[:1, :1], (0, 1)):
            pass
    for way in (True, False):  # to gather columns, and to search them
        with patch.object(predict_sparse, "gathers", lambda *_, way=way: way):
            predict_margins(ensemble, present(values), device)


def _contributions(device: NullDevice) -> None:
    """Explain rows by trees that loops are nested for, by deeper ones, and by sets."""
    values = np.zeros((N_ROWS, 12), np.float32)
    starts = Starts.of(40, np.zeros(1, np.int64), np.zeros((1, 1), np.float32))
    for tree in (full_tree(8), full_tree(11), tree_of_sets(2)):
        feature = np.where(tree.is_leaf, 0, tree.depth)
        same = [replace(tree, feature=feature)] * 4  # which work-groups share
        own = Ensemble(same, "reg:squarederror", 12, 0.0, 0.0)
        game, rows, trees = path_factors(own), slice(0, N_ROWS), np.arange(4)[None]
        ways = [(DeviceWalk(device, game, kind), kind) for kind in Kind]
        for way, kind in [*ways, (plan_sums(device, game, Kind.FEATURES, 10**6), Kind.FEATURES)]:
            told = np.arange(game.n_places(kind is Kind.PAIRS))
            way.sums(values, rows, trees, told, np.empty((N_ROWS, 1, told.size), np.int64))
            n_told = 13 * 13 if kind is Kind.PAIRS else 13
            way.finish(device.empty((N_ROWS, 1, n_told), np.int64), starts)


def _others(device: NullDevice) -> None:
    """Build what nothing above built: tools, and templates that have no step yet."""
    due = {fact.name for fact in measured_facts.TABLE if fact.due(device.caps)}
    built = {b.template for b in device.built.values()}
    lacking = {variant.template for variant in TABLE if variant.lacks(device.caps)}
    for template in sorted(set(templates()) - LIBRARIES - built - lacking):
        for params in few(template):
            measured = template != "device_facts" or params["fact"] in due
            if measured and params["wg_size"] <= device.caps.max_work_group:
                device.build(template, **params)


#: Fits are prepared by words in the environment, which the threads of several chips share.
_preparing = threading.Lock()


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
    with _preparing:
        return _everything(NullDevice(caps))


def _everything(device: NullDevice) -> NullDevice:
    caps = device.caps
    for kernel, prepare in PRIMITIVES.items():
        for variant in runnable(kernel, caps):
            device.label = variant.name
            prepare(device, variant)
    prepared_fits.fits(device)
    prepared_fits.small_fits(device)
    device.label = ""
    prepared_fits.statistics(device)
    prepared_fits.ranking(device)
    prepared_fits.own_losses(device)
    prepared_fits.fits_of_cpus(device)
    prepared_fits.metrics_of_rows(device)
    prepared_fits.other_metrics(device)
    _prediction(device)
    _contributions(device)
    _others(device)
    return device
