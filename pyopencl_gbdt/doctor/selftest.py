"""Run every kernel variant on a device and compare the bits of its results with the known ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device, Variant, choose, runnable
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.drivers import fact_store, measured_facts
from pyopencl_gbdt.device.drivers.atomic_facts import FAILED
from pyopencl_gbdt.device.drivers.measured_facts import LOOKBACK
from pyopencl_gbdt.device.timing import Stopwatch
from pyopencl_gbdt.device.variants import kernels
from pyopencl_gbdt.device.variants.table import TABLE
from pyopencl_gbdt.doctor import samples
from pyopencl_gbdt.doctor.primitive_cases import (
    RESULTS,
    KnownResults,
    Results,
    arrays_of,
    check_inputs,
)
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.numerics import portable_math as pm
from pyopencl_gbdt.primitives.radix_sort import radix_sort
from pyopencl_gbdt.primitives.scan import scan
from pyopencl_gbdt.primitives.segmented_scan import segmented_scan
from pyopencl_gbdt.training.train import train

F32 = npt.NDArray[np.float32]
#: Columns of the kernel ``floats`` of the template ``math_probe``.
COLUMNS = (
    "two_sum.hi", "two_sum.lo", "fast_two_sum.hi", "fast_two_sum.lo", "two_prod.hi", "two_prod.lo",
    "df_add.hi", "df_add.lo", "df_neg.hi", "df_neg.lo", "df_mul.hi", "df_mul.lo", "df_div.hi",
    "df_div.lo", "df_scale.hi", "df_scale.lo", "a * c + d", "reciprocal", "exp", "sigmoid",
    "scale_by", "power_of_two", "df_less",
)  # fmt: skip
_WG_SIZE = 64


def arithmetic_inputs(n: int) -> tuple[F32, F32, F32, F32, npt.NDArray[np.int32]]:
    """Return inputs a, b, c, d, k; a quarter of them reveal products fused with sums."""
    rng = np.random.default_rng(7)

    def floats(low: float, high: float) -> F32:
        powers = np.exp2(rng.integers(-20, 21, n))
        return (rng.uniform(low, high, n) * powers).astype(np.float32)

    a, c, d = floats(-2, 2), floats(1, 2), floats(-2, 2)
    a[: n // 16] = rng.uniform(-80, 80, n // 16)
    d[: n // 4] = -(a * c)[: n // 4]  # if fused, the result is the rounding error of the product
    b = (a * np.float32(2.0**-25) * rng.uniform(-1, 1, n).astype(np.float32)).astype(np.float32)
    return a, b, c, d, rng.integers(-60, 61, n).astype(np.int32)


def expected_arithmetic(a: F32, b: F32, c: F32, d: F32, k: npt.NDArray[np.int32]) -> F32:
    """Return the results that the kernel must give, from the twins; shape (n, len(COLUMNS))."""
    x, y, quarter = (a, b), (c, d), np.float32(0.25)
    with np.errstate(all="ignore"):
        pairs = [
            pm.two_sum(a, c),
            pm.fast_two_sum(a, b),
            pm.two_prod(a, c),
            pm.df_add(x, y),
            pm.df_neg(x),
            pm.df_mul(x, y),
            pm.df_div(x, y),
            (a * quarter, b * quarter),
        ]
        scaled, power = np.empty_like(a), np.empty_like(a)
        for exponent in np.unique(k):
            here = k == exponent
            scaled[here] = pm.scale_by(a[here], int(exponent))
            power[here] = pm.power_of_two(int(exponent))
        singles = [
            a * c + d,
            pm.reciprocal(c),
            pm.portable_exp(a),
            pm.portable_sigmoid(a),
            scaled,
            power,
            pm.df_less(x, y).astype(np.float32),
        ]
    return np.stack([part for pair in pairs for part in pair] + singles, axis=1)


def compare_arithmetic(device: Device, n: int) -> str:
    """Compare a driver's arithmetic with the twins.

    Returns
    -------
    str
        Empty if all bits agree; else which results differ, and how often.
    """
    inputs = arithmetic_inputs(n)
    program = device.build("math_probe", wg_size=_WG_SIZE, fields="")
    results = device.zeros((n, len(COLUMNS)), np.float32)
    groups = -(-n // program.wg_size)
    program.launch("floats", groups, np.uint32(n), *map(device.upload, inputs), results)
    got, want = results.get(), expected_arithmetic(*inputs)
    relevant = ~np.isin(np.arange(len(COLUMNS)), (12, 13)) | _dividable(inputs)[:, None]
    differs = (got.view(np.uint32) != want.view(np.uint32)) & relevant
    if not differs.any():
        return ""
    counts = differs.sum(axis=0)
    named = [f"{COLUMNS[i]} in {counts[i]}" for i in np.flatnonzero(counts)]
    text = f"of {n} results differ: {', '.join(named)}"
    if counts[COLUMNS.index("a * c + d")]:
        text += "; the compiler fuses products with sums although it is told not to"
    return text


def _dividable(inputs: tuple[npt.NDArray[np.generic], ...]) -> npt.NDArray[np.bool_]:
    """Return where (c, d) is a valid number in two floats, as division requires."""
    c, d = np.asarray(inputs[2], np.float64), np.asarray(inputs[3], np.float64)
    return np.asarray(np.abs(d) <= np.abs(c) * 2.0**-24)


Array = npt.NDArray[Any]
#: Elements, hundreds of tiles; and runs, as a race shows now and then.
N_ELEMENTS, N_RUNS = 1 << 19, 8


def _scan(device: Device, values: Array, variant: Variant) -> list[tuple[Array, Array]]:
    got = scan(device.upload(values), inclusive=True, variant=variant).get()
    return [(got, np.cumsum(values, dtype=values.dtype))]


def _segmented_scan(device: Device, values: Array, variant: Variant) -> list[tuple[Array, Array]]:
    heads = (values & 1023) == 0
    flags = device.upload(heads.astype(np.uint8))
    got = segmented_scan(device.upload(values), flags, inclusive=True, variant=variant).get()
    sums = np.cumsum(values, dtype=values.dtype)
    start = np.maximum.accumulate(np.where(heads, np.arange(values.size), 0))
    return [(got, sums - sums[start] + values[start])]


def _radix_sort(device: Device, values: Array, variant: Variant) -> list[tuple[Array, Array]]:
    keys, rows = device.upload(values), device.upload(np.arange(values.size, dtype=np.uint32))
    radix_sort(keys, rows, variant=variant)
    order = np.argsort(values, kind="stable")
    return [(keys.get(), values[order]), (rows.get(), order.astype(np.uint32))]


_RUNS: dict[str, Callable[[Device, Array, Variant], list[tuple[Array, Array]]]] = {
    "scan": _scan,
    "segmented_scan": _segmented_scan,
    "radix_sort": _radix_sort,
}


def variants_on_trial(caps: Capabilities) -> list[Variant]:
    """Return the variants with look-back that a device would get; none if it has or needs none."""
    if caps.lookback or not LOOKBACK.due(caps):
        return []
    return [
        variant
        for variant in TABLE
        if variant.lookback and variant.kernel in _RUNS and variant.suits(caps)
        and not variant.warp_words
    ]  # fmt: skip


def try_look_back(device: Device, variant: Variant) -> str:
    """Run a variant; return how a result differs, empty if none does."""
    values = np.random.default_rng(9).integers(-(2**31), 2**31, N_ELEMENTS).astype(np.int32)
    for attempt in range(N_RUNS):
        for got, want in _RUNS[variant.kernel](device, values, variant):
            wrong = np.count_nonzero(got != want)
            if wrong:
                return f"run {attempt + 1} of {N_RUNS}: {wrong} of {want.size} differ"
    return ""


_LONGEST_DETAIL = 4000


@dataclass(frozen=True)
class Case:
    """One comparison of a kernel variant with its known results."""

    kernel: str
    variant: str
    chosen: bool
    """Whether the device uses this variant by default."""
    run: Callable[[], str]
    """Returns how the results differ; empty if they are equal."""
    fact: str = ""
    """The fact of ``measured_facts`` that holds if the results of all its cases are equal."""
    explain: Callable[[], str] = str
    """Returns more of how they differed, from further runs."""

    @property
    def name(self) -> str:
        return f"{self.kernel}: {self.variant}" if self.variant else self.kernel


def train_and_predict(
    device: Device, loss: str, data: samples.SampleRows, variant: Variant
) -> Results:
    """Return the arrays of a model that a device trains, and its predictions."""
    params = {**samples.parameters_of(loss), "device": device.caps.device_id}
    rows = Dataset(data.values, data.labels[loss], data.weight)
    model = train({**params, "histogram": variant.name}, rows)
    margins = model.predict(data.values, output_margin=True, device=device)
    return {**arrays_of(model.ensemble), "predictions": margins.T}


def train_and_explain(device: Device, data: samples.SampleRows, _: Variant) -> Results:
    """Return what columns, and pairs of them, add to margins of a model that a device trains."""
    loss = samples.EXPLAINED
    params = {**samples.parameters_of(loss), "device": device.caps.device_id}
    model = train(params, Dataset(data.values, data.labels[loss], data.weight))
    rows = data.values[: samples.EXPLAINED_ROWS]
    return {
        "contributions": model.predict(rows, pred_contribs=True, device=device),
        "interactions": model.predict(rows, pred_interactions=True, device=device),
    }


def sizes_of(device: Device) -> tuple[int, int]:
    """Return the elements of a primitive and the rows of a training."""
    return samples.SIMULATED_SIZES if device.caps.is_simulator else samples.SIZES


def cases(device: Device) -> list[Case]:
    """Return the comparisons for a device, the most important first.

    Primitives run in the device's default variant. Training kernels are compared by training
    with every histogram variant that the device can run.
    """
    n, n_rows = sizes_of(device)
    elements, rows, caps = samples.elements(n), samples.rows(n_rows), device.caps
    found = [Case("arithmetic", "", True, lambda: compare_arithmetic(device, n))]

    def add(
        title: str, name: str, run: Callable[[Variant], Results], variant: Variant, chosen: bool
    ) -> None:
        known = KnownResults(name, run, variant, caps)
        found.append(Case(title, variant.name, chosen, known.compare, explain=known.explain))

    for kernel in kernels():
        if kernel in RESULTS:
            run = partial(RESULTS[kernel], device, elements)
            add(kernel, f"{kernel} {n}", run, choose(kernel, caps), True)
    best = choose("histogram", caps).name
    for variant in runnable("histogram", caps):
        chosen = variant.name == best
        for loss in samples.TRAININGS if chosen else ["binary:logistic"]:
            run = partial(train_and_predict, device, loss, rows)
            add(f"training {loss}", f"training {loss} {n_rows}", run, variant, chosen)
    explains = partial(train_and_explain, device, rows)
    name, variant = f"contributions {n_rows}", choose("contributions", caps)
    add("contributions", name, explains, variant, True)
    for variant in variants_on_trial(caps):
        trial = partial(try_look_back, device, variant)
        found.append(Case(variant.kernel, variant.name, False, trial, measured_facts.LOOKBACK.name))
    return sorted(found, key=lambda case: not case.chosen)


def facts(device: Device) -> Iterator[dict[str, Any]]:
    """Measure the device; yield each fact's answer."""
    answers = dict(fact_store.load(device.caps))
    for fact in measured_facts.TABLE:
        if fact.measure is not None and fact.due(device.caps):
            yield {"starting": f"measuring {fact.name}", "chosen": True}
            try:
                answers[fact.name] = fact.measure(device)
            except Exception:  # the cases show what the driver raises
                answers[fact.name] = FAILED
        if fact.name in answers:
            yield _answer(fact.name, answers[fact.name])


