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
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt import primitives
from pyopencl_gbdt.categories.ordered_statistics import OrderedStatistics
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Capabilities, Device, open_device, runnable
from pyopencl_gbdt.device.limited_device import PRETENCES
from pyopencl_gbdt.doctor.primitive_cases import RESULTS
from pyopencl_gbdt.doctor.samples import SampleElements
from pyopencl_gbdt.errors import DeviceError
from pyopencl_gbdt.evaluation.auc import Curves
from pyopencl_gbdt.evaluation.mean_loss import MeanLoss
from pyopencl_gbdt.metrics import get_metric, row_loss_of
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.numerics.random_numbers import drawn_order
from pyopencl_gbdt.prediction import predict_codes, predict_sparse
from pyopencl_gbdt.prediction.contributions import sums
from pyopencl_gbdt.prediction.contributions.kinds import Kind
from pyopencl_gbdt.prediction.contributions.path_factors import path_factors
from pyopencl_gbdt.prediction.margins import predict_margins
from pyopencl_gbdt.prediction.walk_cells import margins_of_cells
from pyopencl_gbdt.prediction.walk_rows import trees_of
from tests.compare import assert_same_bits
from tests.device.vocabulary import strip_comments
from tests.doctor.twins import TWINS
from tests.portability import cover, timed, trainings
from tests.portability.many_tasks import of_several_units, small_tasks
from tests.portability.null_device import NullDevice
from tests.portability.other_metrics import other_metric_checks
from tests.portability.problems import EVERY_HISTOGRAM, present, problem
from tests.portability.trainings import bytes_of
from tests.portability.workload import everything
from tests.primitives.samples import cuts, elements
from tests.quick_builds import builds_quickly
from tests.reference import ordered_statistics as statistics_twin
from tests.reference import predict as predict_twin
from tests.reference import scan as scan_twin
from tests.reference import segmented_reduce as reduce_twin
from tests.reference import segmented_scan as segmented_twin
from tests.reference import walk_cells as walk_cells_twin
from tests.reference.auc import area_words
from tests.reference.mean_loss import sum_words
from tests.steps.evaluated import evaluated, weights_of
from tests.steps.evaluated import run as run_metric

#: Elements of a primitive: edges of a work-group of 256 and of a tile of 4096.
SIZES = {"tiny": (257, 700), "full": (1, 255, 257, 4097, 20_011)}
#: What is scanned: a type of the elements, and an operation.
SCANNED = ((np.int64, "sum"), (np.float32, "sum"), (np.float32, "max"), (np.int32, "min"))
#: The trainings whose models predict.
PREDICTED = (*EVERY_HISTOGRAM, "symmetric")
#: A name, and the result with what it has to be.
Check = tuple[str, Any]
#: What ``--part`` runs: ``widths`` is what a sub-group's size can change, but for trainings one of
#: each kind; ``half`` is every second one of ``training``; ``sums`` those of ``fits`` that add to
#: sums in global memory.
PARTS = ("all", "widths", "training", "half", "fits", "sums", "programs", "known")
#: What counts of the trainings of a part that is not to be whole.
_COUNTED = {"widths": cover.with_barriers, "sums": cover.with_sums_in_memory}
Scanned = Sequence[tuple[type, str]]


def primitive_checks(
    device: Device, size: str, scanned: Scanned = SCANNED, *, alone: bool = True
) -> Iterator[Check]:
    """Yield a check of every primitive, runnable variant and size.

    Variants whose work-items are ``alone`` in their groups may be left out: no width changes them.
    """
    rng = np.random.default_rng(11)

    def cases(kernel: str) -> Iterator[tuple[int, Any]]:
        variants = runnable(kernel, device.caps)
        some = [one for one in variants if alone or one.params.get("wg_size") != 1]
        return itertools.product(SIZES[size], some)

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


def fit_checks(
    device: Device, size: str, counts: trainings.Counts | None = None
) -> Iterator[Check]:
    """Yield a check of one training of each kind, or of those that bind all that counts."""
    some = trainings.of_kinds(device.caps)
    if counts is not None:
        some = trainings.fewest(size, device.caps, some, counts)
    for training in some:
        p = problem(size, training.name, device.caps.kind)
        twin = trainings.twin_of(p)
        for way in ("", " of sparse values") if training.name == "logistic" else ("",):
            data = Dataset(present(p.values) if way else p.values, p.label, p.weight, **p.extra)
            got = trainings.models(device, training, p, data, twin)
            yield f"training {training.name}{way}: model", got


