"""What a model tells of its trees, rounds and attributes, by XGBoost's names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import whole_number
from pyopencl_gbdt.data.categories.levels import Levels
from pyopencl_gbdt.data.names import check_feature_names
from pyopencl_gbdt.errors import RoundIndexError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model.best_round import BEST_ITERATION, BEST_SCORE, check_best_round
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.public_names import public

if TYPE_CHECKING:
    from pandas import DataFrame

    from pyopencl_gbdt.model.graphviz import Dot
    from pyopencl_gbdt.model.node_labels import FeatureMap
    from pyopencl_gbdt.profiling.profile import Profile

_Path = str | os.PathLike[str]
_Own = TypeVar("_Own", bound="Inspected")


class Inspected:
    """The part of a ``Model`` that shows what it holds, without predicting.

    ``fmap`` is a feature map, or the path of a file with one, that names the columns; empty for
    the model's own names.
    """

    ensemble: Ensemble
    history: dict[str, dict[str, list[float]]]
    history_start: int | None = None
    training_device: str
    variants: dict[str, str]
    profile: Profile | None

    def __init__(self, ensemble: Ensemble) -> None:
        raise NotImplementedError

    @property
    def best_iteration(self) -> int:
        """The round with the best score, counted from 0; only after early stopping."""
        self._attribute(BEST_ITERATION)
        return check_best_round(self.ensemble.attributes, "model.ensemble.attributes")[0]

    @property
    def best_score(self) -> float:
        """The score of the best round."""
        self._attribute(BEST_SCORE)
        return check_best_round(self.ensemble.attributes, "model.ensemble.attributes")[1]

    def _attribute(self, name: str) -> str:
        if name not in self.ensemble.attributes:
            raise AttributeError(
                f"{name} exists only after early stopping; train with "
                "early_stopping_rounds= and an evaluation set"
            )
        return self.ensemble.attributes[name]

    @property
    def feature_names(self) -> list[str] | None:
        """Column names of the training data; can be assigned."""
        return self.ensemble.feature_names

    @feature_names.setter
    def feature_names(self, names: Any) -> None:
        n_features = self.ensemble.n_features
        found = None if names is None else check_feature_names(names, n_features)
        self.ensemble.feature_names = found

    @property
    def categories(self) -> Mapping[int, Levels]:
        """The levels of each categorical column, by the column's number."""
        return self.ensemble.categories

    def num_boosted_rounds(self) -> int:
        """Return the number of rounds in the model."""
        return self.ensemble.n_rounds

    @property
    def rounds_to_predict(self) -> int:
        """The rounds that ``predict`` uses by default: up to the best one after early stopping."""
        n_rounds = self.num_boosted_rounds()
        if BEST_ITERATION not in self.ensemble.attributes:
            return n_rounds
        return min(self.best_iteration + 1, n_rounds)

    def get_dump(
        self, fmap: _Path | FeatureMap = "", with_stats: bool = False, dump_format: str = "text"
    ) -> list[str]:
        """Return every tree as text; see ``pyopencl_gbdt.model.dump_xgboost``.

        ``dump_format`` is ``"text"``, ``"json"`` or ``"dot"``.
        """
        names = _feature_map(fmap)
        from pyopencl_gbdt.model.xgboost_dump import dump_xgboost

        return dump_xgboost(self.ensemble, names, with_stats=with_stats, dump_format=dump_format)

    def dump_model(
        self,
        fout: _Path | TextIO,
        fmap: _Path | FeatureMap = "",
        with_stats: bool = False,
        dump_format: str = "text",
    ) -> None:
        """Write what ``get_dump`` returns to a path or an open file; a path appears whole."""
        trees = self.get_dump(fmap, with_stats, dump_format)
        from pyopencl_gbdt.model.xgboost_dump import joined_dump, write_dump

        write_dump(fout, joined_dump(trees, dump_format))

    def trees_to_dataframe(self, fmap: _Path | FeatureMap = "") -> DataFrame:
        """Return a pandas table of all nodes, in XGBoost's columns; levels have their names."""
        from pyopencl_gbdt.model.frames import trees_to_dataframe

        return trees_to_dataframe(self.ensemble, _feature_map(fmap))

    def to_graphviz(self, tree_idx: int = 0, fmap: _Path | FeatureMap = "", **options: Any) -> Dot:
        """Return a tree in the DOT language; see ``pyopencl_gbdt.to_graphviz``."""
        from pyopencl_gbdt.model.graphviz import to_graphviz

        return to_graphviz(self.ensemble, tree_idx, fmap=_feature_map(fmap), **options)

    def to_shap(self) -> dict[str, Any]:
        """Return the dictionary of trees that shap reads; see ``pyopencl_gbdt.to_shap``."""
        found: dict[str, Any] = public("to_shap")(self)
        return found

    def feature_importances(self, kind: str = "gain") -> npt.NDArray[np.float64]:
        """Return feature importances that sum to 1; see ``model.feature_importances``."""
        from pyopencl_gbdt.model import feature_importances

        return feature_importances(self.ensemble, kind)

    def save_raw(self, raw_format: str = "ubj") -> bytearray:
        """Return what ``save_model`` would write into a file that ends in ``raw_format``.

        Raises
        ------
        ParameterError
            If no format has this ending.
        ModelFormatError
            If the format cannot hold the model; the message names those that can.
        """
        from pyopencl_gbdt.model import to_raw

        return to_raw(self.ensemble, raw_format)

    def get_score(
        self, fmap: _Path | FeatureMap = "", importance_type: str = "weight"
    ) -> dict[str, float]:
        """Return the importance of every feature that has a split, by its name.

        The kinds are those of ``feature_importances``; numbers are not divided by their sum.
        """
        from pyopencl_gbdt.model.explain import used_importances
        from pyopencl_gbdt.model.node_labels import FeatureMap, NodeLabels

        labels = NodeLabels(self.ensemble, _feature_map(fmap) or FeatureMap())
        used, values = used_importances(self.ensemble, importance_type)
        return dict(zip(map(labels.name, used.tolist()), values.tolist(), strict=True))

    def get_fscore(self, fmap: _Path | FeatureMap = "") -> dict[str, float]:
        """Return the number of splits on every feature that has one, by its name."""
        return self.get_score(fmap)

    def get_split_value_histogram(
        self,
        feature: str | int,
        fmap: _Path | FeatureMap = "",
        bins: int | None = None,
        as_pandas: bool = True,
    ) -> Any:
        """Return how often thresholds of a feature occur: bins' upper edges and counts.

        Parameters
        ----------
        feature : str or int
            A feature's name, or its number.
        fmap : path, FeatureMap or ""
            Names of columns that ``feature`` may have.
        bins : int or None
            Most bins; None is one for each distinct threshold.
        as_pandas : bool, default True
            Return a DataFrame with the columns ``SplitValue`` and ``Count``, if pandas is there;
            else a float64 array of shape (n_bins, 2). Empty bins are left out.

        Raises
        ------
        DataError
            If the model has no such feature, or its splits are by sets of levels.
        ParameterError
            If ``bins`` is out of range.
        """
        from pyopencl_gbdt.model.frames import histogram_table, split_value_histogram
        from pyopencl_gbdt.model.node_labels import FeatureMap

        names = (_feature_map(fmap) or FeatureMap()).names
        known = names.index(feature) if isinstance(feature, str) and feature in names else feature
        edges, counts = split_value_histogram(self.ensemble, known, bins)
        return histogram_table(edges, counts, as_pandas=as_pandas)

    def num_features(self) -> int:
        """Return the number of columns that the model was trained on."""
        return self.ensemble.n_features

    @property
    def feature_types(self) -> list[str]:
        """``"c"`` for each categorical column, ``"float"`` for each other one."""
        by_level = self.ensemble.categories
        return ["c" if i in by_level else "float" for i in range(self.ensemble.n_features)]

    def attr(self, key: str) -> str | None:
        """Return an attribute, or None if the model has none of this name."""
        return self.ensemble.attributes.get(key)

    def attributes(self) -> dict[str, str]:
        """Return a copy of all attributes: facts that are kept with the model, also in files."""
        return dict(self.ensemble.attributes)

    def set_attr(self, **attributes: object) -> None:
        """Set attributes to ``str(value)``; None removes one.

        Raises
        ------
        ModelFormatError
            If ``best_iteration`` or ``best_score`` is not a number; the model is unchanged.
        """
        new = self.attributes() | {
            key: str(value) for key, value in attributes.items() if value is not None
        }
        for key in [key for key, value in attributes.items() if value is None]:
            new.pop(key, None)
        check_best_round(new, "set_attr")
        self.ensemble.attributes = new

    def copy(self: _Own) -> _Own:
        """Return a model of its own: what is changed in one does not change the other."""
        own = self.ensemble
        names = None if own.feature_names is None else list(own.feature_names)
        ensemble = replace(
            own, trees=list(own.trees), feature_names=names, attributes=self.attributes(),
            objective_parameters=dict(own.objective_parameters),
        )  # fmt: skip
        twin = self._with(ensemble)
        twin.history, twin.profile = deepcopy(self.history), self.profile
        twin.history_start = self.history_start
        return twin

    def __getitem__(self: _Own, rounds: int | slice) -> _Own:
        """Return a model of some rounds: ``model[2:5]``, ``model[::2]``, ``model[-1]``.

        It starts from the same base score. It keeps no history and no best round.

        Raises
        ------
        RoundIndexError
            If the model does not have these rounds, or there would be none; also an ``IndexError``.
        """
        chosen = _rounds(rounds, self.ensemble.n_rounds)
        known = self.ensemble.attributes.items()
        kept = {key: value for key, value in known if key not in (BEST_ITERATION, BEST_SCORE)}
        return self._with(self.ensemble.of_rounds(chosen, kept))

    def __iter__(self: _Own) -> Iterator[_Own]:
        """Yield a model of each round."""
        return (self[number] for number in range(self.ensemble.n_rounds))

    def _with(self: _Own, ensemble: Ensemble) -> _Own:
        """Return a model of other trees that was trained as this one was."""
        twin = type(self)(ensemble)
        twin.training_device, twin.variants = self.training_device, dict(self.variants)
        return twin


