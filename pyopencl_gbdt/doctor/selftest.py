"""Run every kernel variant on a device and compare the bits of its results with the known ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device, Variant, choose, fact_store, measured_facts, runnable
from pyopencl_gbdt.device.variants import kernels
from pyopencl_gbdt.doctor import arithmetic, lookback_trial, samples
from pyopencl_gbdt.doctor.known_results import KnownResults, Results, arrays_of, check_inputs
from pyopencl_gbdt.doctor.primitive_cases import RESULTS
from pyopencl_gbdt.training.train import train

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
    found = [Case("arithmetic", "", True, lambda: arithmetic.probe(device, n))]

    def add(
        title: str, name: str, run: Callable[[Variant], Results], variant: Variant, chosen: bool
    ) -> None:
        known = KnownResults(name, run, variant, caps)
        found.append(Case(title, variant.name, chosen, known.compare, explain=known.explain))

    for kernel in kernels():
        if kernel in RESULTS:
            run = partial(RESULTS[kernel], device, elements)
            add(kernel, samples.primitive_name(kernel, n), run, choose(kernel, caps), True)
    best = choose("histogram", caps).name
    for variant in runnable("histogram", caps):
        chosen = variant.name == best
        for loss in samples.TRAININGS if chosen else ["binary:logistic"]:
            run = partial(train_and_predict, device, loss, rows)
            add(f"training {loss}", samples.training_name(loss, n_rows), run, variant, chosen)
    for variant in lookback_trial.variants(caps):
        trial = partial(lookback_trial.run, device, variant)
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
                answers[fact.name] = measured_facts.FAILED
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
        begin = time.perf_counter()
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
            "seconds": round(time.perf_counter() - begin, 3),
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
