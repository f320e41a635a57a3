"""Train and predict on Dask's arrays and tables; see ``docs/large-data.md``.

Dask places the data and starts the work. The workers then form a team: sums travel from worker to
worker, and the scheduler sees none of them.
"""

from __future__ import annotations

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import pip_install

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ParameterError(
        f"pyopencl_gbdt.dask needs dask and distributed ({error}); " + pip_install("dask")
    ) from None

from pyopencl_gbdt.dask.estimators import DaskGBDTClassifier, DaskGBDTRanker, DaskGBDTRegressor
from pyopencl_gbdt.dask.training import predict, train

__all__ = [
    "DaskGBDTClassifier",
    "DaskGBDTRanker",
    "DaskGBDTRegressor",
    "predict",
    "train",
]