def training_checks(
    device: Device, size: str, names: Iterable[str] = trainings.NAMES, whole: bool = True
) -> Iterator[Check]:
    """Yield a check of models, for some of them of every histogram variant, and of predictions.

    Unless they are to be whole, trainings are left out whose kernels, with their options, others
    have too. A simulator, which looks at accesses, need not see the arithmetic of every loss.
    """
    some = trainings.trainings(size, device.caps, names)
    if not whole:
        simulated = size == "tiny"
        counts = cover.accesses if simulated else cover.bound
        others = trainings.narrow(some) if simulated and device.caps.kind == "gpu" else []
        some = trainings.fewest(size, device.caps, some, counts, others)
    codes: dict[tuple[Any, ...], Any] = {}  # most trainings have the same values
    for name, ways in itertools.groupby(some, key=lambda training: training.name):
        p = problem(size, name, device.caps.kind)
        twin, data = trainings.twin_of(p), Dataset(p.values, p.label, p.weight, **p.extra)
        rows = p.values.tobytes(), None if p.weight is None else p.weight.tobytes()
        key = (*rows, tuple(p.extra.get("categorical_features", ())))
        data.kept = codes.get(key)
        for training in ways:
            check = trainings.models(device, training, p, data, twin)
            yield f"training {name} {training.way}: model", check
        codes.setdefault(key, data.kept)
    for name in predicted(device.caps, size, whole):
        yield from prediction_checks(device, size, name)


def predicted(caps: Capabilities, size: str, whole: bool) -> Sequence[str]:
    """Return the trainings whose models predict: all, or those that bind all kernels."""
    if whole:
        return PREDICTED
    facts = {}
    for name in PREDICTED:
        device = NullDevice(caps)
        for _ in prediction_checks(device, size, name):
            pass
        facts[name] = cover.bound(device.built.values())
    return cover.cover(facts, PREDICTED[::-1])


def prediction_checks(device: Device, size: str, name: str) -> Iterator[Check]:
    """Yield a check of every way to predict by a training's model, and of its contributions."""
    p = problem(size, name, device.caps.kind)
    twin = trainings.twin_of(p)
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
    """Yield a check of the words of a mean and of both curves, on a simulator once a size."""
    rng, loss = np.random.default_rng(7), row_loss_of(get_metric("logloss"))
    assert loss is not None
    cases = itertools.product(SIZES[size], kinds := ("none", "heavy"))
    for n, kind in zip(SIZES[size], kinds, strict=True) if size == "tiny" else cases:
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
        yield f"{built.name} does not build: {complaint}", (bytes_of(complaint), bytes_of(""))


def known_checks(device: Device) -> Iterator[Check]:
    """Yield checks of models whose bytes are known from other machines."""
    from tests import test_reproducible as known

    with patch("pyopencl_gbdt.device.open_device", lambda spec, **options: device):
        for name, wanted in known.EXPECTED.items():
            got = known.digest(name)
            yield f"known bytes of {name}", tuple(bytes_of(text) for text in (got, wanted))


def has_many_tasks(size: str, pretend: str) -> bool:
    """Tell whether few rows are many tasks; groups of many work-items would take minutes."""
    return size == "tiny" and not pretend


def checks_of(device: Device, size: str, part: str, whole: bool) -> list[Iterator[Check]]:
    """Return the checks of a part; see ``PARTS``."""
    if part in ("programs", "known"):
        return [program_checks(device) if part == "programs" else known_checks(device)]
    narrow = part == "widths" and not whole
    if part in ("fits", *_COUNTED):
        checks = [fit_checks(device, size, None if whole else _COUNTED.get(part))]
    else:
        names = trainings.HALF if part == "half" else trainings.NAMES
        checks = [training_checks(device, size, names, whole)]
    if part in ("all", "widths"):
        scanned = SCANNED[:1] if narrow else SCANNED
        checks.insert(0, primitive_checks(device, size, scanned, alone=not narrow))
        checks += [metric_checks(device, size), other_metric_checks(device, SIZES[size])]
    return checks if size == "tiny" or narrow else [*checks, known_checks(device)]


def run(
    device: Device, size: str, pretend: str, part: str = "all", whole: bool = True
) -> dict[str, Any]:
    """Run everything, or one part; never raises for a check that fails."""
    n_checks, failures = 0, []
    tasks = small_tasks() if has_many_tasks(size, pretend) else contextlib.nullcontext()
    with tasks:
        for name, (got, wanted) in itertools.chain(*checks_of(device, size, part, whole)):
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
        "seconds": timed.spent(),
    }


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--size", choices=sorted(SIZES), default="full")
    parser.add_argument("--pretend", choices=["", *sorted(PRETENCES)], default="")
    parser.add_argument("--part", choices=PARTS, default="all")
    parser.add_argument("--whole", action="store_true", help="also what others show too")
    parser.add_argument("--as-written", action="store_true", help="PoCL optimises no kernel")
    args = parser.parse_args(words)
    device = open_device(args.device)
    if args.pretend:
        device.caps = PRETENCES[args.pretend](device.caps)
    if has_many_tasks(args.size, args.pretend):
        device.caps = of_several_units(device.caps)
    with builds_quickly() if args.as_written else contextlib.nullcontext():
        result = run(device, args.size, args.pretend, args.part, args.whole)
    print(json.dumps(result))
    return bool(result["failures"])


if __name__ == "__main__":
    sys.exit(main())
