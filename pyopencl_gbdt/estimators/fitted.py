"""What tools ask of a fitted estimator, its files, and what ``warm_start`` takes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.callbacks.early_stopping import more_is_better
from pyopencl_gbdt.data.arrays.matrix import column_names
from pyopencl_gbdt.data.names import check_columns, scikit_learn_words
from pyopencl_gbdt.errors import DataError, ModelFormatError, ParameterError
from pyopencl_gbdt.estimators.parameters import Parametrised
from pyopencl_gbdt.estimators.presets import SET_BY_PRESETS, is_auto
from pyopencl_gbdt.estimators.spellings import explains_arguments
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.model.formats.base import CLASSES
from pyopencl_gbdt.model.formats.xgboost_links import MULTICLASS
from pyopencl_gbdt.objectives import custom_objective
from pyopencl_gbdt.objectives.custom import CUSTOM
from pyopencl_gbdt.parameters.parameters import ROWS
from pyopencl_gbdt.prediction.description import card
from pyopencl_gbdt.prediction.model import History, Model

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
    kind : {"classifier", "regressor", "ranker"}
        The kind of the estimator that loads the model.
    objective : object
        That estimator's parameter: a regressor may be given a loss of classes.

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


F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
#: Of the estimator and its data, not of training.
_OF_THE_ESTIMATOR = ("n_estimators", "categorical_features", "feature_weights")


class FittedModel(Parametrised):
    """The part of an estimator that reads its model; it has XGBoost's methods, too."""

    #: The evaluation sets of the last ``fit`` that were its training rows.
    _training_sets: tuple[str, ...] = ()
    #: The metric of the last ``fit`` that is a scorer of scikit-learn; empty if none is.
    _scorer: str = ""
    #: Whether the last ``fit`` trained again on all rows, after early stopping.
    _refitted: bool = False

    def _fitted(self) -> Model:
        raise NotImplementedError

    def _predict(self, X: Any, **options: Any) -> Any:
        raise NotImplementedError

    def _staged(self, X: Any, **options: Any) -> Iterator[F32]:
        raise NotImplementedError

    @explains_arguments
    def apply(
        self, X: Any, *, iteration_range: tuple[int, int] | None = None
    ) -> npt.NDArray[np.int32]:
        """Return the leaf of each row in each tree, int32, shape (n_rows, n_trees).

        Leaves have XGBoost's numbers in the file that the model was read from, else in what
        ``save_model`` writes; trees come round by round, as in the file. The arguments are those
        of ``predict``.
        """
        found: npt.NDArray[np.int32]
        found = self._predict(X, pred_leaf=True, iteration_range=iteration_range)
        return found

    def _repr_html_(self) -> str:
        """Return a card for a notebook; before ``fit``, scikit-learn's picture."""
        if not hasattr(self, "model_"):
            return super()._repr_html_()  # type: ignore[no-any-return]
        settings = " ".join(repr(self).split())
        return card(self._fitted(), type(self).__name__, settings)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return the texts that notebooks show; HTML is left out where scikit-learn is told to."""
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return shown | {kind: self._repr_html_() for kind in shown if kind == "text/html"}

    @property
    def intercept_(self) -> F32:
        """The prediction before the first tree, ``base_score``, float32, shape (n_outputs,)."""
        return np.array(each(self._fitted().ensemble.base_score), np.float32)

    @property
    def n_iter_(self) -> int:
        """The number of rounds of the model, of which ``predict`` uses those up to the best one."""
        return self._fitted().num_boosted_rounds()

    @property
    def best_iteration(self) -> int:
        """The round with the best score, from 0; only after early stopping without refit."""
        return self._unless_refitted("best_iteration").best_iteration

    @property
    def best_score(self) -> float:
        """The score of the best round; only after early stopping without refit."""
        return self._unless_refitted("best_score").best_score

    def _unless_refitted(self, name: str) -> Model:
        if self._refitted:
            raise AttributeError(
                f"{name}: this model was trained again on all rows, with the best number of "
                "rounds, which is n_iter_; give refit=False for the model that was stopped"
            )
        return self._fitted()

    @property
    def train_score_(self) -> F64:
        """The last metric after each round, of an evaluation set that is the training rows.

        Larger is better: losses are negative. Empty without such a set: rounds are not scored on
        the training rows unless ``eval_set`` has the same objects ``X`` and ``y``.
        """
        return self._scores([name for name in self._sets() if name in self._training_sets][:1])

    @property
    def validation_score_(self) -> F64:
        """The last metric after each round, of the last evaluation set that is of other rows.

        Larger is better: losses are negative. Empty without such a set, and after ``load_model``.
        """
        others = [name for name in self._sets() if name not in self._training_sets]
        return self._scores(others[-1:])

    def _sets(self) -> list[str]:
        return list(self._fitted().history)

    def _scores(self, name: list[str]) -> F64:
        """Return the scores of the set that a list names, or none."""
        metrics = self._fitted().history[name[0]] if name else {}
        if not metrics:
            return np.empty(0)
        metric = list(metrics)[-1]
        found = np.array(metrics[metric])
        return found if more_is_better(metric) or metric == self._scorer else -found

    def get_booster(self) -> Model:
        """Return the fitted model, ``model_``: its trees, dumps, slices and attributes.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        """
        return self._fitted()

    def get_num_boosting_rounds(self) -> int:
        """Return the number of rounds that ``fit`` trains at most, or the last ``fit`` did."""
        given = self._named_parameters().get("n_estimators")
        return int(self._default_of("n_estimators") if given is None or is_auto(given) else given)

    def _default_of(self, name: str) -> Any:
        """Return the value that the last ``fit`` used, else the one of the table."""
        used = self._fitted().parameters if hasattr(self, "model_") else {}
        return used.get(name, ROWS[name].default)

    def get_xgb_params(self) -> dict[str, Any]:
        """Return the parameters for ``train``, by this library's names.

        ``train(estimator.get_xgb_params(), data, n_rounds)`` trains what ``fit`` does. Those that
        are None are left out, and so is a loss of your own. After ``fit`` those of the preset are
        there; a fitted classifier adds the number of classes.
        """
        params = self._named_parameters() | {"random_state": self.random_state}
        if hasattr(self, "model_"):
            used = self._fitted().parameters
            of_preset = {name: used[name] for name in SET_BY_PRESETS & used.keys()}
            given = {n: v for n, v in params.items() if n not in of_preset or not is_auto(v)}
            params = of_preset | given
        own = callable(params["objective"]) or custom_objective(params["objective"]) is not None
        if hasattr(self, "model_") and not own:
            ensemble = self._fitted().ensemble
            params["objective"] = ensemble.objective
            if ensemble.objective in MULTICLASS:
                params["num_class"] = ensemble.n_outputs
        hidden = [*_OF_THE_ESTIMATOR, *(["objective"] if own else [])]
        hidden += [name for name, value in params.items() if value is None]
        return {name: value for name, value in params.items() if name not in hidden}

    @property
    def coef_(self) -> NoReturn:
        """Not there, as in XGBoost: trees have no coefficients."""
        raise AttributeError(
            f"{type(self).__name__} has no coef_: its model is of trees, which have no "
            "coefficients; read feature_importances_"
        )


def check_rows_of(model: Model, X: Any, estimator: str) -> None:
    """Raise ``DataError`` unless X has the columns of training; scikit-learn's words are in it."""
    names, expected = column_names(X), model.feature_names
    try:
        check_columns(names, expected)
    except DataError as error:
        assert names is not None
        raise DataError(f"{error}\n{scikit_learn_words(names, expected)}") from None
    shape: tuple[int, ...] = getattr(X, "shape", ())
    n_features = model.ensemble.n_features
    if len(shape) == 2 and shape[1] != n_features:
        raise DataError(
            f"X has {shape[1]} features, but {estimator} is expecting {n_features} features as "
            "input; give the columns of training"
        )


