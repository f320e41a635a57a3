"""What tools ask of a fitted estimator: leaf ids, its start, and scores after each round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.callbacks.early_stopping import more_is_better
from pyopencl_gbdt.estimators.misplaced import explains_arguments
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.prediction.description import card
from pyopencl_gbdt.prediction.model import Model

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]


class FittedModel:
    """The part of an estimator that reads its model; the other part has ``_fitted``."""

    #: The evaluation sets of the last ``fit`` that were its training rows.
    _training_sets: tuple[str, ...] = ()

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
            drawn: str = super()._repr_html_()  # type: ignore[misc]
            return drawn
        settings = " ".join(repr(self).split())
        return card(self._fitted(), type(self).__name__, settings)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return what notebooks show; HTML is left out where scikit-learn is told to."""
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        return shown | {kind: self._repr_html_() for kind in shown if kind == "text/html"}

    @property
    def intercept_(self) -> F32:
        """The prediction before the first tree, ``base_score``, float32, shape (n_outputs,)."""
        return np.array(each(self._fitted().ensemble.base_score), np.float32)

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
        return found if more_is_better(metric) else -found
