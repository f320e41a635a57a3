"""What a training of LightGBM's parameters is here: the loss, its link, metrics and start.

By a task's gradients, leaves of a model are computed anew for other rows, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.lightgbm.dataset import Dataset
from pyopencl_gbdt.compat.lightgbm.errors import LightGBMError
from pyopencl_gbdt.compat.lightgbm.metrics import Metric, chosen_metrics, metrics_of
from pyopencl_gbdt.compat.lightgbm.names import checked_values, loss_of_classes
from pyopencl_gbdt.compat.lightgbm.objectives import (
    KINDS,
    OWN_LOSSES,
    RANKING,
    SEVERAL,
    HostLoss,
    HostRows,
    Kind,
    host_loss,
    main_objective,
)
from pyopencl_gbdt.compat.lightgbm.settings import boosting_of, hessian_factor, trained_parameters
from pyopencl_gbdt.compat.lightgbm.trees import base_of, leaf_places
from pyopencl_gbdt.data import dataset as own
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters

F64 = npt.NDArray[np.float64]
#: Losses whose leaves are quantiles, which gradients alone do not tell.
_OF_QUANTILES = ("regression_l1", "quantile", "mape")
#: What ``base_score`` is for a margin of 0, by link.
_ZERO = {"identity": 0.0, "exp": 1.0, "sigmoid": 0.5}


@dataclass(frozen=True)
class Task:
    """One training.

    Attributes
    ----------
    params : dict
        LightGBM's parameters, by main names.
    objective : str
        LightGBM's main name; ``"none"`` for a function of the user's.
    n_outputs : int
        Margins of a row.
    boosting : str
        ``"gbdt"``, ``"dart"`` or ``"rf"``.
    """

    params: dict[str, Any]
    objective: str
    n_outputs: int
    boosting: str
    metrics: list[Metric]

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Task:
        """Return the task of parameters by main names.

        Raises
        ------
        ParameterError
            For what is refused, in LightGBM's words where it refuses it, too.
        """
        given = checked_values(params)
        given["auc_mu_weights"] = loss_of_classes(given)
        objective = main_objective(given.get("objective", "regression") or "none")
        n_classes = int(given.get("num_class", 1) or 1)
        if objective in SEVERAL and n_classes < 2:
            raise ParameterError(
                "Number of classes should be specified and greater than 1 for multiclass training: "
                f"num_class={n_classes}; give num_class"
            )
        if objective not in (*SEVERAL, "none") and n_classes > 1:
            raise ParameterError(
                "Number of classes must be 1 for non-multiclass training: "
                f"num_class={n_classes}; leave it out, or give objective='multiclass'"
            )
        found = cls(given, objective, n_classes, boosting_of(given), [])
        if found.boosting == "rf" and objective in _OF_QUANTILES:
            raise ParameterError(
                f"boosting='rf': objective={objective!r}: leaves of quantiles are not renewed in "
                "forests; give boosting='gbdt'"
            )
        if given.get("linear_tree") and objective == "regression_l1":
            raise ParameterError(
                "Cannot use regression_l1 objective when fitting linear trees: give another "
                "objective, or linear_tree=False"
            )
        if given.get("linear_tree") and given.get("zero_as_missing"):
            raise ParameterError(
                "zero_as_missing must be false when fitting linear trees: leave it out, or give "
                "linear_tree=False"
            )
        names = chosen_metrics(given, objective)
        found = replace(found, metrics=metrics_of(names, given))
        found.trained()  # refuses what has no counterpart
        return found

    @property
    def kind(self) -> Kind:
        return KINDS[self.objective]

    @property
    def is_by_host(self) -> bool:
        """Whether the host computes gradients."""
        return not self.kind.loss or self.boosting == "rf"

    @property
    def rate(self) -> float:
        """By what a tree is shrunk; a forest shrinks none."""
        return 1.0 if self.boosting == "rf" else float(self.params.get("learning_rate") or 0.1)

    def rows_of(self, data: Dataset) -> own.Dataset:
        """Return the rows of a data set with what a training needs."""
        return data.trained_rows(self.n_outputs, two_classes=self.objective == "binary")

    def check_start(self, **given: Any) -> None:
        """Refuse what a forest cannot start from: the first of ``given`` that is not None.

        Raises
        ------
        ParameterError
        """
        for name, value in given.items():
            if self.boosting != "rf" or value is None:
                continue
            if name == "fobj":
                raise ParameterError(
                    "RF mode do not support custom objective function, please use built-in "
                    "objectives: give objective by name, or boosting='gbdt'"
                )
            raise ParameterError(
                f"boosting='rf': {name} was given: expected None, as all trees of a forest start "
                "from the labels' mean; leave it out, or give boosting='gbdt'"
            )

    def asks_host(self, data: Dataset) -> bool:
        """Tell whether the host computes gradients of these rows.

        It does where rows of a query have weights of their own.
        """
        return self.is_by_host or (self.objective in RANKING and data.weighs_rows_of_queries)

    def trained(self, loss: Any = None) -> dict[str, Any]:
        """Return the parameters of this library; ``loss`` in place of the objective's own."""
        plain = self.kind.loss if loss is None else loss
        found = trained_parameters(self.params, self.objective, plain or "reg:squarederror")
        if loss is not None:
            for name in ("num_class", "quantile_alpha", "huber_alpha", "scale_pos_weight"):
                found.pop(name, None)
        return found

    def of_labels(self, data: Dataset) -> dict[str, Any]:
        """Return what parameters depend on the labels: the weight of a class, and the start."""
        found: dict[str, Any] = {}
        labels = np.asarray(data.label)
        if self.objective == "binary" and not self.is_by_host:
            found["scale_pos_weight"] = self._weight_of_positive(labels)
        if self.objective == "binary" and not self.is_by_host:  # also where a class weighs more
            mean = float(np.average(labels > 0, weights=data.weight))
            found["base_score"] = min(max(mean, 1e-6), 1 - 1e-6)
        averages = self.params.get("boost_from_average", True)
        if self.objective in RANKING or data.init_score is not None or not averages:
            found["base_score"] = self.zero_start()
        elif self.is_by_host:
            found["base_score"] = self._start_by_host(data)
        return found

    def _weight_of_positive(self, labels: npt.NDArray[Any]) -> float:
        if not self.params.get("is_unbalance"):
            return float(self.params.get("scale_pos_weight") or 1.0)
        positive = float(np.count_nonzero(labels > 0))
        return (len(labels) - positive) / max(positive, 1.0)

    def zero_start(self) -> Any:
        """Return the base score whose margin is 0."""
        if self.n_outputs > 1 or self.is_by_host:
            return [0.0] * self.n_outputs if self.n_outputs > 1 else 0.0
        return _ZERO[self.kind.link]

    def _start_by_host(self, data: Dataset) -> Any:
        """Return the first margins of a loss whose gradients the host computes."""
        labels = np.asarray(data.label, np.float64)
        weight = data.weight
        if self.objective == "multiclassova":
            shares = [float(np.average(labels == k, weights=weight)) for k in range(self.n_outputs)]
            shares = [min(max(one, 1e-15), 1 - 1e-15) for one in shares]
            return [math.log(one / (1 - one)) for one in shares]
        if self.objective == "cross_entropy_lambda":
            mean = float(np.average(labels, weights=weight))
            return math.log(math.expm1(max(mean, 1e-15)))
        if self.objective == "binary":  # a forest, whose start knows no weights of classes
            mean = min(max(float(np.average(labels > 0, weights=weight)), 1e-6), 1 - 1e-6)
            return math.log(mean / (1 - mean))
        if self.kind.loss:  # a forest
            p = Parameters.from_dict(self.trained())
            objective = get_objective(p.objective, p)
            rows = self.rows_of(data)
            score = objective.starting_scores(rows.label, rows.weight)
            margin = objective.to_margin(score)
            return list(margin) if isinstance(margin, tuple) else margin
        return self.zero_start()

    def by_host(
        self, data: Dataset, fobj: Callable[..., Any] | None, start: Any, first: int
    ) -> HostLoss:
        """Return the loss whose gradients the host computes.

        Parameters
        ----------
        data : Dataset
            The training rows, for ``fobj``.
        fobj : callable or None
            The user's function of margins and rows.
        start : float or list of float
            The margins of a forest's gradients.
        first : int
            The number of the next round.
        """
        name, own = self.objective, lambda margins, n: self.gradients(margins, data, n)
        if fobj is not None:
            name, own = "function", lambda margins, _: _called(fobj, margins, data)
        elif self.objective == "none":
            raise LightGBMError(
                "objective='none': expected a function of gradients; give one as objective of "
                "train, or as fobj of update"
            )
        elif self.boosting == "rf":
            shape, given = (data.num_data(), self.n_outputs), data.get_field("init_score")
            fixed = np.broadcast_to(np.asarray(start, np.float64), shape)
            fixed = fixed if given is None else np.reshape(given, shape)
            own = lambda _, n: self.gradients(fixed, data, n)  # noqa: E731
        return host_loss(name, own, self.n_outputs, first)

    def gradients(self, margins: F64, data: Dataset, number: int) -> tuple[F64, F64]:
        """Return LightGBM's weighted gradients and Hessians of margins, (n_rows, n_outputs)."""
        if not self.kind.loss or self.objective in RANKING:
            labels = np.asarray(data.label, np.float64)
            weight = np.ones(len(labels)) if data.weight is None else data.weight
            own_rows = HostRows(margins, labels, weight, data.group, self.params)
            return OWN_LOSSES[self.objective](own_rows, number)
        rows = self.rows_of(data)
        p = Parameters.from_dict(self.trained())
        objective = get_objective(p.objective, p)
        plain = own.Dataset(rows.checked, rows.label, rows.weight, group=data.group)
        own_margins = np.ascontiguousarray(margins.T, np.float32)
        g, h = objective.gradients(own_margins, plain)
        factor: Any = 1 if rows.weight is None else rows.weight
        if self.objective == "binary" and self.params.get("is_unbalance"):
            own_weight = self._weight_of_positive(rows.label)
            factor = factor * np.where(rows.label > 0, own_weight, 1)
        h = h / np.float32(hessian_factor(self.params, self.objective))
        return (g * factor).T.astype(np.float64), (h * factor).T.astype(np.float64)