def missing_rounds(n_estimators: object, former: Ensemble) -> int:
    """Return how many rounds the former model lacks of ``n_estimators``.

    Raises
    ------
    ParameterError
        If the former model has more than ``n_estimators`` rounds.
    """
    wanted = ROWS["n_estimators"].convert(n_estimators)
    assert isinstance(wanted, int)
    if wanted < former.n_rounds:
        raise ParameterError(
            f"n_estimators={wanted}: expected {former.n_rounds} or more, the rounds of the former "
            f"fit, as warm_start=True adds to them; raise n_estimators, or give warm_start=False"
        )
    return wanted - former.n_rounds


def joined_history(former: History, n_rounds: int, added: History) -> History:
    """Return the metrics of all rounds, if both fits have the same sets and metrics.

    ``former``, ``added``: ``history[evaluation set][metric]``, one value per round.
    ``n_rounds``: number of rounds of the former model; ``EarlyStopping(save_best=True)`` dropped
    later ones.
    """
    names = {(name, metric) for name, metrics in added.items() for metric in metrics}
    known = {(name, metric) for name, metrics in former.items() for metric in metrics}
    if names != known or any(len(former[name][metric]) < n_rounds for name, metric in names):
        return added
    return {
        name: {metric: former[name][metric][:n_rounds] + values for metric, values in own.items()}
        for name, own in added.items()
    }
