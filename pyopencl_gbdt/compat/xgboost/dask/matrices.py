"""Rows, labels and weights of a training on Dask, as Dask's collections."""

from __future__ import annotations

from typing import Any

import distributed

from pyopencl_gbdt.arguments import like
from pyopencl_gbdt.compat.xgboost.inputs import check_types
from pyopencl_gbdt.compat.xgboost.keyword_arguments import named_arguments
from pyopencl_gbdt.errors import DataTypeError, ParameterError
from pyopencl_gbdt.messages import show

#: What comes with the rows of a ``DaskDMatrix``, by the names of ``pyopencl_gbdt.dask.train``.
_SIDES = ("label", "weight", "base_margin", "qid", "label_lower_bound", "label_upper_bound")


def refuse(what: str, move: str, **given: Any) -> None:
    """Raise for arguments that trainings on Dask do not have."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise ParameterError(f"{name}={show(value)}: expected {what}; {move}")


class DaskDMatrix:
    """Dask's collections of rows, labels and weights; the workers read them when they train.

    Parameters
    ----------
    client : distributed.Client or None
        None is the current one.
    data : dask.array.Array or dask.dataframe.DataFrame
    label, weight, base_margin, qid, label_lower_bound, label_upper_bound : Dask collection or None
    missing : float or None
    silent
        Has no effect.
    feature_names : sequence of str or None
    feature_types : sequence of str, or None
        The columns' types; ``"c"`` marks categories.
    feature_weights : array-like or None
    enable_categorical : bool
        Whether columns of a table that are categories count as such.
    group
        Refused, as in XGBoost: ``qid`` tells queries.
    """

    @named_arguments
    def __init__(
        self,
        client: distributed.Client | None,
        data: Any,
        label: Any = None,
        *,
        weight: Any = None,
        base_margin: Any = None,
        missing: float | None = None,
        silent: bool = False,
        feature_names: Any = None,
        feature_types: Any = None,
        group: Any = None,
        qid: Any = None,
        label_lower_bound: Any = None,
        label_upper_bound: Any = None,
        feature_weights: Any = None,
        enable_categorical: bool = False,
    ) -> None:
        if len(getattr(data, "shape", ())) != 2 or not hasattr(data, "dask"):
            raise DataTypeError(
                f"data is of type {type(data).__name__}: expecting a Dask array or DataFrame of "
                "two dimensions; make one"
            )
        refuse("None on Dask, as in XGBoost", "give qid=", group=group)
        del client, silent
        self.data = data
        given = (label, weight, base_margin, qid, label_lower_bound, label_upper_bound)
        self.sides = dict(zip(_SIDES, given, strict=True))
        self.columns = {
            "missing": missing, "feature_names": feature_names, "feature_weights": feature_weights,
            "categorical_features": None,
        }  # fmt: skip
        self.feature_types = check_types(feature_types, self.num_col())
        if self.feature_types is not None and "c" in self.feature_types:
            categorical = [n for n, one in enumerate(self.feature_types) if one == "c"]
            self.columns["categorical_features"] = categorical
        elif enable_categorical:
            del self.columns["categorical_features"]

    def num_col(self) -> int:
        """Return the number of columns."""
        return int(self.data.shape[1])

    @property
    def rows(self) -> dict[str, Any]:
        """The collections by the names of ``pyopencl_gbdt.dask.train``."""
        return {"X": self.data, **self.sides}


class DaskQuantileDMatrix(DaskDMatrix):
    """A ``DaskDMatrix``; workers cut columns into ``max_bin`` of the training's parameters."""

    @named_arguments
    @like(
        DaskDMatrix.__init__,
        after={
            "feature_types": ("max_bin", "ref"),
            "enable_categorical": ("max_quantile_batches",),
        },
    )
    def __init__(
        self,
        client: distributed.Client | None,
        data: Any,
        *,
        max_bin: int | None = None,
        ref: Any = None,
        max_quantile_batches: Any = None,
        **given: Any,
    ) -> None:
        super().__init__(client, data, **given)
        self.max_bin = max_bin
