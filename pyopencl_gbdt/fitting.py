"""A fit under way: its starting point, its rounds one by one, the model so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.booster import Boosting
from pyopencl_gbdt.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.pace import Pace
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.evaluation import Evaluation
from pyopencl_gbdt.evaluation_memory import plan_evaluation
from pyopencl_gbdt.fitted_model import History, Model
from pyopencl_gbdt.metrics import Metric
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import Score, each
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.parameter_table import TABLE
from pyopencl_gbdt.parameters import Parameters
from pyopencl_gbdt.prediction import predict_margins
from pyopencl_gbdt.profiling import Recorder
from pyopencl_gbdt.watched import Start, start_of

F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class StartingPoint:
    """What the first new tree is added to.

    Attributes
    ----------
    base_score, base_margin : float, or tuple of float for several outputs
        As in ``Ensemble``.
    before : Ensemble or None
        Trees that are there already.
    """

    base_score: Score
    base_margin: Score
    before: Ensemble | None = None

    @property
    def trees(self) -> list[Tree]:
        return [] if self.before is None else self.before.trees

    def margins(self, rows: Dataset, device: Device) -> Start:
        """Return the margins of rows; the same bits as if these trees had just been trained."""
        own: F32 | None = None if rows.base_margin is None else rows.base_margin.T
        if self.before is not None and self.before.trees:
            return predict_margins(self.before, rows.values, device, start=own)
        return start_of(self.base_margin) if own is None else own

    @property
    def n_rounds(self) -> int:
        return 0 if self.before is None else self.before.n_rounds

    def model(self, task: Task) -> Ensemble:
        """Return the model before the first new tree."""
        return Ensemble(
            trees=self.trees,
            objective=task.params.objective,
            n_features=task.data.n_features,
            base_margin=self.base_margin,
            base_score=self.base_score,
            n_outputs=len(each(self.base_margin)),
            n_parallel=task.params.num_parallel_tree,
            objective_parameters=task.objective.parameters,
        )


@dataclass
class Task:
    """What is to be trained; checked.

    Attributes
    ----------
    history : dict
        Metrics of the rounds of this training that are done already.
    """

    params: Parameters
    objective: Objective
    data: Dataset
    evals: Sequence[tuple[Dataset, str]]
    metrics: dict[str, Metric]
    start: StartingPoint
    history: History = field(default_factory=dict)


class Fit:
    """A task on an opened device."""

    def __init__(self, device: Device, task: Task) -> None:
        self.task, self.device = task, device
        self._recorder = None if device.profiler is None else Recorder(device)
        start, data = task.start, task.data
        if start.trees:
            task.objective.check_continued()
        # before memory is taken for training, as rows of a few trees need some of their own
        margins = start.margins(data, device)
        others = [None if rows is data else start.margins(rows, device) for rows, _ in task.evals]
        beside = plan_evaluation(device, task.objective, task.metrics, task.evals, data)
        self.boosting = Boosting(
            device, task.params, task.objective, data, margins, start.n_rounds, beside=beside
        )
        for (rows, _), other in zip(task.evals, others, strict=True):
            if other is None:
                self.boosting.watch_training_rows()
            else:
                self.boosting.watch(rows.values, other)
        done = task.history
        self.history: History = {
            name: {metric: list(done.get(name, {}).get(metric, ())) for metric in task.metrics}
            for _, name in task.evals
        }
        self._evaluation = Evaluation(
            self.boosting.ws, task.objective, task.metrics, task.evals, self.boosting.evaluation
        )
        if self._recorder is not None:
            self._recorder.begin_rounds()
        self._pace = Pace(device)

    @property
    def n_rounds(self) -> int:
        """Rounds so far, with those of the starting point."""
        return self.task.start.n_rounds + len(self.boosting.rates)

    def step(self) -> None:
        """Train one round and take its metrics; waits for it if there are any."""
        self.boosting.step(self._pace)
        self._evaluation.launch()  # before the host waits
        if self.boosting.settle():
            self._evaluation.launch()
        for (name, metric), value in self._evaluation.values():
            self.history[name][metric].append(value)

    def model(self, n_rounds: int | None = None, attributes: dict[str, str] | None = None) -> Model:
        """Return the model so far, or its first rounds; waits for the last one.

        Parameters
        ----------
        n_rounds : int or None
            Rounds to keep, with those of the starting point.
        attributes : dict of str to str or None
            Facts to keep in the model.
        """
        task, start, ws = self.task, self.task.start, self.boosting.ws
        trees = [*start.trees, *self.boosting.finished_trees()]
        ensemble = Ensemble(
            trees=trees if n_rounds is None else trees[: n_rounds * ws.round_trees],
            objective=task.params.objective,
            n_features=task.data.n_features,
            base_margin=start.base_margin,
            base_score=start.base_score,
            feature_names=task.data.feature_names,
            attributes=dict(attributes or {}),
            n_outputs=ws.n_outputs,
            n_parallel=ws.n_parallel,
            objective_parameters=task.objective.parameters,
        )
        model = Model(ensemble, self.history)
        model.training_device = self.device.caps.label
        model.variants = ws.variants()
        return model

    def finish(self, model: Model) -> Model:
        """Add what was measured of the whole fit."""
        tally, rounds = self.boosting.tally, len(self.boosting.rates)
        if self._recorder is not None and tally is not None:
            weighted = self.task.data.weight is not None
            model.profile = self._recorder.profile(tally, rounds, weighted=weighted)
        return model


class TrainingModel:
    """What callbacks get: the model of a training that is under way.

    Attributes
    ----------
    attributes : dict of str to str
        Facts that the model keeps, also in its file.
    """

    def __init__(self, fits: Sequence[Fit]) -> None:
        self._fits = list(fits)
        self._n_rounds = fits[0].n_rounds if fits else 0
        self._keep: int | None = None
        self.attributes: dict[str, str] = {}

    @property
    def learning_rate(self) -> float:
        """The learning rate of the rounds to come; can be set."""
        return self._alive()[0].boosting.learning_rate

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        row = next(row for row in TABLE if row.name == "learning_rate")
        checked = row.convert(value)
        assert isinstance(checked, float | int)
        for fit in self._alive():
            fit.boosting.learning_rate = float(checked)

    def set_param(self, name: str, value: float) -> None:
        """Change a parameter of the rounds to come; the learning rate is the one that can be."""
        if name not in ("learning_rate", "eta"):
            raise ParameterError(
                f"set_param({name!r}): expected 'learning_rate' while a model is trained; give "
                f"{name} to train"
            )
        self.learning_rate = value

    @property
    def is_cv(self) -> bool:
        """Whether these are the folds of a cross-validation."""
        return len(self._alive()) > 1

    def num_boosted_rounds(self) -> int:
        """Return the number of rounds so far, with those of a model that is continued."""
        return self._fits[0].n_rounds if self._fits else self._n_rounds

    def keep_rounds(self, n_rounds: int) -> None:
        """Keep the first rounds alone when training is over."""
        self._keep = n_rounds

    def current(self) -> Model:
        """Return the model of the rounds so far; waits for the device."""
        fits = self._alive()
        if len(fits) > 1:
            raise ParameterError("cross-validation has no model of its own; train one by train")
        return fits[0].model(self._keep, self.attributes)

    def close(self) -> None:
        """Let go of the device's memory."""
        self._n_rounds = self.num_boosted_rounds()
        self._fits = []

    def _alive(self) -> list[Fit]:
        if not self._fits:
            raise ParameterError("training is over: expected use within a callback's hooks")
        return self._fits
