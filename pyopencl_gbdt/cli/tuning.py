"""Measure the variants and sizes of kernels on a device, and choose the fastest.

Kernels are tuned one after another, parameter by parameter, each with the earlier choices in place.
Times are measured by the device's clock, in fits of synthetic data (and predictions), a way of
`tuning_ways` for each kind of fit. A candidate is accepted only if its model has the same bytes as
the table's, and if it is faster twice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from pyopencl_gbdt.cli.tuning_ways import BY_STEPS, TuningData, Way, way_of
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Capabilities, Device, Variant, find, open_device, runnable
from pyopencl_gbdt.device.tuning import Choice, sizes, tunable, using
from pyopencl_gbdt.device.variants import KERNELS, REFUSED, fallbacks, refusal
from pyopencl_gbdt.errors import GBDTError, KernelFallbackWarning
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.prediction.margins import predict_margins
from pyopencl_gbdt.profiling.profile import ROUNDS as ROUNDS_PHASE
from pyopencl_gbdt.training.train import Model, train

#: Trees are predicted so many times over, as a CPU has another kernel for many trees.
_OVER = 25
#: Kernels whose variants differ in their number of launches: timed by the host, with the gaps.
_BY_HOST = ("whole_trees",)
#: A candidate must take at most this share of the table's time, since clocks are noisy.
_WORTH = 0.97


@dataclass(frozen=True)
class Tuned:
    """The result for a kernel.

    Attributes
    ----------
    kernel : str
    table, chosen : Choice
        The variant table's choice, and the fastest; equal if nothing is faster.
    table_seconds, chosen_seconds : float
        Time of the kernel in one measurement, by the device's clock.
    tried : int
        Number of candidates that ran.
    failed : tuple of str
        Candidates that did not run, and why.
    """

    kernel: str
    table: Choice
    chosen: Choice
    table_seconds: float
    chosen_seconds: float
    tried: int
    failed: tuple[str, ...] = ()


def many_trees(trees: list[Tree]) -> list[Tree]:
    """Return the trees, many times over."""
    return trees * _OVER


class Measurement:
    """Times kernels on a device, for any choice of variants.

    Parameters
    ----------
    device : str
    data : TuningData
    repeats : int
        Number of measurements, of which the shortest counts.
    """

    def __init__(self, device: str, data: TuningData, repeats: int) -> None:
        self.device, self.data, self.repeats = device, data, repeats
        self.expected: dict[Way, str] = {}

    def seconds(self, kernel: str, choices: Mapping[str, Choice]) -> float:
        """Return a kernel's time in seconds on the device.

        Raises
        ------
        GBDTError
            If the kernel does not build or run, or changes the model.
        """
        kernels = (kernel, *KERNELS[kernel].timed_with)
        refused = set(REFUSED)
        try:
            with using(_in_place(kernel, choices)), warnings.catch_warnings():
                warnings.simplefilter("error", KernelFallbackWarning)
                return min(self._once(kernels) for _ in range(self.repeats))
        except KernelFallbackWarning as error:
            raise GBDTError(str(error).splitlines()[0]) from error
        finally:
            REFUSED.clear()
            REFUSED.update(refused)

    def _once(self, kernels: tuple[str, ...]) -> float:
        way, phase = way_of(kernels[0]), KERNELS[kernels[0]].phase
        data = self.data.of(way.rows)
        if phase == "set-up" or way.rows == "categories":
            data.forget()
        model = train(way.parameters(self.device), data, profile=True)
        text = to_json(model.ensemble)
        if text != self.expected.setdefault(way, text):
            raise GBDTError("it gives another model: please report it, with the device")
        if phase == "prediction":
            return self._predict(model, data, kernels)
        assert model.profile is not None
        if kernels[0] in _BY_HOST:
            return model.profile.wall_seconds[ROUNDS_PHASE]
        return sum(k.seconds for k in model.profile if k.kernel.split(".")[0] in kernels)

    def _predict(self, model: Model, data: Dataset, kernels: tuple[str, ...]) -> float:
        device: Device = open_device(self.device, profile=True)
        assert device.profiler is not None
        many = replace(model.ensemble, trees=many_trees(model.ensemble.trees))
        for ensemble in (model.ensemble, many):
            predict_margins(ensemble, model.tree_values(data), device)
        device.profiler.collect()
        totals = device.profiler.totals
        ours = [total for (_, name), total in totals.items() if name.split(".")[0] in kernels]
        return sum(total.seconds for total in ours)


def _in_place(kernel: str, choices: Mapping[str, Choice]) -> dict[str, Choice]:
    """Return the choices by which a kernel is measured: its fit runs it."""
    return {**choices, **BY_STEPS} if kernel not in BY_STEPS else dict(choices)


def candidates(best: Variant, *, quick: bool) -> Iterator[tuple[str, int]]:
    """Yield (parameter, value) to try instead of ``best``'s; only next sizes if ``quick``."""
    for name in KERNELS[best.kernel].tuned:
        if name not in best.params:
            continue
        values = sizes(best, name)
        at = values.index(best.params[name])
        near = values[max(0, at - 1) : at + 2] if quick else values
        yield from ((name, value) for value in near if value != values[at])


