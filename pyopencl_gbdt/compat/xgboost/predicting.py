"""How a ``Booster`` predicts: options, shapes and errors as XGBoost's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import named_arguments
from pyopencl_gbdt.compat.xgboost.booster_facts import BoosterFacts
from pyopencl_gbdt.compat.xgboost.inputs import other_kind
from pyopencl_gbdt.compat.xgboost.linear_ensemble import LinearEnsemble, LinearModel
from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import DataError, DataTypeError, ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.prediction.model import Model

F32 = npt.NDArray[np.float32]
_QUANTILES = "reg:quantileerror"


class Predicting(BoosterFacts):
    """The part of ``Booster`` that predicts."""

    @named_arguments
    def predict(
        self,
        data: DMatrix,
        *,
        output_margin: bool = False,
        pred_leaf: bool = False,
        pred_contribs: bool = False,
        approx_contribs: bool = False,
        pred_interactions: bool = False,
        validate_features: bool = True,
        training: bool = False,
        iteration_range: tuple[int, int] = (0, 0),
        strict_shape: bool = False,
    ) -> npt.NDArray[Any]:
        """Return predictions of all rounds, unless ``iteration_range`` names some.

        Parameters
        ----------
        data : DMatrix
        output_margin : bool
            Return sums of leaf values.
        pred_leaf : bool
            Return the leaf of each row in each tree.
        pred_contribs, pred_interactions : bool
            Return what each column, or each pair of columns, adds to the margin.
        approx_contribs : bool
            Contributions by the changes of the mean along a row's path.
        validate_features : bool
            Whether the columns must have the names of training.
        training : bool
            Has no effect: trees are dropped inside a fit alone.
        iteration_range : (int, int)
            The rounds ``begin .. end - 1``; ``(0, 0)`` is all, also after early stopping.
        strict_shape : bool
            Return as many dimensions for one output as for several.

        Returns
        -------
        float32 array
            Of shape (n_rows,) or (n_rows, n_outputs); leaves (n_rows, n_trees); contributions
            (n_rows, n_outputs, n_features + 1), without ``n_outputs`` if that is 1.

        Raises
        ------
        DataTypeError
            If ``data`` is no ``DMatrix``.
        DataError, ParameterError
            If columns or rounds are not those of the model.
        """
        if not isinstance(data, DMatrix):
            raise DataTypeError(f"Expecting data to be a DMatrix object, got: {type(data)}")
        if validate_features:
            self.validate_columns(data.feature_names)
        asked = {
            "output_margin": output_margin, "pred_contribs": pred_contribs,
            "pred_interactions": pred_interactions, "pred_leaf": pred_leaf,
        }  # fmt: skip
        if sum(map(bool, asked.values())) > 1:
            raise ParameterError("One type of prediction at a time.; call predict again")
        ensemble = self._ensemble()
        rounds = _rounds_of(iteration_range, ensemble.n_rounds)
        if data.num_row() == 0:
            return np.zeros(0, np.float32)
        if isinstance(ensemble, LinearEnsemble):
            self._check_width(data.num_col())
            return LinearModel(ensemble).predict_matrix(data, asked, strict_shape=strict_shape)
        rows = self._rows(data, ensemble)
        model = Model(replace(ensemble, attributes={}))
        used = None if rounds[1] == 0 else rounds
        how: dict[str, Any] = {"device": self._settings.trained()["device"]}
        if isinstance(how["device"], (list, dict)) or "," in str(how["device"]):
            how["device"] = "auto"
        if pred_leaf and used is None:
            return np.zeros((data.num_row(), 0), np.float32)
        approximate = bool(approx_contribs and (pred_contribs or pred_interactions))
        crosses = ensemble.objective == _QUANTILES and not pred_leaf  # not sorted, as in XGBoost
        found = model.predict(
            rows, output_margin=output_margin or crosses, pred_leaf=pred_leaf,
            pred_contribs=pred_contribs or approximate,
            pred_interactions=pred_interactions and not approximate,
            approx_contribs=approximate, iteration_range=used, **how,
        ).astype(np.float32, copy=False)  # fmt: skip
        if pred_interactions and approximate:  # which know of none
            found = found[..., None] * np.eye(found.shape[-1], dtype=np.float32)
        if pred_leaf:
            return _leaf_shape(found, ensemble, strict=strict_shape)
        several = ensemble.n_outputs > 1 and (
            output_margin or pred_contribs or pred_interactions
            or ensemble.objective != "multi:softmax"
        )  # fmt: skip
        if strict_shape and not several:
            found = found[:, None]
        return found

    def _rows(self, data: DMatrix, ensemble: Ensemble) -> Dataset:
        """Return the rows to predict, with the names of the model's columns.

        Missing columns at the end are missing values, as in XGBoost.
        """
        self._check_width(data.num_col())
        rows = _coded(data, ensemble)
        missing = ensemble.n_features - data.num_col()
        names = None if missing else ensemble.feature_names
        if not missing and rows.feature_names == names:
            return rows
        checked = rows.checked
        if missing:
            whole = data.get_data()
            whole.resize((data.num_row(), ensemble.n_features))
            found = Dataset(whole, base_margin=rows.base_margin)
            return found
        return Dataset(replace(checked, names=names), None, None, names, rows.base_margin)

    @named_arguments
    def inplace_predict(
        self,
        data: Any,
        *,
        iteration_range: tuple[int, int] = (0, 0),
        predict_type: str = "value",
        missing: float = np.nan,
        validate_features: bool = True,
        base_margin: Any = None,
        strict_shape: bool = False,
    ) -> npt.NDArray[Any]:
        """Return predictions of an array or a table, without a ``DMatrix``.

        Parameters
        ----------
        data : array-like, table or sparse matrix
            One dimension is a column.
        predict_type : {"value", "margin"}
        missing, base_margin
            As for ``DMatrix``.
        iteration_range, validate_features, strict_shape
            As for ``predict``.

        Raises
        ------
        DataError, ParameterError
            If columns, rounds or ``predict_type`` are not allowed.
        """
        if predict_type not in ("value", "margin"):
            raise ParameterError(
                f"predict_type={show(predict_type)}: expected 'value' or 'margin'; give one"
            )
        if isinstance(self._ensemble(), LinearEnsemble):
            raise ParameterError(
                "Inplace predict is not supported by the current booster.: expected a model of "
                "trees; call predict with a DMatrix"
            )
        column = isinstance(data, np.ndarray) and data.ndim == 1
        if column:
            data = data.reshape(-1, 1)
        rows = DMatrix(
            data, missing=missing, base_margin=base_margin, enable_categorical=True
        )  # fmt: skip
        if validate_features or column:
            if rows.num_col() != self._ensemble().n_features:
                raise DataError(
                    f"Feature shape mismatch, expected: {self._ensemble().n_features}, got "
                    f"{rows.num_col()}; give the columns of training"
                )
            if rows.feature_names is not None:
                self.validate_columns(rows.feature_names)
        return self.predict(
            rows, output_margin=predict_type == "margin", validate_features=False,
            iteration_range=iteration_range, strict_shape=strict_shape,
        )  # fmt: skip


def _coded(data: DMatrix, ensemble: Ensemble) -> Dataset:
    """Return rows whose numbers are codes of levels where the model has categories.

    Raises
    ------
    DataError
        If a table has numbers where the model has categories, or the other way round.
    """
    rows, known = data.dataset(), ensemble.categories
    own = rows.checked
    plain = [column for column in known if column not in own.categories]
    more = [column for column in own.categories if column not in known]
    both = known.keys() & own.categories.keys()
    kinds = [n for n in both if known[n].are_strings != own.categories[n].are_strings]
    if more or kinds or (plain and data.feature_types is not None):
        raise other_kind((more or kinds or plain)[0])
    for column in sorted(both):
        listed = known[column].values.tolist()
        unseen = [one for one in own.categories[column].values.tolist() if one not in {*listed}]
        if unseen and data.feature_types is not None and known[column].are_strings:
            raise DataError(
                f"Found a category not in the training set for the {column}th (0-based) column: "
                f"{show(unseen[0])}; expected one of {show(listed)}; make it a missing value"
            )
    if not plain or rows.is_sparse or rows.n_features < ensemble.n_features:
        return rows
    values = rows.values.copy()
    for column in plain:
        numbers = values[:, column]
        inside = (numbers >= 0) & (numbers < known[column].n_levels)
        values[:, column] = np.where(inside, np.floor(numbers), np.nan)
    coded = {**own.categories, **{column: known[column] for column in plain}}
    checked = replace(own, values=values, categories=coded)
    return Dataset(checked, None, None, rows.feature_names, rows.base_margin)


def _rounds_of(asked: Any, n_rounds: int) -> tuple[int, int]:
    """Return the first round to use, and the one behind the last; raise for others."""
    try:
        begin, end = (int(one) for one in asked)
    except (TypeError, ValueError):
        raise ParameterError(
            f"iteration_range={show(asked)}: expected two numbers of rounds; give (begin, end)"
        ) from None
    end = end or n_rounds
    if end > n_rounds or begin > end or begin < 0:
        raise ParameterError(
            f"iteration_range={show(asked)}: Out of range for tree layers: expected 0 <= begin <= "
            f"end <= {n_rounds}, the rounds of this model; leave it out for all"
        )
    return begin, end


def _leaf_shape(leaves: npt.NDArray[Any], ensemble: Ensemble, *, strict: bool) -> npt.NDArray[Any]:
    n_rows, n_trees = leaves.shape
    if strict:
        groups = ensemble.round_trees // ensemble.n_parallel
        return leaves.reshape(n_rows, -1, groups, ensemble.n_parallel)
    return leaves[:, 0] if n_trees == 1 else leaves
