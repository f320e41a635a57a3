"""The fits and predictions in which ``tune`` times kernels, and checks its choice.

A kernel is timed by the device's clock, in a fit of synthetic data (or a prediction): a *way*,
which a kernel of the variant table asks for by ``fitted_on`` and ``fitted_with``. Ways have numbers
with the default parameters, numbers that are mostly missing in tiled codes, categories as sets or
as statistics, and so on. A way's model has to have the same bytes for all choices. What was chosen
is checked by whole fits and predictions, by the host's clock.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Capabilities, Device, open_device
from pyopencl_gbdt.device.timing import Times, clock
from pyopencl_gbdt.device.variants import KERNELS, fallbacks, same_refusals
from pyopencl_gbdt.device.variants.search import Choices, Contest
from pyopencl_gbdt.device.variants.tuning import Choice, tunable, using
from pyopencl_gbdt.device.variants.variant import TunedRows
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

F32 = npt.NDArray[np.float32]

#: Rows of the synthetic data, normal and quick: enough that kernels take the time, not launches;
#: the second pair is for devices that hide latency.
_ROWS = (100_000, 20_000)
_MANY_ROWS = (1_000_000, 250_000)
_FEATURES = 28
ROUNDS = 4
#: Data that are mostly missing have more features and fewer rows.
_WIDER, _PRESENT = 8, 0.2
#: Levels of categorical features.
_LEVELS = (4, 8, 12, 24, 100, 1000)
#: Kernels of steps run, also where one launch would grow the trees of so few rows.
BY_STEPS = {"whole_trees": Choice("steps", {"wg_size": 1})}


@dataclass(frozen=True, order=True)
class FitKind:
    """A kind of fit.

    Attributes
    ----------
    rows : str
        The data, a word of `TunedRows`.
    params : tuple of (str, str)
        Parameters beside the default ones.
    """

    rows: TunedRows
    params: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """What is fitted, for people."""
        of_rows = {"numbers": "", "missing": "mostly missing", "categories": "categories"}
        words = [of_rows[self.rows], *(f"{key}={value}" for key, value in self.params)]
        return ", ".join(word for word in words if word) or "a fit"

    def parameters(self, device: str) -> dict[str, object]:
        """Return all parameters of the fit."""
        own = {"objective": "binary:logistic", "device": device, "n_estimators": ROUNDS}
        return {**own, **dict(self.params)}


#: Numbers and the default parameters.
PLAIN = FitKind("numbers", ())


def way_of(kernel: str) -> FitKind:
    """Return the kind of fit in which a kernel is measured."""
    known = KERNELS[kernel]
    return FitKind(known.fitted_on, tuple(known.fitted_with.items()))


def grows_whole(caps: Capabilities) -> bool:
    """Tell whether a device grows the trees of few rows by one launch."""
    return fallbacks("whole_trees", caps)[0].name != "steps"


class TuningData:
    """Seeded data of two classes, of every kind that ways ask for; each is made once."""

    def __init__(self, n_rows: int, n_features: int = _FEATURES) -> None:
        self.n_rows, self.n_features = n_rows, n_features
        self._made: dict[TunedRows, Dataset] = {}

    @classmethod
    def of_device(cls, caps: Capabilities, *, quick: bool) -> TuningData:
        """Return data of the size that a device is tuned on."""
        n_rows = (_MANY_ROWS if caps.hides_latency else _ROWS)[quick]
        fits = caps.global_bytes // (16 * 4 * _FEATURES)
        return cls(max(1000, min(n_rows, fits)))

    def few(self, n_rows: int) -> TuningData:
        """Return data of at most so many rows."""
        return TuningData(min(n_rows, self.n_rows), self.n_features)

    def of(self, rows: TunedRows) -> Dataset:
        """Return the data of a kind."""
        if rows not in self._made:
            self._made[rows] = {
                "numbers": self._numbers, "missing": self._missing, "categories": self._categories,
            }[rows]()  # fmt: skip
        return self._made[rows]

    def _numbers(self) -> Dataset:
        """Return numbers; one feature has few values, one has missing values."""
        rng, values = _drawn(self.n_rows, self.n_features)
        values[:, 1] = np.round(values[:, 1])
        values[rng.random(self.n_rows) < 0.2, 2] = np.nan
        return Dataset(values, _labels(rng, values[:, 0] * values[:, 3] + values[:, 1]))

    def _missing(self) -> Dataset:
        rng, values = _drawn(max(1, self.n_rows // 4), _WIDER * self.n_features)
        label = _labels(rng, values[:, 0] * values[:, 3] + values[:, 1])
        values[rng.random(values.shape, dtype=np.float32) >= np.float32(_PRESENT)] = np.nan
        return Dataset(values, label)

    def _categories(self) -> Dataset:
        """Return data whose first features are categorical, and interact."""
        rng, values = _drawn(self.n_rows, self.n_features)
        levels = _LEVELS[: self.n_features - 1]
        for column, n_levels in enumerate(levels):
            values[:, column] = rng.integers(0, n_levels, self.n_rows)
        first, last = values[:, 0], values[:, len(levels) - 1]
        label = _labels(rng, np.where((first + last) % 4 < 2, 1, -1) + values[:, -1])
        return Dataset(values, label, categorical_features=list(range(len(levels))))


def _drawn(n_rows: int, n_features: int) -> tuple[np.random.Generator, F32]:
    rng = np.random.default_rng(20)
    return rng, rng.standard_normal((n_rows, n_features), dtype=np.float32)


def _labels(rng: np.random.Generator, signal: F32) -> F32:
    noise = rng.standard_normal(len(signal), dtype=np.float32)
    return (signal + noise > 0).astype(np.float32)


__all__ = ["BY_STEPS", "PLAIN", "ROUNDS", "FitKind", "TuningData", "grows_whole", "way_of"]


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

    ``repeats``: number of measurements, of which the shortest counts. None goes first to warm up,
    as the device's clock does not count what is built.
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

    ``data``: the data of the tuning. The way of most kernels has a small fit, too. Where
    one launch grows the trees of so few rows, there are fits by the steps of more rows.
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
