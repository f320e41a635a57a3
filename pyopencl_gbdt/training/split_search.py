"""Exact search or histograms: what sparse data, batches of rows and teams get."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.parameters.facts import CutFacts
from pyopencl_gbdt.parameters.parameters import ROWS, Parameters
from pyopencl_gbdt.parameters.refusals import MOST_BINS, OF_CUTS
from pyopencl_gbdt.parameters.row import refuse

#: ``auto`` searches exactly in sparse data of more columns than this, as ThunderGBM does, ...
WIDE = 20_000
#: ... of which at most this share is present. Such columns have few values each, so most values
#: would have a bin of their own anyway.
MOST_PRESENT = 0.05


def resolved(params: Parameters, sparse: SparseMatrix, n_outputs: int) -> Parameters:
    """Return the parameters for sparse data: ``tree_method="exact"`` where ``auto`` means that.

    Symmetric trees and those of several outputs need histograms, dropped trees are walked by codes,
    and drawn or forced borders lie between bins, as those do of which both sides' weights are
    smoothed: those get tiled pages.

    Only data and parameters decide, never the device, so the model is the same everywhere. A
    ``max_bin`` or ``cut_rule`` of the user's own asks for histograms.
    """
    if params.symmetric_trees:  # splits of levels are searched in histograms
        return replace(params, page="tiled")
    of_bins = params.draws_splits or params.smooths or bool(params.forced_splits)
    of_bins = of_bins or params.has_vectors(n_outputs)
    if params.weighs_trees or of_bins:
        of_codes = params.page == "auto" and params.search == "hist"
        return replace(params, page="tiled") if of_codes else params
    return of_sparse(params, sparse.shape[1], sparse.density)


def of_sparse(params: Parameters, n_features: int, density: float) -> Parameters:
    """Return the result of ``resolved`` for a sparse matrix with this share of present values."""
    own = any(getattr(params, name) != ROWS[name].default for name in ("max_bin", "cut_rule"))
    if params.tree_method != "auto" or own:
        return params
    if n_features <= WIDE or density > MOST_PRESENT:
        return params
    return replace(params, tree_method="exact")


def as_histograms(params: Parameters, *, sparse: bool = False) -> Parameters:
    """Return parameters with a bin for every distinct value in place of exact search.

    Both grow the same trees. ``check_exact`` tells whether there are bins enough.
    """
    if params.search != "exact":
        return params
    page = "tiled" if sparse else "auto"  # exact search has no other pages
    # thresholds lie half-way between values
    return replace(params, tree_method="hist", max_bin=MOST_BINS, cut_rule="shares", page=page)


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
