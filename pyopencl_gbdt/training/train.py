"""``train``; it does not need scikit-learn.

Its modules are imported when it is called, while drivers start; see ``device/early_start.py``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.device import early_start

if TYPE_CHECKING:
    from pyopencl_gbdt.callbacks.base import CallbackList, Plan, TrainingCallback
    from pyopencl_gbdt.callbacks.checkpoint_files import CheckPoint
    from pyopencl_gbdt.data.dataset import Dataset
    from pyopencl_gbdt.device import Device
    from pyopencl_gbdt.prediction.model import History, Model
    from pyopencl_gbdt.training.continuing import Before
    from pyopencl_gbdt.training.eval_metrics import Metrics
    from pyopencl_gbdt.training.hosts import Parts
    from pyopencl_gbdt.training.preparing import Evals, Given
    from pyopencl_gbdt.training.running_task import RunningTask
    from pyopencl_gbdt.training.task import Task


def train(
    params: Given,
    data: Dataset | None,
    n_rounds: int | None = None,
    *,
    evals: Evals | Parts | None = (),
    eval_metric: Metrics = None,
    custom_metric: Callable[..., Any] | None = None,
    early_stopping_rounds: int | None = None,
    maximize: bool | None = None,
    callbacks: Sequence[TrainingCallback] | None = (),
    model: Before | None = None,
    verbose: bool | int | None = False,
    report: Callable[[str], None] | None = None,
    profile: bool = False,
    num_boost_round: int | None = None,
    obj: Any = None,
    xgb_model: Before | None = None,
    evals_result: dict[str, Any] | None = None,
    verbose_eval: bool | int | None = None,
    communicator: Any = None,
) -> Model:
    """Train gradient-boosted trees.

    Parameters
    ----------
    params : mapping, or sequence of (str, object)
        XGBoost's names and defaults; see ``pyopencl_gbdt.parameters``. ``objective`` may be a
        custom loss: ``function(margins, dataset)`` that returns gradients and Hessians, a
        ``DeviceObjective``, or a ``KernelObjective``. If a name occurs in several pairs, the last
        counts, but all pairs ``eval_metric`` count.
    data : Dataset
    n_rounds : int or None
        Number of rounds; None takes ``n_estimators`` from ``params`` (100).
    evals : sequence of (Dataset, str), or None
        Sets to evaluate after every round, with their names. Evaluating the training data takes
        no extra work, except for the metric.
    eval_metric : str, callable, sequence of them, or None
        Names in ``metrics.METRICS``, such as ``"rmse"``, ``"auc"`` or ``"error@0.7"``; None is
        the loss's default metric. A callable is like ``custom_metric``.
    custom_metric : callable or None
        An additional metric: ``function(prediction, dataset)`` returns its name and a number;
        ``prediction`` is what ``predict`` returns. It is called once beforehand for its name.
    early_stopping_rounds : int or None
        Stop when the last metric of the last evaluation set has not improved for so many rounds;
        ``predict`` uses the trees up to the best one, see ``callbacks.EarlyStopping``.
    maximize : bool or None
        Whether larger values of that metric are better; None decides by its name.
    callbacks : sequence of TrainingCallback, or None
        Hooks between rounds, see ``pyopencl_gbdt.callbacks``.
    model : Model, Ensemble, path, content of a file as bytes, or None
        A model to continue (XGBoost's ``xgb_model``): ``n_rounds`` rounds are added to a copy.
        With the same data and parameters, 10 rounds and 10 more give the same model as 20.
    verbose : bool, int or None, default False
        Print metrics every round (True) or every so many rounds.
    report : callable or None
        A function that receives each line; None prints it.
    profile : bool, default False
        Measure the time of every kernel, see ``Model.profile``: ``print(model.profile.table())``.
        The model is the same.
    num_boost_round, xgb_model, verbose_eval : optional
        XGBoost's names for ``n_rounds``, ``model`` and ``verbose``; each takes precedence.
    obj : callable, DeviceObjective, KernelObjective or None
        A custom loss, instead of the loss in ``params``.
    evals_result : dict or None
        Receives the metrics of every round, as ``Model.history`` holds them.
    communicator : mpi4py.MPI.Intracomm, team of processes, or None
        The processes that train one model together; each calls ``train`` with its own rows as
        ``data``, or None if it has none. All get the model. Several trainings may follow each
        other with one communicator; an error ends a team. See ``docs/large-data.md``.

    Returns
    -------
    Model

    Raises
    ------
    ParameterError, DataError
        Before anything runs.
    DeviceError
        If the device does not exist, or a kernel fails and has no other variant to replace it.
    MemoryPlanError
        If the device lacks memory for the fit; raised before anything is allocated.

    Notes
    -----
    If Ctrl-C, a callback's error or anything else ends it early, it ends within a round or two and
    frees the device's memory.
    """
    early_start.begin(params)
    from pyopencl_gbdt.device.drivers.fallback import tries
    from pyopencl_gbdt.device.run_ahead import clear_frames
    from pyopencl_gbdt.parameters.parameters import given_instead
    from pyopencl_gbdt.training.preparing import check_rounds, prepare

    n_rounds = check_rounds(n_rounds if num_boost_round is None else num_boost_round)
    model = model if xgb_model is None else xgb_model
    check_history(evals_result)
    params = given_instead(params, n_estimators=n_rounds, objective=obj)
    everyone: CallbackList | None = None
    verbose = verbose if verbose_eval is None else verbose_eval
    watched = callbacks, verbose, report, maximize, early_stopping_rounds, communicator
    idle = (None, False, ())  # by identity, as an array may have been given, or a wrong 0
    if any(all(given is not one for one in idle) for given in watched):
        from pyopencl_gbdt.callbacks.by_arguments import all_callbacks

        everyone = all_callbacks(
            callbacks, verbose=verbose, report=report,
            early_stopping_rounds=early_stopping_rounds, maximize=maximize,
        )  # fmt: skip
    if communicator is not None and everyone is not None:
        given = params, data, evals or (), eval_metric, model, custom_metric
        from pyopencl_gbdt.device.team.mpi import joined_team
        from pyopencl_gbdt.training.hosts import Plans, train_among

        plans = Plans(*given, everyone, profile)
        team = joined_team(communicator)
        led, leaves = partial(_led, everyone), team is not communicator
        made = train_among(team, plans, _saved, led, leaves=leaves)
        return with_history(made, evals_result)
    task = prepare(params, data, evals, eval_metric, model, custom_metric, profile=profile)
    saved = None
    if everyone is not None:
        everyone.check(_plan(task))
        saved = _saved(everyone)
    try:
        for attempt in tries():
            with attempt:
                made = _fit(task, everyone, saved, profile)
    except BaseException as error:
        task.data.forget()
        clear_frames(error)
        raise
    return with_history(made, evals_result)


def check_history(evals_result: Any) -> None:
    """Raise an error unless ``evals_result`` is None or a dictionary to fill.

    Raises
    ------
    ParameterError
    """
    if evals_result is not None and not isinstance(evals_result, dict):
        from pyopencl_gbdt.errors import ParameterError

        raise ParameterError(
            f"evals_result is of type {type(evals_result).__name__}: expected a dict, which "
            "receives the metrics; give an empty one"
        )


def with_history(made: Model, evals_result: dict[str, Any] | None) -> Model:
    """Copy a model's history to the user's dict, if there is one; return the model."""
    if evals_result is not None:
        evals_result.clear()
        evals_result.update(made.history)
    return made


def _plan(task: Task) -> Plan:
    """Return the plan of a training that callbacks get before it begins."""
    from pyopencl_gbdt.callbacks.base import Plan
    from pyopencl_gbdt.training.task import fingerprint

    metrics = {name: list(task.metrics) for _, name in task.evals}
    own = partial(fingerprint, task), task.begins_with, task.state_sizes
    return Plan(task.params.n_estimators, metrics, *own)


def _saved(callbacks: CallbackList) -> CheckPoint | None:
    """Return the checkpoint to resume from."""
    from pyopencl_gbdt.callbacks.checkpoint import TrainingCheckPoint

    savers = [c for c in callbacks.callbacks if isinstance(c, TrainingCheckPoint)]
    for saver in savers:
        saver.accompany(callbacks)
    found = [point for saver in savers if (point := saver.newest()) is not None]
    saved = max(found, key=lambda point: point.n_rounds, default=None)
    if saved is not None:
        callbacks.restore(saved.callbacks)  # raises if they are other callbacks
    return saved


def _fit(
    task: Task, callbacks: CallbackList | None, saved: CheckPoint | None, profile: bool
) -> Model:
    """Train on a device; the arguments have been checked."""
    if saved is not None:
        from pyopencl_gbdt.training.continuing import by_outputs, continued_point

        start = continued_point(by_outputs(saved.ensemble))
        task = replace(task, start=start, history=saved.history, state=saved.state)
    with opened_fit(task, profile=profile) as fit:
        if callbacks is not None:
            return _led(callbacks, fit, saved)
        for _ in range(task.params.n_estimators):
            fit.step()
        return fit.finish(fit.model())


@contextlib.contextmanager
def opened_fit(
    task: Task, *, profile: bool = False, opens: Callable[[str], Device] | None = None
) -> Iterator[RunningTask]:
    """Open what ``task.params.device`` names, and yield a fit that callbacks can drive.

    ``opens`` opens a device that trains alone. If the block ends early, for example by Ctrl-C, all
    devices are waited for and all threads end.
    """
    from pyopencl_gbdt.device import open_device
    from pyopencl_gbdt.device.limited_device import limit_memory
    from pyopencl_gbdt.device.run_ahead import settled
    from pyopencl_gbdt.device.selection import find_several, names_several
    from pyopencl_gbdt.device.variants import tuning
    from pyopencl_gbdt.training.preparing import prepared_on
    from pyopencl_gbdt.training.running_task import RunningTask

    name = task.params.device
    if names_several(name):
        from pyopencl_gbdt.logger import tell
        from pyopencl_gbdt.training.device_team import leading
        from pyopencl_gbdt.training.division import divided

        parts = divided(find_several(name), task)
        if parts.note and task.params.verbosity:
            tell(parts.note)
        if len(parts.devices) > 1:
            for one in parts.devices:
                limit_memory(one, task.params.device_memory)
            with leading(parts.devices, task, parts.bounds) as together:
                together.parts = parts.described()
                yield together
            return
        name = parts.devices[0].caps.device_id
    device = open_device(name, profile=profile) if opens is None else opens(name)
    limit_memory(device, task.params.device_memory)
    device.warm_up()
    with settled(device):
        with tuning.read_once():
            fit = RunningTask(device, prepared_on(device, task))
        try:
            if task.by_codes:
                from pyopencl_gbdt.training.split_search import check_exact

                check_exact(task.params, fit.fit.parts.features.layout.feature_bins)
            yield fit
        finally:
            fit.close()


def _led(callbacks: CallbackList, fit: RunningTask, saved: CheckPoint | None) -> Model:
    """Run all rounds of a fit, with callbacks between them; return the model."""
    from pyopencl_gbdt.callbacks.base import TrainingModel

    model, history, number = TrainingModel([fit], fit.n_rounds), fit.history, 0
    try:
        callbacks.before_training(model)
        if saved is not None:
            callbacks.restore(saved.callbacks)
            number, model.learning_rate = saved.n_rounds, saved.learning_rate
            model.attributes.update(saved.attributes)
        while number < fit.task.params.n_estimators:
            if callbacks.before_iteration(model, number, history):
                break
            fit.step()
            if callbacks.after_iteration(model, number, history):
                break
            number += 1
        callbacks.after_training(model)
        return fit.finish(model.current())
    finally:
        model.close()
        fit.close()
        callbacks.close()


def __getattr__(name: str) -> Any:
    if name not in ("History", "Model"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pyopencl_gbdt.prediction import model

    return getattr(model, name)


__all__ = ["History", "Model", "train"]
