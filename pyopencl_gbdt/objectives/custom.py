"""Custom losses: functions of NumPy arrays or of device arrays, and kernel code."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.numerics.expressions import Number, Term, sigmoid
from pyopencl_gbdt.objectives.base import F32, Objective

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset


def name_of(function: object) -> str:
    """Return the name of a function, of the function in a ``partial``, or of a callable's class."""
    if isinstance(function, (ScikitLearnLoss, ScikitLearnMetric)):
        return name_of(function.function)
    inner = getattr(function, "func", function)
    return str(getattr(inner, "__name__", type(inner).__name__))


@dataclass(frozen=True)
class ScikitLearnLoss:
    """Adapt a loss of (labels, margins), as XGBoost's estimators take it."""

    function: Callable[..., Any]

    def __call__(self, margins: F32, rows: Dataset) -> Any:
        if rows.weight is None:
            return self.function(rows.label, margins)
        if "sample_weight" not in inspect.signature(self.function).parameters:
            raise ParameterError(
                f"objective={name_of(self.function)}: expected a parameter sample_weight, as "
                "weights were given and are the function's to apply; add it, or leave them out"
            )
        return self.function(rows.label, margins, sample_weight=rows.weight)


@dataclass(frozen=True)
class ScikitLearnMetric:
    """Adapt a metric of (labels, predictions), as scikit-learn defines it."""

    function: Callable[..., Any]

    def __call__(self, prediction: F32, rows: Dataset) -> tuple[str, Any]:
        weight = {} if rows.weight is None else {"sample_weight": rows.weight}
        return name_of(self.function), self.function(rows.label, prediction, **weight)


def scikit_learn_metrics(eval_metric: Any) -> Any:
    """Convert an estimator's ``eval_metric`` to one that ``train`` accepts."""
    if callable(eval_metric):
        return ScikitLearnMetric(eval_metric)
    if isinstance(eval_metric, np.ndarray):
        eval_metric = np.atleast_1d(eval_metric).tolist()
    if isinstance(eval_metric, str) or not isinstance(eval_metric, Iterable):
        return eval_metric
    return [ScikitLearnMetric(m) if callable(m) else m for m in eval_metric]


CUSTOM = "custom"
#: What the code of a loss's kernel begins with, where a name is expected.
KERNEL = "kernel:"
_Own = TypeVar("_Own", bound="Custom")


@dataclass(frozen=True)
class Custom(Objective):
    """A custom loss. This base class, as read from a model file, can predict but not train.

    Predictions are margins, and ``base_score`` is a margin.

    Attributes
    ----------
    custom_name : str
        Identifies the loss when a model is continued or a checkpoint is resumed.
    custom_link : {"identity", "logit"}
        ``"logit"`` for classifiers: probabilities are the sigmoids of margins.
    """

    name = CUSTOM
    given = True
    custom_name: str = ""
    custom_link: str = "identity"

    @property
    def metric(self) -> str:
        return "logloss" if self.custom_link == "logit" else "rmse"

    @property
    def parameters(self) -> dict[str, float | str]:
        """The name and the link, each if it differs from the default."""
        given = {"custom_name": self.custom_name, "custom_link": self.custom_link}
        return {k: v for k, v in given.items() if v not in ("", "identity")}

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        raise ParameterError(
            f"objective={self.custom_name!r}: a model file stores only the name of a custom loss; "
            "pass the loss itself as objective="
        )

    def probability_of(self, margin: Number) -> Term:
        return sigmoid(margin) if self.custom_link == "logit" else margin

    def starting_score(self, label: F32, weight: F32 | None) -> float:
        """Return XGBoost's base score: margin 0.5, or a classifier's probability 0.5."""
        return 0.0 if self.custom_link == "logit" else 0.5

    def linked(self: _Own, link: str) -> _Own:
        """Return the same loss with another link."""
        other = copy.copy(self)
        object.__setattr__(other, "custom_link", link)
        return other


