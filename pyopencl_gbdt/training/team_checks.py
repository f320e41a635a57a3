"""What several devices cannot train together: refused before anything is allocated."""

from __future__ import annotations

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.custom import DeviceObjective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.with_statistics import statistic_columns

_MOVE = "train on one device"


def check_team(params: Parameters, objective: Objective, data: Dataset) -> None:
    """Raise an error if a task needs all rows on one device.

    Raises
    ------
    ParameterError
        If splits are searched along sorted columns, categories become statistics, boosting is
        ordered, or the user's own code fills arrays of one device.
    """
    if data.sparse is not None or params.search != "hist":
        given = "sparse data" if data.sparse is not None else f"tree_method={params.tree_method!r}"
        raise ParameterError(
            f"{given}: expected dense data and tree_method='hist' where several devices train "
            f"together; {_MOVE}"
        )
    if statistic_columns(params, data):
        raise ParameterError(
            f"cat_method={params.cat_method!r}: expected no statistics of categories where several "
            f"devices train together; use cat_method='sets', or {_MOVE}"
        )
    if params.boosting_type == "ordered":
        raise ParameterError(
            "boosting_type='ordered': expected 'plain' where several devices train together; "
            f"{_MOVE}"
        )
    if isinstance(objective, DeviceObjective):
        raise ParameterError(
            f"objective={objective.custom_name}: expected no function of device arrays where "
            f"several devices train together; write a KernelObjective, or {_MOVE}"
        )
