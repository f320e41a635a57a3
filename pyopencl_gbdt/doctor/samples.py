"""What the self-test computes with: the same bits on every machine and with every NumPy.

The digests of the results are known only for these inputs. So every number is made of the
library's own random bits by integer operations; floats are integers times powers of two, which
float32 holds exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.numerics.random_numbers import random_bits, stream

F32 = npt.NDArray[np.float32]
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
_COMMON: dict[str, Any] = {"n_estimators": 2, "max_depth": 3, "max_bin": 32}
_SEED, _N_FEATURES, _N_CUTS = 3, 5, 20
#: The training whose model is explained, and for how many of its rows.
EXPLAINED, EXPLAINED_ROWS = "binary:logistic", 20


@dataclass(frozen=True)
class SampleElements:
    """What the primitives compute with, n elements.

    Attributes
    ----------
    floats : float32 array, shape (n,)
        Numbers of both signs and many magnitudes, so that the order of sums shows in their bits.
    integers : int32 array, shape (n,)
    flags : uint8 array, shape (n,)
        0 or 1.
    offsets : int64 array, shape (n_segments + 1,)
        Where segments begin, and n.
    """

    floats: F32
    integers: npt.NDArray[np.int32]
    flags: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]


@dataclass(frozen=True)
class SampleRows:
    """What the trainings learn from: missing values, weights and a few huge targets."""

    values: F32
    weight: F32
    labels: Mapping[str, F32]
    """By loss."""


def _bits(what: int, n: int) -> npt.NDArray[np.int64]:
    """Return n random numbers of 32 bits; ``what`` tells the streams apart."""
    return random_bits(stream(_SEED, what, 0), np.arange(n)).astype(np.int64)


def elements(n: int) -> SampleElements:
    """Return the inputs of the primitives."""
    mantissas, exponents = (_bits(0, n) >> 8) - (1 << 23), _bits(1, n) % 8 - 24
    cuts = np.sort(_bits(4, _N_CUTS) % (n + 1))
    return SampleElements(
        np.ldexp(mantissas.astype(np.float32), exponents.astype(np.int32)),
        _bits(2, n).astype(np.uint32).view(np.int32),
        (_bits(3, n) % 10 < 3).astype(np.uint8),
        np.concatenate([[0], cuts, [n]]),
    )


def rows(n_rows: int) -> SampleRows:
    """Return the data of the trainings."""
    shape = (n_rows, _N_FEATURES)
    eighths = (_bits(5, n_rows * _N_FEATURES) % 80 - 40).reshape(shape)
    missing = (_bits(6, n_rows * _N_FEATURES) % 10 == 0).reshape(shape)
    known = np.where(missing, 0, eighths)
    products = known[:, 0] * known[:, 1]  # of the first two features, in 64ths
    target = (products / 64).astype(np.float32)
    target[::50] *= 1000
    labels = {
        "binary:logistic": products > 8 * known[:, 2],
        "reg:squarederror": target,
        "multi:softprob": np.digitize(products, [-64, 64]),
    }
    return SampleRows(
        np.where(missing, np.nan, eighths / 8).astype(np.float32),
        (1 + _bits(7, n_rows) % 3).astype(np.float32),
        {loss: label.astype(np.float32) for loss, label in labels.items()},
    )


def parameters_of(loss: str) -> dict[str, Any]:
    """Return the parameters of a training."""
    return {"objective": loss, **_COMMON, **TRAININGS[loss]}


def inputs(n: int, n_rows: int) -> dict[str, npt.NDArray[Any]]:
    """Return all that the comparisons of a size compute with, by name."""
    data = rows(n_rows)
    found = {**vars(elements(n)), "values": data.values, "weight": data.weight}
    return {**found, **data.labels}
