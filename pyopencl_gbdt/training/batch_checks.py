"""What trainings on rows in batches cannot have: refused before anything is read again."""

from __future__ import annotations

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.with_statistics import statistic_columns


def check_batches(params: Parameters, data: Dataset) -> None:
    """Raise an error if a training asks for rows as a whole, and these come in batches.

    Parameters
    ----------
    params : Parameters
        ``tree_method="auto"`` is resolved.
    data : Dataset

    Raises
    ------
    ParameterError
    """
    if data.batches is None:
        return
    if params.search == "approx" or (params.search == "exact" and data.categories):
        why = "it sorts all values at once"
        if params.search == "exact":
            why = "exact search takes no categorical columns there"
        raise ParameterError(
            f"tree_method={params.tree_method!r}: expected 'hist' for rows in batches, since "
            f"{why}; leave it out, or give Dataset an array"
        )
    columns = statistic_columns(params, data)
    if columns:
        names = data.feature_names or [str(number) for number in range(data.n_features)]
        raise ParameterError(
            f"cat_method={params.cat_method!r}: expected 'sets' for rows in batches, as column "
            f"{names[columns[0]]} of {data.categories[columns[0]].n_levels} levels would become "
            "statistics of all rows; give cat_method='sets'"
        )
