"""Rounds of ``booster="gblinear"``: coordinate descent, on the host.

XGBoost 3.2, ``src/linear/updater_coordinate.cc`` and ``coordinate_common.h``; Friedman, Hastie and
Tibshirani 2010, "Regularization paths for generalized linear models via coordinate descent". Sums
run over the rows in their order, in float64, so equal data give equal bytes everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.xgboost.linear_ensemble import (
    Columns,
    LinearEnsemble,
    LinearModel,
    margins_of,
)
from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.compat.xgboost.objective import GivenGradients, Gradients, Slot
from pyopencl_gbdt.compat.xgboost.rounds import HostRounds, Plan
from pyopencl_gbdt.compat.xgboost.settings import WORDS
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.numerics.random_numbers import random_bits, stream
from pyopencl_gbdt.parameters.parameters import Parameters

F32 = npt.NDArray[np.float32]
#: Number of the random stream that orders columns.
_COLUMNS = 0x11EA
_LEAST_HESSIAN = 1e-5
_UPDATERS = {"shotgun": ("cyclic", "shuffle"), "coord_descent": WORDS["feature_selector"]}


@dataclass(frozen=True)
class LinearParameters:
    """The parameters of a round of coordinate descent.

    Attributes
    ----------
    learning_rate, reg_alpha, reg_lambda : float
        The share of each step that is taken, and the penalties of a row's weight of 1.
    updater : {"shotgun", "coord_descent"}
        Both do the same here; in XGBoost, threads of "shotgun" update weights without order.
    feature_selector : {"cyclic", "shuffle", "random", "greedy", "thrifty"}
    top_k : int
        Most columns of a round that greedy and thrifty take; 0 is all.
    tolerance : float
        Training stops when no weight changes by more; 0 never stops it.
    """

    learning_rate: float = 0.5
    reg_alpha: float = 0.0
    reg_lambda: float = 0.0
    updater: str = "shotgun"
    feature_selector: str = "cyclic"
    top_k: int = 0
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        allowed = _UPDATERS.get(self.updater)
        if allowed is None:
            raise ParameterError(
                f"Unknown linear updater {self.updater}: expected one of {sorted(_UPDATERS)}; "
                "leave updater out"
            )
        if self.feature_selector not in allowed:
            raise ParameterError(
                "Unsupported feature selector for shotgun updater.: "
                f"feature_selector={show(self.feature_selector)}: expected one of {allowed}; give "
                "updater='coord_descent'"
            )


def linear_parameters(values: Mapping[str, Any], others: Mapping[str, Any]) -> LinearParameters:
    """Return the parameters of a booster's settings.

    Raises
    ------
    ParameterError
        If one is not allowed.
    """
    found: dict[str, Any] = {}
    for own in fields(LinearParameters):
        given = {**others, **values}.get(own.name)
        kind: Any = type(own.default)
        if given is None:
            continue
        try:
            found[own.name] = kind(str(given))
        except ValueError:
            raise ParameterError(
                f"Invalid Parameter format for {own.name} expect {kind.__name__} but "
                f"value='{given}'; give a number"
            ) from None
    return LinearParameters(**found)


def total(numbers: npt.NDArray[Any]) -> float:
    """Return the float64 sum of numbers, from the first one to the last one."""
    if not numbers.size:
        return 0.0
    return float(np.add.accumulate(numbers, dtype=np.float64)[-1])


class LinearRounds(HostRounds):
    """Rounds of a linear model.

    Raises
    ------
    DataError
        If there are categories, or the matrix has only bins.
    ParameterError
        If the model to continue has trees.
    """

    def __init__(
        self,
        plan: Plan,
        matrix: DMatrix,
        before: Ensemble | None,
        given: bool,
        how: LinearParameters,
    ) -> None:
        super().__init__(plan, matrix, how, given=given)
        self._columns, self._slot = Columns(matrix), Slot()
        self._seed = Parameters.from_dict(plan.params).random_state
        if before is not None and not isinstance(before, LinearEnsemble):
            raise ParameterError(
                "booster='gblinear': expected a linear model to continue, not one of trees; give "
                "the booster of the model"
            )
        self._model = self._empty() if before is None else before
        self._last: F32 | None = None
        self._is_over = False

    def _empty(self) -> LinearEnsemble:
        own, n = self.plan.objective, self._columns.n_features
        n_outputs = max(own.n_outputs, self.rows.n_targets if self.rows.has_label else 1)
        score = self.plan.score
        if score is None:
            half = 0.5 if n_outputs == 1 else (0.5,) * n_outputs
            score = half if self.given else own.starting_scores(self.rows.label, self.rows.weight)
        elif n_outputs > 1:
            score = each(score) * (1 if isinstance(score, tuple) else n_outputs)
        return LinearEnsemble(
            trees=[], objective=own.name, n_features=n, n_outputs=n_outputs,
            base_margin=own.to_margin(score), base_score=score,
            objective_parameters=own.parameters,
            weights=np.zeros((n + 1, n_outputs), np.float32),
        )  # fmt: skip

    def step(self, gradients: Gradients | None = None) -> None:
        """Change the bias and the weights once, unless the training has converged."""
        before = self._model.weights
        if self._how.tolerance > 0 and not self._is_over:
            if self._last is not None:
                self._is_over = float(np.abs(before - self._last).max()) <= self._how.tolerance
            self._last = before
        if not self._is_over:
            self._update(gradients)
        self.n_done += 1
        self._model = replace(self._model, rounds=self._model.rounds + 1)

    def _update(self, gradients: Gradients | None) -> None:
        weights = self._model.weights.copy()
        g, h = self._gradients(gradients)
        weight, how = self.rows.weight, self._how
        sum_of_weights = float(self.rows.n_rows) if weight is None else total(weight)
        alpha = float(np.float32(how.reg_alpha * sum_of_weights))
        penalty = float(np.float32(how.reg_lambda * sum_of_weights))
        steps = [
            _Steps(self._columns, own, g[n], h[n], (how.learning_rate, alpha, penalty))
            for n, own in enumerate(weights.T)
        ]
        for one in steps:
            one.move_bias()
        orders = [self._order(one, output) for output, one in enumerate(steps)]
        for one, order in zip(steps, orders, strict=True):
            if order is None:
                one.greedy(self._most())
            else:
                for feature in order:
                    one.move(int(feature))
        self._model = replace(self._model, weights=weights)

    def _gradients(self, gradients: Gradients | None) -> tuple[F32, F32]:
        """Return the gradients of a round, (n_outputs, n_rows), times the rows' weights."""
        own, margins = self.plan.objective, self._margins()
        if self.given:
            self._slot.function = gradients
            loss = GivenGradients(
                custom_name="given", outputs=self._model.n_outputs, slot=self._slot
            )
            g, h = loss.checked(margins.reshape(-1), self.rows, self.n_done)
            return g.reshape(margins.shape), h.reshape(margins.shape)
        try:
            g, h = own.gradients(margins, self.rows)
        except NotImplementedError:
            raise ParameterError(
                f"objective={show(own.name)}: expected a loss that is a sum over rows with "
                "booster='gblinear'; train with booster='gbtree'"
            ) from None
        g, h = g.reshape(margins.shape), h.reshape(margins.shape)
        if self.rows.weight is not None and not own.applies_weights:
            g, h = g * self.rows.weight, h * self.rows.weight
        return g.copy(), h

    def _margins(self) -> F32:
        return margins_of(self._model, self._columns, self.rows.base_margin)

    def _most(self) -> int:
        """Return how many columns greedy and thrifty take: all but one, as in XGBoost."""
        n: int = self._columns.n_features - 1
        return min(n, self._how.top_k) if self._how.top_k else n

    def _order(self, steps: _Steps, output: int) -> Sequence[int] | npt.NDArray[np.int64] | None:
        """Return the columns of a round in turn; None if the next one depends on the last one."""
        n, how = self._columns.n_features, self._how.feature_selector
        if how == "cyclic":
            return range(n)
        if how == "greedy":
            return None
        if how == "thrifty":
            return np.argsort(-np.abs(steps.changes()), kind="stable")[: self._most()]
        number = self._model.rounds if how == "shuffle" else self._model.rounds * 65536 + output
        bits = random_bits(stream(self._seed, number, _COLUMNS), np.arange(n))
        return np.argsort(bits, kind="stable") if how == "shuffle" else bits.astype(np.int64) % n

    def model(self, names: Sequence[str] | None) -> LinearModel:
        """Return the model of all rounds so far."""
        kept = None if names is None else list(names)
        return LinearModel(replace(self._model, feature_names=kept))