def _rounds(asked: Any, n_rounds: int) -> range:
    """Return the rounds that an index or a slice names."""
    if isinstance(asked, slice):
        text = ":".join("" if part is None else show(part) for part in _parts(asked))
        defaults = zip((asked.start, asked.stop, asked.step), (0, n_rounds, 1), strict=True)
        ends = [default if part is None else whole_number(part) for part, default in defaults]
        begin, end, step = (-n_rounds - 1 if part is None else part for part in ends)
        inside = min(begin, end) >= -n_rounds and max(begin, end) <= n_rounds and step > 0
        found = range(n_rounds)[begin:end:step] if inside else range(0)
    elif asked is Ellipsis:
        return range(n_rounds)
    else:
        text, known = show(asked), range(-n_rounds, n_rounds)
        number = whole_number(asked)
        if number is None:
            raise TypeError(
                f"model[{text}]: expected the number of a round or a slice; give one such as "
                "model[2:5]"
            )
        first = number % n_rounds if number in known else 0
        found = range(first, first + 1) if number in known else range(0)
    if not found:
        raise RoundIndexError(
            f"model[{text}]: expected one or more of the rounds 0..{n_rounds - 1}, in ascending "
            "order; choose rounds that the model has"
        )
    return found


def _parts(asked: slice) -> list[Any]:
    ends = [asked.start, asked.stop]
    return ends if asked.step is None else [*ends, asked.step]


def _feature_map(fmap: _Path | FeatureMap) -> FeatureMap | None:
    from pyopencl_gbdt.model.node_labels import FeatureMap

    if isinstance(fmap, FeatureMap):
        return fmap
    return FeatureMap.read(fmap) if fmap else None