def tune(
    device: str = "auto",
    *,
    quick: bool = False,
    report: Callable[[Tuned], None] = lambda tuned: None,
    ended: Callable[[], bool] = lambda: False,
) -> list[Tuned]:
    """Measure and choose; stores nothing.

    Parameters
    ----------
    device : str, default "auto"
    quick : bool, default False
        Fewer rows; of every parameter only the values next to the table's; no variants that are
        made for another kind of device.
    report : callable
        Called with each kernel's result.
    ended : callable
        Tells whether the time is over: then no further candidate is tried.

    Returns
    -------
    list of Tuned
        One for each kernel of ``tunable``, in its order, that was begun in time.

    Raises
    ------
    DeviceError
        If the device does not exist, or the variant table's choice fails on it.
    """
    info = find(device)
    assert info.caps is not None
    measurement = Measurement(
        info.device_id, TuningData.of_device(info.caps, quick=quick), repeats=2 if quick else 3
    )
    chosen: dict[str, Choice] = {}
    outcomes = []
    for kernel in tunable():
        if ended():
            break
        outcome = tune_kernel(kernel, info.caps, measurement, chosen, quick=quick, ended=ended)
        if outcome.chosen != outcome.table:
            chosen[kernel] = outcome.chosen
        outcomes.append(outcome)
        report(outcome)
    return outcomes


def tune_kernel(
    kernel: str,
    caps: Capabilities,
    measurement: Measurement,
    before: Mapping[str, Choice],
    *,
    quick: bool,
    ended: Callable[[], bool] = lambda: False,
) -> Tuned:
    """Choose the variant and sizes of one kernel, given the choices for others.

    A kernel that the device does not run in its fit keeps the table's choice.
    """
    with using({}):
        table = fallbacks(kernel, caps)[0]
    tried, failed = 0, []

    def seconds(variant: Variant) -> float:
        nonlocal tried
        choice = Choice(variant.name, dict(variant.params))
        try:
            result = measurement.seconds(kernel, {**before, kernel: choice})
        except GBDTError as error:
            if variant is table:
                raise
            failed.append(f"{variant.name} {dict(variant.params)}: {str(error).splitlines()[0]}")
            return float("inf")
        tried += 1
        return result

    best, best_seconds = table, seconds(table)
    there = best_seconds > 0
    for variant in runnable(kernel, caps) if there else []:
        other_kind = not variant.suits(caps)
        if (
            variant.name != table.name
            and refusal(variant, caps) not in REFUSED
            and not (quick and other_kind)
            and not ended()
        ):
            took = seconds(variant)
            if took < _WORTH * best_seconds:
                best, best_seconds = variant, took
    for name, value in candidates(best, quick=quick) if there else []:
        if ended():
            break
        variant = replace(best, params={**best.params, name: value})
        took = seconds(variant)
        if took < _WORTH * best_seconds:
            best, best_seconds = variant, took
    table_seconds = best_seconds
    if best is not table:  # time both again, in case the first time was a matter of luck
        table_seconds, best_seconds = seconds(table), seconds(best)
        if not best_seconds < _WORTH * table_seconds:
            best, best_seconds = table, table_seconds
    return Tuned(
        kernel,
        Choice(table.name, dict(table.params)),
        Choice(best.name, dict(best.params)),
        table_seconds,
        best_seconds,
        tried,
        tuple(failed),
    )


__all__ = ["Measurement", "Tuned", "candidates", "many_trees", "tune", "tune_kernel"]