class _Steps:
    """The steps of one output in a round.

    Parameters
    ----------
    weights : float32 array, shape (n_features + 1,), changed
    g : float32 array, shape (n_rows,), changed
        The gradients after the steps so far.
    h : float32 array, shape (n_rows,)
    rates : (float, float, float)
        Learning rate, and the L1 and L2 penalties.
    """

    def __init__(
        self, columns: Columns, weights: F32, g: F32, h: F32, rates: tuple[float, float, float]
    ) -> None:
        self._columns, self._weights, self._g, self._h = columns, weights, g, h
        self._rate, self._alpha, self._lambda = rates

    def move_bias(self) -> None:
        """Take a step along the bias, which no penalty holds."""
        hessian = total(self._h)
        if hessian > 0:
            step = np.float32(self._rate * (-total(self._g) / hessian))
            self._weights[-1] += step
            self._g += self._h * step

    def change(self, feature: int) -> float:
        """Return by how much a column's weight would change at a rate of 1."""
        rows, values = self._columns.of(feature)
        gradient = total(self._g[rows] * values)
        hessian = total(self._h[rows] * values * values)
        if hessian < _LEAST_HESSIAN:
            return 0.0
        w = float(self._weights[feature])
        gradient, hessian = gradient + self._lambda * w, hessian + self._lambda
        if w - gradient / hessian >= 0:
            return max(-(gradient + self._alpha) / hessian, -w)
        return min(-(gradient - self._alpha) / hessian, -w)

    def changes(self) -> F32:
        """Return ``change`` of every column."""
        n = self._columns.n_features
        return np.array([self.change(feature) for feature in range(n)], np.float32)

    def move(self, feature: int) -> None:
        """Take a step along a column."""
        step = np.float32(self._rate * self.change(feature))
        self._weights[feature] += step
        if step:
            rows, values = self._columns.of(feature)
            self._g[rows] += self._h[rows] * values * step

    def greedy(self, most: int) -> None:
        """Take steps along the columns whose weights change most, one after the other."""
        for _ in range(most):
            self.move(int(np.argmax(np.abs(self.changes()))))
