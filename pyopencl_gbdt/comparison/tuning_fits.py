"""The fits and predictions in which ``tune`` times kernels, and checks its choice.

A kernel is timed by the device's clock, in a fit of synthetic data (or a prediction): a way of
`tuning_ways`. Its model has to have the same bytes for all choices. What was chosen is checked by
whole fits and predictions, by the host's clock.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from pyopencl_gbdt.comparison.tuning_ways import (
    BY_STEPS,
    PLAIN,
    FitKind,
    TuningData,
    grows_whole,
    way_of,
)
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Capabilities, Device, open_device
from pyopencl_gbdt.device.timing import Times, clock
from pyopencl_gbdt.device.variants import KERNELS, same_refusals
from pyopencl_gbdt.device.variants.search import Choices, Contest
from pyopencl_gbdt.device.variants.tuning import Choice, tunable, using
from pyopencl_gbdt.errors import GBDTError, KernelFallbackWarning
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.prediction.margins import predict_margins
from pyopencl_gbdt.profiling.profile import ROUNDS as ROUNDS_PHASE
from pyopencl_gbdt.training.train import Model, train

#: Trees are predicted so many times over, as a CPU has another kernel for many trees.
_OVER = 25
#: Kernels whose variants differ in their number of launches: timed by the host, with the gaps.
_BY_HOST = ("whole_trees",)
#: Rows of the small fit.
_FEW_ROWS = 5000


def many_trees(ensemble: Ensemble) -> Ensemble:
    """Return the ensemble with its trees many times over."""
    return replace(ensemble, trees=ensemble.trees * _OVER)


@contextlib.contextmanager
def fallbacks_raise() -> Iterator[None]:
    """Raise the warning that a kernel took another variant."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", KernelFallbackWarning)
        yield


class KernelTimes:
    """Times kernels on a device, for any choice of variants: a `KernelClock`.

    Parameters
    ----------
    repeats : int
        Number of measurements, of which the shortest counts. None goes first to warm up, as the
        device's clock does not count what is built.
    """

    def __init__(self, device: str, data: TuningData, repeats: int) -> None:
        self.device, self.data, self.repeats = device, data, repeats
        self.expected: dict[FitKind, str] = {}

    def seconds(self, kernel: str, choices: Mapping[str, Choice]) -> float:
        """Return a kernel's time in seconds on the device.

        Raises
        ------
        GBDTError
            If the kernel does not build or run, or changes the model.
        """
        kernels = (kernel, *KERNELS[kernel].timed_with)
        try:
            with same_refusals(), using(_in_place(kernel, choices)), fallbacks_raise():
                return Times(tuple(self._once(kernels) for _ in range(self.repeats))).fastest
        except KernelFallbackWarning as error:
            raise GBDTError(str(error).splitlines()[0]) from error

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
        for ensemble in (model.ensemble, many_trees(model.ensemble)):
            predict_margins(ensemble, model.tree_values(data), device)
        device.profiler.collect()
        totals = device.profiler.totals
        ours = [total for (_, name), total in totals.items() if name.split(".")[0] in kernels]
        return sum(total.seconds for total in ours)


def _in_place(kernel: str, choices: Mapping[str, Choice]) -> dict[str, Choice]:
    """Return the choices by which a kernel is measured: its fit runs it."""
    return {**choices, **BY_STEPS} if kernel not in BY_STEPS else dict(choices)


def contests(caps: Capabilities, data: TuningData) -> list[Contest]:
    """Return a fit for each way in which kernels are tuned, as users fit, and its prediction.

    Parameters
    ----------
    data : TuningData
        What the kernels were tuned on. The way of most kernels has a small fit, too. Where one
        launch grows the trees of so few rows, there are fits by the steps of more rows.
    """
    device = caps.device_id
    found = []
    with using({}):
        whole = grows_whole(caps)

    def add(name: str, rows: Dataset, way: FitKind, always: Choices) -> None:
        running = _running(device, rows, way, always) - always.keys()
        own = running & _measured(way)
        if own:
            fit = partial(_fit, device, rows, way, always)
            found.append(Contest(name, own, fit, beside=running - own))

    for way in sorted({way_of(name) for name in tunable()}):
        rows = data.of(way.rows)
        add(way.name, rows, way, {})
        if way == PLAIN:
            add("a small fit", data.few(_FEW_ROWS).of(way.rows), way, {})
        if whole and way in (PLAIN, way_of("symmetric")):
            add(f"{way.name} by steps", rows, way, BY_STEPS)
        predicting = frozenset(k for k in _measured(way) if KERNELS[k].phase == "prediction")
        if predicting:
            name = "prediction" if way == PLAIN else f"prediction, {way.name}"
            found.append(Contest(name, predicting, _prediction(device, rows, way)))
    return found


def _measured(way: FitKind) -> frozenset[str]:
    """Return the tunable kernels that are measured in a way's fits and predictions."""
    return frozenset(name for name in tunable() if way_of(name) == way)


def _running(device: str, data: Dataset, way: FitKind, always: Choices) -> frozenset[str]:
    """Return the tunable kernels that a fit launches with the table's choices."""
    data.forget()
    with using(always):
        profile = train(way.parameters(device), data, profile=True).profile
    assert profile is not None
    return frozenset(kernel.kernel.split(".")[0] for kernel in profile) & set(tunable())


def _fit(device: str, data: Dataset, way: FitKind, always: Choices, choices: Choices) -> float:
    data.forget()  # so that it is quantised again
    with using({**choices, **always}), fallbacks_raise():
        return clock(train, way.parameters(device), data)


def _prediction(device: str, data: Dataset, way: FitKind) -> Callable[[Choices], float]:
    """Return a clock of predictions with few and with many trees."""
    with using({}):
        model = train(way.parameters(device), data)
    models = [model, type(model)(many_trees(model.ensemble))]

    def predict() -> None:
        for one in models:
            one.predict(data, device=device)

    def seconds(choices: Choices) -> float:
        with using(choices):
            return clock(predict)

    return seconds
