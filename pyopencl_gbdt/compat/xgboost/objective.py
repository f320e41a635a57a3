"""Losses whose gradients a user gives for every round; base classes of those that know it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.objectives.custom import FunctionObjective


class Objective(ABC):
    """An objective that knows the number of the round."""

    @abstractmethod
    def __call__(self, iteration: int, y_pred: Any, dtrain: Any) -> tuple[Any, Any]:
        """Return gradients and Hessians of shape (n_rows, n_outputs)."""


class TreeObjective(Objective):
    """An objective that may give trees other gradients to split by."""

    def split_grad(self, iteration: int, grad: Any, hess: Any) -> tuple[Any, Any] | None:
        """Return gradients and Hessians to split by; None for those of the leaves."""
        return None


F32 = npt.NDArray[np.float32]
#: A function of margins, (n_rows,) or (n_rows, n_outputs), that returns gradients and Hessians.
Gradients = Callable[[F32], Any]


class OtherSplitsError(Exception):
    """A round's objective gives another number of gradients to split by than its fit has.

    Attributes
    ----------
    n_split : int
        That number.
    found : tuple
        What the objective returned, as ``Gradients`` do.
    """

    def __init__(self, n_split: int, found: Any) -> None:
        super().__init__(f"{n_split} gradients to split by")
        self.n_split, self.found = n_split, found


class Slot:
    """Where a round finds the function that gives its gradients."""

    def __init__(self) -> None:
        self.function: Gradients | None = None


def _unset(margins: F32, data: Dataset) -> Any:
    raise ParameterError("the gradients of a round are missing; call boost")


@dataclass(frozen=True)
class GivenGradients(FunctionObjective):
    """A loss of one or several outputs, whose function may be another one in every round.

    Predictions are margins; the model then gets the loss that the parameters name.
    """

    function: Callable[..., Any] = field(default=_unset, kw_only=True)
    outputs: int = field(default=1, kw_only=True)
    splits: int = field(default=0, kw_only=True)
    slot: Slot = field(default_factory=Slot, kw_only=True, compare=False)

    @property
    def n_outputs(self) -> int:
        return self.outputs

    @property
    def n_split(self) -> int:
        return self.splits

    @property
    def one_target(self) -> bool:
        return False  # the user's function reads the labels

    def checked(self, margin: F32, data: Dataset, number: int) -> tuple[F32, ...]:
        """Return gradients and Hessians, float32 (n_outputs * n_rows,), output by output.

        With ``splits``, then those that splits are searched by, (splits * n_rows,).

        Raises
        ------
        DataError, ParameterError
            If the function returns another shape, or numbers that are not finite.
        OtherSplitsError
            If there is another number of gradients to split by.
        """
        n_outputs = margin.size // max(1, data.n_rows)
        margins = margin if n_outputs == 1 else margin.reshape(n_outputs, -1).T
        function = self.slot.function
        found = _unset(margin, data) if function is None else function(margins)
        if not isinstance(found, (tuple, list)) or len(found) not in (2, 4):
            raise ParameterError(
                f"round {number}: the objective returned {type(found).__name__}: expected "
                "gradients and Hessians; return (grad, hess)"
            )
        n_split = _width(found[2], data.n_rows) if len(found) == 4 else 0
        if n_split != self.splits:
            raise OtherSplitsError(n_split, found)
        widths = n_outputs, n_outputs, n_split, n_split
        return tuple(
            _by_output(one, data.n_rows, width) for one, width in zip(found, widths, strict=False)
        )


def _width(values: Any, n_rows: int) -> int:
    """Return how many numbers of each row there are; a vector has one."""
    return max(1, int(np.size(values)) // max(1, n_rows))


def _by_output(values: Any, n_rows: int, n_outputs: int) -> F32:
    """Return numbers of rows, output by output."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    array = np.asarray(values)
    shapes = [(n_rows, n_outputs), *([(n_rows,)] if n_outputs == 1 else [])]
    if array.shape not in shapes or array.dtype.kind not in "fiub":
        raise DataError(
            "Since 2.1.0, the shape of the gradient and hessian is required to be (n_samples, "
            f"n_targets) or (n_samples, n_classes): expected numbers of {shapes[0]}, not "
            f"{array.dtype} of {array.shape}; reshape them"
        )
    with np.errstate(over="ignore"):
        numbers = np.ascontiguousarray(array.reshape(n_rows, -1).T, np.float32).reshape(-1)
    if not np.isfinite(numbers).all():
        raise ParameterError(
            f"a gradient or Hessian is {show(numbers[~np.isfinite(numbers)][0])}: expected finite "
            "numbers; keep logarithms, exponentials and quotients in range"
        )
    return numbers


def called_by(fobj: Any, iteration: int, matrix: Any) -> Gradients:
    """Return the function of margins that a user's objective is in a round.

    It returns gradients and Hessians of the outputs; of a ``TreeObjective``, then those that
    ``split_grad`` returns to search splits by, if any.
    """

    def gradients(margins: F32) -> Any:
        if not isinstance(fobj, Objective):
            return fobj(margins, matrix)
        found = fobj(iteration, margins, matrix)
        others = fobj.split_grad(iteration, *found) if isinstance(fobj, TreeObjective) else None
        return found if others is None else (*found, *others)

    return gradients
