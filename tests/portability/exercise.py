"""Every primitive and small trainings on one device, against the twins, bit by bit.

``python -m tests.portability.exercise --device oclgrind --size tiny --pretend gpu`` prints one line
of JSON: how many checks ran, and what failed.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt import primitives
from pyopencl_gbdt.categories.ordered_statistics import OrderedStatistics
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device, choose, open_device, runnable
from pyopencl_gbdt.device.limited_device import PRETENCES
from pyopencl_gbdt.doctor.primitive_cases import RESULTS
from pyopencl_gbdt.doctor.samples import SampleElements
from pyopencl_gbdt.errors import DeviceError
from pyopencl_gbdt.evaluation.auc import Curves
from pyopencl_gbdt.evaluation.mean_loss import MeanLoss
from pyopencl_gbdt.metrics import get_metric, row_loss_of
from pyopencl_gbdt.model import Ensemble, to_xgboost_json
from pyopencl_gbdt.model.leaf_kinds import with_vectors
from pyopencl_gbdt.numerics.random_numbers import drawn_order
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.prediction import predict_codes, predict_sparse
from pyopencl_gbdt.prediction.contributions import sums
from pyopencl_gbdt.prediction.contributions.kinds import Kind
from pyopencl_gbdt.prediction.contributions.path_factors import path_factors
from pyopencl_gbdt.prediction.margins import predict_margins
from pyopencl_gbdt.prediction.on_host import trees_of
from pyopencl_gbdt.prediction.walk_cells import margins_of_cells
from pyopencl_gbdt.training.continuing import start_of
from pyopencl_gbdt.training.fit import Fit
from tests.compare import assert_same_bits
from tests.device.vocabulary import strip_comments
from tests.doctor.twins import TWINS
from tests.portability.many_tasks import of_several_units, small_tasks
from tests.portability.other_metrics import other_metric_checks
from tests.portability.problems import EVERY_HISTOGRAM, OTHERS, Problem, present, problem
from tests.portability.workload import everything
from tests.primitives.samples import cuts, elements
from tests.reference import ordered_statistics as statistics_twin
from tests.reference import predict as predict_twin
from tests.reference import scan as scan_twin
from tests.reference import segmented_reduce as reduce_twin
from tests.reference import segmented_scan as segmented_twin
from tests.reference import walk_cells as walk_cells_twin
from tests.reference.auc import area_words
from tests.reference.mean_loss import sum_words
from tests.reference.train import train_reference
from tests.steps.evaluated import evaluated, weights_of
from tests.steps.evaluated import run as run_metric
from tests.switch_depth import switch_depth

#: Elements of a primitive: edges of a work-group of 256 and of a tile of 4096.
SIZES = {"tiny": (257, 700), "full": (1, 255, 257, 4097, 20_011)}
#: Depths down to which entries stay in the data's order, see ``growth/interleaved.py``.
_DEPTHS = {
    "tiny": {"exact": (0, 1), "approx": (1,)},
    "full": {"exact": (0, 1), "approx": (0, 1)},
}
#: A name, and the result with what it has to be.
Check = tuple[str, Any]
#: What ``--part`` runs; ``few`` is all but for one training of each kind, and ``half`` every second
#: one of ``training``.
PARTS = ("all", "few", "training", "half", "fits", "programs", "known")


def primitive_checks(device: Device, size: str) -> Iterator[Check]:
    """Yield (name, function that fails) for every primitive, runnable variant and size."""
    rng = np.random.default_rng(11)
    scanned = [(np.int64, "sum"), (np.float32, "sum"), (np.float32, "max"), (np.int32, "min")]

    def cases(kernel: str) -> Iterator[tuple[int, Any]]:
        return itertools.product(SIZES[size], runnable(kernel, device.caps))

    for n, variant in cases("scan"):
        for dtype, op in scanned:
            values = elements(rng, n, dtype)
            got = primitives.scan(device.upload(values), op=op, variant=variant).get()
            yield f"scan {variant.name} {n} {op}", (got, scan_twin.scan(values, op=op))
    heads = {n: (rng.random(n) < 0.1).astype(np.uint8) for n in SIZES[size]}
    for n, variant in cases("segmented_scan"):
        for dtype, op in scanned:
            values = elements(rng, n, dtype)
            up = device.upload(values), device.upload(heads[n])
            got = primitives.segmented_scan(*up, op=op, variant=variant).get()
            yield (
                f"segmented_scan {variant.name} {n} {op}",
                (got, segmented_twin.segmented_scan(values, heads[n], op=op)),
            )
    for n, variant in cases("segmented_reduce"):
        for dtype, op in scanned:
            values, ends = elements(rng, n, dtype), cuts(rng, n, 9)
            got = primitives.segmented_reduce(device.upload(values), ends, op=op, variant=variant)
            twin = reduce_twin.segmented_reduce(values, ends, op=op)
            yield f"segmented_reduce {variant.name} {n} {op}", (got.get(), twin)
    for kernel, results in RESULTS.items():
        for n, variant in cases(kernel):
            floats, integers = elements(rng, n, np.float32, 0.1), elements(rng, n, np.int32)
            given = SampleElements(floats, integers, heads[n], cuts(rng, n, 9))
            got, wanted = results(device, given, variant), TWINS[kernel](given)
            for what, array in wanted.items():
                yield f"{kernel} {variant.name} {n} {what}", (got[what], array)
    n = SIZES[size][-1]
    codes, hits = rng.integers(-1, 9, n).astype(np.int32), rng.integers(0, 2, (2, n), np.uint8)
    made = OrderedStatistics(device, hits, heads[n], ((0.5,), (0.25,)), 10, seed=3)
    made.draw(1)
    twin = statistics_twin.ordered_statistics(
        codes, hits, heads[n], drawn_order(n, 3, 1), ((0.5,), (0.25,)), 10
    )
    levels = device.upload(np.where(codes < 0, 9, codes).astype(np.uint32))
    for launch in made.launches(levels, 9):
        launch()
    yield "ordered statistics", (made.means.get(), twin)
    planes = [heads[n], *(hits & heads[n])]
    totals = [np.bincount(codes[(codes >= 0) & (own != 0)], minlength=9) for own in planes]
    yield "totals of levels", (made.totals(levels, 9).get(), np.array(totals, np.uint32))


def _trained(
    device: Device, p: Problem, data: Dataset, twin: Ensemble, histogram: str = "auto"
) -> tuple[Any, ...]:
    """Train on a device; return the bytes of the model and of its twin."""
    params = Parameters.from_dict({**p.params, "histogram": histogram})
    objective = get_objective(params.objective, params)
    fit = Fit(device, params, objective, data, start_of(twin.base_margin))
    trees = fit.run(params.n_estimators)
    if fit.parts.nodes.has_vectors:
        trees = with_vectors(trees, twin.n_outputs, twin.n_parallel) or trees
    model = replace(twin, trees=trees)
    return tuple(_bytes(to_xgboost_json(m)) for m in (model, twin))


def fit_checks(device: Device, size: str) -> Iterator[Check]:
    """Yield a check of the model of one training of each kind."""
    for name in ("logistic", "sparse", "categories", "exact", "symmetric", "classes", "tiled"):
        p = problem(size, "logistic" if name == "sparse" else name)
        given = p.label, p.weight
        twin = train_reference(Parameters.from_dict(p.params), p.values, *given, **p.extra)
        values = present(p.values) if name == "sparse" else p.values
        data = Dataset(values, *given, **p.extra)
        yield f"training {name}: model", _trained(device, p, data, twin)


def training_checks(
    device: Device, size: str, names: Iterable[str] = (*EVERY_HISTOGRAM, *OTHERS)
) -> Iterator[Check]:
    """Yield a check of models, for some of them of every histogram variant, and of predictions."""
    every, chosen = runnable("histogram", device.caps), [choose("histogram", device.caps)]
    codes: dict[tuple[Any, ...], Any] = {}  # most trainings have the same values
    for name in names:
        p = problem(size, name)
        given = p.values, p.label, p.weight
        twin = train_reference(Parameters.from_dict(p.params), *given, **p.extra)
        data = Dataset(*given, **p.extra)
        rows = p.values.tobytes(), None if p.weight is None else p.weight.tobytes()
        key = (*rows, tuple(p.extra.get("categorical_features", ())))
        data.kept = codes.get(key)
        depths = _DEPTHS[size].get(p.params.get("tree_method", ""), (0,))
        variants = every if name in EVERY_HISTOGRAM else chosen
        for variant, depth in itertools.product(variants, depths):
            with switch_depth(device.caps, depth, 64):
                check = _trained(device, p, data, twin, variant.name)
            way = f"{variant.name}, depth {depth}" if len(depths) > 1 else variant.name
            yield f"training {name} {way}: model", check
        codes.setdefault(key, data.kept)
        if name in (*EVERY_HISTOGRAM, "symmetric"):
            wanted = predict_twin.predict(twin, p.values)
            margins = predict_margins(twin, p.values, device)
            yield f"training {name}: predictions", (margins, wanted)
            with patch.multiple(predict_codes, _LEAST_ROWS=0, _LEAST_STEPS=0):  # on CPUs
                margins = predict_margins(twin, p.values, device)
            yield f"training {name}: predictions by codes", (margins, wanted)
            rows, features, cells = p.values[:200], [0, 1], p.values[:40, :2]
            pieces = margins_of_cells(device, twin, rows, features, cells, (0, twin.n_rounds))
            margins = np.concatenate([own for _, own in pieces], axis=2)
            changed = walk_cells_twin.walk_cells(twin, rows, features, cells)
            yield f"training {name}: predictions of cells", (margins, changed)
            yield from contribution_checks(device, name, twin, p.values)
            for way in (True, False):  # to gather columns, and to search them
                with patch.object(predict_sparse, "gathers", lambda *_, way=way: way):
                    margins = predict_margins(twin, present(p.values), device)
                yield f"training {name}: sparse predictions {way}", (margins, wanted)


def contribution_checks(
    device: Device, name: str, model: Ensemble, values: npt.NDArray[np.float32]
) -> Iterator[Check]:
    """Yield a check of every kind of contributions, in quanta."""
    trees, game, rows = trees_of(model, (0, model.n_rounds)), path_factors(model), slice(0, 40)
    for kind in Kind:
        wanted = sums.HostSums(model, values, trees).of(game, kind, rows)
        got = sums.DeviceSums(device, values, trees).of(game, kind, rows)
        yield f"training {name}: contributions, {kind.value}", (got, wanted)


def metric_checks(device: Device, size: str) -> Iterator[Check]:
    """Yield a check of the words of a mean and of both curves."""
    rng, loss = np.random.default_rng(7), row_loss_of(get_metric("logloss"))
    assert loss is not None
    for n, kind in itertools.product(SIZES[size], ("none", "heavy")):
        label = (np.arange(n) % 3 == 0).astype(np.float32)
        rounded = np.round(rng.random(n), 2).astype(np.float32)
        weight = weights_of(rng, n, kind)
        rows = evaluated(device, rounded, label, weight)
        found = run_metric(MeanLoss(rows, loss))[0, :5]
        parts = loss.twin(rounded, label, np.float32(1))
        yield f"mean_loss {n} {kind}", (found, sum_words(parts, weight))
        curves = Curves(rows, ["auc", "aucpr"])
        if not curves.areas.undefined:
            for at, words in enumerate(run_metric(curves)[:, :4]):
                twin = area_words(curves.curves[at], rounded, label, weight)
                yield f"{curves.curves[at]} {n} {kind}", (words, twin)


def _bytes(text: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8)


def program_complaints(device: Device, pretend: str) -> list[str]:
    """Return kernels that take more local memory, or other words, than the device has."""
    import pyopencl as cl

    from pyopencl_gbdt.device.opencl import device as opencl

    complaints = []
    for (_, _, source, options), program in opencl._programs.items():
        body = strip_comments(source).split("atom_add(", 1)[-1]
        by_words = "-DSUMS_BY_WORDS" in options  # then 64-bit sums take 32-bit atomics
        more = r"\bdouble\b|sub_group" + ("" if by_words else "|atomic_add_global_i64")
        if pretend == "baseline" and re.search(more, body):
            complaints.append("a kernel uses 64-bit atomics, double or sub-groups")
        for kernel in program.all_kernels():
            info = cl.kernel_work_group_info.LOCAL_MEM_SIZE
            local = kernel.get_work_group_info(info, program.devices[0])
            if local > device.caps.local_bytes:
                complaints.append(f"{kernel.function_name}: {local} bytes of local memory")
    return complaints


def sub_group_size(device: Device) -> int:
    """Return the sub-group size that the driver gave a kernel of 64 work-items; 0 if unknown."""
    import pyopencl as cl

    program: Any = device.build("copy", wg_size=64)
    kernel = program.make_kernel("copy")
    info = cl.kernel_sub_group_info.MAX_SUB_GROUP_SIZE_FOR_NDRANGE
    try:
        return int(kernel.get_sub_group_info(program.device.cl_device, info, [64]))
    except (cl.Error, AttributeError):
        return 0


def program_checks(device: Device) -> Iterator[Check]:
    """Yield a check for every program that a device can be asked for: its compiler's complaint."""
    for built in everything(device.caps).built.values():
        try:
            program: Any = device.build(built.template, wg_size=built.wg_size, **built.params)
            program.make_kernel(next(iter(built.kernels)))  # some drivers compile only now
            complaint = ""
        except DeviceError as error:
            complaint = str(error)
        yield f"{built.name} does not build: {complaint}", (_bytes(complaint), _bytes(""))


