"""A training in progress: its starting point, its rounds one by one, the model so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.arena import MemoryPlan
from pyopencl_gbdt.device.kept_programs import bundle
from pyopencl_gbdt.device.program import BuildNotice
from pyopencl_gbdt.device.run_ahead import Pace
from pyopencl_gbdt.device.team.messages import FitLabels
from pyopencl_gbdt.evaluation.watched import EvaluationSet, Start, gather
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.growth.boosting import WeightedStart
from pyopencl_gbdt.logger import tell
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import Score
from pyopencl_gbdt.model.leaf_kinds import weights_of_vectors
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.refusals import OF_MODELS
from pyopencl_gbdt.parameters.row import refuse
from pyopencl_gbdt.prediction.model import History, Model
from pyopencl_gbdt.training.fit import Fit, LateStart
from pyopencl_gbdt.training.task import StartingPoint, Task

if TYPE_CHECKING:
    from pyopencl_gbdt.callbacks.base import TrainingState
    from pyopencl_gbdt.evaluation.evaluation import Evaluation
    from pyopencl_gbdt.profiling.profile import Recorder

F32 = npt.NDArray[np.float32]


def _recorder(device: Device) -> Recorder:
    from pyopencl_gbdt.profiling.profile import Recorder

    return Recorder(device)


def _kind(device: Device, task: Task) -> list[str]:
    """Return what fits have in common whose programs are kept in one file."""
    caps, params, names = device.caps, task.params, type(task.objective).__name__
    own = params.objective if isinstance(params.objective, str) else ""
    grown = params.tree_method, params.grow_policy, params.booster
    return [caps.api, caps.platform, caps.name, caps.driver, names, own, *map(str, grown)]


def start_of(margin: Score) -> Start:
    """Convert a model's base margin to a ``Start``."""
    if isinstance(margin, tuple):
        return np.array(margin, np.float32)[:, None]
    return margin


def trained_params(task: Task) -> Parameters:
    """Return the parameters by which trees grow; those of the task are what was asked for."""
    params = task.params
    if task.by_codes:
        from pyopencl_gbdt.training.split_search import as_histograms

        params = as_histograms(params, sparse=task.data.sparse is not None)
    unit = task.objective.has_unit_hessians and task.data.weight is None
    return params.with_least_hessian(unit_hessians=unit)


