"""Which estimator a model file is for, and which classes it names."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.formats.xgboost_links import MULTICLASS
from pyopencl_gbdt.objectives.custom import CUSTOM

CLASSES = "pyopencl_gbdt.classes"
#: XGBoost's attribute in files that its estimators saved: ``{"_estimator_type": "classifier"}``.
SAVED_BY = "scikit_learn"
_TYPE = "_estimator_type"
BINARY = ("binary:logistic", "binary:logitraw", "binary:hinge")
_ESTIMATORS = {
    "classifier": "GBDTClassifier",
    "regressor": "GBDTRegressor",
    "ranker": "GBDTRanker",
}


def saved_by(kind: str) -> dict[str, str]:
    """Return the attribute of files that an estimator saves, as XGBoost writes it."""
    return {SAVED_BY: json.dumps({_TYPE: kind})}


def check_kind(
    ensemble: Ensemble, kind: str, estimator: str, objective: object, source: str
) -> None:
    """Refuse a model that is another kind of estimator's.

    Parameters
    ----------
    ensemble : Ensemble
        What was read.
    kind : {"classifier", "regressor", "ranker"}
        Of the estimator that loads it.
    estimator : str
        Its name.
    objective : object
        Its parameter: a regressor may name a loss of classes.
    source : str
        The file.

    Raises
    ------
    ModelFormatError

    Notes
    -----
    XGBoost compares the attribute alone, which only its estimators write. Without it the
    objective says whose model this is.
    """
    name = ensemble.objective
    natural = _kind_of(ensemble)
    known = _saved_by(ensemble, source)
    fits = natural if known is None else known
    # probabilities as numbers: GBDTRegressor(objective="binary:logistic")
    may_be_numbers = kind == "regressor" and natural == "classifier" and name not in MULTICLASS
    as_numbers = may_be_numbers and (objective == name if known is None else known == kind)
    if as_numbers or kind == fits == natural:
        return
    whose = "" if known is None else f", saved by a {known}"
    fitting = _ESTIMATORS.get(fits if fits in (natural, "regressor") else "", "")
    load = " or ".join(f"{one}.load_model" for one in (fitting, "Model") if one)
    raise ModelFormatError(
        f"{source}: this is a model of objective='{name}'{whose}: expected a {kind}'s for "
        f"{estimator}; load it by {load}"
    )


def _kind_of(ensemble: Ensemble) -> str:
    name = ensemble.objective
    if name == CUSTOM:
        logit = ensemble.objective_parameters.get("custom_link") == "logit"
        return "classifier" if logit else "regressor"
    if name.startswith("rank:"):
        return "ranker"
    return "classifier" if name in (*BINARY, *MULTICLASS) else "regressor"


def _saved_by(ensemble: Ensemble, source: str) -> str | None:
    text = ensemble.attributes.get(SAVED_BY)
    facts = {} if text is None else _json(text)
    kind = facts.get(_TYPE) if isinstance(facts, dict) else 0
    if kind is not None and kind not in _ESTIMATORS:
        raise ModelFormatError(
            f"{source}: attribute {SAVED_BY}={text!r:.80}: expected a JSON object whose {_TYPE} is "
            f"one of {', '.join(_ESTIMATORS)}; remove the attribute, or load it by Model.load_model"
        )
    return kind


def read_classes(ensemble: Ensemble, source: str) -> npt.NDArray[Any]:
    """Return the classes of a model: those that it names, else 0, 1, ...

    Raises
    ------
    ModelFormatError
        If the attribute is no list of distinct labels, one for each class.
    """
    text = ensemble.attributes.get(CLASSES)
    n_classes = max(2, ensemble.n_outputs)
    if text is None:
        return np.arange(n_classes)
    labels = _json(text)
    kinds = {type(label) for label in labels} if isinstance(labels, list) else set()
    good = (
        isinstance(labels, list)
        and len(kinds) == 1
        and kinds <= {bool, int, float, str}
        and len(labels) in (1, n_classes)
        and len(set(labels)) == len(labels)
        and all(abs(x) < 2**63 for x in labels if isinstance(x, (int, float)))
    )
    if not good:
        raise ModelFormatError(
            f"{source}: attribute {CLASSES}={text!r:.80}: expected a JSON list of {n_classes} "
            "distinct labels of one type; write the model again, or remove the attribute"
        )
    return np.array(labels)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
