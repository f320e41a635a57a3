"""Run every kernel variant on a device and compare its bits with the NumPy twin."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device, Variant, choose, fact_store, measured_facts, runnable
from pyopencl_gbdt.device.variants import kernels
from pyopencl_gbdt.doctor import arithmetic, lookback_trial
from pyopencl_gbdt.doctor.primitive_cases import RESULTS
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.primitives.compact import compact
from pyopencl_gbdt.primitives.radix_sort import radix_sort
from pyopencl_gbdt.primitives.reduce import reduce
from pyopencl_gbdt.primitives.scan import scan
from pyopencl_gbdt.primitives.segmented_reduce import segmented_reduce
from pyopencl_gbdt.primitives.segmented_scan import segmented_scan
from pyopencl_gbdt.primitives.stable_partition import stable_partition
from pyopencl_gbdt.reference import compact as compact_twin
from pyopencl_gbdt.reference import predict as predict_twin
from pyopencl_gbdt.reference import radix_sort as radix_sort_twin
from pyopencl_gbdt.reference import reduce as reduce_twin
from pyopencl_gbdt.reference import scan as scan_twin
from pyopencl_gbdt.reference import segmented_reduce as segmented_reduce_twin
from pyopencl_gbdt.reference import segmented_scan as segmented_scan_twin
from pyopencl_gbdt.reference import stable_partition as stable_partition_twin
from pyopencl_gbdt.reference.train import train_reference
from pyopencl_gbdt.training.train import train

Array = npt.NDArray[Any]
#: Elements per primitive and rows per training; a simulator takes microseconds per memory access.
SIZES, SIMULATED_SIZES = (10_007, 600), (300, 60)
#: Trainings by loss; the first one is repeated with every histogram variant.
TRAININGS: dict[str, dict[str, Any]] = {
    "binary:logistic": {},
    "reg:squarederror": {},
    "multi:softprob": {
        "num_class": 3, "sampling_method": "gradient_based", "subsample": 0.5,
        "colsample_bynode": 0.6, "grow_policy": "lossguide", "max_leaves": 5,
    },
}  # fmt: skip
_LONGEST_DETAIL = 4000


@dataclass(frozen=True)
class Case:
    """One comparison of a kernel variant with its twin."""

    kernel: str
    variant: str
    chosen: bool
    """Whether the device uses this variant by default."""
    run: Callable[[], str]
    """Returns how the results differ; empty if they are equal."""
    fact: str = ""
    """The fact of ``measured_facts`` that holds if the results of all its cases are equal."""

    @property
    def name(self) -> str:
        return f"{self.kernel}: {self.variant}" if self.variant else self.kernel


def first_difference(what: str, got: Array, want: Array) -> str:
    """Describe the first place where two arrays differ in a bit; empty if there is none."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{what}: {got.dtype} {got.shape} instead of {want.dtype} {want.shape}"
    rows = [np.ascontiguousarray(a).reshape(-1).view(np.uint8) for a in (got, want)]
    places = np.flatnonzero((rows[0] != rows[1]).reshape(got.size, got.itemsize).any(axis=1))
    if not places.size:
        return ""
    at = int(places[0])
    return (
        f"{what}: {places.size} of {got.size} differ, first at {at}: "
        f"{got.reshape(-1)[at]!r} instead of {want.reshape(-1)[at]!r}"
    )


class Primitives:
    """The primitives by kernel name, all on the same random input."""

    def __init__(self, device: Device, n: int) -> None:
        rng = np.random.default_rng(3)
        self.device = device
        self.floats = rng.standard_normal(n).astype(np.float32)
        self.integers = rng.integers(-(2**31), 2**31, n).astype(np.int32)
        self.flags = (rng.random(n) < 0.3).astype(np.uint8)
        inner = np.sort(rng.integers(0, n + 1, 20))
        self.offsets = np.concatenate([[0], inner, [n]]).astype(np.int64)

    def other(self, kernel: str, variant: Variant) -> str:
        """Run one of ``primitive_cases``."""
        for what, got, want in RESULTS[kernel](self.device, self.integers, self.offsets, variant):
            problem = first_difference(what, got, want)
            if problem:
                return problem
        return ""

    def scan(self, variant: Variant) -> str:
        got = scan(self.device.upload(self.floats), variant=variant).get()
        return first_difference("sums", got, scan_twin.scan(self.floats))

    def reduce(self, variant: Variant) -> str:
        got = reduce(self.device.upload(self.floats), variant=variant).get()
        return first_difference("sum", got, reduce_twin.reduce(self.floats))

    def segmented_scan(self, variant: Variant) -> str:
        values, heads = self.device.upload(self.floats), self.device.upload(self.flags)
        got = segmented_scan(values, heads, inclusive=True, variant=variant).get()
        want = segmented_scan_twin.segmented_scan(self.floats, self.flags, inclusive=True)
        return first_difference("sums", got, want)

    def segmented_reduce(self, variant: Variant) -> str:
        values = self.device.upload(self.floats)
        got = segmented_reduce(values, self.offsets, variant=variant).get()
        want = segmented_reduce_twin.segmented_reduce(self.floats, self.offsets)
        return first_difference("sums", got, want)

    def radix_sort(self, variant: Variant) -> str:
        keys, values = self.device.upload(self.floats), self.device.upload(self.integers)
        radix_sort(keys, values, variant=variant)
        want_keys, want_values = radix_sort_twin.radix_sort(self.floats, self.integers)
        assert want_values is not None
        return first_difference("keys", keys.get(), want_keys) or first_difference(
            "values", values.get(), want_values
        )

    def compact(self, variant: Variant) -> str:
        values, flags = self.device.upload(self.integers), self.device.upload(self.flags)
        out, count = compact(values, flags, variant=variant)
        want = compact_twin.compact(self.integers, self.flags)
        n_kept = int(count.get()[0])
        if n_kept != want.size:
            return f"count: {n_kept} instead of {want.size}"
        return first_difference("values", out.get()[:n_kept], want)

    def stable_partition(self, variant: Variant) -> str:
        values, flags = self.device.upload(self.integers), self.device.upload(self.flags)
        out, counts = stable_partition(values, flags, self.offsets, variant=variant)
        want, want_counts = stable_partition_twin.stable_partition(
            self.integers, self.flags, self.offsets
        )
        return first_difference("values", out.get(), want) or first_difference(
            "counts", counts.get(), want_counts
        )


