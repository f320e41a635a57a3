"""Models of ``booster="gblinear"``: a linear function of the columns for every output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.data.files.whole_file import write_whole
from pyopencl_gbdt.errors import DataError, ModelFormatError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.model.node_labels import FeatureMap
from pyopencl_gbdt.prediction.model import Model

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]


def _no_weights() -> F32:
    return np.zeros((0, 1), np.float32)


@dataclass(repr=False)
class LinearEnsemble(Ensemble):
    """A model without trees: base margin, bias, and weights times the columns' values.

    Attributes
    ----------
    weights : float32 array, shape (n_features + 1, n_outputs)
        The weights of each column, then the biases.
    rounds : int
        Number of rounds that have changed the weights.
    """

    weights: F32 = field(default_factory=_no_weights)
    rounds: int = 0

    @property
    def n_rounds(self) -> int:
        return self.rounds

    def of_rounds(self, rounds: Sequence[int], attributes: dict[str, str]) -> Ensemble:
        """Refuse: rounds of a linear model are not kept apart."""
        raise ParameterError(
            "Slice is not supported by the current booster.: expected booster='gbtree' or 'dart', "
            "as a linear model has no rounds of its own; train fewer rounds"
        )

    def check(self) -> None:
        """Raise ``ModelFormatError`` if parts of the model contradict each other."""
        super().check()
        shape = (self.n_features + 1, self.n_outputs)
        if self.weights.shape != shape or not np.isfinite(self.weights).all():
            raise ModelFormatError(
                f"weights of shape {self.weights.shape}: expected finite numbers of shape {shape}; "
                "train with smaller values or a smaller eta"
            )

    @property
    def start(self) -> np.float32:
        """The base margin of every output: that of the first one, as in XGBoost 3.2."""
        first: np.float32 = np.float32(each(self.base_margin)[0])
        return first


class Columns:
    """The present values of a matrix, column by column.

    Raises
    ------
    DataError
        If there are categories, or as many columns as the model lacks.
    """

    def __init__(self, matrix: DMatrix) -> None:
        if matrix.dataset().categories:
            raise DataError(
                "`gblinear` doesn't support categorical features.: expected columns of numbers; "
                "encode the categories, or train with booster='gbtree'"
            )
        entries = matrix.get_data().tocsc()
        entries.sort_indices()
        self._starts, self._rows = entries.indptr, entries.indices
        self._values = entries.data.astype(np.float32, copy=False)
        self.n_rows, self.n_features = entries.shape

    def of(self, feature: int) -> tuple[I32, F32]:
        """Return the rows where a column is not missing, and its values there."""
        part = slice(self._starts[feature], self._starts[feature + 1])
        return self._rows[part], self._values[part]

    def __iter__(self) -> Iterator[tuple[int, I32, F32]]:
        return ((feature, *self.of(feature)) for feature in range(self.n_features))


def margins_of(model: LinearEnsemble, columns: Columns, base_margin: F32 | None) -> F32:
    """Return margins, float32 (n_outputs, n_rows): sums of float32 in the order of the columns.

    Parameters
    ----------
    columns : Columns
        Columns that the model does not have are left out.
    base_margin : float32 array, shape (n_rows,) or (n_rows, n_outputs), or None
        In place of the model's base margin.
    """
    found = np.empty((model.n_outputs, columns.n_rows), np.float32)
    if base_margin is None:
        found[:] = (model.weights[-1] + model.start)[:, None]
    else:
        found[:] = base_margin.reshape(columns.n_rows, -1).T + model.weights[-1][:, None]
    for feature, rows, values in columns:
        if feature < model.n_features:
            for margin, weight in zip(found, model.weights[feature], strict=True):
                margin[rows] += values * weight
    return found


def contributions_of(model: LinearEnsemble, columns: Columns, base_margin: F32 | None) -> F32:
    """Return the contributions of columns and bias: float32 (n_rows, n_outputs, n_features + 1)."""
    found = np.zeros((columns.n_rows, model.n_outputs, model.n_features + 1), np.float32)
    for feature, rows, values in columns:
        if feature < model.n_features:
            found[rows, :, feature] = values[:, None] * model.weights[feature]
    found[:, :, -1] = model.weights[-1]
    if base_margin is None:
        found[:, :, -1] += model.start
    else:
        found[:, :, -1] += base_margin.reshape(columns.n_rows, -1)
    return found


class LinearModel(Model):
    """A ``Model`` whose ensemble is linear: it shows weights where others show trees."""

    ensemble: LinearEnsemble

    def predict_matrix(
        self, data: DMatrix, asked: Mapping[str, bool], *, strict_shape: bool
    ) -> F32:
        """Return the result of ``Booster.predict``; ``asked`` are the kinds of prediction.

        Raises
        ------
        ParameterError
            If leaves or interactions are asked for: there are none.
        """
        if asked["pred_leaf"] or asked["pred_interactions"]:
            what = "leaf index" if asked["pred_leaf"] else "interactions"
            raise ParameterError(
                f"gblinear does not support prediction of {what}: expected pred_contribs=True or a "
                "prediction; train with booster='gbtree'"
            )
        own, base_margin = self.ensemble, data.dataset().base_margin
        columns = Columns(data)
        alone = own.n_outputs == 1 and not strict_shape
        if asked["pred_contribs"]:
            parts = contributions_of(own, columns, base_margin)
            return parts[:, 0] if alone else parts
        margins = margins_of(own, columns, base_margin)
        if not asked["output_margin"]:
            margins = self.objective.to_prediction(margins if own.n_outputs > 1 else margins[0])
        if margins.ndim == 1:  # one output, or the class of multi:softmax
            return margins[:, None] if strict_shape else margins
        return margins[0] if alone else np.ascontiguousarray(margins.T)

    def get_dump(
        self, fmap: Any = "", with_stats: bool = False, dump_format: str = "text"
    ) -> list[str]:
        """Return bias and weights as one text; ``dump_format`` is ``"text"`` or ``"json"``."""
        own = self.ensemble.weights
        bias = [f"{one:.6g}" for one in own[-1]]
        weight = [f"{one:.6g}" for one in own[:-1].reshape(-1)]
        if dump_format == "text":
            return ["\n".join(["bias:", *bias, "weight:", *weight]) + "\n"]
        if dump_format != "json":
            raise ParameterError(
                f"Dump format `{dump_format}` is not supported by the gblinear model.: expected "
                "'text' or 'json'; give one of them"
            )
        parts = [
            f'"{name}": [\n      ' + ",\n      ".join(listed) + "\n    ]"
            for name, listed in (("bias", bias), ("weight", weight))
        ]
        return ["  { " + ",\n    ".join(parts) + "\n  }"]

    def dump_model(
        self,
        fout: Any,
        fmap: Any = "",
        with_stats: bool = False,
        dump_format: str = "text",
    ) -> None:
        """Write what ``get_dump`` returns to a file."""
        text = self.get_dump(fmap, with_stats, dump_format)[0]
        text = f"[\n{text}\n]" if dump_format == "json" else f"booster[0]:\n{text}"
        write_whole(str(fout), text.encode("utf-8"))

    def trees_to_dataframe(self, fmap: Any = "") -> Any:
        """Refuse: there are no trees."""
        raise ParameterError(
            "This method is not defined for Booster type gblinear: expected trees; use get_dump"
        )

    def get_score(self, fmap: Any = "", importance_type: str = "weight") -> dict[str, Any]:
        """Return the weights of every column, by its name; a list if there are several outputs."""
        if importance_type != "weight":
            raise ParameterError(
                f"importance_type={show(importance_type)}: gblinear only has `weight` defined for "
                "feature importance.; give 'weight'"
            )
        own = self.ensemble
        names = own.feature_names or [f"f{n}" for n in range(own.n_features)]
        if isinstance(fmap, FeatureMap):
            names = list(fmap.names)
        weights = own.weights[:-1].astype(float)
        values = weights[:, 0].tolist() if own.n_outputs == 1 else weights.tolist()
        return dict(zip(names, values, strict=True))


def model_of(ensemble: Ensemble) -> Model:
    """Return a model of trees, or of weights if the ensemble is linear."""
    return LinearModel(ensemble) if isinstance(ensemble, LinearEnsemble) else Model(ensemble)
