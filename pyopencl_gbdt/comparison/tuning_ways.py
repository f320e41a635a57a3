"""The fits by which ``tune`` measures kernels: their data and their parameters.

A *way* is what a kernel of the variant table asks for, ``fitted_on`` and ``fitted_with``: numbers
with the default parameters, numbers that are mostly missing in tiled codes, categories as sets or
as statistics, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Capabilities
from pyopencl_gbdt.device.variants import KERNELS, fallbacks
from pyopencl_gbdt.device.variants.tuning import Choice
from pyopencl_gbdt.device.variants.variant import TunedRows

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