class Trainings:
    """Small trainings with missing values, weights and a few huge targets."""

    def __init__(self, device: Device, n_rows: int) -> None:
        rng = np.random.default_rng(5)
        self.device = device
        self.values = (rng.integers(-40, 40, (n_rows, 5)) / 8).astype(np.float32)
        self.values[rng.random(self.values.shape) < 0.1] = np.nan
        signal = np.nan_to_num(self.values[:, 0]) * np.nan_to_num(self.values[:, 1])
        self.labels = {
            "binary:logistic": (signal > np.nan_to_num(self.values[:, 2])).astype(np.float32),
            "reg:squarederror": signal.astype(np.float32),
        }
        self.labels["reg:squarederror"][::50] *= 1000
        self.labels["multi:softprob"] = np.digitize(signal, [-1, 1]).astype(np.float32)
        self.weight = rng.integers(1, 4, n_rows).astype(np.float32)

    def run(self, objective: str, histogram: str) -> str:
        params = {"objective": objective, "n_estimators": 2, "max_depth": 3, "max_bin": 32}
        params |= TRAININGS[objective]
        label = self.labels[objective]
        twin = train_reference(Parameters.from_dict(params), self.values, label, self.weight)
        model = train(
            {**params, "device": self.device.caps.device_id, "histogram": histogram},
            Dataset(self.values, label, self.weight),
        )
        if to_xgboost_json(model.ensemble) != to_xgboost_json(twin):
            return f"the trained model ({objective}) differs from the twin's"
        margins = model.predict(self.values, output_margin=True, device=self.device)
        return first_difference("predictions", margins.T, predict_twin.predict(twin, self.values))


def cases(device: Device) -> list[Case]:
    """Return the comparisons for a device, the most important first.

    Primitives run in the device's default variant. Training kernels are compared by training
    with every histogram variant that the device can run.
    """
    n, n_rows = SIMULATED_SIZES if device.caps.is_simulator else SIZES
    primitives, trainings = Primitives(device, n), Trainings(device, n_rows)
    found = [Case("arithmetic", "", True, lambda: arithmetic.probe(device, n))]
    for kernel in kernels():
        test = getattr(primitives, kernel, None)
        variant = choose(kernel, device.caps)
        if test is not None:
            found.append(Case(kernel, variant.name, True, _call(test, variant)))
        elif kernel in RESULTS:
            run = _call(primitives.other, kernel, variant)
            found.append(Case(kernel, variant.name, True, run))
    chosen = choose("histogram", device.caps).name
    for variant in runnable("histogram", device.caps):
        for objective in TRAININGS if variant.name == chosen else ["binary:logistic"]:
            run = _call(trainings.run, objective, variant.name)
            found.append(Case(f"training {objective}", variant.name, variant.name == chosen, run))
    for variant in lookback_trial.variants(device.caps):
        run = _call(lookback_trial.run, device, variant)
        found.append(Case(variant.kernel, variant.name, False, run, measured_facts.LOOKBACK.name))
    return sorted(found, key=lambda case: not case.chosen)


def _call(function: Callable[..., str], *arguments: Any) -> Callable[[], str]:
    return lambda: function(*arguments)


def facts(device: Device) -> Iterator[dict[str, Any]]:
    """Measure the device; yield each fact's answer."""
    answers = dict(fact_store.load(device.caps))
    for fact in measured_facts.TABLE:
        if fact.measure is not None and fact.due(device.caps):
            yield {"starting": f"measuring {fact.name}", "chosen": True}
            try:
                answers[fact.name] = fact.measure(device)
            except Exception:  # the cases show what the driver raises
                answers[fact.name] = measured_facts.FAILED
        if fact.name in answers:
            yield _answer(fact.name, answers[fact.name])


def _answer(name: str, answer: int) -> dict[str, Any]:
    fact = next(fact for fact in measured_facts.TABLE if fact.name == name)
    return {"fact": name, "answer": answer, "text": fact.says(answer)}


def results(device: Device) -> Iterator[dict[str, Any]]:
    """Measure facts and run the cases.

    Before each, its name is yielded (``starting``); after it, the answer or the result.
    """
    yield from facts(device)
    tried: dict[str, bool] = {}
    for case in cases(device):
        yield {"starting": case.name, "chosen": case.chosen}
        begin, raised = time.perf_counter(), False
        try:
            problem = case.run()
        except Exception as error:  # a driver may raise anything; record it and go on
            problem, raised = f"{type(error).__name__}: {error}"[:_LONGEST_DETAIL], True
        if case.fact:
            tried[case.fact] = tried.get(case.fact, True) and not problem
        yield {
            "case": case.name,
            "chosen": case.chosen,
            "problem": problem,
            "raised": raised,
            "seconds": round(time.perf_counter() - begin, 3),
        }
    yield from (_answer(name, int(good)) for name, good in tried.items())
