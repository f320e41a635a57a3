"""The whole fits and predictions by which ``tune`` checks what it chose."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from pyopencl_gbdt.cli.tuning import many_trees
from pyopencl_gbdt.cli.tuning_check import Choices, Contest
from pyopencl_gbdt.cli.tuning_ways import BY_STEPS, PLAIN, TuningData, Way, grows_whole, way_of
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Capabilities
from pyopencl_gbdt.device.tuning import tunable, using
from pyopencl_gbdt.device.variants import KERNELS
from pyopencl_gbdt.errors import KernelFallbackWarning
from pyopencl_gbdt.training.train import train

#: Rows of the small fit.
_FEW_ROWS = 5000


def contests(caps: Capabilities, data: TuningData) -> list[Contest]:
    """Return a fit for each way in which kernels are tuned, as users fit, and its prediction.

    Parameters
    ----------
    caps : Capabilities
    data : TuningData
        What the kernels were tuned on. The way of most kernels has further fits: a small one,
        and, where one launch grows the trees of so few rows, one by the steps of more rows.
    """
    device = caps.device_id
    found = []

    def add(name: str, rows: Dataset, way: Way, always: Choices) -> None:
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
            with using({}):
                whole = grows_whole(caps)
            if whole:
                add("a fit by steps", rows, way, BY_STEPS)
        predicting = frozenset(k for k in _measured(way) if KERNELS[k].phase == "prediction")
        if predicting:
            name = "prediction" if way == PLAIN else f"prediction, {way.name}"
            found.append(Contest(name, predicting, _prediction(device, rows, way)))
    return found


def _measured(way: Way) -> frozenset[str]:
    """Return the tunable kernels that are measured in a way's fits and predictions."""
    return frozenset(name for name in tunable() if way_of(name) == way)


def _running(device: str, data: Dataset, way: Way, always: Choices) -> frozenset[str]:
    """Return the tunable kernels that a fit launches with the table's choices."""
    data.forget()
    with using(always):
        profile = train(way.parameters(device), data, profile=True).profile
    assert profile is not None
    return frozenset(kernel.kernel.split(".")[0] for kernel in profile) & set(tunable())


def _fit(device: str, data: Dataset, way: Way, always: Choices, choices: Choices) -> float:
    data.forget()  # so that it is quantised again
    with using({**choices, **always}), warnings.catch_warnings():
        warnings.simplefilter("error", KernelFallbackWarning)
        start = time.perf_counter()
        train(way.parameters(device), data)
        return time.perf_counter() - start


def _prediction(device: str, data: Dataset, way: Way) -> Callable[[Choices], float]:
    """Return a clock of predictions with few and with many trees."""
    with using({}):
        model = train(way.parameters(device), data)
    many = replace(model.ensemble, trees=many_trees(model.ensemble.trees))
    models = [model, type(model)(many)]

    def seconds(choices: Choices) -> float:
        with using(choices):
            start = time.perf_counter()
            for one in models:
                one.predict(data, device=device)
            return time.perf_counter() - start

    return seconds
