"""What ordered boosting does not work with: refused before anything is allocated."""

from __future__ import annotations

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.numerics.row_orders import n_entries
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.softmax import SoftProb
from pyopencl_gbdt.parameters.parameters import Parameters

#: Kernels number margins by 32 bits.
_MOST_ENTRIES = 2**32 - 1
_MOVE = "or leave out boosting_type='ordered'"


def check_ordered(p: Parameters, objective: Objective, data: Dataset, *, continued: bool) -> None:
    """Raise an error if a training asks for ordered boosting and cannot have it.

    Parameters
    ----------
    p : Parameters
    objective : Objective
    data : Dataset
    continued : bool
        Whether a model is to be continued.

    Raises
    ------
    ParameterError, DataError
    """
    if p.boosting_type != "ordered":
        return
    own = objective.given and not isinstance(objective, SoftProb)
    if own or objective.renews:
        why = "whose leaves take quantiles" if objective.renews else "with kernels of its own"
        raise ParameterError(
            f"objective={p.objective!r}, {why}: expected a loss whose gradients depend on each "
            "row's own label and margin, such as 'reg:squarederror', 'binary:logistic' or "
            f"'multi:softprob', for ordered boosting; change it, {_MOVE}"
        )
    if p.num_parallel_tree > 1:
        raise ParameterError(
            f"num_parallel_tree={p.num_parallel_tree}: expected 1 for ordered boosting; change "
            f"it, {_MOVE}"
        )
    if continued:
        raise ParameterError(
            "model: expected none to continue with ordered boosting, since a model does not keep "
            f"the ones that learnt from parts of its rows; train a new one, {_MOVE}"
        )
    orders = p.n_orders
    entries = n_entries(data.n_rows, orders)
    if entries > _MOST_ENTRIES:
        raise DataError(
            f"X has {data.n_rows} rows, which have {entries} margins in {orders} orders: expected "
            f"{_MOST_ENTRIES} at most for ordered boosting; lower permutation_count, {_MOVE}"
        )