@dataclass(frozen=True)
class FunctionObjective(Custom):
    """A loss given as a function of NumPy arrays, called once a round.

    Attributes
    ----------
    function : callable
        ``function(margins, dataset)`` returns gradients and Hessians; ``margins`` is float32
        (n_rows,), the results are arrays of numbers of that shape. As with XGBoost's ``obj``,
        the function must apply the weights.
    """

    applies_weights = True
    function: Callable[..., Any] = field(kw_only=True, repr=False)

    def gradients(self, margins: F32, data: Dataset) -> tuple[F32, F32]:
        """Return the function's result, checked, each of shape (1, n_rows)."""
        g, h = self.checked(margins[0], data, 0)[:2]
        return g[None], h[None]

    def checked(self, margin: F32, data: Dataset, number: int) -> tuple[F32, ...]:
        """Call the function and check its result.

        Raises
        ------
        ParameterError
            If it does not return two arrays of finite numbers, one number per row.
        """
        what = f"objective={self.custom_name}: round {number}, counted from 0"
        found = self.function(margin, data)
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise ParameterError(
                f"{what}: returned {type(found).__name__}: expected gradients and Hessians; "
                "return (g, h)"
            )
        g, h = (
            _numbers(values, f"{what}: {name}", margin.size)
            for name, values in zip(("gradients", "Hessians"), found, strict=True)
        )
        return g, h


@dataclass(frozen=True, init=False)
class DeviceObjective(Custom):
    """A loss given as a function of device arrays, called once a round; nothing is copied.

    Parameters
    ----------
    function : callable
        ``function(margins, labels, g, h)``: each a ``DeviceArray`` of float32, shape (n_rows,).
        It enqueues kernels that fill ``g`` and ``h`` on the queue (CUDA: stream) of
        ``margins.device``, and need not wait for them. Weights are applied afterwards. It must
        not change margins and labels.
    custom_name : str
        Default: the function's name.

    Notes
    -----
    A NaN or infinite gradient ends the training when the host next waits for a round.
    """

    takes_pages = False
    fills_device_arrays = True
    function: Callable[..., Any] = field(kw_only=True, repr=False)

    def __init__(self, function: Callable[..., Any], custom_name: str = "") -> None:
        if not callable(function):
            raise ParameterError(
                f"DeviceObjective: function={type(function).__name__}: expected a callable; give "
                "a function of (margins, labels, g, h)"
            )
        if not isinstance(custom_name, str):
            raise ParameterError(
                f"DeviceObjective: custom_name={show(custom_name)}: expected a string; leave it "
                "out for the function's name"
            )
        _set(self, function=function, custom_name=custom_name or name_of(function))


@dataclass(frozen=True, init=False)
class KernelObjective(Custom):
    """A loss given as kernel code for one row; as fast as the losses of this library.

    Parameters
    ----------
    code : str
        C statements that set ``g`` and ``h`` from ``margin`` and ``label``, all float32
        (``f32``), such as ``"g = margin - label; h = 1.0f;"``. They can use the kernels'
        functions, such as ``portable_exp``, ``portable_log`` and ``reciprocal``, which give the
        same bits on every device. Weights are applied afterwards.

    Notes
    -----
    A NaN or infinite gradient ends the training when the host next waits for a round. Code that
    does not compile raises ``KernelBuildError`` with the compiler's log, before the first round.
    """

    code: str = field(kw_only=True)

    def __init__(self, code: str) -> None:
        if not isinstance(code, str) or not code.strip() or "\0" in code or not _encodes(code):
            raise ParameterError(
                f"KernelObjective: code={code!r}: expected C statements that set g and h; write "
                "'g = margin - label; h = 1.0f;', say"
            )
        _set(self, code=code.strip(), custom_name=f"{KERNEL} {code.strip()}")


def _encodes(code: str) -> bool:
    """Tell whether a text can be passed to a compiler; lone surrogates cannot be UTF-8."""
    return not any("\ud800" <= character <= "\udfff" for character in code)


def _set(objective: Custom, **values: Any) -> None:
    for name, value in {"custom_link": "identity", **values}.items():
        object.__setattr__(objective, name, value)


def _numbers(values: object, what: str, n_rows: int) -> F32:
    """Convert to finite float32 of shape (n_rows,)."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise ParameterError(f"{what} are of {array.dtype}: expected float32; convert them")
    if array.shape not in ((n_rows,), (n_rows, 1)):
        raise ParameterError(
            f"{what} have shape {array.shape}: expected ({n_rows},); return a number per row"
        )
    with np.errstate(over="ignore", under="ignore"):
        numbers = array.reshape(-1).astype(np.float32)
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ParameterError(
            f"{what} hold {array.reshape(-1)[row]} at row {row}, counted from 0: expected finite "
            "float32 numbers; keep logarithms, exponentials and quotients in range"
        )
    return numbers
