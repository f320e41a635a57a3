"""Random forests: all trees in one round, each trained on samples of rows and columns."""

from __future__ import annotations

from typing import Any, ClassVar

from pyopencl_gbdt.estimators.base import Base
from pyopencl_gbdt.estimators.gradient_boosting import GBDTClassifier, GBDTRegressor
from pyopencl_gbdt.estimators.presets import AUTO, is_auto
from pyopencl_gbdt.parameters.parameters import ROWS

#: Parameters that need several rounds and are None where they are not given. Checks of scikit-learn
#: set ``n_iter_no_change`` wherever it is there, so it has no effect.
_OF_ROUNDS = ("early_stopping_rounds",)


class Forest(Base):
    """One round of ``n_estimators`` trees for each output; the prediction is their mean.

    The defaults are those of XGBoost's XGBRFRegressor and XGBRFClassifier
    (python-package/xgboost/sklearn.py).
    """

    _absent = ("num_parallel_tree",)
    _own_facts: ClassVar[dict[str, Any]] = {"is_forest": True}
    _takes_presets = False

    def __init__(
        self,
        *,
        learning_rate: float = 1.0,
        subsample: float = 0.8,
        colsample_bynode: float = 0.8,
        reg_lambda: float = 1e-5,
        **others: Any,
    ) -> None:
        for name in self._absent:
            if name in others:
                self._known(name)  # raises an error that names the right parameter
        super().__init__(
            learning_rate=learning_rate,
            subsample=subsample,
            colsample_bynode=colsample_bynode,
            reg_lambda=reg_lambda,
            **others,
        )

    def _named_parameters(self) -> dict[str, Any]:
        usual = ROWS["n_estimators"].default
        given = usual if self.n_estimators is None else self.n_estimators
        trees = ROWS["num_parallel_tree"].convert(given, "n_estimators")
        return {**super()._named_parameters(), "n_estimators": 1, "num_parallel_tree": trees}

    def _refuse(self, **known: Any) -> None:
        several = [name for name in _OF_ROUNDS if getattr(self, name) is not None]
        several += ["early_stopping"] if self._stopping().early_stopping else []
        several += ["callbacks"] if self._has_callbacks else []
        linear = self.linear_tree is not None and ROWS["linear_tree"].convert(self.linear_tree)
        rate = {"rate": AUTO} if is_auto(self.learning_rate) else {}
        super()._refuse(
            **{"one_round": several[0] if several else "", "linear_tree": linear, **rate, **known}
        )


class GBDTRandomForestRegressor(Forest, GBDTRegressor):
    """A random forest for regression; the default loss is squared error.

    For several targets, ``y`` of shape (n_rows, n_targets), each target has its trees.

    Parameters
    ----------
    n_estimators : int, default 100
        Trees for each output.
    learning_rate, subsample, colsample_bynode, reg_lambda : float
        As in ``GBDTRegressor``, but the defaults are 1, 0.8, 0.8 and 1e-5.
    **given
        The other parameters of ``GBDTRegressor``, except ``num_parallel_tree``.
        ``early_stopping``, ``early_stopping_rounds`` and ``callbacks`` must be None, and
        ``warm_start`` False.
    """


class GBDTRandomForestClassifier(Forest, GBDTClassifier):
    """A random forest for two or more classes with any labels; ``classes_`` lists them.

    For more than two classes the loss is ``multi:softprob``, with ``n_estimators`` trees per class.

    Parameters
    ----------
    n_estimators : int, default 100
        Trees for each output.
    learning_rate, subsample, colsample_bynode, reg_lambda : float
        As in ``GBDTClassifier``, but the defaults are 1, 0.8, 0.8 and 1e-5.
    **given
        The other parameters of ``GBDTClassifier``, except ``num_parallel_tree``.
        ``early_stopping``, ``early_stopping_rounds`` and ``callbacks`` must be None, and
        ``warm_start`` False.
    """

    def __init__(self, *, class_weight: Any = None, **others: Any) -> None:
        super().__init__(class_weight=class_weight, **others)

    @property
    def decision_function(self) -> Any:
        """Absent, as in scikit-learn's forests: probabilities of a forest often are equal."""
        raise AttributeError(
            "decision_function: a forest has none; use predict_proba, or "
            "predict(X, output_margin=True) for margins"
        )
