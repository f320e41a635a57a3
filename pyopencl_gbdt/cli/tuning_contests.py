"""The whole fits and predictions by which ``tune`` checks what it chose."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from pyopencl_gbdt.cli.tuning import BY_STEPS, ROUNDS, many_trees, synthetic
from pyopencl_gbdt.cli.tuning_check import Choices, Contest
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device.tuning import tunable, using
from pyopencl_gbdt.device.variants import KERNELS
from pyopencl_gbdt.errors import KernelFallbackWarning
from pyopencl_gbdt.training.train import train

#: Rows of the small fit.
_FEW_ROWS = 5000


def contests(device: str, data: Dataset) -> list[Contest]:
    """Return a fit for each set of parameters that kernels are tuned with, and its prediction.

    Parameters
    ----------
    device : str
    data : Dataset
        What the kernels were tuned on. The parameters that most kernels are tuned with have a
        small fit, too.
    """
    few = synthetic(min(_FEW_ROWS, data.n_rows), data.n_features)
    found = []
    ways = {tuple(KERNELS[name].fitted_with.items()) for name in tunable()}
    for way in sorted(ways):
        kernels = [name for name in tunable() if tuple(KERNELS[name].fitted_with.items()) == way]
        predicting = frozenset(k for k in kernels if KERNELS[k].phase == "prediction")
        training = frozenset(kernels) - predicting
        name = ", ".join(f"{key}={value}" for key, value in way) or "a fit"
        for said, rows in ((name, data), *([] if way else [("a small fit", few)])):
            if training:
                fit = partial(_seconds_of_fit, device, rows, dict(way))
                found.append(Contest(said, training, fit))
        if predicting:
            predict = _prediction(device, data, dict(way))
            found.append(Contest(f"prediction, {name}", predicting, predict))
    return found


def _parameters(device: str, way: Mapping[str, str]) -> dict[str, object]:
    return {"objective": "binary:logistic", "device": device, "n_estimators": ROUNDS, **way}


def _seconds_of_fit(device: str, data: Dataset, way: Mapping[str, str], choices: Choices) -> float:
    data.forget()  # so that it is quantised again
    with using({**BY_STEPS, **choices}), warnings.catch_warnings():
        warnings.simplefilter("error", KernelFallbackWarning)
        start = time.perf_counter()
        train(_parameters(device, way), data)
        return time.perf_counter() - start


def _prediction(device: str, data: Dataset, way: Mapping[str, str]) -> Callable[[Choices], float]:
    """Return a clock of predictions with few and with many trees."""
    with using({}):
        model = train(_parameters(device, way), data)
    many = replace(model.ensemble, trees=many_trees(model.ensemble.trees))
    models = [model, type(model)(many)]

    def seconds(choices: Choices) -> float:
        with using(choices):
            start = time.perf_counter()
            for one in models:
                one.predict(data, device=device)
            return time.perf_counter() - start

    return seconds
