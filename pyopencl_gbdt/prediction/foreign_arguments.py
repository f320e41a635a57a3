"""How users of other libraries call a model, and what to give instead: one table of arguments.

The methods' signatures stay without ``**``, so that editors and scikit-learn can read them. XGBoost
also calls ``load_model``, a class method, on an object.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pyopencl_gbdt.arguments import refusing
from pyopencl_gbdt.errors import ArgumentError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.parameters.parameters import unknown

_KIND = (
    "give output_margin=True to predict for margins; GBDTClassifier has predict_proba for "
    "probabilities"
)
_ROUNDS = "give iteration_range=(begin, end), the rounds from begin up to end - 1, counted from 0"
_SHAP = (
    "give pred_contribs=True, pred_interactions=True or both pred_contribs=True and "
    "approx_contribs=True to predict of a Model, which an estimator has as model_"
)
_EVERY_TREE = "predictions use every tree of the rounds; leave it out, or give iteration_range="
_SHAPE = (
    "predictions have the shape (n_rows,), or (n_rows, n_outputs) with several outputs; leave it "
    "out, and reshape them if need be"
)
_COLUMNS = "columns are always compared with those of training; leave it out"

ANSWERS: dict[str, str] = {
    **dict.fromkeys(("raw_score", "prediction_type"), _KIND),
    **dict.fromkeys(("ntree_limit", "num_iteration", "start_iteration", "ntree_start", "ntree_end"),
                    _ROUNDS),
    **dict.fromkeys(("pred_contribs", "pred_contrib", "approx_contribs", "pred_interactions"),
                    _SHAP),
    **dict.fromkeys(("pred_early_stop", "pred_early_stop_freq", "pred_early_stop_margin"),
                    _EVERY_TREE),
    **dict.fromkeys(("validate_features", "predict_disable_shape_check"), _COLUMNS),
    "pred_leaf": "call apply(X) of an estimator, or predict(X, pred_leaf=True) of a Model",
    "strict_shape": _SHAPE,
    "training": "no tree is dropped in prediction; leave it out",
}  # fmt: skip
"""Arguments of XGBoost's, LightGBM's and CatBoost's prediction that have another form here."""


def _refused(model: Any, method: str, name: str, value: Any, own: set[str]) -> ArgumentError:
    if name in ANSWERS:
        return ArgumentError(f"{name}={show(value)}: {ANSWERS[name]}")
    what = f"argument of {type(model).__name__}.{method}"
    return ArgumentError(str(unknown(name, sorted(own - {"self"}), what)))


#: Lets a method of prediction refuse unknown arguments with an error that helps.
explains_prediction = refusing(_refused)


class OfClassOrModel:
    """A class method that makes a model; called on a model, it replaces what that one holds."""

    def __init__(self, method: Any) -> None:  # what ``@classmethod`` returns
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, model: Any, kind: type) -> Callable[..., Any]:
        make: Callable[..., Any] = self._method.__get__(None, kind)
        return make if model is None else partial(_replaced, model, make)


def _replaced(model: Any, make: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    model.__dict__ = make(*args, **kwargs).__dict__
    return model
