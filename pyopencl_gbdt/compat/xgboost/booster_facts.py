"""Names and types of a ``Booster``'s columns, and its attributes."""

from __future__ import annotations

from typing import Any

from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.model.best_round import BEST_ITERATION, BEST_SCORE
from pyopencl_gbdt.prediction.model import Model


class BoosterFacts:
    """The part of ``Booster`` that keeps what comes with the trees."""

    _names: list[str] | None
    _types: list[str] | None
    _n_features: int
    _model: Model | None
    _rounds: Any
    _attributes: dict[str, str]

    def validate_columns(self, names: Any) -> None:
        """Raise unless names are those of the model; ``Predicting`` has it."""
        raise NotImplementedError

    def _check_width(self, n_features: int) -> None:
        raise NotImplementedError

    # -- columns --------------------------------------------------------------------------------
    def _take_columns(self, matrix: DMatrix) -> None:
        """Take the names and types of the first matrix; raise for other columns afterwards."""
        if matrix.num_row() == 0:
            return
        if not self._n_features:
            self._n_features = matrix.num_col()
        if self._names is None and self._model is None and self._rounds is None:
            self._names, self._types = matrix.feature_names, matrix.feature_types
        self.validate_columns(matrix.feature_names)
        self._check_width(matrix.num_col())

    @property
    def feature_names(self) -> list[str] | None:
        """The columns' names; can be assigned."""
        return self._names

    @feature_names.setter
    def feature_names(self, names: Any) -> None:
        self._names = None if names is None else list(names)

    @property
    def feature_types(self) -> list[str] | None:
        """The columns' types; can be assigned."""
        return self._types

    @feature_types.setter
    def feature_types(self, types: Any) -> None:
        self._types = None if types is None else list(types)

    # -- attributes -----------------------------------------------------------------------------
    def attr(self, key: str) -> str | None:
        """Return an attribute, or None if there is none of this name."""
        return self._attributes.get(key)

    def attributes(self) -> dict[str, str | None]:
        """Return a copy of all attributes."""
        return dict(self._attributes)

    def set_attr(self, **kwargs: Any) -> None:
        """Set attributes to ``str(value)``; None removes one."""
        for key, value in kwargs.items():
            if value is None:
                self._attributes.pop(key, None)
            else:
                self._attributes[key] = str(value)

    @property
    def best_iteration(self) -> int:
        """The round with the best score, from 0; only after early stopping."""
        return int(self._of_stopping(BEST_ITERATION))

    @best_iteration.setter
    def best_iteration(self, iteration: int) -> None:
        self.set_attr(best_iteration=iteration)

    @property
    def best_score(self) -> float:
        """The score of the best round; only after early stopping."""
        return float(self._of_stopping(BEST_SCORE))

    @best_score.setter
    def best_score(self, score: float) -> None:
        self.set_attr(best_score=score)

    def _of_stopping(self, name: str) -> str:
        if name not in self._attributes:
            raise AttributeError(
                f"`{name}` is only defined when early stopping is used.; give "
                "early_stopping_rounds="
            )
        return self._attributes[name]
