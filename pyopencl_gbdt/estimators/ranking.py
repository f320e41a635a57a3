"""scikit-learn's manners for ranking: rows belong to queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data import check_target
from pyopencl_gbdt.data.check import column_labels, take_column
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.estimators.base import Base
from pyopencl_gbdt.estimators.evaluation_sets import one_each, pairs_of
from pyopencl_gbdt.estimators.parameters import Parametrised
from pyopencl_gbdt.metrics import get_metric, takes_queries
from pyopencl_gbdt.parameters.parameters import Parameters

F32 = npt.NDArray[np.float32]
_Own = TypeVar("_Own", bound="GBDTRanker")


class GBDTRanker(Base):
    """Gradient-boosted trees that rank the rows of each query; ``rank:ndcg`` unless named."""

    _objective = "rank:ndcg"
    _kind = "ranker"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "ranker"
        tags.target_tags.required = True
        return tags

    def _labels(self, y: Any, n_rows: int) -> F32:
        return check_target(y, n_rows)

    def _check_own(self) -> None:
        super()._check_own()
        if self.objective is not None and not str(self.objective).startswith("rank:"):
            raise ParameterError(
                f"objective={self.objective!r}: expected rank:ndcg, rank:map or rank:pairwise for "
                f"{type(self).__name__}; use GBDTRegressor for other losses"
            )

    def fit(
        self: _Own,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        group: Any = None,
        qid: Any = None,
        base_margin: Any = None,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        eval_group: Sequence[Any] | None = None,
        eval_qid: Sequence[Any] | None = None,
        sample_weight_eval_set: Sequence[Any] | None = None,
        base_margin_eval_set: Sequence[Any] | None = None,
        xgb_model: Any = None,
        init_model: Any = None,
        verbose: bool | int | None = False,
        profile: bool = False,
    ) -> _Own:
        """Train.

        Parameters
        ----------
        X : (n_rows, n_features) array-like or DataFrame
            A DataFrame may hold the queries in a column ``qid``.
        y : (n_rows,) array-like
            The higher, the more relevant: 0 to 31 for ``rank:ndcg``, 0 and 1 for ``rank:map``.
        sample_weight : (n_queries,) array-like or None
            A weight a query; one a row will do where a query's rows have the same.
        group : (n_queries,) array-like of integers, or None
            Rows of each query, instead of ``qid``.
        qid : (n_rows,) array-like of integers, or None
            The query of each row; must not descend.
        eval_set : list of (X, y) or None
        eval_group, eval_qid : list of array-like, or None
            The queries of every set.
        base_margin, sample_weight_eval_set, base_margin_eval_set
            As for ``GBDTRegressor.fit``.
        xgb_model, init_model, verbose, profile
            As for ``GBDTRegressor.fit``.

        Returns
        -------
        self

        Raises
        ------
        DataError, ParameterError, DeviceError, MemoryPlanError
            The estimator stays as it was.
        """
        X, qid = split_qid(X, qid)
        pairs = pairs_of(eval_set)
        ids, groups = (
            one_each(name, given, len(pairs))
            for name, given in (("eval_qid", eval_qid), ("eval_group", eval_group))
        )
        for i, pair in enumerate(pairs):
            if isinstance(pair, (tuple, list)) and len(pair) == 2:  # else it is refused later
                rows, ids[i] = split_qid(pair[0], ids[i])
                pairs[i] = (rows, pair[1])
        self._queries = [{"qid": qid, "group": group}]
        self._queries += [{"qid": q, "group": g} for q, g in zip(ids, groups, strict=True)]
        try:
            return super().fit(
                X, y, sample_weight, base_margin=base_margin, eval_set=pairs or None,
                sample_weight_eval_set=sample_weight_eval_set,
                base_margin_eval_set=base_margin_eval_set, xgb_model=xgb_model,
                init_model=init_model, verbose=verbose, profile=profile,
            )  # fmt: skip
        finally:
            del self._queries

    def _extra(self, index: int | None) -> dict[str, Any]:
        return self._queries[0 if index is None else index + 1]

    def predict(
        self,
        X: Any,
        *,
        output_margin: bool = False,
        base_margin: Any = None,
        iteration_range: tuple[int, int] | None = None,
    ) -> F32:
        """Return scores, float32, shape (n_rows,): the higher, the earlier in the query's list.

        The arguments are those of ``GBDTRegressor.predict``; a column ``qid`` is left aside.
        """
        return self._predict(
            split_qid(X, None)[0],
            output_margin=output_margin,
            base_margin=base_margin,
            iteration_range=iteration_range,
        )

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None, group: Any = None
    ) -> float:
        """Return the last name of ``eval_metric``, or else the loss's own: ``ndcg@32`` by default.

        Parameters
        ----------
        X, y, sample_weight, qid, group
            As for ``fit``.

        Raises
        ------
        DataError, ParameterError, NotFittedError
        """
        X, qid = split_qid(X, qid)
        if qid is None and group is None:
            raise DataError("score needs the queries: give qid= or group=, or a column 'qid' in X")
        asked = self.eval_metric
        listed = [asked] if isinstance(asked, str) or callable(asked) else list(asked or ())
        names = [name for name in listed if isinstance(name, str)]
        parameters = Parameters.from_dict(self._named_parameters())
        name = names[-1] if names else self._fitted().objective.metric
        missing = self.missing
        rows = Dataset(X, y, sample_weight, qid=qid, group=group, missing=missing)
        queries = (rows.group_offsets,) if takes_queries(name) else ()
        metric = get_metric(name, parameters)
        return float(metric(rows.label, self.predict(X), rows.weight, *queries))


def split_qid(X: Any, qid: Any) -> tuple[Any, Any]:
    """Take a DataFrame's column ``qid`` out of it.

    Raises
    ------
    DataError
        If the queries are given beside it too.
    """
    if "qid" not in (column_labels(X) or ()):
        return X, qid
    if qid is not None:
        raise DataError("X has a column 'qid', and qid is given: expected one of them")
    return take_column(X, "qid")


GBDTRanker.__doc__ = f"{GBDTRanker.__doc__}\n" + (Parametrised.__doc__ or "").split("\n", 1)[1]
