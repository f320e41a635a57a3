"""Options of a training, each alone, and trainings of several of them on a few rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.objectives import custom_objective, get_objective
from pyopencl_gbdt.objectives.custom import DeviceObjective, KernelObjective
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.conftest import TEST_DEVICE

N_ROWS = 40
#: Most levels of a column that ``cat_method="auto"`` splits by sets are 16.
FEW, MANY = 3, 20
#: Losses whose labels are times: 0 is none.
TIMES = ("survival:cox", "survival:aft", "reg:gamma")


def half_squares(margins: Any, data: Dataset) -> Any:
    """Return the gradients of the squared error: a user's loss."""
    return margins - data.label, np.ones_like(margins)


def filled(margins: Any, labels: Any, g: Any, h: Any) -> None:
    """Fill a device's gradients by the margins: a user's loss on device arrays."""
    g.set(margins.get() - labels.get())
    h.set(np.ones(h.shape, np.float32))


@dataclass(frozen=True)
class Option:
    """What a user can ask for.

    Attributes
    ----------
    params : mapping
        Parameters of ``train``.
    kinds : tuple of str
        How the data are given, and which other arguments there are; see ``Training``.
    """

    params: Mapping[str, Any] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()


def _loss(name: Any, *kinds: str, **params: Any) -> Option:
    return Option({"objective": name, **params}, kinds)


#: Options by name. Two that set a parameter to different values are no pair.
OPTIONS: dict[str, Option] = {
    "exact": Option({"tree_method": "exact"}),
    "approx": Option({"tree_method": "approx"}),
    "hist": Option({"tree_method": "hist"}),
    "local proposal": Option({"tree_method": "approx", "proposal": "local"}),
    "few bins": Option({"max_bin": 16}),
    "approximate quantiles": Option({"max_bin_exact": False}),
    "leaf-wise": Option({"grow_policy": "lossguide", "max_leaves": 5}),
    "symmetric": Option({"grow_policy": "symmetric"}),
    "few leaves": Option({"max_leaves": 5}),
    "any depth": Option({"max_depth": 0}),
    "ordered": Option({"boosting_type": "ordered"}),
    "forest": Option({"num_parallel_tree": 2}),
    "subsample": Option({"subsample": 0.5}),
    "gradient-based": Option({"sampling_method": "gradient_based"}),
    "goss": Option({"sampling_method": "goss"}),
    "sampled columns": Option({"colsample_bynode": 0.5}),
    "monotone": Option({"monotone_constraints": [1, 0, 0, 0]}),
    "monotone category": Option({"monotone_constraints": [0, 0, 0, 1]}),
    "interactions": Option({"interaction_constraints": [[0, 1], [2, 3]]}),
    "dense": Option({"page": "dense"}),
    "tiled": Option({"page": "tiled"}),
    "sorted": Option({"page": "sorted"}),
    "streamed": Option({"page": "streamed"}),
    "little memory": Option({"device_memory": 500_000}),
    "sets": Option({"cat_method": "sets"}),
    "statistics": Option({"cat_method": "statistics"}),
    "time": Option({"has_time": True}),
    "base score": Option({"base_score": 0.25}),
    "logistic": _loss("binary:logistic"),
    "positive weight": _loss("binary:logistic", scale_pos_weight=2.0),
    "softprob": _loss("multi:softprob", num_class=2),
    "score a class": _loss("multi:softprob", num_class=2, base_score=[0.25, 0.5]),
    "absolute": _loss("reg:absoluteerror"),
    "quantiles": _loss("reg:quantileerror", quantile_alpha=[0.2, 0.7]),
    "gamma": _loss("reg:gamma"),
    "ranking": _loss("rank:ndcg", "queries"),
    "clicks": _loss("rank:pairwise", "queries", lambdarank_unbiased=True),
    "cox": _loss("survival:cox"),
    "aft": _loss("survival:aft"),
    "function": _loss(half_squares),
    "device function": _loss(DeviceObjective(filled, "filled")),
    "kernel": _loss(KernelObjective("g = margin - label; h = 1.0f;")),
    "sparse": Option(kinds=("sparse",)),
    "batches": Option(kinds=("batches",)),
    "categories": Option(kinds=("categories",)),
    "many levels": Option(kinds=("many levels",)),
    "weights": Option(kinds=("weights",)),
    "base margin": Option(kinds=("base margin",)),
    "two targets": Option(kinds=("two targets",)),
    "evaluated": Option(kinds=("evaluated",)),
    "sparse evaluated": Option(kinds=("sparse evaluated",)),
    "continued": Option(kinds=("continued",)),
    "profile": Option(kinds=("profile",)),
    "devices": Option({"device": f"{TEST_DEVICE}=1,{TEST_DEVICE}=1"}),
    "hosts": Option(kinds=("hosts",)),
    "dropped": Option({"booster": "dart", "rate_drop": 0.5, "one_drop": True}),
    "vectors": Option({"multi_strategy": "multi_output_tree"}, ("two targets",)),
    "drawn borders": Option({"extra_trees": True}),
    "sketches": Option({"multi_strategy": "multi_output_tree", "sketch": 1}, ("two targets",)),
    "random weights": Option({"sampling_method": "bayesian"}),
    "kept sample": Option({"subsample": 0.5, "bagging_freq": 2}),
    "steps": Option({"leaf_estimation_iterations": 3}),
    "noise": Option({"random_strength": 0.5}),
    "linear": Option({"linear_tree": True}),
    "smoothed": Option({"path_smooth": 2.0}),
    "both": Option({"cat_method": "both"}, ("categories",)),
    "forced": Option({"forced_splits": {"feature": 3, "threshold": 0.5}}),
    "XGBoost's bins": Option({"cut_rule": "xgboost"}),
}


