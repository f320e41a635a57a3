"""Train a shape on a device; measure time and memory, and digest the models."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import field, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from pyopencl_gbdt.comparison.plan import floor_bytes
from pyopencl_gbdt.comparison.shapes import Shape
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.bandwidth import device_bandwidth
from pyopencl_gbdt.device.drivers.fallback import with_fallbacks
from pyopencl_gbdt.device.drivers.measured_facts import int64_cost
from pyopencl_gbdt.device.run_ahead import clear_frames
from pyopencl_gbdt.device.timing import Stopwatch, clock, middle, repeated
from pyopencl_gbdt.errors import GBDTError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.prediction.margins import predict_margins
from pyopencl_gbdt.profiling.profile import ROUNDS, KernelTime
from pyopencl_gbdt.training import running_task
from pyopencl_gbdt.training.preparing import prepare, prepared_on
from pyopencl_gbdt.training.train import Model, train


@dataclass(frozen=True)
class Trainer:
    """A trainer beside that of dense columns of numbers.

    Attributes
    ----------
    params : dict
        Parameters that ask for it.
    sparse : bool
        Whether values below the shape's share of missing ones are left out, and the rest is a
        sparse matrix.
    levels : tuple of int
        Levels of the first columns, which become categorical.
    """

    params: dict[str, Any] = field(default_factory=dict)
    sparse: bool = False
    levels: tuple[int, ...] = ()


#: Ways by the names that `Shape.way` has.
WAYS: dict[str, Trainer] = {
    "": Trainer(),
    "exact": Trainer({"tree_method": "exact"}),
    "sparse": Trainer(sparse=True),
    "statistics": Trainer({"cat_method": "statistics"}, levels=(8, 30, 100, 300, 1000, 3000)),
    "sets": Trainer({"cat_method": "sets"}, levels=(4, 8, 12, 16, 24, 32)),
}


def parameters(shape: Shape, device_id: str) -> dict[str, Any]:
    """Return the training parameters of a shape."""
    symmetric = {"grow_policy": "symmetric"} if shape.symmetric else {}
    return {
        "objective": shape.objective,
        "max_depth": shape.max_depth,
        "max_bin": shape.max_bin,
        "learning_rate": 0.1,
        "device": device_id,
        "verbosity": 0,
        **symmetric,
        **WAYS[shape.way].params,
    }


def dataset(shape: Shape, values: F32, label: F32 | None = None) -> Dataset:
    """Return rows of `Shape.make` as the shape's trainer takes them.

    Parameters
    ----------
    values : float32 array, shape (n_rows, n_features)
        Uniform in [0, 1) where columns become categorical or sparse.
    label : float32 array, shape (n_rows,), or None
    """
    way = WAYS[shape.way]
    if way.sparse:
        there = np.where(values >= np.float32(shape.missing), values, np.float32(0))
        return Dataset(scipy.sparse.csr_matrix(there), label)
    if not way.levels:
        return Dataset(values, label)
    coded = values.copy()
    for column, n_levels in enumerate(way.levels):
        coded[:, column] = np.floor(values[:, column] * np.float32(n_levels))
    return Dataset(coded, label, categorical_features=list(range(len(way.levels))))


__all__ = ["WAYS", "Trainer", "dataset", "parameters"]


F32 = npt.NDArray[np.float32]
Record = dict[str, Any]

#: Most rows to predict.
MOST_PREDICTED = 1_000_000
#: Limits of an error's text, which may contain a kernel's source.
_PROBLEM_LINES, _PROBLEM_LETTERS = 4, 600


@dataclass(frozen=True)
class MeasuredFit:
    """One fit; for a shape with several labels, all fits together."""

    setup_seconds: float
    """From NumPy arrays until boosting can start."""
    round_seconds: float
    """Seconds per round."""
    peak_bytes: int
    """Peak device memory."""
    trees: list[list[Tree]]
    """The trees of every model."""


def copy_bandwidth(device_id: str) -> float:
    """Return the bytes per second, read plus written, of a large copy on a device."""
    return device_bandwidth(open_device(device_id))


def int64_percent(device_id: str) -> int:
    """Return the time of sums and comparisons of 64-bit integers, in percent of 32-bit ones."""
    return int64_cost(open_device(device_id))


def fit(device_id: str, shape: Shape, values: F32, labels: F32, n_rounds: int) -> MeasuredFit:
    """Fit, and time set-up and rounds; the host waits for the device before and after each.

    Several labels share the quantised values.
    """
    return with_fallbacks(lambda: _fit(device_id, shape, values, labels, n_rounds))


def _fit(device_id: str, shape: Shape, values: F32, labels: F32, n_rounds: int) -> MeasuredFit:
    device = open_device(device_id)
    params = {**parameters(shape, device_id), "n_estimators": n_rounds}
    setup = rounds = 0.0
    trees = []
    watch = Stopwatch()
    data = dataset(shape, values, labels[:, 0])
    for k in range(shape.n_models):
        data.label = np.ascontiguousarray(labels[:, k])
        task = prepared_on(device, prepare(params, data, (), None, None))
        running = running_task.RunningTask(device, task)
        device.finish()
        setup += watch.lap()
        for _ in range(n_rounds):
            running.step()
        running.fit.finished_trees()  # reads them, for which it waits
        device.finish()
        rounds += watch.lap()
        trees.append(running.model().ensemble.trees)
        del running  # frees its memory before the next one allocates
        watch.lap()
    return MeasuredFit(setup, rounds / (n_rounds * shape.n_models), device.peak_bytes, trees)


def measure(
    device_id: str,
    shape: Shape,
    values: F32,
    labels: F32,
    *,
    bandwidth: float,
    repeats: int,
    tell: Callable[[str], None] = lambda part: None,
) -> Record:
    """Train a shape on a device.

    Parameters
    ----------
    values, labels : float32 arrays
        From ``Shape.make``.
    bandwidth : float
        Bytes per second of a copy on this device.
    tell : callable
        Called with the current step, ``2 + repeats`` times.

    Returns
    -------
    dict
        A result as in `schema.RESULT`. If the device fails, ``problem`` says why.
    """
    record: Record = {"device": device_id, "shape": shape.name, "problem": ""}
    try:
        labels = labels.reshape(len(labels), shape.n_models)
        record.update(_measured(device_id, shape, values, labels, repeats, tell))
        seconds = floor_bytes(shape) / bandwidth
        record["share_of_copy"] = seconds / (record["round_ms"] / 1e3)
    except Exception as error:  # a driver may raise anything; other devices go on
        record["problem"] = describe(error)
        clear_frames(error)  # the frames hold device arrays
    gc.collect()
    return record


def describe(error: Exception) -> str:
    """Return an error's first lines, with its type unless it is an error of this library."""
    text, kind = str(error).strip(), type(error).__name__
    if not isinstance(error, GBDTError):
        text = f"{kind}: {text}" if text else kind
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join(lines[:_PROBLEM_LINES])[:_PROBLEM_LETTERS]


