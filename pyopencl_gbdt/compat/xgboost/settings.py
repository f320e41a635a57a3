"""The parameters of a booster, as XGBoost takes them, and the values that it refuses."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pyopencl_gbdt.compat.xgboost.config import get_config
from pyopencl_gbdt.compat.xgboost.linear_ensemble import LinearEnsemble
from pyopencl_gbdt.compat.xgboost.row_facts import CUT_RULE
from pyopencl_gbdt.device import find
from pyopencl_gbdt.errors import NoDeviceError, ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.formats.xgboost_links import LINKS, MULTICLASS
from pyopencl_gbdt.objectives.classification import clamp_probability
from pyopencl_gbdt.parameters.parameters import Parameters, check_n_jobs
from pyopencl_gbdt.parameters.table import DROPPING, TABLE

#: This library's own ways to grow trees; XGBoost does not use what it does not know.
_OWN = frozenset(
    (
        "n_estimators", "sketch", "boosting_type", "proposal", "max_bin_exact", "cut_rule",
        "min_samples_leaf", "leaf_estimation_iterations", "linear_tree", "linear_lambda",
        "bagging_temperature", "bagging_freq", "top_rate", "other_rate", "extra_trees",
        "random_strength", "cat_method", "path_smooth", "max_set_levels", "min_statistic_levels",
        "permutation_count", "max_ctr_complexity", "has_time", "target_border_count",
        "ctr_priors", "ctr_prior_weight", "cat_smooth", "cat_l2", "min_data_per_group",
    )
)  # fmt: skip
_WHOLE = frozenset(row.name for row in TABLE if row.kind is int) | {"n_jobs", "nthread"}
_SWITCHES = frozenset(
    ("disable_default_eval_metric", "refresh_leaf", "seed_per_iteration", "validate_parameters")
)
#: What parameters of words may be, in the order of the alphabet.
WORDS = {
    "feature_selector": ("cyclic", "greedy", "random", "shuffle", "thrifty"),
    "grow_policy": ("depthwise", "lossguide"),
    "process_type": ("default", "update"),
    "sampling_method": ("gradient_based", "uniform"),
    "tree_method": ("approx", "auto", "exact", "hist"),
}
_LEAST = {"max_depth": 0, "scale_pos_weight": 0, "tolerance": 0, "top_k": 0}
#: The names of XGBoost's updaters of trees, and the tree method that each one is.
UPDATERS = {
    "grow_colmaker": "exact", "grow_histmaker": "approx", "grow_quantile_histmaker": "hist",
    "grow_gpu_hist": "hist", "grow_gpu_approx": "approx", "grow_quantile_histmaker_sycl": "hist",
    "prune": "", "refresh": "", "sync": "",
}  # fmt: skip
#: A least gain that no split has: with ``max_leaves=1``, a tree is one leaf.
_NEVER = 1e30
#: XGBoost's spellings, and names of losses and of the device here, to the name in the table.
_NAMES = {
    spelling: row.name
    for row in TABLE
    if row.name not in _OWN
    for spelling in (row.name, *row.aliases)
}
#: XGBoost's parameters that decide nothing here: threads, checks, caches, names of updaters.
_WITHOUT_EFFECT = frozenset(
    (
        "nthread", "n_jobs", "validate_parameters", "updater", "gpu_id", "boost_from_average",
        "max_cached_hist_node", "sparse_threshold", "num_target", "num_output_group",
        "debug_synchronize", "fail_on_invalid_gpu_id", "num_feature", "use_rmm",
        "disable_default_eval_metric", "seed_per_iteration", "process_type", "refresh_leaf",
    )
)  # fmt: skip
#: What linear models alone have; their updaters are others, too.
_OF_LINEAR = frozenset(("feature_selector", "tolerance", "top_k"))
#: What linear models do not have.
_OF_TREES = frozenset(
    (
        "colsample_bylevel", "colsample_bynode", "colsample_bytree", "gamma", "grow_policy",
        "interaction_constraints", "max_bin", "max_cat_threshold", "max_cat_to_onehot",
        "max_delta_step", "max_depth", "max_leaves", "min_child_weight", "monotone_constraints",
        "num_parallel_tree", "process_type", "refresh_leaf", "sampling_method", "subsample",
        "tree_method",
    )
)  # fmt: skip
#: Losses that weigh classes; for others `scale_pos_weight` has no effect. XGBoost weighs labels
#: of 1 by it for two more: a weight of 1 is used there.
_OF_TWO_CLASSES = ("binary:logistic", "binary:logitraw", "reg:logistic", "cross_entropy")
_POISSON = "count:poisson"
_OF_ONES = ("reg:squarederror", "reg:squaredlogerror")
_OBJECTIVES = {"reg:linear": "reg:squarederror"}
_OF_UPDATERS = (
    "You have manually specified the `updater` parameter. The `tree_method` parameter will be "
    "ignored. For common uses, we recommend using `tree_method` parameter instead."
)
Given = Mapping[str, Any] | Iterable[tuple[str, Any]] | None


class Settings:
    """Parameters by this library's names, metrics in the order in which they were asked for.

    Attributes
    ----------
    values : dict of str to object
        By the names of the table of parameters.
    others : dict of str to object
        XGBoost's parameters that decide nothing in a training here.
    unused : dict of str to object
        What is not a parameter; training warns of these.
    """

    def __init__(self, given: Given = None) -> None:
        self.values: dict[str, Any] = {}
        self.metrics: list[str] = []
        self.others: dict[str, Any] = {}
        self.unused: dict[str, Any] = {}
        self._told: set[str] = set()
        self._spelled: dict[str, str] = {}
        self.update(given)

    def update(self, given: Given) -> None:
        """Set parameters; None leaves one as it is, and metrics are added.

        Raises
        ------
        ParameterError
            If ``given`` is neither a mapping nor pairs.
        """
        if given is None:
            return
        for name, value in given.items() if isinstance(given, Mapping) else _pairs(given):
            if value is not None:
                self._set(name, value)

    def _set(self, name: str, value: Any) -> None:
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if name == "eval_metric":
            asked = [value] if isinstance(value, str) else list(value)
            self.metrics += [one for one in map(str, asked) if one not in self.metrics]
        elif name in _NAMES:
            self.values[_NAMES[name]] = _meant(_NAMES[name], value)
            self._spelled[_NAMES[name]] = name
        elif name in _WITHOUT_EFFECT or name in _OF_LINEAR:
            if name in ("nthread", "n_jobs"):
                check_n_jobs(value, name)
            self.others[name] = value
        else:
            self.unused[name] = value

    def switch(self, name: str) -> bool:
        """Tell whether one of ``others`` is switched on."""
        return str(self.others.get(name, "0")).lower() in ("1", "true")

    def take_model(self, ensemble: Ensemble) -> None:
        """Set what a model decides: its loss, outputs, trees in a round and booster."""
        self.values["objective"] = ensemble.objective
        for name, value in ensemble.objective_parameters.items():
            if name in _NAMES:
                self.values[name] = value
        if ensemble.objective in MULTICLASS:
            self.values["num_class"] = ensemble.n_outputs
        if ensemble.n_parallel > 1:
            self.values["num_parallel_tree"] = ensemble.n_parallel
        if isinstance(ensemble, LinearEnsemble):
            self.values["booster"] = "gblinear"
        elif ensemble.tree_weights is not None:
            self.values["booster"] = "dart"

    @property
    def is_linear(self) -> bool:
        """Whether the booster is linear."""
        return self.values.get("booster") == "gblinear"

    @property
    def objective(self) -> str:
        """The loss; as in XGBoost, that of classes if only their number is given."""
        several = str(self.values.get("num_class", 0)) not in ("0", "1")
        default = "multi:softmax" if several else "reg:squarederror"
        return str(self.values.get("objective", default))

    def trained(self) -> dict[str, Any]:
        """Return the parameters that ``train`` of this library takes; warn of those not used."""
        found = {"cat_method": "sets", "verbosity": get_config()["verbosity"], **self.values}
        if str(found["verbosity"]) == "1":
            found["verbosity"] = 0  # warnings alone, without this library's notes
        grows = UPDATERS.get(str(self.others.get("updater", "")).partition(",")[0])
        if grows:
            found["tree_method"] = grows
        if self.is_linear:
            del found["booster"]
        if found.get("tree_method") == "exact":
            for name in ("max_bin", "max_leaves"):  # as in XGBoost, whose exact search has neither
                found.pop(name, None)
        if found.get("tree_method") not in ("exact", "approx") and not self.is_linear:
            found["cut_rule"] = CUT_RULE
        for name in self._without_use():
            found.pop(name, None)
        if str(found.get("max_leaves")) == "1":
            found |= {"max_leaves": 0, "gamma": _NEVER}
        asked = found.get("device", "auto")
        found["device"] = _device(asked)
        if found["device"] != asked and found["device"] == "auto" and self._tell("device"):
            text = f"No visible GPU is found, device={show(asked)} becomes 'auto'."
            warnings.warn(text, UserWarning, stacklevel=2)
        found.setdefault("objective", self.objective)
        if self.objective not in MULTICLASS:
            found.pop("num_class", None)
        link = LINKS.get(self.objective)  # None: ``Parameters`` tells what it should be
        if "base_score" in found and link is not None and link.highest == 1:
            found["base_score"] = _inside(found["base_score"])
        return found

    def _without_use(self) -> list[str]:
        """Return parameters that the booster or the loss does not use."""
        dropped = () if self.values.get("booster", "gbtree") == "dart" else DROPPING
        weighs = self.objective in _OF_TWO_CLASSES
        idle = [*dropped, *(() if weighs else ("scale_pos_weight",))]
        if not self.is_linear:
            return [*idle, *_OF_LINEAR]
        if self.others.get("updater") != "coord_descent":
            idle.append("top_k")
        return [*idle, *(_OF_TREES - ({"max_delta_step"} if self.objective == _POISSON else set()))]

    def _tell(self, name: str) -> bool:
        """Return whether to warn of a parameter: once, and if messages are wanted."""
        if name in self._told or not (
            get_config()["verbosity"] and self.values.get("verbosity", 1)
        ):
            return False
        self._told.add(name)
        return True

    def checked(self) -> Parameters:
        """Return all parameters with their defaults.

        Raises
        ------
        ParameterError
            If one is not allowed.
        """
        given = {**self.values, **self.others}
        if self.is_linear:
            given.pop("updater", None)  # its names are others
        check_values(given, self._spelled)
        given = {self._spelled.get(name, name): value for name, value in self.trained().items()}
        return Parameters.from_dict(given)

    def warn_of_unused(self) -> None:
        """Warn of what is not a parameter, or is not used by this booster and loss; once."""
        idle = {name for name in self._without_use() if name in {**self.values, **self.others}}
        if self.objective in _OF_ONES and str(self.values.get("scale_pos_weight")) in ("1", "1.0"):
            idle.discard("scale_pos_weight")
        names = [name for name in sorted({*self.unused, *idle}) if self._tell(name)]
        if names:
            listed = ", ".join(f'"{name}"' for name in names)
            warnings.warn(
                f"\nParameters: {{ {listed} }} are not used.\n", UserWarning, stacklevel=3
            )
        if not self.is_linear and "updater" in self.others and self._tell("updater"):
            warnings.warn(_OF_UPDATERS, UserWarning, stacklevel=3)

    def copy(self) -> Settings:
        """Return settings of their own."""
        found = Settings()
        found.values, found.metrics = dict(self.values), list(self.metrics)
        found.others, found.unused = dict(self.others), dict(self.unused)
        found._told, found._spelled = set(self._told), dict(self._spelled)
        return found


def _pairs(given: Any) -> list[tuple[str, Any]]:
    try:
        pairs = [(name, value) for name, value in given]
    except (TypeError, ValueError):
        pairs = [(None, None)]
    if not all(isinstance(name, str) for name, _ in pairs):
        raise ParameterError(
            f"params={show(given)}: expected a dict of names to values, or pairs; give one"
        )
    return pairs


def _meant(name: str, value: Any) -> Any:
    """Return a value by this library's name for it."""
    if name == "random_state":
        return _seed(value)
    if name == "objective" and isinstance(value, str):
        return _OBJECTIVES.get(value, value)
    if name == "base_score" and isinstance(value, str) and value.startswith("["):
        value = json.loads(value)
    if name == "base_score" and isinstance(value, (list, tuple)) and len(value) == 1:
        return value[0]
    return value