@dataclass(frozen=True)
class Training:
    """A training of some options: the arguments of ``train``."""

    params: dict[str, Any]
    kinds: frozenset[str]

    @classmethod
    def of(cls, options: Sequence[Option], device: str = TEST_DEVICE) -> Training:
        params: dict[str, Any] = {"device": device, "max_depth": 2, "n_estimators": 2}
        params |= {"min_child_weight": 0, "verbosity": 0}
        for option in options:
            params |= option.params
        kinds = frozenset(kind for option in options for kind in option.kinds)
        return cls(params, kinds)

    @property
    def in_hosts(self) -> bool:
        return "hosts" in self.kinds

    def data(self) -> Dataset:
        own = {"sparse", "batches", "categories", "many levels", "weights", "base margin",
               "two targets", "queries"}  # fmt: skip
        loss = self.params.get("objective", "")
        return _rows(self.kinds & own, loss in TIMES)

    def arguments(self) -> dict[str, Any]:
        """Return the named arguments of ``train`` beside parameters and data."""
        found: dict[str, Any] = {}
        if "evaluated" in self.kinds:
            found["evals"] = [(self.data(), "training")]
        if "sparse evaluated" in self.kinds:
            sparse = Training(self.params, (self.kinds | {"sparse"}) - _DENSE)
            found["evals"] = [(sparse.data(), "sparse")]
        if "continued" in self.kinds:
            found["model"] = self._before()
        if "profile" in self.kinds:
            found["profile"] = True
        return found

    def _before(self) -> Ensemble:
        """Return a model of this training's kind, with a round of trees that are leaves."""
        given = dict(self.params)
        own = custom_objective(given.get("objective"))
        if own is not None:
            given["objective"] = "custom"
        params = Parameters.from_dict(given)
        objective = own or get_objective(params.objective, params)
        n_outputs = max(objective.n_outputs, 1 + ("two targets" in self.kinds))
        score = params.starting_scores(n_outputs) or 0.5
        scores = tuple(each(score)) * (n_outputs if len(each(score)) < n_outputs else 1)
        score = scores if n_outputs > 1 else scores[0]
        n_trees = n_outputs * params.num_parallel_tree
        return Ensemble(
            [_leaf()] * n_trees, params.objective, 4, objective.to_margin(score), score,
            n_outputs=n_outputs, n_parallel=params.num_parallel_tree,
            objective_parameters=objective.parameters,
            categories=self.data().categories,
        )  # fmt: skip


_DENSE = frozenset({"batches", "categories", "many levels"})


def _leaf() -> Tree:
    none = np.array([-1], np.int32)
    zero = np.zeros(1, np.float32)
    value = np.full((1, 1), 0.25, np.float32)
    return Tree(
        none, none, none, np.zeros(1, np.int32), zero, np.zeros(1, np.bool_),
        np.zeros(1, np.uint8), value, value, zero, np.ones(1, np.float32),
    )  # fmt: skip


@cache
def _rows(kinds: frozenset[str], times: bool) -> Dataset:
    rng = np.random.default_rng(5)
    X = rng.integers(0, 12, (N_ROWS, 4)).astype(np.float32)
    label = (X[:, 0] + X[:, 3] > 11).astype(np.float32) + times
    n_levels = FEW if "categories" in kinds else MANY if "many levels" in kinds else 0
    if n_levels:
        X[:, 3] = np.arange(N_ROWS) % n_levels
    columns: dict[str, Any] = {"label": label}
    if "two targets" in kinds:
        columns["label"] = np.column_stack([label, 1 + 2 * times - label])
    if "weights" in kinds and "queries" not in kinds:
        columns["weight"] = np.arange(N_ROWS) % 3
    elif "weights" in kinds:
        columns["weight"] = [1, 2, 1, 3]
    if "base margin" in kinds:
        columns["base_margin"] = np.full(N_ROWS, 0.5)
    if "queries" in kinds:
        columns["group"] = [N_ROWS // 4] * 4
    if n_levels:
        columns["categorical_features"] = [3]
    if "batches" in kinds:
        if "queries" in kinds:
            columns["qid"] = np.repeat(np.arange(4), columns.pop("group"))
        return Dataset.from_batches([X[:25], X[25:]], **columns)
    return Dataset(csr_matrix(X) if "sparse" in kinds else X, **columns)


def pairs() -> list[tuple[str, str]]:
    """Return the names of all pairs of options that do not contradict each other."""
    names = list(OPTIONS)
    return [
        (one, other)
        for place, one in enumerate(names)
        for other in names[:place]
        if not _contradict(OPTIONS[one].params, OPTIONS[other].params)
    ]


def _contradict(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return any(one[name] != other[name] for name in one.keys() & other.keys())
