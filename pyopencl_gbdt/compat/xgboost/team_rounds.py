"""What each worker, or rank, does when several train one booster.

Every worker calls the user's callbacks, with a ``Booster`` of all rounds so far, at the same time;
what those of the leading worker return counts. It alone calls the callbacks of this library, and
the user's metrics, with all rows. A user's loss is called by every worker, with its own rows.

    leading worker    round | metrics | hooks | round ..
    another one       round |         | hooks | round ..     TeamRounds.follow
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import count
from typing import Any

from pyopencl_gbdt.callbacks import CallbackList
from pyopencl_gbdt.compat.xgboost import collective
from pyopencl_gbdt.compat.xgboost.booster import Booster
from pyopencl_gbdt.compat.xgboost.callback import (
    CallbackContainer,
    EarlyStopping,
    EvaluationMonitor,
    LearningRateScheduler,
    TrainingCallback,
    TrainingCheckPoint,
)
from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.compat.xgboost.metrics import Metric
from pyopencl_gbdt.compat.xgboost.objective import F32, GivenGradients, OtherSplitsError, called_by
from pyopencl_gbdt.compat.xgboost.rounds import Plan, Rounds
from pyopencl_gbdt.compat.xgboost.row_facts import RowFacts
from pyopencl_gbdt.compat.xgboost.settings import Settings
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device.team.member import working_for
from pyopencl_gbdt.device.team.messages import OwnHooks
from pyopencl_gbdt.device.team.sliced_sums import HostTeam
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.prediction.model import Model
from pyopencl_gbdt.training.hosts import Plans, train_among
from pyopencl_gbdt.training.member import LeadingTask, follow
from pyopencl_gbdt.training.open_fit import OpenFit
from pyopencl_gbdt.training.running_task import RunningTask

#: Callbacks that the leading worker alone calls.
_LED = (EarlyStopping, EvaluationMonitor, LearningRateScheduler, TrainingCheckPoint)


def _are_own(callbacks: Sequence[TrainingCallback]) -> bool:
    """Tell whether there are callbacks that every worker calls."""
    return any(type(one) not in _LED or getattr(one, "printer_rank", 0) for one in callbacks)


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
                f"{type(self.fobj).__name__}.split_grad returned gradients: expected None among "
                "several processes; return None, or train in one"
            ) from None


class TeamRounds(Rounds):
    """The rounds of all workers, as one of them runs them; the parameters are ``Rounds``'.

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
        """Wait for ``run`` or ``follow``, which get the fit."""

    def run(self, booster: Booster, container: CallbackContainer, task: LeadingTask) -> Booster:
        """Train all rounds, as the leading worker; return what callbacks make of the booster."""
        self._fit, booster._rounds = OpenFit(task), self
        by_all = any(task.team.exchange(OwnHooks, _are_own(container.callbacks)))

        def hook(name: str, number: int, default: Any) -> Any:
            if not container.callbacks and not by_all:
                return default
            call = name, number, container.history
            with task.hook(call) if by_all else contextlib.nullcontext():
                return self._called(booster, container, name, number)

        with contextlib.closing(self._fit):
            booster = hook("before_training", 0, booster)
            for number in range(self.plan.n_rounds or 0):
                if hook("before_iteration", number, False):
                    break
                self.step()
                with working_for(None):  # all rows are here
                    container.evaluate(booster, self.plan.evals)
                if hook("after_iteration", number, False):
                    break
            booster = hook("after_training", 0, booster)
            booster.reset()
        return booster

    def follow(self, booster: Booster, container: CallbackContainer, task: RunningTask) -> None:
        """Train all rounds, as another worker."""
        self._fit, booster._rounds = OpenFit(task), self
        task.team.exchange(OwnHooks, _are_own(container.callbacks))
        model = booster

        def hook(call: Any) -> None:
            nonlocal model
            name, number, container.history = call
            self.n_done = task.n_rounds - task.start.n_rounds
            found = self._called(model, container, name, number)
            model = found if isinstance(found, Booster) else model

        follow(task, hook)
        model.reset()

    def _called(
        self, booster: Booster, container: CallbackContainer, name: str, number: int
    ) -> Any:
        """Call a hook; return what it returns."""
        if name == "before_training":
            found: Any = container.before_training(booster)
        elif name == "before_iteration":
            found = container.before_iteration(booster, number, self.matrix, self.plan.evals)
        elif name == "after_iteration":
            found = container.call_after(booster, number)
        else:
            found = container.after_training(booster)
        own = found if isinstance(found, Booster) else booster
        if own._rounds is not self and name != "after_training":
            raise ParameterError(
                "a callback changed a parameter: expected none but learning_rate among several "
                "processes; give the others to train"
            )
        return found


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
        found = rounds.run(booster, container, fit)
        return Model(found._kept(), container.history)

    plans = Plans(
        rounds.asked["params"], data, evals if metrics else [], metrics, rounds.asked["model"],
        None, CallbackList(()), follows=partial(rounds.follow, booster, container),
        keeps_trees=_are_own(callbacks),
    )  # fmt: skip
    return train_among(communicator, plans, _no_checkpoint, led, leaves=False)


