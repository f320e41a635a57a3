"""What trainings on categorical columns cannot have: refused before anything is allocated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.pages.levels import MOST_LEVELS
from pyopencl_gbdt.parameters.constraints import Limits
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.with_statistics import has_targets, statistic_columns


def check_categories(
    data: Dataset, p: Parameters, limits: Limits, evals: Sequence[tuple[Dataset, str]] = ()
) -> None:
    """Raise an error for categorical columns that a training cannot have.

    Parameters
    ----------
    data : Dataset
    p : Parameters
    limits : Limits
        Constraints of the training.
    evals : sequence of (Dataset, str)

    Raises
    ------
    DataError
        If a column has too many levels, or an evaluation set is sparse.
    ParameterError
        If a parameter does not go with categorical columns.
    """
    if not data.categories:  # a sparse matrix may have 2^31 columns
        return
    statistics = statistic_columns(p, data)
    names = data.feature_names or [f"column {number}" for number in range(data.n_features)]
    constrained = [] if limits.monotone is None else np.flatnonzero(limits.monotone).tolist()
    both = [column for column in constrained if column in data.categories]
    if both:
        raise ParameterError(
            f"monotone_constraints constrains {names[both[0]]}: expected columns of numbers, as "
            "levels have no order; leave it out"
        )
    sets = {c: levels for c, levels in data.categories.items() if c not in statistics}
    if not sets:
        return
    for column, levels in sets.items():
        if levels.n_levels > MOST_LEVELS:
            move = "leave out cat_method='sets'" if has_targets(p) else "merge rare levels"
            raise DataError(
                f"{names[column]} has {levels.n_levels} levels: expected {MOST_LEVELS} at most in "
                f"a categorical column that is split by sets of levels; {move}"
            )
    for rows, name in evals:
        if rows.sparse is not None:
            raise DataError(
                f"evals: {name!r} is sparse: expected dense rows where X has categorical columns; "
                "convert it by X.toarray(), with NaN for missing values"
            )
    if p.search != "hist":
        raise ParameterError(
            f"tree_method={p.tree_method!r}: expected 'hist' where X has categorical columns; "
            "leave it out"
        )
    if p.page == "tiled":
        raise ParameterError(
            "page='tiled': expected 'auto' or 'dense' where X has categorical columns; leave it out"
        )
