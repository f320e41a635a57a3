"""Base classes of a user's objectives that know the round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


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
