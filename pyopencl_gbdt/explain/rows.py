"""What every explanation is given: a model and rows, checked, with the names of columns."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import whole_number
from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.batches.sources import has_batches
from pyopencl_gbdt.data.budget import check_free
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.features import Features, level_codes
from pyopencl_gbdt.data.remarks import Remarks
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.device.selection import main_device
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model.pictures import fitted
from pyopencl_gbdt.prediction.model import Model

F32 = npt.NDArray[np.float32]
Objects = npt.NDArray[np.object_]


@dataclass(frozen=True)
class ExplainedRows:
    """Checked rows of a model.

    Attributes
    ----------
    features : Features
        Dense columns; categorical ones have the codes of training.
    device : str or Device
        Where to predict.
    base_margin : float32 array, shape (n_rows,) or (n_rows, n_outputs), or None
        What the rows of a ``Dataset`` start from.
    """

    model: Model
    features: Features
    device: str | Device
    base_margin: F32 | None = None

    @property
    def n_rows(self) -> int:
        return int(self.features.values.shape[0])

    @property
    def names(self) -> list[str]:
        """The names of the columns; ``f0``, ``f1``, ... if they have none."""
        ensemble = self.model.ensemble
        return [ensemble.feature_name(column) for column in range(ensemble.n_features)]

    def host_values(self) -> F32:
        """Return the columns as trees read them, float32, shape (n_rows, n_features)."""
        values = self.features.values
        assert isinstance(values, np.ndarray | DeviceMatrix)
        return values.host() if isinstance(values, DeviceMatrix) else values

    def leaf_ids(self) -> npt.NDArray[np.int32]:
        """Return each row's leaf in each tree, shape (n_rows, n_trees)."""
        found: npt.NDArray[np.int32]
        found = self.model.predict(self.features, pred_leaf=True, device=self.device)
        return found

    def column(self, column: int) -> npt.NDArray[Any]:
        """Return a column: float32, or an object array of levels, None where there is none."""
        levels = self.model.categories.get(column)
        if levels is None:
            return self.host_values()[:, column]
        codes = level_codes(self.features, column)
        return named_levels(levels.values, codes)

    def table(self) -> npt.NDArray[Any]:
        """Return all columns: float32, or objects if columns are categorical."""
        values, categories = self.host_values(), self.model.categories
        if not categories:
            return values
        found = values.astype(object)
        for column in categories:
            found[:, column] = self.column(column)
        return found


def named_levels(levels: npt.NDArray[Any], codes: npt.NDArray[Any]) -> Objects:
    """Return the level of each code, as objects; None where a code is not a level's."""
    known = np.append(levels.astype(object), [None])
    place = np.where((codes >= 0) & (codes < levels.size), codes, levels.size)
    found: Objects = known[place.astype(np.int64)]
    return found


def model_of(model: Any) -> Model:
    """Return the ``Model`` of a fitted estimator, and a ``Model`` as it is.

    Raises
    ------
    ParameterError
        If ``model`` is anything else.
    NotFittedError
        If it is an estimator that is not fitted.
    """
    found = fitted(model)
    if not isinstance(found, Model):
        raise ParameterError(
            f"model={type(found).__name__}: expected a Model or a fitted estimator; give what "
            "train or fit returns"
        )
    return found


def device_of(model: Any) -> str | Device:
    """Return the device of an estimator, and "auto" for a model."""
    found: str | Device = main_device(getattr(model, "device", "auto"))
    return found


def rows_of(
    model: Any, X: Any, *, missing: float | None, device: str | Device | None, name: str = "X"
) -> ExplainedRows:
    """Check a model and rows; an estimator's own value replaces None.

    Parameters
    ----------
    model : Model or fitted estimator
    X : (n_rows, n_features) array-like, DataFrame, sparse matrix or Dataset
        As for ``Model.predict``, in memory; sparse rows become an array, NaN where they have no
        entry.
    missing : float or None
        A number in X that also means "missing".

    Raises
    ------
    DataError
        If the columns differ from those of training, or X has no rows, is in batches, or is sparse
        and would exceed the memory as an array.
    ParameterError
        If ``model`` is not a model.
    """
    own, device = model_of(model), device_of(model) if device is None else device
    if has_batches(X) or (isinstance(X, Dataset) and X.batches is not None):
        raise DataError(
            f"{name} comes in batches: expected rows that lie in memory as a whole; give an array"
        )
    missing = getattr(model, "missing", None) if missing is None else missing
    features = replace(own.checked(X, missing=missing, name=name), remarks=Remarks())  # warned of
    if isinstance(features.values, SparseMatrix):
        features = replace(features, values=_dense(features.values, name))
    return ExplainedRows(own, features, device, X.base_margin if isinstance(X, Dataset) else None)


def _dense(values: SparseMatrix, name: str) -> F32:
    """Return sparse rows as an array, NaN where they have no entry."""
    n_rows, n_columns = values.shape
    check_free(
        4 * n_rows * n_columns,
        f"{n_rows} x {n_columns} values of {name}, which is sparse,",
        "give fewer rows at a time",
    )
    return values.dense()


def column_of(name: str, given: Any, names: Sequence[str]) -> int:
    """Return a column's number.

    Parameters
    ----------
    given : str or int
        The column's name, or its number, counted from 0.

    Raises
    ------
    ParameterError
        If there is no such column; names those that are near.
    """
    if isinstance(given, str) and given in names:
        return names.index(given)
    number = whole_number(given)
    if number is not None and 0 <= number < len(names):
        return number
    near = difflib.get_close_matches(str(given), names, n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "give one of these"
    raise ParameterError(
        f"{name}={show(given)}: expected the name or number of a column of training, one of "
        f"{show(list(names))} or 0..{len(names) - 1}; {hint}"
    )
