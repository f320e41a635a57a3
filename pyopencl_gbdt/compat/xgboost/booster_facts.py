"""What a ``Booster`` keeps and tells: its columns, its attributes and its trees."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from pyopencl_gbdt.compat.xgboost.inputs import Categories
from pyopencl_gbdt.compat.xgboost.linear_ensemble import model_of
from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.compat.xgboost.settings import Settings
from pyopencl_gbdt.errors import DataError, MissingFileError, ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.best_round import BEST_ITERATION, BEST_SCORE
from pyopencl_gbdt.model.frames import histogram_table
from pyopencl_gbdt.model.node_labels import INDICATOR, INTEGER, FeatureMap
from pyopencl_gbdt.prediction.model import Model

Path = str | os.PathLike[str]
_KINDS = ("weight", "gain", "cover", "total_gain", "total_cover")


class BoosterFacts:
    """The base of the parts of ``Booster``: what comes with the trees."""

    _rounds: Any

    def __init__(self) -> None:
        self._settings = Settings()
        self._model: Model | None = None
        self._attributes: dict[str, str] = {}
        self._names: list[str] | None = None
        self._types: list[str] | None = None
        self._n_features = 0

    def _ensemble(self) -> Ensemble:
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

    def validate_columns(self, names: Sequence[str] | None) -> None:
        """Raise unless names are those of the model, with XGBoost's words.

        Raises
        ------
        DataError
        """
        known = self._names
        if known is None or names == known:
            return
        if names is None:
            raise DataError(
                "data did not contain feature names, but the following fields are expected: "
                + ", ".join(known)
            )
        lacking, unknown = sorted({*known} - {*names}), sorted({*names} - {*known})
        text = f"feature_names mismatch: {known} {list(names)}"
        if lacking:
            text += "\nexpected " + ", ".join(lacking) + " in input data"
        if unknown:
            text += "\ntraining data did not have the following fields: " + ", ".join(unknown)
        raise DataError(text)

    def _check_width(self, n_features: int) -> None:
        """Raise if there are more columns than the model has."""
        known = getattr(self, "_n_features", 0)
        if known and n_features > known:
            raise DataError(
                f"Number of columns does not match number of features in booster: expected "
                f"{known}, not {n_features}; give the columns of training"
            )

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


class BoosterTrees(BoosterFacts):
    """The part of ``Booster`` that shows its trees."""

    def _shown(self) -> Model:
        return model_of(self._ensemble())

    def _as_model(self) -> Model:
        """Return the rounds up to the best one, if one is known; ``explain.shap`` asks for it."""
        own, best = self._ensemble(), self._attributes.get(BEST_ITERATION)
        n_rounds = own.n_rounds if best is None else min(int(best) + 1, own.n_rounds)
        return Model(own.of_rounds(range(n_rounds), {}))

    def _map_of(self, fmap: Path) -> Any:
        """Return a feature map; where no file is named, one of the booster's types of columns.

        Raises
        ------
        MissingFileError
            If there is no such file.
        """
        types, names = self._types, self._names
        if not fmap and types and {INDICATOR, INTEGER} & {*types}:
            kinds = tuple(one if one in (INDICATOR, INTEGER) else "q" for one in types)
            return FeatureMap(tuple(names or (f"f{n}" for n in range(len(kinds)))), kinds)
        try:
            return FeatureMap.read(fmap) if fmap else ""
        except OSError as error:
            raise MissingFileError(
                f"Opening {fmap} failed: {error.strerror}: expected a feature map; give its path"
            ) from None

    def num_boosted_rounds(self) -> int:
        """Return the number of rounds."""
        return self._ensemble().n_rounds

    def num_features(self) -> int:
        """Return the number of columns."""
        return self._ensemble().n_features

    def get_categories(self, export_to_arrow: bool = False) -> Categories:
        """Return the levels of the columns; see ``DMatrix.get_categories``."""
        own = self._ensemble()
        return Categories(
            own.categories, own.feature_names, own.n_features, in_arrow=export_to_arrow
        )

    def get_dump(
        self, fmap: Path = "", with_stats: bool = False, dump_format: str = "text"
    ) -> list[str]:
        """Return each tree as text; ``dump_format`` is ``"text"``, ``"json"`` or ``"dot"``."""
        return self._shown().get_dump(self._map_of(fmap), with_stats, dump_format)

    def dump_model(
        self,
        fout: Path,
        fmap: Path = "",
        with_stats: bool = False,
        dump_format: str = "text",
    ) -> None:
        """Write what ``get_dump`` returns to a file."""
        self._shown().dump_model(fout, self._map_of(fmap), with_stats, dump_format)

    def trees_to_dataframe(self, fmap: Path = "") -> Any:
        """Return a pandas table of all nodes."""
        return self._shown().trees_to_dataframe(self._map_of(fmap))

    def get_score(
        self, fmap: Path = "", importance_type: str = "weight"
    ) -> dict[str, float | list[float]]:
        """Return the importance of every column that has a split, by its name.

        ``importance_type`` is ``"weight"``, ``"gain"``, ``"cover"``, ``"total_gain"`` or
        ``"total_cover"``.
        """
        if importance_type not in _KINDS:
            raise ParameterError(
                f"Unknown feature importance type, expected one of: {_KINDS}, got: "
                f"{show(importance_type)}; give one of them"
            )
        return dict(self._shown().get_score(self._map_of(fmap), importance_type))

    def get_fscore(self, fmap: Path = "") -> dict[str, float | list[float]]:
        """Return the number of splits on every column that has one, by its name."""
        return self.get_score(fmap)

    def get_split_value_histogram(
        self,
        feature: str,
        fmap: Path = "",
        bins: int | None = None,
        as_pandas: bool = True,
    ) -> Any:
        """Return how often thresholds of a column occur: never, if there is no such column.

        Raises
        ------
        ParameterError
            If the column is split by sets of levels.
        """
        shown = self._shown()
        bins = bins if bins is None else max(int(bins), 1)
        known_names = shown.feature_names or [f"f{n}" for n in range(shown.num_features())]
        if feature in {known_names[n] for n in shown.ensemble.categories}:
            raise ParameterError(
                f"feature={show(feature)}: the histogram of split values doesn't support "
                "categorical splits: expected a column of numbers; see trees_to_dataframe"
            )
        if not fmap and isinstance(feature, str) and feature not in known_names:
            return histogram_table(np.zeros(1), np.zeros(0, np.int64), as_pandas=as_pandas)
        if shown.feature_names is None and isinstance(feature, str) and feature[:1] == "f":
            number = feature[1:]
            known = number.isdigit() and int(number) < shown.num_features()
            return shown.get_split_value_histogram(
                int(number) if known else feature, self._map_of(fmap), bins, as_pandas
            )
        return shown.get_split_value_histogram(feature, self._map_of(fmap), bins, as_pandas)
