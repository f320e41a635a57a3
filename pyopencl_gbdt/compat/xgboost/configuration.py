"""The parameters of a booster in the form of XGBoost's ``save_config``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pyopencl_gbdt.compat.xgboost.linear_ensemble import LinearEnsemble
from pyopencl_gbdt.compat.xgboost.linear_rounds import linear_parameters
from pyopencl_gbdt.compat.xgboost.settings import Settings
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.model.formats.xgboost_links import LINKS, MULTICLASS
from pyopencl_gbdt.model.formats.xgboost_writer import XGBOOST_VERSION
from pyopencl_gbdt.objectives.classification import clamp_probability
from pyopencl_gbdt.parameters.table import DROPPING

#: Parameters of trees, in XGBoost's group of that name, by XGBoost's names.
_OF_TREES = (
    "colsample_bylevel", "colsample_bynode", "colsample_bytree", "gamma", "grow_policy",
    "interaction_constraints", "learning_rate", "max_bin", "max_cat_threshold",
    "max_cat_to_onehot", "max_delta_step", "max_depth", "max_leaves", "min_child_weight",
    "monotone_constraints", "reg_alpha", "reg_lambda", "sampling_method", "subsample",
)  # fmt: skip
_SECOND_NAMES = {
    "gamma": "min_split_loss", "learning_rate": "eta", "reg_alpha": "alpha", "reg_lambda": "lambda"
}  # fmt: skip


#: What XGBoost's updaters keep, which it expects in a configuration that it loads.
_CACHES = {"debug_synchronize": "0", "max_cached_hist_node": "18446744073709551615"}


def _text(value: Any) -> str:
    """Return a value as XGBoost writes it: switches as 0 and 1, numbers of nine digits."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return f"{np.float32(value):.9g}"
    return "" if value is None else str(value)


def as_configuration(settings: Settings, ensemble: Ensemble) -> dict[str, Any]:
    """Return the parameters, grouped as in XGBoost; every value is text."""
    p = settings.checked()
    trees = {name: _text(getattr(p, name)) for name in _OF_TREES}
    trees |= {second: trees[name] for name, second in _SECOND_NAMES.items()}
    classes = ensemble.objective in MULTICLASS
    n_outputs = str(ensemble.n_outputs)
    booster = p.booster
    updater = _text(settings.others.get("updater", "grow_quantile_histmaker"))
    trees["monotone_constraints"] = _directions(p.monotone_constraints, ensemble)
    trees["refresh_leaf"] = _text(settings.others.get("refresh_leaf", 1))
    own: dict[str, Any] = {
        "gbtree_model_param": {
            "num_parallel_tree": _text(p.num_parallel_tree),
            "num_trees": str(len(ensemble.trees)),
        },
        "gbtree_train_param": {
            "process_type": _text(settings.others.get("process_type", "default")),
            "tree_method": p.tree_method,
            "updater": updater,
            "updater_seq": updater,
        },
        "name": booster,
        "specified_updater": "updater" in settings.others,
        "tree_train_param": trees,
        "updater": [{"name": name, "hist_train_param": _CACHES} for name in updater.split(",")],
    }
    if isinstance(ensemble, LinearEnsemble):
        booster, own = "gblinear", _of_linear(settings)
    if booster == "dart":
        dropping = {name: _text(getattr(p, name)) for name in DROPPING}
        own = {"gbtree": own | {"name": "gbtree"}, "name": "dart", "dart_train_param": dropping}
    scores = ",".join(f"{_shown(one, ensemble):.9G}" for one in each(ensemble.base_score))
    return {
        "learner": {
            "generic_param": {
                "device": _text(settings.values.get("device", "auto")),
                "n_jobs": _text(settings.others.get("n_jobs", 0)),
                "nthread": _text(settings.others.get("nthread", 0)),
                "random_state": _text(p.random_state),
                "seed": _text(p.random_state),
                "seed_per_iteration": _text(settings.others.get("seed_per_iteration", 0)),
                "validate_parameters": "1",
            },
            "gradient_booster": own,
            "learner_model_param": {
                "base_score": f"[{scores}]",
                "boost_from_average": _text("base_score" not in settings.values),
                "num_class": n_outputs if classes else "0",
                "num_feature": str(ensemble.n_features),
                "num_target": "1" if classes else n_outputs,
            },
            "learner_train_param": {
                "booster": booster,
                "disable_default_eval_metric": _text(
                    settings.others.get("disable_default_eval_metric", 0)
                ),
                "multi_strategy": p.multi_strategy,
                "objective": settings.objective,
            },
            "metrics": [{"name": name} for name in settings.metrics],
            "objective": _objective(settings, ensemble),
        },
        "version": list(XGBOOST_VERSION),
    }


