"""What to train: the task, and what its model depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import Score
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.custom import CUSTOM
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.prediction.model import History

if TYPE_CHECKING:
    from pyopencl_gbdt.callbacks.base import TrainingState
    from pyopencl_gbdt.categories.statistic_columns import StatisticColumns
    from pyopencl_gbdt.metrics import Metric

#: Parameters that do not change a model, except for its number of rounds.
_HARMLESS = frozenset(
    {
        "n_estimators",
        "device",
        "device_memory",
        "cache_dir",
        "histogram",
        "page",
        "work_group_size",
        "verbosity",
    }
)


@dataclass(frozen=True)
class StartingPoint:
    """The model that the first new tree is added to.

    Attributes
    ----------
    base_score, base_margin : float, or tuple of float for several outputs
        As in ``Ensemble``.
    before : Ensemble or None
        The model to continue, if there is one, ...
    trees, n_rounds
        ... and its trees and rounds.
    """

    base_score: Score
    base_margin: Score
    before: Ensemble | None = None
    trees: list[Tree] = field(default_factory=list)
    n_rounds: int = 0


@dataclass
class Task:
    """A checked description of what to train.

    Attributes
    ----------
    metrics : dict of str to Metric
        Empty if no set is evaluated and none was asked for.
    start : StartingPoint or None
        None: it is computed on the device from the mean label.
    history : dict
        Metrics of the finished rounds of a resumed training.
    replaced : StatisticColumns or None
        Where statistics have replaced categorical columns in ``data`` and ``evals``.
    state : dict of str to float32 array
        What a resumed training kept beside its model.
    by_codes : bool
        Whether exact search, too, is by codes: of rows in batches, and in a team.
    first_round : int or None
        The number of the first round, by which random numbers are drawn; None counts the rounds
        of ``start``.
    whole : Dataset or None
        All rows, where ``data`` are a member's part of them; member 0 of a team evaluates them if
        they are among ``evals``.
    asked : Parameters or None
        The parameters as they were given, which do not depend on the data.
    facts : FitFacts or None
        What was found not to be refused.
    """

    params: Parameters
    objective: Objective
    data: Dataset
    evals: Sequence[tuple[Dataset, str]]
    metrics: dict[str, Metric]
    start: StartingPoint | None
    history: History = field(default_factory=dict)
    replaced: StatisticColumns | None = None
    state: TrainingState = field(default_factory=dict)
    by_codes: bool = False
    whole: Dataset | None = None
    first_round: int | None = None
    asked: Parameters | None = None
    facts: FitFacts | None = None

    @property
    def n_outputs(self) -> int:
        """Margins of a row."""
        return max(self.objective.n_outputs, self.data.n_targets)

    @property
    def metric_names(self) -> list[str]:
        """The names of the metrics that sets get; the loss's own one by default."""
        return list(self.metrics) or [self.objective.metric]

    @property
    def state_sizes(self) -> dict[str, int]:
        """How many numbers each array has that this training keeps beside its model."""
        if not self.params.is_ordered:
            return {}
        from pyopencl_gbdt.growth.ordered_leaves import state_sizes

        return state_sizes(self.params, self.data.n_rows, self.n_outputs)

    @property
    def columns(self) -> Dataset:
        """The data with the user's columns alone."""
        return self.data if self.replaced is None else self.replaced.given

    def begins_with(self) -> dict[str, Any]:
        """Return the fields of ``Ensemble`` that every model of this training shares."""
        found = {
            "trees": [] if self.start is None else self.start.trees,
            "objective": self.params.objective,
            "objective_parameters": self.objective.parameters,
            "n_features": self.columns.n_features,
            "n_outputs": self.n_outputs,
            "n_parallel": self.params.num_parallel_tree,
            "categories": self.columns.categories,
        }
        if self.start is not None:
            found |= {"base_margin": self.start.base_margin, "base_score": self.start.base_score}
        return found


def fingerprint(task: Task) -> dict[str, str]:
    """Return everything that a model and its history depend on, as text by name."""
    found = {
        f"parameters.{name}": str(value)
        for name, value in asdict(task.params).items()
        if name not in _HARMLESS
    }
    if task.params.objective == CUSTOM:
        found["objective"] = str(task.objective.parameters)
    found |= {f"data.{part}": digest for part, digest in task.data.digests().items()}
    for rows, name in task.evals:
        parts = {} if rows is task.data else rows.digests()
        found |= {f"evals.{name}.{part}": digest for part, digest in parts.items()}
    found["evals"] = str([name for _, name in task.evals])
    found["eval_metric"] = str(task.metric_names)
    if task.start is not None and task.start.before is not None:
        from pyopencl_gbdt.model import to_json

        text = to_json(task.start.before)
        found["model to continue"] = hashlib.sha256(text.encode()).hexdigest()
    return found
