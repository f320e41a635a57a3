"""What a training is: its task and starting point, and the facts that decide what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.selection import find_several, names_several
from pyopencl_gbdt.evaluation.watched import Start
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import Score
from pyopencl_gbdt.model.leaf_kinds import LINEAR, with_vectors
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.custom import DeviceObjective
from pyopencl_gbdt.parameters.category_offers import offered
from pyopencl_gbdt.parameters.constraints import Constraints, limits_of
from pyopencl_gbdt.parameters.facts import CategoryFacts, CutFacts, FitFacts, LossFacts, ModelFacts
from pyopencl_gbdt.parameters.parameters import ROWS, Parameters
from pyopencl_gbdt.parameters.refusals import MOST_BINS, OF_CUTS
from pyopencl_gbdt.parameters.row import refuse
from pyopencl_gbdt.prediction.model import History

if TYPE_CHECKING:
    from pyopencl_gbdt.callbacks.base import TrainingState
    from pyopencl_gbdt.categories.statistic_columns import StatisticColumns
    from pyopencl_gbdt.metrics import Metric


def fit_facts(
    params: Parameters,
    objective: Objective,
    data: Dataset,
    limits: Constraints,
    *,
    evals: Sequence[tuple[Dataset, str]] = (),
    before: Ensemble | None = None,
    in_hosts: bool = False,
    profile: bool = False,
) -> FitFacts:
    """Return all facts about a training.

    Raises
    ------
    DeviceError
        If one of several devices is not there.
    """
    device, several = params.device, names_several(params.device)
    return FitFacts(
        params,
        loss_facts(params, objective),
        n_rows=data.n_rows,
        n_targets=data.n_targets,
        sparse=data.sparse is not None,
        in_batches=data.batches is not None,
        categories=_categories(params, data, limits),
        sparse_evals=tuple(name for rows, name in evals if rows.sparse is not None),
        model=None if before is None else _model(params, objective, before),
        n_devices=len(find_several(device)) if several and not in_hosts else 1,
        names_several=several,
        in_hosts=in_hosts,
        profile=profile,
    )


def constraints_of(params: Parameters, data: Dataset) -> Constraints:
    """Return the constraints of a training; ``limits_of`` parses and checks them, if any are given.

    Raises
    ------
    ParameterError
    """
    given = params.monotone_constraints or params.interaction_constraints or params.forced_splits
    weighed = params.samples_columns and data.feature_weights is not None
    return limits_of(params, data) if given or weighed else Constraints()


def _is_soft(objective: Objective) -> bool:
    from pyopencl_gbdt.objectives.classification import SoftProb

    return isinstance(objective, SoftProb)


def loss_facts(params: Parameters, objective: Objective) -> LossFacts:
    """Return the facts about a loss."""
    return LossFacts(
        name=getattr(objective, "custom_name", ""),
        kernel=objective.kernel,
        n_outputs=objective.n_outputs,
        one_target=objective.one_target,
        given=objective.given,
        own_kernels=objective.given and not _is_soft(objective),
        renews=objective.renews,
        takes_pages=objective.takes_pages,
        n_split=objective.n_split,
        fills_device_arrays=isinstance(objective, DeviceObjective),
        has_targets=params.has_targets,
    )


def _categories(
    params: Parameters, data: Dataset, limits: Constraints
) -> tuple[CategoryFacts, ...]:
    if not data.categories:  # a sparse matrix may have 2^31 columns
        return ()
    names = data.feature_names or [""] * data.n_features
    own = offered(params, data)
    forced = {split.feature for split in limits.forced}
    return tuple(
        CategoryFacts(
            column,
            names[column],
            levels.n_levels,
            own[column],
            monotone=limits.monotone is not None and bool(limits.monotone[column]),
            forced=column in forced,
        )
        for column, levels in sorted(data.categories.items())
    )


def _model(params: Parameters, objective: Objective, before: Ensemble) -> ModelFacts:
    return ModelFacts(
        shown_loss=_shown(before.objective, before.objective_parameters),
        asked_loss=_shown(params.objective, objective.parameters),
        base_score=before.base_score,
        n_outputs=before.n_outputs,
        n_parallel=before.n_parallel,
        has_statistics=before.statistics is not None,
        has_trees=bool(before.trees),
        has_weights=before.tree_weights is not None,
        is_linear=before.leaves is LINEAR,
        splits_apart=params.weighs_trees and not _is_alike(before),
    )


def _is_alike(model: Ensemble) -> bool:
    """Tell whether trees of a round's outputs split alike, and have one weight."""
    n_outputs, n_parallel = model.n_outputs, model.n_parallel
    if with_vectors(model.trees, n_outputs, n_parallel) is None:
        return False
    weights = np.reshape(model.tree_weights or (), (-1, n_outputs, n_parallel))
    return bool((weights == weights[:, :1]).all())