def _inside(score: Any) -> Any:
    """Return probabilities whose margins are finite in place of 0 and 1, as XGBoost does."""
    if isinstance(score, (list, tuple)):
        return [_inside(one) for one in score]
    try:
        return clamp_probability(float(score)) if float(score) in (0.0, 1.0) else score
    except (TypeError, ValueError):
        return score


def _seed(value: Any) -> Any:
    """Return a seed below 2**32: XGBoost takes any of 64 bits with a sign, modulo 2**32."""
    try:
        number = int(str(value))
    except ValueError:
        return value
    return number % 2**32 if -(2**63) <= number < 2**63 else value


def _device(asked: Any) -> Any:
    """Return a device that this machine has; ``"auto"`` where it lacks the GPU asked for."""
    name = str(asked).partition(":")[0]
    if name not in ("cuda", "gpu", "sycl"):
        return asked
    ordinal = str(asked).removeprefix("sycl:")
    for device in (ordinal, "gpu"):
        try:
            find(device)
        except NoDeviceError:
            continue
        return device
    return "auto"


def check_values(values: Mapping[str, Any], spelled: Mapping[str, str]) -> None:
    """Raise for what XGBoost refuses.

    ``values``: by the names of the table of parameters, or XGBoost's.
    ``spelled``: the names that the user has given.

    Raises
    ------
    ParameterError
    """
    for name, value in values.items():
        _check(name, value, spelled.get(name, name))
    if "gpu_id" in values:
        raise ParameterError(
            "`gpu_id` has been removed since 3.1. Use `device` instead.; give device='cuda:0', say"
        )
    for updater in str(values.get("updater") or "").split(","):
        if updater and updater not in UPDATERS:
            raise ParameterError(
                f"Unknown tree updater {updater}: expected some of {sorted(UPDATERS)}; leave "
                "updater out"
            )


