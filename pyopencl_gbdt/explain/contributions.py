"""Contributions of columns to margins, with the names of columns and levels."""

from __future__ import annotations

from typing import Any

from pyopencl_gbdt.device import Device
from pyopencl_gbdt.explain.results import Explanation
from pyopencl_gbdt.explain.rows import rows_of


def explain(
    model: Any,
    X: Any,
    *,
    background: Any = None,
    missing: float | None = None,
    device: str | Device | None = None,
) -> Explanation:
    """Return the SHAP values of each row, with the names of columns and levels.

    A statistic's contribution is that of the columns that it is made of.

    Parameters
    ----------
    model : Model or fitted estimator
    X : (n_rows, n_features) array-like, DataFrame, sparse matrix or Dataset
        As for ``Model.predict``; sparse rows become an array.
    background : as X, or None
        Rows that missing features are taken from; None: the shares of the training rows.
    missing : float or None
        A number in X that also means "missing"; None: as the estimator has it.
    device : str, Device or None
        None: the estimator's device, or "auto". All devices give the same bits.

    Returns
    -------
    Explanation

    Raises
    ------
    DataError
        If the columns differ from those of training, X is in batches, or the background
        has no rows.
    ParameterError
        If ``model`` is not a model, or its trees have no covers and there is no background.
    """
    rows = rows_of(model, X, missing=missing, device=device)
    others = None
    if background is not None:
        given = rows_of(model, background, missing=missing, device=device, name="background")
        others = given.features
    found = rows.model.predict(
        rows.features, pred_contribs=True, background=others, base_margin=rows.base_margin,
        device=rows.device,
    )  # fmt: skip
    return Explanation(found[..., :-1], found[..., -1], rows.names, rows.table())