def _directions(constraints: Any, ensemble: Ensemble) -> str:
    """Return monotone constraints as one number a column, ``(1,0,-1)``, of whatever form."""
    if isinstance(constraints, str) and constraints.startswith("{"):
        constraints = json.loads(constraints)
    if isinstance(constraints, Mapping):
        places = {name: place for place, name in enumerate(ensemble.feature_names or ())}
        found = [0] * ensemble.n_features
        for column, direction in constraints.items():
            found[places[column] if column in places else int(column)] = int(direction)
        constraints = found
    return "(" + _text(constraints).strip("[]()").replace(" ", "") + ")"


def _shown(score: float, ensemble: Ensemble) -> np.float32:
    """Return a base score as XGBoost tells it: probabilities at an edge are 0 and 1."""
    if LINKS[ensemble.objective].highest == 1:
        edges = {clamp_probability(edge): edge for edge in (0.0, 1.0)}
        score = edges.get(score, score)
    shown: np.float32 = np.float32(score)
    return shown


def _of_linear(settings: Settings) -> dict[str, Any]:
    how = linear_parameters(settings.values, settings.others)
    names = ("feature_selector", "learning_rate", "reg_alpha", "reg_lambda")
    kept = {name: _text(getattr(how, name)) for name in names}
    kept |= {_SECOND_NAMES[name]: kept[name] for name in names[1:]}
    return {
        "gblinear_train_param": {"tolerance": _text(how.tolerance), "updater": how.updater},
        "name": "gblinear",
        "specified_updater": True,
        "updater": {"coordinate_param": {"top_k": _text(how.top_k)}, "linear_train_param": kept},
    }


def _objective(settings: Settings, ensemble: Ensemble) -> dict[str, Any]:
    found: dict[str, Any] = {"name": settings.objective}
    link = LINKS.get(ensemble.objective)
    if link is not None and link.group:
        p = settings.checked()
        found[link.group] = {
            name: _text(getattr(p, name)) for name in link.parameters if hasattr(p, name)
        }
    return found


def parameters_of(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that a configuration sets, by XGBoost's names."""
    learner = configuration["learner"]
    found = dict(_entries(learner))
    for name in ("num_trees", "num_feature", "num_target", "boost_from_average", "base_score"):
        found.pop(name, None)
    if found.get("num_class") == "0":
        found.pop("num_class")
    if found.get("num_parallel_tree") == "0":
        found.pop("num_parallel_tree")
    own = learner["gradient_booster"]
    if not own.get("gbtree", own).get("specified_updater"):
        found.pop("updater", None)
    found["objective"] = learner["objective"]["name"]
    known = {**Settings(found).values, **Settings(found).others}
    metrics = [one["name"] for one in learner.get("metrics", [])]
    return {**known, "eval_metric": metrics} if metrics else known


def _entries(group: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a group and of its groups that are text and not empty."""
    for name, value in group.items():
        if isinstance(value, Mapping):
            yield from _entries(value)
        elif isinstance(value, str) and value not in ("", "()"):
            yield name, value
