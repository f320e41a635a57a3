"""Check which kind of estimator a model file belongs to, and read its classes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.formats.base import CLASSES
from pyopencl_gbdt.model.formats.xgboost_links import MULTICLASS
from pyopencl_gbdt.objectives.custom import CUSTOM

#: XGBoost's attribute in files saved by its estimators: ``{"_estimator_type": "classifier"}``.
SAVED_BY = "scikit_learn"
_TYPE = "_estimator_type"
BINARY = ("binary:logistic", "binary:logitraw", "binary:hinge")
_ESTIMATORS = {
    "classifier": "GBDTClassifier",
    "regressor": "GBDTRegressor",
    "ranker": "GBDTRanker",
}


def saved_by(kind: str) -> dict[str, str]:
    """Return the attribute that marks an estimator's file, as XGBoost writes it."""
    return {SAVED_BY: json.dumps({_TYPE: kind})}


def check_kind(
    ensemble: Ensemble, kind: str, estimator: str, objective: object, source: str
) -> None:
    """Raise an error for a model of another kind of estimator.

    Parameters
    ----------
    ensemble : Ensemble
        The model read from the file.
    kind : {"classifier", "regressor", "ranker"}
        The kind of the estimator that loads the model.
    estimator : str
        The class name of that estimator.
    objective : object
        That estimator's parameter: a regressor may be given a loss of classes.
    source : str
        The file's name.

    Raises
    ------
    ModelFormatError

    Notes
    -----
    XGBoost checks only the attribute, which only its estimators write. If it is absent, this
    function decides by the objective.
    """
    name = ensemble.objective
    natural = _kind_of(ensemble)
    known = _saved_by(ensemble, source)
    fits = natural if known is None else known
    # GBDTRegressor(objective="binary:logistic") predicts probabilities as numbers
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
    """Return the classes that a model file lists, or 0, 1, ... if it lists none.

    Raises
    ------
    ModelFormatError
        If the attribute is not a list of distinct labels, one for each class.
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
