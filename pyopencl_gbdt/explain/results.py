"""Contributions of columns to margins, and the arrays that explanations return, with names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device
from pyopencl_gbdt.explain.rows import rows_of
from pyopencl_gbdt.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import pandas as pd

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Explanation:
    """The contribution of each column to the margin of each row.

    Attributes
    ----------
    values : float64 array, shape (n_rows, n_features), or (n_rows, n_outputs, n_features)
        A row's values and its base add up to its margin, exactly, in any order of the sum.
    base : float64 array, shape (n_rows,), or (n_rows, n_outputs)
        The margin of a row of which no column is known.
    feature_names : list of str
        One for each column; ``f0``, ``f1``, ... if the model's columns have no names.
    data : array, shape (n_rows, n_features)
        The rows: float32, or objects if columns are categorical. Those have their levels by name,
        and None where no level of training is given.
    """

    values: F64
    base: F64
    feature_names: list[str]
    data: npt.NDArray[Any]

    def to_frame(self) -> pd.DataFrame:
        """Return the values, then the base, as a table with a line for each row.

        With several outputs, columns are pairs (output, feature name).

        Raises
        ------
        ImportError
            If pandas is missing.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame() needs pandas: pip install pandas") from error
        whole = np.concatenate([self.values, self.base[..., None]], axis=-1)
        names = [*self.feature_names, "base"]
        if whole.ndim == 2:
            return pd.DataFrame(whole, columns=names)
        pairs = pd.MultiIndex.from_product([range(whole.shape[1]), names])
        return pd.DataFrame(whole.reshape(len(whole), -1), columns=pairs)


@dataclass(frozen=True, eq=False)
class PartialDependence:
    """How predictions change with one feature, or with two.

    Attributes
    ----------
    grid : list of array
        The values that each feature takes: float32, or objects if it is categorical: names of
        levels.
    average : float64 array, shape (n_outputs, len(grid[0]), ...), or None
        The mean of the rows; the last dimension is that of a second feature. None if
        ``kind="individual"``.
    individual : float32 array, shape (n_outputs, n_rows, len(grid[0]), ...), or None
        The response of each row; None if ``kind="average"``.
    feature_names : list of str
        The names of the features of the grid.
    """

    grid: list[npt.NDArray[Any]]
    average: F64 | None
    individual: npt.NDArray[np.float32] | None
    feature_names: list[str]


def value_text(value: Any) -> str:
    """Return a column's value as text: a number in few digits, or a level."""
    is_number = isinstance(value, (float, np.floating))
    if value is None or (is_number and np.isnan(value)):
        return "missing"
    return f"{value:.5g}" if is_number else str(value)


def explain(
    model: Any,
    X: Any,
    *,
    background: Any = None,
    missing: float | None = None,
    device: str | Device | None = None,
) -> Explanation:
    """Return the SHAP values of each row, with the names of columns and levels.

    A statistic's contribution is that of the columns that it is made of.

    Parameters
    ----------
    model : Model or fitted estimator
    X : (n_rows, n_features) array-like, DataFrame, sparse matrix or Dataset
        As for ``Model.predict``; sparse rows become an array.
    background : as X, or None
        Rows that missing features are taken from; None: the shares of the training rows.
    missing : float or None
        A number in X that also means "missing"; None: as the estimator has it.
    device : str, Device or None
        None: the estimator's device, or "auto". All devices give the same bits.

    Returns
    -------
    Explanation

    Raises
    ------
    DataError
        If the columns differ from those of training, X is in batches, or the background
        has no rows.
    ParameterError
        If ``model`` is not a model, or its trees have no covers and there is no background.
    """
    rows = rows_of(model, X, missing=missing, device=device)
    others = None
    if background is not None:
        given = rows_of(model, background, missing=missing, device=device, name="background")
        others = given.features
    found = rows.model.predict(
        rows.features, pred_contribs=True, background=others, base_margin=rows.base_margin,
        device=rows.device,
    )  # fmt: skip
    return Explanation(found[..., :-1], found[..., -1], rows.names, rows.table())
