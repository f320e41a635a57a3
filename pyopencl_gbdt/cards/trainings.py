"""Twenty small trainings that together use every loss family, trainer and growth policy.

A device that gives the digests of ``digests.EXPECTED`` trains as all others do. Values and labels
come from integers by exact sums and products, so they are the same on every machine. Trainings
share the sizes of their data and trees, and so most of their kernels. A card's report also has
safer ways to repeat them, and the rounds of larger shapes, which are timed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from pyopencl_gbdt.comparison.shapes import SHAPES
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.model.formats.own_json import VERSION
from pyopencl_gbdt.numerics.random_numbers import random_bits, stream
from pyopencl_gbdt.training.train import train

F32 = npt.NDArray[np.float32]

N_ROWS, N_FEATURES, N_ROUNDS = 600, 8, 3
#: Rows of a query.
_QUERY = 17
#: Levels of the first two columns where they are categorical.
_LEVELS = (6, 40)
_COMMON = {"max_depth": 4, "max_bin": 32, "verbosity": 0}
_half, _quarter = np.float32(0.5), np.float32(0.25)
#: The shapes whose rounds are timed, the smallest first.
TIMED = {
    "small": replace(SHAPES["small"], n_rounds=20),
    "million": replace(
        SHAPES["higgs"], name="million", title="HIGGS-like, a million rows", n_rows=1_000_000,
        n_rounds=5,
    ),
    "wide": replace(SHAPES["bosch"], name="wide", n_rows=10_000, n_rounds=3),
}  # fmt: skip


@dataclass(frozen=True)
class CardRows:
    """What the trainings learn from.

    Attributes
    ----------
    values : float32 array, shape (N_ROWS, N_FEATURES)
        Multiples of 1/8; a tenth is NaN.
    signal : float32 array, shape (N_ROWS,)
        What labels are made of.
    weight : float32 array, shape (N_ROWS,)
        0 to 3.
    coded : float32 array, shape (N_ROWS, N_FEATURES)
        The values, with two categorical columns in front.
    sparse : scipy.sparse.csr_matrix
        A quarter of the values.
    """

    values: F32
    signal: F32
    weight: F32
    coded: F32
    sparse: scipy.sparse.csr_matrix

    @property
    def positive(self) -> F32:
        return np.asarray(np.abs(self.signal) + _quarter, np.float32)

    @property
    def sign(self) -> F32:
        return (self.signal > 0).astype(np.float32)

    @property
    def share(self) -> F32:
        """Labels between 0 and 1."""
        return np.asarray(np.clip(self.signal * _quarter, 0, 1), np.float32)


def _integers(key: int, *shape: int) -> npt.NDArray[np.uint32]:
    bits = random_bits(stream(0, key, 0), np.arange(math.prod(shape)))
    return bits.reshape(shape)


@cache
def rows() -> CardRows:
    """Return the rows of all trainings."""
    bits = _integers(0, N_ROWS, N_FEATURES)
    values = ((bits % 161).astype(np.float32) - np.float32(80)) / np.float32(8)
    values[(bits >> 20) % 10 == 0] = np.nan
    known = np.nan_to_num(values)
    step = np.where(known[:, 1] > known[:, 2], np.float32(4), np.float32(-4))
    levels = _integers(2, N_ROWS, len(_LEVELS)) % np.array(_LEVELS, np.uint32)
    kept = np.where((bits >> 12) % 4 == 0, known, np.float32(0))
    return CardRows(
        values,
        signal=known[:, 0] + known[:, 3] * _half + step,
        weight=(_integers(1, N_ROWS) % 4).astype(np.float32),
        coded=np.concatenate([levels.astype(np.float32), values[:, len(_LEVELS) :]], axis=1),
        sparse=scipy.sparse.csr_matrix(kept),
    )


def _heavy(data: CardRows) -> F32:
    return np.where(np.arange(N_ROWS) % 50 == 0, data.signal * np.float32(1000), data.signal)


def _three_classes(data: CardRows) -> F32:
    return np.asarray(np.clip(np.floor(data.signal * _quarter) + np.float32(1), 0, 2), np.float32)


@dataclass(frozen=True)
class Training:
    """One training.

    Attributes
    ----------
    label : callable
        Makes the labels.
    kind : str
        ``dense``, ``coded`` (two categorical columns), ``sparse`` or ``queries``.
    """

    params: dict[str, Any]
    label: Callable[[CardRows], F32] = lambda data: data.signal
    kind: str = "dense"

    def dataset(self) -> Dataset:
        """Return the rows with their labels and weights."""
        data = rows()
        label = self.label(data)
        if self.kind == "queries":
            return Dataset(data.values, label, qid=np.arange(N_ROWS) // _QUERY)
        if self.kind == "coded":
            columns = list(range(len(_LEVELS)))
            return Dataset(data.coded, label, data.weight, categorical_features=columns)
        return Dataset(data.sparse if self.kind == "sparse" else data.values, label, data.weight)


def _sign(data: CardRows) -> F32:
    return data.sign


def _positive(data: CardRows) -> F32:
    return data.positive


#: By name, the most telling first.
TRAININGS: dict[str, Training] = {
    "logistic": Training({"objective": "binary:logistic"}, _sign),
    "sampled": Training({"objective": "reg:squarederror", "subsample": 0.5}, _heavy),
    "classes": Training(
        {"objective": "multi:softprob", "num_class": 3, "sampling_method": "gradient_based",
         "subsample": 0.5},
        _three_classes,
    ),
    "best first": Training(
        {"objective": "reg:absoluteerror", "grow_policy": "lossguide", "max_leaves": 9,
         "max_depth": 0, "colsample_bynode": 0.6},
    ),
    "sets": Training({"objective": "reg:logistic", "cat_method": "sets"},
                     lambda data: data.share, "coded"),
    "exact": Training({"objective": "reg:pseudohubererror", "tree_method": "exact"}),
    "symmetric": Training({"objective": "count:poisson", "grow_policy": "symmetric"},
                          lambda data: np.floor(data.positive)),
    "ndcg": Training({"objective": "rank:ndcg"},
                     lambda data: np.floor(np.minimum(data.positive, np.float32(4))), "queries"),
    "sparse": Training({"objective": "reg:tweedie"},
                       lambda data: np.maximum(data.signal, np.float32(0)), "sparse"),
    "approx": Training({"objective": "reg:gamma", "tree_method": "approx"}, _positive),
    "statistics": Training({"objective": "binary:logistic", "cat_method": "statistics"},
                           _sign, "coded"),
    "ordered": Training({"objective": "binary:logitraw", "boosting_type": "ordered"}, _sign),
    "cox": Training({"objective": "survival:cox"}, lambda data: np.rint(data.signal)),
    "goss": Training({"objective": "huber", "sampling_method": "goss"}),
    "forest": Training({"objective": "binary:hinge", "num_parallel_tree": 3, "subsample": 0.7},
                       _sign),
    "distribution": Training(
        {"objective": "dist:gamma", "monotone_constraints": [1, -1, 0, 0, 1, 0, 0, 0],
         "interaction_constraints": [[0, 1, 2, 3], [3, 4, 5, 6, 7]]},
        _positive,
    ),
    "quantiles": Training({"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.8]}),
    "pairs": Training({"objective": "rank:map", "lambdarank_pair_method": "mean"},
                      _sign, "queries"),
    "aft": Training({"objective": "survival:aft"}, _positive),
    "many bins": Training({"objective": "cross_entropy", "max_leaves": 9, "max_bin": 300},
                          lambda data: data.share),
}  # fmt: skip


def digest(name: str, device_id: str, **more: Any) -> str:
    """Train, and return the SHA-256 of the model as text.

    The version of this library's own format counts as 1, so that reports of cards stay comparable.

    Parameters
    ----------
    name : str
        A key of ``TRAININGS``.
    **more
        Parameters that change how a model is trained, and not which one.
    """
    training = TRAININGS[name]
    params = {**_COMMON, **training.params, "device": device_id, **more}
    if training.params.get("tree_method") == "exact":
        del params["max_bin"]  # has a bin for every value
    model = train(params, training.dataset(), N_ROUNDS)
    text = to_json(model.ensemble).replace(f'"version":{VERSION},', '"version":1,', 1)
    return hashlib.sha256(text.encode()).hexdigest()


#: What repeats of trainings begin with, where none has failed.
FIRST = next(iter(TRAININGS))


@dataclass(frozen=True)
class CardWay:
    """How to train, where the usual way fails or nobody has tried it.

    Attributes
    ----------
    params : dict
        Parameters of the trainings.
    environment : dict
        Variables of the process.
    api : str
        The interface that knows the way; empty for all.
    """

    params: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    api: str = ""


#: Safer ways by name. Each gives the same models as the usual one, whose name is empty.
WAYS = {
    "": CardWay(),
    "work-groups of 64": CardWay({"work_group_size": 64}),
    "kernels of the least capable GPU": CardWay(environment={"PYOPENCL_GBDT_PRETEND": "baseline"}),
    "unoptimised kernels": CardWay(
        environment={"PYOPENCL_BUILD_OPTIONS": "-cl-opt-disable"}, api="opencl"
    ),
}


@dataclass(frozen=True)
class Step:
    """One step that a worker takes.

    Attributes
    ----------
    name : str
        A key of ``TRAININGS`` or of ``TIMED``.
    way : str
        A key of ``WAYS``.
    timed : bool
        Whether it is a shape.
    """

    name: str
    way: str = ""
    timed: bool = False

    def __str__(self) -> str:
        if self.timed:
            return f"rounds of {self.name}"
        return f"training {self.name}" + (f", {self.way}" if self.way else "")


def safer(failed: list[str], api: str) -> list[list[Step]]:
    """Return, for each safer way, the steps that repeat failed trainings, or the first one."""
    return [
        [Step(name, way) for name in failed or [FIRST]]
        for way, known in WAYS.items()
        if way and known.api in ("", api)
    ]
