"""The levels of categorical columns, as XGBoost hands them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyopencl_gbdt.data.categories.levels import Levels
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.messages import pip_install


def other_kind(column: int) -> DataError:
    """Return the error for a column of another kind than in training, with XGBoost's words."""
    return DataError(
        f"column {column}: The data type doesn't match the one used in the training dataset. Both "
        "should be either numeric or categorical. For a categorical feature, the index type must "
        "match between the training and test set; convert the column"
    )


class Categories:
    """The levels of each column; ``DMatrix(feature_types=...)`` takes them for other rows.

    Parameters
    ----------
    levels : mapping of int to Levels
        By the number of the column.
    names : sequence of str or None
        Of all columns.
    n_features : int
    in_arrow : bool
        Whether ``to_arrow`` may be called.
    """

    def __init__(
        self,
        levels: Mapping[int, Levels],
        names: Sequence[str] | None,
        n_features: int,
        *,
        in_arrow: bool = False,
    ) -> None:
        self.levels = dict(levels)
        self._names = list(map(str, range(n_features))) if names is None else list(names)
        self._in_arrow = in_arrow

    def empty(self) -> bool:
        """Tell whether no column has levels."""
        return not self.levels

    def to_arrow(self) -> list[tuple[str, Any]]:
        """Return each column's name and its levels, an Arrow array; None for numbers.

        Raises
        ------
        ParameterError
            Unless ``get_categories(export_to_arrow=True)`` made this, or without pyarrow.
        """
        if not self._in_arrow:
            raise ParameterError(
                "The `export_to_arrow` option of the `get_categories` method is required.; give "
                "export_to_arrow=True"
            )
        try:
            import pyarrow as pa
        except ImportError:
            raise ParameterError(f"to_arrow needs pyarrow; {pip_install('arrow')}") from None
        return [
            (name, pa.array(self.levels[number].values.tolist()) if number in self.levels else None)
            for number, name in enumerate(self._names)
        ]