def _shown(loss: str, parameters: Mapping[str, float | str]) -> str:
    shown = {k: v if isinstance(v, str) else f"{v:g}" for k, v in parameters.items()}
    return " ".join([loss, *(f"{name}={value}" for name, value in sorted(shown.items()))])


@dataclass(frozen=True)
class StartingPoint:
    """The model that the first new tree is added to, which has no trees yet.

    Attributes
    ----------
    base_score, base_margin : float, or tuple of float for several outputs
        As in ``Ensemble``.
    before : Ensemble or None
        The model to continue, if there is one; see ``ContinuedPoint``.
    """

    base_score: Score
    base_margin: Score
    before: Ensemble | None = None

    @property
    def trees(self) -> list[Tree]:
        """The trees so far."""
        return []

    @property
    def n_rounds(self) -> int:
        """The rounds so far."""
        return 0

    def margins(self, rows: Dataset, device: Device, *, weighted: bool = False) -> Start:
        """Return the margins of rows before the first new tree.

        ``weighted``: whether the trees to come have weights, so that the sums of trees are needed.
        """
        return start_of(self.base_margin) if rows.base_margin is None else rows.base_margin.T


def start_of(margin: Score) -> Start:
    """Convert a model's base margin to a ``Start``."""
    if isinstance(margin, tuple):
        return np.array(margin, np.float32)[:, None]
    return margin


#: Fewer rows are summed on the host, where that takes 10 ms or less (one core of a Xeon) and no
#: kernels have to be built.
LEAST_ROWS = 1 << 20


def sums_labels_on_device(objective: Objective, data: Dataset) -> bool:
    """Tell whether summing the labels on the device pays off."""
    one_target = data.n_targets == 1
    return objective.starts_at_mean and one_target and data.n_rows >= LEAST_ROWS


#: ``auto`` searches exactly in sparse data of more columns than this, as ThunderGBM does, ...
WIDE = 20_000
#: ... of which at most this share is present. Such columns have few values each, so most values
#: would have a bin of their own anyway.
MOST_PRESENT = 0.05


def resolved(params: Parameters, data: Dataset, n_outputs: int) -> Parameters:
    """Return the parameters with ``tree_method="exact"`` where ``auto`` means that.

    Symmetric trees and those of several outputs need histograms, dropped trees are walked by codes,
    and drawn or forced borders lie between bins, as those do of which both sides' weights are
    smoothed: sparse data get tiled pages.

    Only data and parameters decide, never the device, so the model is the same everywhere. A
    ``max_bin`` or ``cut_rule`` of the user's own asks for histograms.
    """
    sparse = data.sparse
    if params.symmetric_trees:  # splits of levels are searched in histograms
        return params if sparse is None else replace(params, page="tiled")
    of_bins = params.draws_splits or params.smooths or bool(params.forced_splits)
    of_bins = of_bins or params.has_vectors(n_outputs)
    if (params.weighs_trees or of_bins) and sparse is not None:
        of_codes = params.page == "auto" and params.search == "hist"
        return replace(params, page="tiled") if of_codes else params
    return params if sparse is None else of_sparse(params, data.n_features, sparse.density)


def of_sparse(params: Parameters, n_features: int, density: float) -> Parameters:
    """Return the result of ``resolved`` for a sparse matrix with this share of present values."""
    own = any(getattr(params, name) != ROWS[name].default for name in ("max_bin", "cut_rule"))
    if params.tree_method != "auto" or own:
        return params
    if n_features <= WIDE or density > MOST_PRESENT:
        return params
    return replace(params, tree_method="exact")


def as_histograms(params: Parameters, *, sparse: bool = False) -> Parameters:
    """Return parameters with a bin for every distinct value in place of exact search.

    Both grow the same trees. ``check_exact`` tells whether there are bins enough.
    """
    if params.search != "exact":
        return params
    page = "tiled" if sparse else "auto"  # exact search has no other pages
    # thresholds lie half-way between values
    return replace(params, tree_method="hist", max_bin=MOST_BINS, cut_rule="shares", page=page)


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
    def trained_params(self) -> Parameters:
        """The parameters by which trees grow; ``params`` are what was asked for."""
        params, sparse = self.params, self.data.sparse is not None
        params = as_histograms(params, sparse=sparse) if self.by_codes else params
        unit = self.objective.has_unit_hessians and self.data.weight is None
        return params.with_least_hessian(unit_hessians=unit)

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


def check_exact(asked: Parameters, n_bins: npt.NDArray[np.uint32]) -> None:
    """Raise an error if exact search was asked for, and a bin has several values.

    Parameters
    ----------
    asked : Parameters
        As the user gave them.
    n_bins : uint32 array, shape (n_features,)
        Bins of every feature.

    Raises
    ------
    ParameterError
    """
    if n_bins.size:
        column = int(n_bins.argmax())
        refuse(CutFacts(asked.search, column, int(n_bins[column]), MOST_BINS), OF_CUTS)
