"""The values that a feature takes in a partial dependence."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import check_whole
from pyopencl_gbdt.data.categories.levels import Levels, as_cells
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.explain.rows import ExplainedRows, column_of, named_levels
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class GridOfFeature:
    """The values that a feature takes.

    Attributes
    ----------
    shown : array, shape (n,)
        As users see them: float32, or objects if the column is categorical.
    values : float32 array, shape (n,)
        As trees read them: numbers, or codes of levels; NaN means missing.
    """

    column: int
    shown: npt.NDArray[Any]
    values: F32


def check_range(grid_resolution: Any, percentiles: Any) -> tuple[int, tuple[float, float]]:
    """Check how a grid is to be made.

    Raises
    ------
    ParameterError
        If ``grid_resolution`` is not a whole number of at least 2, or ``percentiles`` is not two
        shares that ascend.
    """
    move = "raise it, or give the values in grid="
    resolution = check_whole("grid_resolution", grid_resolution, 2, move=move)
    try:
        low, high = (float(share) for share in percentiles)
    except (TypeError, ValueError):
        low, high = 1.0, 0.0
    if not 0 <= low < high <= 1:
        raise ParameterError(
            f"percentiles={show(percentiles)}: expected two shares, 0 <= low < high <= 1; give "
            "(0, 1) for the whole range"
        )
    return resolution, (low, high)


def given_grids(grid: Any, columns: Sequence[int], names: Sequence[str]) -> dict[int, Any]:
    """Return the values that users give, by column.

    Parameters
    ----------
    grid : None, mapping of str or int to array-like, or sequence of array-like
        By feature, or one for each of ``columns``; one feature may have its values alone.
    columns : sequence of int
        The features of the partial dependence.

    Raises
    ------
    ParameterError
        If there are values for other features.
    """
    if grid is None:
        return {}
    if isinstance(grid, Mapping):
        found = {column_of("grid", key, names): values for key, values in grid.items()}
    elif len(columns) == 1 and np.ndim(grid) == 1:
        return {columns[0]: grid}
    else:
        listed = list(grid) if isinstance(grid, (list, tuple, np.ndarray)) else []
        if len(listed) != len(columns):
            raise ParameterError(
                f"grid={show(grid)}: expected an array of values for each of {len(columns)} "
                "features, or a dict of them by name; give as many"
            )
        found = dict(zip(columns, listed, strict=True))
    for column in found.keys() - set(columns):
        raise ParameterError(
            f"grid has values of {names[column]!r}: expected those of features alone, "
            f"{[names[own] for own in columns]}; leave it out"
        )
    return found


def grid_of(
    rows: ExplainedRows, column: int, given: Any, resolution: int, percentiles: tuple[float, float]
) -> GridOfFeature:
    """Return the values of a feature: the given ones, or those that the rows have.

    Up to ``resolution`` distinct numbers are the grid themselves; of more it has as many, evenly
    spaced between two percentiles. A categorical column has its levels. Missing values are left
    out.

    Raises
    ------
    ParameterError
        If given values are none of the column's, or a column has more levels than ``resolution``,
        or only missing values.
    """
    levels, name = rows.model.categories.get(column), rows.names[column]
    if levels is not None:
        return _of_levels(rows, column, levels, given, resolution)
    if given is not None:
        values = _numbers(given, name)
        return GridOfFeature(column, values, values)
    own = rows.host_values()[:, column]
    distinct = np.unique(own[~np.isnan(own)])
    if not distinct.size:
        raise ParameterError(
            f"feature {name!r} has only missing values in X: expected numbers to make a grid of; "
            "give the values in grid="
        )
    if distinct.size > resolution:
        low, high = percentiles_of(own[~np.isnan(own)], percentiles)
        distinct = np.linspace(low, high, resolution).astype(np.float32)
        if low == high:
            raise ParameterError(
                f"percentiles={percentiles}: of feature {name!r} both are {low:g}: expected two "
                "values; widen them, or give the values in grid="
            )
    return GridOfFeature(column, distinct, distinct)


def percentiles_of(values: F32, shares: tuple[float, float]) -> tuple[float, float]:
    """Return two percentiles, between ranks as SciPy's ``mquantiles`` places them.

    Cunnane, Unbiased plotting positions, 1978: share p lies at rank ``(n + 0.2) p + 0.4``.
    """
    ordered = np.sort(values).astype(np.float64)
    rank = (ordered.size + 0.2) * np.array(shares) + 0.4
    below = np.clip(np.floor(rank), 1, ordered.size - 1).astype(np.int64)
    part = np.clip(rank - below, 0, 1)
    low, high = ((1 - part) * ordered[below - 1] + part * ordered[below]).tolist()
    return low, high


def _numbers(given: Any, name: str) -> F32:
    try:
        values = np.asarray(given, np.float32)
    except (TypeError, ValueError):
        values = np.zeros((0, 0), np.float32)
    if values.ndim != 1 or not values.size or np.isinf(values).any():
        raise ParameterError(
            f"grid={show(given)}: expected one or more numbers of feature {name!r}, NaN for "
            "missing; give a list of them"
        )
    return values


def _of_levels(
    rows: ExplainedRows, column: int, levels: Levels, given: Any, resolution: int
) -> GridOfFeature:
    name = rows.names[column]
    if given is not None:
        codes = _codes(given, levels, name)
    else:
        there = {level for level in rows.column(column).tolist() if level is not None}
        codes = np.flatnonzero([level in there for level in levels.values.tolist()])
        if not 1 <= codes.size <= resolution:
            raise ParameterError(
                f"grid_resolution={resolution}: feature {name!r} has {codes.size} levels in X: "
                f"expected 1..{resolution}; raise it, or give the levels in grid="
            )
    cells = as_cells(codes.astype(np.int32), levels.n_levels)
    return GridOfFeature(column, named_levels(levels.values, codes), cells)


def _codes(given: Any, levels: Levels, name: str) -> npt.NDArray[np.int64]:
    """Return the codes of levels by name; -1 for None, which means missing."""
    listed = list(given) if np.ndim(given) == 1 else []
    code_of = {level: code for code, level in enumerate(levels.values.tolist())}
    for level in listed:
        if level is not None and level not in code_of:
            near = difflib.get_close_matches(str(level), map(str, code_of), n=3)
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "correct it"
            raise ParameterError(
                f"grid has {show(level)} for feature {name!r}: expected levels of training, such "
                f"as {show(levels.values[:3].tolist())}, or None; {hint}"
            )
    if not listed:
        raise ParameterError(
            f"grid={show(given)}: expected one or more levels of feature {name!r}; give a list"
        )
    return np.array([-1 if level is None else code_of[level] for level in listed], np.int64)