def _no_checkpoint(callbacks: CallbackList) -> None:
    """Resume from none: XGBoost's callbacks save boosters, not checkpoints."""


def _no_rounds(fit: LeadingTask, saved: object) -> Model:
    raise AssertionError("a member without rows does not lead")


def team_parameters(params: Any, matrix: Any, n_rounds: int, *, continues: bool) -> dict[str, Any]:
    """Return the checked parameters of a training among several processes.

    Parameters
    ----------
    params : dict, or list of (str, object)
    matrix : DMatrix or DaskDMatrix
        The training rows, which may have bins.
    continues : bool
        Whether there is a model to continue.

    Raises
    ------
    ParameterError
        If these parameters need a training by one process.
    """
    settings = Settings(params)
    if settings.is_linear:
        raise ParameterError(
            "booster='gblinear': expected 'gbtree' or 'dart' among several processes; train linear "
            "models in one"
        )
    if settings.others.get("process_type") == "update":
        raise ParameterError(
            "process_type='update': expected 'default' among several processes; change trees in one"
        )
    if continues and settings.switch("seed_per_iteration"):
        raise ParameterError(
            "seed_per_iteration=True: expected False among several processes that continue a "
            "model; leave it out, or train in one"
        )
    settings.warn_of_unused()
    settings.checked()
    bins = getattr(matrix, "max_bin", None)
    more = {"n_estimators": n_rounds} | ({} if bins is None else {"max_bin": bins})
    return settings.trained() | more


def booster_of(model: Model, params: Any, matrix: Any) -> Booster:
    """Return the booster of a model that several processes trained, with its columns' types."""
    booster = Booster(params, model_file=model.save_raw("json"))
    if matrix.feature_types is not None:
        booster.feature_types = matrix.feature_types
    return booster


def train_ranks(
    team: Any,
    params: Any,
    dtrain: DMatrix,
    n_rounds: int,
    *,
    evals: Sequence[tuple[DMatrix, str]],
    obj: Any,
    xgb_model: Any,
    callbacks: Sequence[TrainingCallback],
    custom_metric: Metric | None,
) -> tuple[Booster, dict[str, Any]]:
    """Train one booster by all ranks; every rank calls this with its own rows.

    Returns
    -------
    Booster, dict
        The booster and the metrics of every round, the same on all ranks.
    """
    CallbackContainer(callbacks, custom_metric)  # raises here for what is none
    before = None if xgb_model is None else Booster(model_file=xgb_model)
    trained = team_parameters(params, dtrain, n_rounds, continues=before is not None)
    rows = dtrain.dataset() if dtrain.num_row() else None
    sets = [(matrix.dataset() if matrix.num_row() else None, name) for matrix, name in evals]
    try:
        model = train_booster(
            trained, rows, evals=sets, communicator=team, given=params, obj=obj,
            custom_metric=custom_metric, callbacks=callbacks, before=before,
        )  # fmt: skip
    except BaseException:
        collective.forget_ranks()
        raise
    return booster_of(model, params, dtrain), model.history