def _called(fobj: Callable[..., Any], margins: F64, data: Dataset) -> tuple[Any, Any]:
    """Return what the user's function returns for margins; one output is one-dimensional."""
    plain = margins[:, 0] if margins.shape[1] == 1 else margins
    found = fobj(plain, data)
    g, h = found
    sizes = [np.size(one) for one in (g, h)]
    if sizes[0] != sizes[1]:
        raise ValueError(f"Lengths of gradient ({sizes[0]}) and Hessian ({sizes[1]}) don't match")
    if sizes[0] != margins.size:
        raise ValueError(
            f"Lengths of gradient ({sizes[0]}) and Hessian ({sizes[1]}) don't match training data "
            f"length ({len(margins)}) * number of models per one iteration ({margins.shape[1]})"
        )
    return g, h


def refitted(
    model: Ensemble,
    leaves: npt.NDArray[np.int32],
    data: Dataset,
    task: Task,
    decay_rate: float,
    rates: Sequence[float],
    settings: Mapping[str, Any],
    *,
    is_forest: bool,
) -> Ensemble:
    """Return the model whose leaves are mixed with a Newton step for other rows.

    LightGBM 4.7, ``GBDT::RefitTree``: gradients are those of the mixed trees before.

    Parameters
    ----------
    leaves : int32 array, shape (n_rows, n_trees)
        The number of each row's leaf in each tree.
    data : Dataset
        The other rows, with labels.
    task : Task
        The loss.
    decay_rate : float
        The share of the old values.
    rates : sequence of float
        The factor of each tree's leaves, LightGBM's ``shrinkage``.
    settings : mapping
        ``lambda_l1``, ``lambda_l2`` and ``max_delta_step``, if they are not 0.
    is_forest : bool
        Whether all trees take their gradients at the same margins.
    """
    n_rows, n = leaves.shape[0], model.n_outputs
    start = data.get_field("init_score")
    margins = np.zeros((n_rows, n)) if start is None else np.reshape(start, (n_rows, -1)) + 0.0
    absolute, penalty, most = (
        float(settings.get(name) or 0.0) for name in ("lambda_l1", "lambda_l2", "max_delta_step")
    )
    trees: list[Any] = []
    gradients = (margins, margins)
    for place, tree in enumerate(model.trees):
        output = place % n
        if output == 0:
            gradients = task.gradients(margins, data, place // n)
        own = leaves[:, place]
        size = int(tree.is_leaf.sum())
        g, h = (np.bincount(own, part[:, output], size) for part in gradients)
        base = base_of(model, place)
        old = tree.value[leaf_places(tree), 0].astype(np.float64) + base
        g = np.sign(g) * np.maximum(np.abs(g) - absolute, 0.0)
        step = np.where(h + penalty > 0, -g / np.maximum(h + penalty, 1e-300), 0.0)
        step = np.clip(step, -most, most) if most > 0 else step
        mixed = decay_rate * old + (1 - decay_rate) * (rates[place] * step)
        if not is_forest:
            margins[:, output] += mixed[own]
        values = tree.value.copy()
        values[leaf_places(tree), 0] = mixed - base
        trees.append(tree.with_values(values.astype(np.float32)))
    return replace(model, trees=trees)
