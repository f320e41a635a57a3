"""What each worker does when several train one booster.

The leading worker calls the callbacks and metrics, with a ``Booster`` of all rounds so far. A
user's loss is called by every worker, with its own rows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from pyopencl_gbdt.callbacks import CallbackList
from pyopencl_gbdt.compat.xgboost.booster import Booster
from pyopencl_gbdt.compat.xgboost.callback import CallbackContainer, TrainingCallback
from pyopencl_gbdt.compat.xgboost.losses import F32, GivenGradients, OtherSplitsError, called_by
from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.compat.xgboost.metrics import Metric
from pyopencl_gbdt.compat.xgboost.rounds import Plan, Rounds
from pyopencl_gbdt.compat.xgboost.row_facts import RowFacts
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.prediction.model import Model
from pyopencl_gbdt.training.hosts import HostTeam, Plans, train_among
from pyopencl_gbdt.training.member import LeadingTask
from pyopencl_gbdt.training.open_fit import OpenFit


def matrix_of(rows: Dataset) -> DMatrix:
    """Return a data set as the matrix that functions of the user get.

    That of the training rows of all workers has labels, weights and queries, and 0 for values.
    """
    facts = RowFacts(rows.n_rows)
    named = {
        "label": rows.label if rows.has_label else None, "weight": rows.weight,
        "base_margin": rows.base_margin, "label_lower_bound": rows.label_lower_bound,
        "label_upper_bound": rows.label_upper_bound,
    }  # fmt: skip
    facts.floats = {name: values for name, values in named.items() if values is not None}
    facts.offsets = rows.group_offsets
    return DMatrix.around(rows, facts)


@dataclass(frozen=True, repr=False)
class TeamGradients(GivenGradients):
    """A user's loss, which each worker calls with its own rows, once a round."""

    fobj: Any = field(kw_only=True)
    numbers: Iterator[int] = field(default_factory=count, kw_only=True, compare=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.outputs})"  # without addresses: workers compare it

    def checked(self, margin: F32, data: Dataset, number: int) -> tuple[F32, ...]:
        """Return gradients and Hessians; see ``GivenGradients``."""
        self.slot.function = called_by(self.fobj, next(self.numbers), matrix_of(data))
        try:
            return super().checked(margin, data, number)
        except OtherSplitsError:
            raise ParameterError(
                f"{type(self.fobj).__name__}.split_grad returned gradients: expected None on Dask; "
                "return None, or train in one process"
            ) from None


class TeamRounds(Rounds):
    """The rounds of all workers, as the leading one runs them; the parameters are ``Rounds``'.

    Parameters
    ----------
    obj : callable or None
        A user's loss.
    """

    def __init__(self, plan: Plan, matrix: DMatrix, before: Ensemble | None, obj: Any) -> None:
        self._obj = obj
        super().__init__(plan, matrix, before, given=obj is not None)

    def _loss(self, name: str, n_outputs: int) -> GivenGradients:
        return TeamGradients(custom_name=name, outputs=n_outputs, slot=self._slot, fobj=self._obj)

    def _open(self, evals: Any) -> None:
        """Wait for ``run``, which gets the fit."""

    def run(self, booster: Booster, container: CallbackContainer, fit: OpenFit) -> Booster:
        """Train all rounds of an open fit; return the booster that callbacks make of it."""
        self._fit, booster._rounds = fit, self
        booster = container.before_training(booster)
        rows = self.matrix
        for number in range(self.plan.n_rounds or 0):
            if container.before_iteration(booster, number, rows, self.plan.evals):
                break
            if booster._rounds is not self:
                raise ParameterError(
                    "a callback changed a parameter: expected none but learning_rate on Dask; give "
                    "the others to train"
                )
            self.step()
            if container.after_iteration(booster, number, rows, self.plan.evals):
                break
        booster = container.after_training(booster)
        booster.reset()
        return booster


def train_booster(
    params: dict[str, Any],
    data: Dataset | None,
    *,
    evals: Sequence[tuple[Dataset | None, str]],
    communicator: HostTeam,
    given: Any,
    obj: Any,
    custom_metric: Metric | None,
    callbacks: Sequence[TrainingCallback],
    before: Booster | None,
) -> Model:
    """Train with the rows of a member; the first ones are ``pyopencl_gbdt.train``'s.

    Parameters
    ----------
    given : dict of str to object
        XGBoost's parameters, of which ``params`` was made.
    obj, custom_metric, callbacks
        As for ``compat.xgboost.train``.
    before : Booster or None
        The model to continue.

    Returns
    -------
    Model
        Its history is that of the callbacks.
    """
    booster = Booster(given, model_file=before)
    plan = booster._plan()
    plan = replace(
        plan, params=params, n_rounds=int(params["n_estimators"]),
        collects=bool(evals) and (custom_metric is not None or obj is not None),
    )  # fmt: skip
    container = CallbackContainer(callbacks, custom_metric, output_margin=callable(obj))
    if data is None:
        evals = evals if plan.collects or plan.metrics else []
        plans = Plans(params, None, evals, None, None, None, CallbackList(()))
        return train_among(communicator, plans, _no_checkpoint, _no_rounds, leaves=False)
    matrix = matrix_of(data)
    booster._take_columns(matrix)
    continued = booster._settled()
    trees = None if continued is None or not continued.num_boosted_rounds() else continued.ensemble
    rounds = TeamRounds(plan, matrix, trees, obj)
    metrics = rounds.asked["eval_metric"]

    def led(fit: LeadingTask, saved: object) -> Model:
        watched = tuple((matrix_of(rows), name) for rows, name in fit.task.evals)
        rounds.plan = replace(rounds.plan, evals=watched)
        with contextlib.closing(OpenFit(fit)) as opened:
            found = rounds.run(booster, container, opened)
        return Model(found._kept(), container.history)

    plans = Plans(
        rounds.asked["params"], data, evals if metrics else [], metrics, rounds.asked["model"],
        None, CallbackList(()),
    )  # fmt: skip
    return train_among(communicator, plans, _no_checkpoint, led, leaves=False)


def _no_checkpoint(callbacks: CallbackList) -> None:
    """Resume from none: XGBoost's callbacks save boosters, not checkpoints."""


def _no_rounds(fit: LeadingTask, saved: object) -> Model:
    raise AssertionError("a member without rows does not lead")