def known_checks(device: Device) -> Iterator[Check]:
    """Yield checks of models whose bytes are known from other machines."""
    from tests import test_reproducible as known

    with patch("pyopencl_gbdt.training.open_fit.open_device", lambda spec, **options: device):
        for name, wanted in known.EXPECTED.items():
            got = known.digest(name)
            yield f"known bytes of {name}", tuple(_bytes(text) for text in (got, wanted))


def has_many_tasks(size: str, pretend: str) -> bool:
    """Tell whether few rows are many tasks; groups of many work-items would take minutes."""
    return size == "tiny" and not pretend


def run(device: Device, size: str, pretend: str, part: str = "all") -> dict[str, Any]:
    """Run everything, or one part; never raises for a check that fails."""
    n_checks, failures = 0, []
    tasks = small_tasks() if has_many_tasks(size, pretend) else contextlib.nullcontext()
    trainings = fit_checks if part in ("few", "fits") else training_checks
    if part == "half":
        trainings = partial(training_checks, names=(*EVERY_HISTOGRAM, *list(OTHERS)[::2]))
    alone = {"programs": program_checks, "known": known_checks}
    checks = [alone[part](device) if part in alone else trainings(device, size)]
    if part in ("all", "few"):
        checks.insert(0, primitive_checks(device, size))
        checks += [metric_checks(device, size), other_metric_checks(device, SIZES[size])]
    if size == "full" and part not in alone:
        checks.append(known_checks(device))
    with tasks:
        for name, (got, wanted) in itertools.chain(*checks):
            n_checks += 1
            try:
                assert_same_bits(got, wanted, name)
            except AssertionError as error:
                failures.append(str(error).splitlines()[0][:300])
    failures += program_complaints(device, pretend) if device.caps.api == "opencl" else []
    return {
        "device": device.caps.label,
        "local_bytes": device.caps.local_bytes,
        "checks": n_checks,
        "failures": failures,
        "sub_group": sub_group_size(device) if device.caps.api == "opencl" else 0,
    }


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--size", choices=sorted(SIZES), default="full")
    parser.add_argument("--pretend", choices=["", *sorted(PRETENCES)], default="")
    parser.add_argument("--part", choices=PARTS, default="all")
    args = parser.parse_args(words)
    device = open_device(args.device)
    if args.pretend:
        device.caps = PRETENCES[args.pretend](device.caps)
    if has_many_tasks(args.size, args.pretend):
        device.caps = of_several_units(device.caps)
    result = run(device, args.size, args.pretend, args.part)
    print(json.dumps(result))
    return bool(result["failures"])


if __name__ == "__main__":
    sys.exit(main())