class RunningTask:
    """A task that runs on an open device.

    ``task``: in a team, ``data`` are the member's own rows, ``start`` is given, and member 0 alone
    has evaluation sets.
    ``share``: the device's place in a team; None: it trains alone.
    """

    def __init__(self, device: Device, task: Task, share: Share | None = None) -> None:
        self.task, self.device = task, device
        self.team = (share or Share()).team
        caps, verbosity = device.caps, task.params.verbosity
        device.builds = BuildNotice.of_fit(caps.label, device.build_share, verbosity)
        device.builds_later = True
        device.programs = bundle(*_kind(device, task))
        self._recorder = None if device.profiler is None else _recorder(device)
        data = task.data
        margins: Start | LateStart = self._start_at_mean
        others: list[Start | None] = []
        if task.start is not None:
            self.start = task.start
            if self.start.trees:
                refuse(FitFacts(task.params, resumed=True), OF_MODELS)
            # Compute margins first: rows need device memory for that, even if there are few trees.
            margins, others = self._first_margins(), self._margins_of_evals()
        evaluates_whole = any(rows is task.whole for rows, _ in task.evals)
        facts = bool(task.evals), evaluates_whole, device.caps.label
        data.end_reading()
        said = self.team.exchange(FitLabels, facts)
        self.is_watched, self._gathers, _ = said[0]
        self.labels: list[str] = [label for *_, label in said]
        """The devices of all members."""
        beside = MemoryPlan()
        if task.evals:
            from pyopencl_gbdt.evaluation.evaluation import plan_evaluation

            beside = plan_evaluation(
                device, task.objective, task.metrics, task.evals, data, gathered=task.whole,
                weighted=self._is_weighted,
            )  # fmt: skip
        if isinstance(margins, WeightedStart):
            from pyopencl_gbdt.growth.coded_trees import plan_earlier

            most = max((one.n_levels for one in data.categories.values()), default=0)
            plan_earlier(beside, margins.trees, 2 + most // 32)
        first_round = task.first_round
        if first_round is None:
            first_round = 0 if task.start is None else task.start.n_rounds
        self.fit = Fit(
            device, trained_params(task), task.objective, data, margins, first_round, beside=beside,
            share=share, replaced=task.replaced, state=task.state,
        )  # fmt: skip
        others = others or self._margins_of_evals()
        self._watch(others)
        if task.replaced is not None:
            task.replaced.release()
        done = task.history
        self.history: History = {
            name: {metric: list(done.get(name, {}).get(metric, ())) for metric in task.metrics}
            for _, name in task.evals
        }
        n_done = max((len(v) for own in self.history.values() for v in own.values()), default=0)
        self._history_start = self.start.n_rounds - n_done
        self._evaluation = self._evaluated() if task.evals else None
        if self._recorder is not None:
            self._recorder.begin_rounds()
        self.pace, self._n_checked, self.runs_ahead = Pace(device), 0, False
        if task.params.verbosity > 1:
            ran = self.fit.variants()
            chosen = ", ".join(f"{kernel}: {name}" for kernel, name in ran.items())
            tell(f"training on {device.caps.label}, kernels: {chosen}")

    def _evaluated(self) -> Evaluation:
        """Return the object that computes the metrics of the evaluation sets."""
        from pyopencl_gbdt.evaluation.evaluation import Evaluation

        task, labels = self.task, self.fit.parts.arena.arrays.get("labels")
        own = task.objective, task.metrics, task.evals, self.fit.evaluation, labels
        return Evaluation(self.device, *own, task.params.work_group_size)

    def _watch(self, starts: Sequence[Start | None]) -> None:
        """Watch the evaluation sets; combinations write their features there, too."""
        task, training_rows, start = self.task, self.fit.parts.rows, self.fit.base_margin
        for number, ((rows, _), other) in enumerate(zip(task.evals, starts, strict=True)):
            if other is None and rows is task.whole:
                self.fit.watch(EvaluationSet.of_team(training_rows, rows.n_rows, start))
                continue
            if other is None:
                self.fit.watch(EvaluationSet.of_training_rows(training_rows, start))
                continue
            values = rows.sparse or rows.features_for(self.device)
            watched, made = EvaluationSet.of(training_rows, values, other), task.replaced
            self.fit.watch(watched)
            combining = None if made is None else made.combining
            if made is not None and combining and isinstance(watched.values, DeviceArray):
                combining.watch(made.given_evals[number], watched.values)

    def _start_at_mean(self, parts: FitParts) -> Start:
        """Compute the base score from the labels on the device; return the margin."""
        from pyopencl_gbdt.evaluation.label_mean import starting_score

        objective, data = self.task.objective, self.task.data
        score = starting_score(parts, objective, data)
        self.start = StartingPoint(score, objective.to_margin(score))
        return self._margins_of(data)

    @property
    def _is_weighted(self) -> bool:
        return self.task.params.weighs_trees

    def _margins_of(self, rows: Dataset) -> Start:
        """Return the margins of rows before the first new tree."""
        own = None if rows.base_margin is None else rows.base_margin.T
        base, before = start_of(self.start.base_margin) if own is None else own, self.start.before
        if before is None or not before.trees:
            return base
        from pyopencl_gbdt.training.continuing import margins_after

        return margins_after(before, rows, self.device, base, weighted=self._is_weighted)

    def _first_margins(self) -> Start | LateStart:
        """Return the margins of the training rows; late ones if rounds have features of theirs."""
        made, before = self.task.replaced, self.start.before
        if made is None or before is None:
            return self._margins_of(self.task.data)

        def margins(parts: FitParts) -> Start:
            from pyopencl_gbdt.growth.leaves_by_next_order import walks_leaves
            from pyopencl_gbdt.prediction.with_statistics import resumed_margins

            walks = walks_leaves(parts.ways.facts, parts.nodes.policy)
            return resumed_margins(made, before, parts.arena.device, int(walks))

        return margins

    def _margins_of_evals(self) -> list[Start | None]:
        """Return the first margins of every evaluation set; None for the training rows."""
        data, device, made = self.task.data, self.device, self.task.replaced
        if made is not None and self.start.before is not None:
            from pyopencl_gbdt.prediction.with_statistics import eval_margins

            before = self.start.before
            return [
                None if rows is made.given else eval_margins(rows, before, device)
                for rows in made.given_evals
            ]
        return [
            None if rows is (self.task.whole or data) else self._margins_of(rows)
            for rows, _ in self.task.evals
        ]

    @property
    def n_rounds(self) -> int:
        """Number of rounds so far, including those of the starting point."""
        return self.start.n_rounds + len(self.fit.rates)

    @property
    def learning_rate(self) -> float:
        """The learning rate of the following rounds; can be assigned."""
        return self.fit.learning_rate

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        self.fit.learning_rate = value

    def step(self) -> None:
        """Train one round and compute its metrics; waits for the device if there are any."""
        self.enqueue()
        self.take()

    def enqueue(self) -> None:
        """Enqueue a round and its metrics, for which ``take`` waits."""
        fit = self.fit
        fit.step(self.pace)
        self.check_sums()
        if self._gathers:
            fit.settle(watched=True)
            gather(fit.parts.rows, fit.evaluation)
        if self._evaluation is not None:
            self._evaluation.launch()
        if self.is_watched:
            fit.ask()

    def take(self) -> None:
        """Add the metrics of the round that was enqueued last to the history."""
        trained_again = not self._gathers and self.fit.settle(watched=self.is_watched)
        if trained_again and self._evaluation is not None:
            self._evaluation.launch()
        self.keep_metrics()

    def keep_metrics(self) -> None:
        """Wait for the metrics, and add them to the history."""
        found = () if self._evaluation is None else self._evaluation.values()
        for (name, metric), value in found:
            self.history[name][metric].append(value)

    @property
    def evaluation(self) -> Evaluation:
        """The metrics of the evaluation sets, of which there are some."""
        assert self._evaluation is not None
        return self._evaluation

    def model(self, n_rounds: int | None = None, attributes: dict[str, str] | None = None) -> Model:
        """Return the model so far, or only its first rounds; waits for the last round.

        ``n_rounds``: number of rounds to keep, including those of the starting point.
        ``attributes``: facts to store in the model.
        """
        task, start, parts = self.task, self.start, self.fit.parts
        made, statistics = task.replaced, None
        own = {} if made is None else made.attributes()
        earlier = start.trees if made is None else made.earlier(start.trees)
        trees, size = self.fit.behind(earlier)
        self.check_sums()
        trees = trees if n_rounds is None else trees[: n_rounds * size]
        weights = self._weights(len(trees) // size)
        if size < parts.nodes.round_trees:
            weights = weights_of_vectors(weights, parts.nodes.n_outputs, parts.nodes.n_parallel)
        if made is not None:
            trees, statistics = made.of_model(trees)
        ensemble = Ensemble(
            trees=trees, objective=task.params.objective, n_features=task.columns.n_features,
            base_margin=start.base_margin, base_score=start.base_score,
            feature_names=task.columns.feature_names, attributes={**(attributes or {}), **own},
            n_outputs=parts.nodes.n_outputs, n_parallel=parts.nodes.n_parallel,
            objective_parameters=task.objective.parameters, categories=task.columns.categories,
            statistics=statistics, tree_weights=weights,
        )  # fmt: skip
        model = Model(ensemble, self.history, asdict(task.params))
        model.history_start = self._history_start
        model.training_device = self.device.caps.label
        model.variants = self.fit.variants()
        return model

    def check_sums(self) -> None:
        """Raise ``DataError`` if the trees with weights that were read last add up to too much."""
        found, fit = self.fit.grown.largest, self.fit
        if found.size == self._n_checked:
            return
        self._n_checked = found.size
        largest = [*(float(np.abs(tree.value).max()) for tree in self.start.trees), *found]
        weights = fit.kernels.boosting.weights(len(fit.rates))
        assert weights is not None
        nodes = fit.parts.nodes
        own = weights[: len(largest)], nodes.n_outputs, nodes.n_parallel
        from pyopencl_gbdt.training.weighted_sums import check_sums

        check_sums(largest, *own, self.task.data)

    def _weights(self, n_rounds: int) -> tuple[float, ...] | None:
        """Return the weights of the trees of the first rounds, as they were after these rounds."""
        own = max(0, n_rounds - self.start.n_rounds)
        weights = self.fit.kernels.boosting.weights(own)
        n_trees = n_rounds * self.fit.parts.nodes.round_trees
        return None if weights is None else tuple(map(float, weights[:n_trees]))

    def state(self) -> TrainingState:
        """Return the state that later rounds need beside the model; waits for the last round."""
        return self.fit.state()

    def close(self) -> None:
        """Free what the fit has outside the device."""
        self.fit.close()
        self.device.programs.save()

    def wait(self) -> None:
        """Wait until the device is idle."""
        self.device.finish()

    def finish(self, model: Model) -> Model:
        """Add to the model what was measured in the whole fit."""
        tally, rounds = self.fit.tally, len(self.fit.rates)
        if self._recorder is not None and tally is not None:
            weighted = self.task.data.weight is not None
            model.profile = self._recorder.profile(tally, rounds, weighted=weighted)
        return model