def _answer(name: str, answer: int) -> dict[str, Any]:
    fact = next(fact for fact in measured_facts.TABLE if fact.name == name)
    return {"fact": name, "answer": answer, "text": fact.says(answer)}


def results(device: Device) -> Iterator[dict[str, Any]]:
    """Measure facts, run the cases, then explain wrong results.

    Before each, its name is yielded (``starting``); after it, the answer or the result. What
    explains a wrong result (``detail``) comes last: the runs for it may crash the driver.
    """
    yield from facts(device)
    check_inputs(*sizes_of(device))
    tried: dict[str, bool] = {}
    wrong = []
    for case in cases(device):
        yield {"starting": case.name, "chosen": case.chosen}
        watch = Stopwatch()
        problem, raised = _said(case.run)
        if case.fact:
            tried[case.fact] = tried.get(case.fact, True) and not problem
        if problem and not raised:
            wrong.append(case)
        yield {
            "case": case.name,
            "chosen": case.chosen,
            "problem": problem,
            "raised": raised,
            "seconds": round(watch.lap(), 3),
        }
    yield from (_answer(name, int(good)) for name, good in tried.items())
    for case in wrong:
        yield {"starting": f"{case.name} again", "chosen": False}
        detail, _ = _said(case.explain)
        yield {"explained": case.name, "detail": detail}


def _said(function: Callable[[], str]) -> tuple[str, bool]:
    """Return what a function returns or raises, and whether it raised."""
    try:
        return function(), False
    except Exception as error:  # a driver may raise anything; record it and go on
        return f"{type(error).__name__}: {error}"[:_LONGEST_DETAIL], True
