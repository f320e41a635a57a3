"""scikit-learn's manners for ranking: rows belong to queries."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data import check_matrix, check_target
from pyopencl_gbdt.data.containers import is_frame
from pyopencl_gbdt.dataset import Dataset
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.estimator_base import Base
from pyopencl_gbdt.estimator_parameters import Parametrised
from pyopencl_gbdt.evaluation_sets import one_each
from pyopencl_gbdt.metrics import get_metric, takes_queries
from pyopencl_gbdt.parameters import Parameters

F32 = npt.NDArray[np.float32]


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

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        eval_qid: Sequence[Any] | None = None,
        eval_group: Sequence[Any] | None = None,
        **options: Any,
    ) -> Any:
        """Train; see ``GBDTRegressor.fit``.

        Parameters
        ----------
        X : (n_rows, n_features) array-like or DataFrame
            A DataFrame may hold the queries in a column ``qid``.
        y : (n_rows,) array-like
            The higher, the more relevant: 0 to 31 for ``rank:ndcg``, 0 and 1 for ``rank:map``.
        sample_weight : (n_queries,) array-like or None
            A weight a query; one a row will do where a query's rows have the same.
        qid : (n_rows,) array-like of integers, or None
            The query of each row; must not descend.
        group : (n_queries,) array-like of integers, or None
            Rows of each query, instead of ``qid``.
        eval_set : list of (X, y) or None
        eval_qid, eval_group : list of array-like, or None
            The queries of every set.
        **options
            As for ``GBDTRegressor.fit``.

        Returns
        -------
        self

        Raises
        ------
        DataError, ParameterError, DeviceError, MemoryPlanError
            The estimator stays as it was.
        """
        if self.objective is not None and not str(self.objective).startswith("rank:"):
            raise ParameterError(
                f"objective={self.objective!r}: expected rank:ndcg, rank:map or rank:pairwise for "
                f"{type(self).__name__}; use GBDTRegressor for other losses"
            )
        X, qid = split_qid(X, qid)
        pairs = list(eval_set or ())
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
            return super().fit(X, y, sample_weight, eval_set=pairs or None, **options)
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
        values, _ = check_matrix(X)
        rows = Dataset(values, y, sample_weight, qid=qid, group=group)
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
    if not is_frame(X) or "qid" not in list(X.columns):
        return X, qid
    if qid is not None:
        raise DataError("X has a column 'qid', and qid is given: expected one of them")
    return X.drop(columns=["qid"]), np.asarray(X["qid"])


GBDTRanker.__signature__ = inspect.signature(Parametrised.__init__).replace(
    parameters=list(inspect.signature(Parametrised.__init__).parameters.values())[1:]
)
GBDTRanker.__doc__ = f"{GBDTRanker.__doc__}\n" + (Parametrised.__doc__ or "").split("\n", 1)[1]