def _measured(
    device_id: str,
    shape: Shape,
    values: F32,
    labels: F32,
    repeats: int,
    tell: Callable[[str], None],
) -> Record:
    tell("first fit")
    first = clock(fit, device_id, shape, values, labels, 1)
    tell("profiled fit")
    models = _models(device_id, shape, values, labels)
    fits = []
    for number in range(repeats):
        tell(f"fit {number + 1} of {repeats}")
        fits.append(fit(device_id, shape, values, labels, shape.n_rounds))
    tell("prediction")
    rows = models[0].tree_values(dataset(shape, values[:MOST_PREDICTED]))
    margins = predict_margins(models[0].ensemble, rows, device_id)
    predicted = repeated(lambda: predict_margins(models[0].ensemble, rows, device_id), repeats)
    round_ms = [1e3 * one.round_seconds for one in fits]
    return {
        "model_digest": digest(*(to_json(m.ensemble).encode() for m in models)),
        "prediction_digest": digest(margins.tobytes()),
        "repeats_agree": all(
            same_trees(trees, model.ensemble.trees)
            for one in fits
            for trees, model in zip(one.trees, models, strict=True)
        ),
        "variants": models[0].variants,
        "first_fit_seconds": first,
        "setup_seconds": middle([one.setup_seconds for one in fits]),
        "round_ms": middle(round_ms),
        "round_ms_runs": round_ms,
        "predicted_rows_per_second": rows.shape[0] / predicted.median,
        "peak_bytes": max(one.peak_bytes for one in fits),
        "kernels": kernel_times(models),
    }


def _models(device_id: str, shape: Shape, values: F32, labels: F32) -> list[Model]:
    """Train with the public function, profiled."""
    params = parameters(shape, device_id)
    data = dataset(shape, values, labels[:, 0])
    models = []
    for k in range(shape.n_models):
        data.label = np.ascontiguousarray(labels[:, k])
        models.append(train(params, data, shape.n_rounds, profile=True))
    return models


def kernel_times(models: Sequence[Model]) -> list[Record]:
    """Return each kernel's time per round over all models, see `schema.KERNEL`, longest first."""
    seen: dict[str, list[KernelTime]] = {}
    rounds = 0
    for model in models:
        assert model.profile is not None
        rounds += model.profile.rounds
        for kernel in model.profile:
            if kernel.phase == ROUNDS:
                seen.setdefault(kernel.kernel, []).append(kernel)
    records = [
        {
            "kernel": name,
            "launches": sum(part.launches for part in parts) / rounds,
            "ms": 1e3 * sum(part.seconds for part in parts) / rounds,
            "bytes": _sum([part.bytes for part in parts], rounds),
            "share_of_copy": _sum([part.share_of_copy for part in parts], len(parts)),
        }
        for name, parts in seen.items()
    ]
    return sorted(records, key=lambda record: (-record["ms"], record["kernel"]))


def _sum(numbers: Sequence[float | None], divisor: int) -> float | None:
    known = [number for number in numbers if number is not None]
    return sum(known) / divisor if len(known) == len(numbers) else None


def digest(*parts: Any) -> str:
    """Return the SHA-256 of bytes or C-ordered arrays, as hexadecimal digits."""
    sha = hashlib.sha256()
    for part in parts:
        sha.update(part)
    return sha.hexdigest()


def same_trees(one: list[Tree], other: list[Tree]) -> bool:
    """Tell whether two lists of trees have the same bytes."""
    return len(one) == len(other) and all(
        _bytes(getattr(a, field.name)) == _bytes(getattr(b, field.name))
        for a, b in zip(one, other, strict=True)
        for field in fields(Tree)
    )


def _bytes(value: object) -> object:
    """Return the bytes of an array; other values, such as None, as they are."""
    return value.tobytes() if isinstance(value, np.ndarray) else value
