"""What ``tree_method`` means for some data: ``auto``, and exact search without sorted columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.parameters.facts import CutFacts
from pyopencl_gbdt.parameters.names import ROWS
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.refusal import refuse
from pyopencl_gbdt.parameters.refusals import MOST_BINS, OF_CUTS

#: ``auto`` searches exactly in sparse data of more columns than this, as ThunderGBM does, ...
WIDE = 20_000
#: ... of which at most this share is present. Such columns have few values each, so most values
#: would have a bin of their own anyway.
MOST_PRESENT = 0.05


def resolved(params: Parameters, data: Dataset) -> Parameters:
    """Return the parameters with ``tree_method="exact"`` where ``auto`` means that.

    Symmetric trees need histograms, and dropped trees are walked by codes: sparse data get tiled
    pages.

    Only data and parameters decide, never the device, so the model is the same everywhere. A
    ``max_bin`` of the user's own asks for histograms.
    """
    sparse = data.sparse
    if params.symmetric_trees:  # splits of levels are searched in histograms
        return params if sparse is None else replace(params, page="tiled")
    if params.booster == "dart" and sparse is not None:
        return replace(params, page="tiled") if params.page == "auto" else params
    return params if sparse is None else of_sparse(params, data.n_features, sparse.density)


def of_sparse(params: Parameters, n_features: int, density: float) -> Parameters:
    """Return what ``resolved`` does for a sparse matrix with this share of present values."""
    if params.tree_method != "auto" or params.max_bin != ROWS["max_bin"].default:
        return params
    if n_features <= WIDE or density > MOST_PRESENT:
        return params
    return replace(params, tree_method="exact")


def as_histograms(params: Parameters) -> Parameters:
    """Return parameters with a bin for every distinct value in place of exact search.

    Both grow the same trees. ``check_exact`` tells whether there are bins enough.
    """
    if params.search != "exact":
        return params
    return replace(params, tree_method="hist", max_bin=MOST_BINS)


def check_exact(asked: Parameters, n_bins: npt.NDArray[np.uint32]) -> None:
    """Raise an error if exact search was asked for, and a bin has several values.

    Parameters
    ----------
    asked : Parameters
        As the user gave them.
    n_bins : uint32 array, shape (n_features,)
        Bins of every feature.

    Raises
    ------
    ParameterError
    """
    if n_bins.size:
        column = int(n_bins.argmax())
        refuse(CutFacts(asked.search, column, int(n_bins[column]), MOST_BINS), OF_CUTS)