def _check(name: str, value: Any, given: str) -> None:
    text = str(value)
    if name in _WHOLE and _is_number(value) and not re.fullmatch(r"\s*[+-]?\d+\s*", text):
        raise _wrong_format(given, "int", text, "give a whole number")
    if name in _SWITCHES and text.lower() not in ("0", "1", "true", "false"):
        raise _wrong_format(given, "boolean", text, "give True or False")
    if name in WORDS and text not in WORDS[name]:
        listed = ", ".join(f"'{word}'" for word in WORDS[name])
        raise ParameterError(
            f"{given}={text!r}: Invalid Input: '{text}', valid values are: {{{listed}}}; give one"
        )
    least = _LEAST.get(name)
    if least is not None and _is_number(value) and float(text) < least:
        raise ParameterError(
            f"value {text} for Parameter {given} should be greater equal to {least}; raise {given}"
        )


def _wrong_format(given: str, kind: str, text: str, move: str) -> ParameterError:
    return ParameterError(
        f"Invalid Parameter format for {given} expect {kind} but value='{text}'; {move}"
    )


def _is_number(value: Any) -> bool:
    """Tell whether a value is a number or the text of one; the table refuses the others."""
    if isinstance(value, (bool, np.bool_)):
        return False
    try:
        float(str(value))
    except ValueError:
        return False
    return True
