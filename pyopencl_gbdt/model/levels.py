"""Check the levels of categorical columns that a model keeps."""

from __future__ import annotations

from collections.abc import Mapping

from pyopencl_gbdt.categories.statistics import Statistics
from pyopencl_gbdt.data.categories import Levels
from pyopencl_gbdt.errors import ModelFormatError


def check_categories(
    categories: Mapping[int, Levels], n_features: int, statistics: Statistics | None
) -> None:
    """Raise ``ModelFormatError`` unless levels belong to columns, are distinct and ascend.

    Statistics have to have as many levels.
    """
    for table in () if statistics is None else statistics.tables:
        for part, size in zip(table.parts, table.sizes, strict=True):
            levels = categories.get(part.column)
            n_levels = levels.n_levels if isinstance(levels, Levels) else 0
            if part.threshold is None and n_levels != size:
                raise ModelFormatError(
                    f"the statistics of column {part.column} have {size} levels: expected "
                    f"{n_levels}, as in categories; correct the file"
                )
    for feature, levels in categories.items():
        if type(feature) is not int or not 0 <= feature < n_features:
            raise ModelFormatError(
                f"categories[{feature!r}]: expected a column, 0..{n_features - 1}; correct it"
            )
        kind = type(levels).__name__
        wrong = levels.wrong() if isinstance(levels, Levels) else f"is of type {kind}"
        if wrong:
            raise ModelFormatError(
                f"categories[{feature}] {wrong}: expected Levels of distinct, ascending strings or "
                "whole numbers; take those of a Dataset"
            )
