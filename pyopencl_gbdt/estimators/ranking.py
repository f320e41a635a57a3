"""`GBDTRanker`: a scikit-learn estimator for ranking, whose rows belong to queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import like
from pyopencl_gbdt.data import check_target
from pyopencl_gbdt.data.arrays.matrix import column_labels, take_column
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.estimators.base import Base, of_rows
from pyopencl_gbdt.estimators.evaluation_sets import one_each, pairs_of
from pyopencl_gbdt.estimators.gradient_boosting import GBDTRegressor
from pyopencl_gbdt.estimators.parameters import Parametrised
from pyopencl_gbdt.estimators.spellings import explains_arguments
from pyopencl_gbdt.metrics import get_metric, metric_name, takes_queries
from pyopencl_gbdt.parameters.parameters import Parameters

F32 = npt.NDArray[np.float32]
_Own = TypeVar("_Own", bound="GBDTRanker")


class GBDTRanker(Base):
    """Gradient-boosted trees that rank the rows of a query; the default loss is ``rank:ndcg``."""

    _objective = "rank:ndcg"
    _kind = "ranker"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "ranker"
        tags.target_tags.required = True
        tags._skip_test = True  # scikit-learn's checks know of no queries, which fit needs
        return tags

    def _labels(self, y: Any, n_rows: int) -> F32:
        return check_target(y, n_rows)

    @explains_arguments
    @like(
        Base.fit, without=("groups",),
        after={"base_margin": ("group", "qid"), "eval_set": ("eval_group", "eval_qid")},
    )  # fmt: skip
    def fit(
        self: _Own,
        X: Any,
        y: Any = None,
        *,
        group: Any = None,
        qid: Any = None,
        eval_set: Any = None,
        eval_group: Any = None,
        eval_qid: Any = None,
        **given: Any,
    ) -> _Own:
        """Train.

        Parameters
        ----------
        X : (n_rows, n_features) array-like, DataFrame or sparse matrix
            A DataFrame may have the queries in a column ``qid``.
        y : (n_rows,) array-like
            Relevance, larger is better: 0 to 31 for ``rank:ndcg``, 0 or 1 for ``rank:map``.
        sample_weight : (n_queries,) array-like or None
            One weight per query, or one per row that is the same in all rows of a query.
        group : (n_queries,) array-like of integers, or None
            Number of rows of each query, instead of ``qid``.
        qid : (n_rows,) array-like of integers, or None
            The query of each row, in ascending order.
        eval_set : list of (X, y), one (X, y), or None
        eval_group, eval_qid : list of array-like, array or None
            The queries of every set. With one set, its array will do.
        base_margin, label_column, sample_weight_eval_set, base_margin_eval_set
            As in ``GBDTRegressor.fit``.
        xgb_model, init_model, categorical_feature, cat_features, verbose, profile
            As in ``GBDTRegressor.fit``.

        Returns
        -------
        self

        Raises
        ------
        DataError, ParameterError, DeviceError, MemoryPlanError
            The estimator is unchanged.
        """
        X, qid = split_qid(X, qid)
        pairs = pairs_of(eval_set)
        ids, groups = (
            one_each(name, given, len(pairs))
            for name, given in (("eval_qid", eval_qid), ("eval_group", eval_group))
        )
        for i, pair in enumerate(pairs):
            rows, ids[i] = split_qid(pair[0], ids[i])
            pairs[i] = (rows, pair[1])
        self._queries = [{"qid": qid, "group": group}]
        self._queries += [{"qid": q, "group": g} for q, g in zip(ids, groups, strict=True)]
        try:
            return super().fit(X, y, eval_set=pairs or None, **given)
        finally:
            del self._queries

    def _extra(self, index: int | None) -> dict[str, Any]:
        return self._queries[0 if index is None else index + 1]

    @explains_arguments
    @like(GBDTRegressor.predict)
    def predict(self, X: Any, **options: Any) -> F32:
        """Return scores, float32, shape (n_rows,): rows with larger scores rank first.

        The arguments are those of ``GBDTRegressor.predict``; a column ``qid`` of X is ignored.
        """
        return self._predict(split_qid(X, None)[0], **options)

    @explains_arguments
    @like(of_rows)
    def staged_predict(self, X: Any, **options: Any) -> Iterator[F32]:
        """Yield the scores after each round; the last ones are those of ``predict``.

        Every row walks every tree once. The arguments are those of ``predict``.
        """
        return self._staged(split_qid(X, None)[0], **options)

    @explains_arguments
    def apply(
        self, X: Any, *, iteration_range: tuple[int, int] | None = None
    ) -> npt.NDArray[np.int32]:
        """Return the leaf of each row in each tree, as ``GBDTRegressor.apply``.

        A column ``qid`` of X is ignored.
        """
        return super().apply(split_qid(X, None)[0], iteration_range=iteration_range)

    @explains_arguments
    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None, group: Any = None
    ) -> float:
        """Return the last metric of ``eval_metric``, or the loss's default: ``ndcg@32``.

        Parameters
        ----------
        X, y, sample_weight, qid, group
            As in ``fit``.

        Raises
        ------
        DataError, ParameterError, NotFittedError
        """
        X, qid = split_qid(X, qid)
        if qid is None and group is None:
            raise DataError("score needs the queries: give qid= or group=, or a column 'qid' in X")
        asked = self.eval_metric
        listed = [asked] if isinstance(asked, str) or callable(asked) else list(asked or ())
        names = [metric_name(name) for name in listed if isinstance(name, str)]
        parameters = Parameters.from_dict(self._named_parameters())
        name = names[-1] if names else self._fitted().objective.metric
        own = {"missing": self.missing, "categorical_features": self._categorical_argument()}
        rows = Dataset(X, y, sample_weight, qid=qid, group=group, **own)
        queries = (rows.group_offsets,) if takes_queries(name) else ()
        metric = get_metric(name, parameters)
        return float(metric(rows.label, self.predict(X), rows.weight, *queries))


def split_qid(X: Any, qid: Any) -> tuple[Any, Any]:
    """Return a DataFrame without its column ``qid``, and the query ids.

    Raises
    ------
    DataError
        If X has a column ``qid`` and ``qid`` is given too.
    """
    if "qid" not in (column_labels(X) or ()):
        return X, qid
    if qid is not None:
        raise DataError("X has a column 'qid', and qid is given: expected one of them")
    return take_column(X, "qid")


GBDTRanker.__doc__ = f"{GBDTRanker.__doc__}\n" + (Parametrised.__doc__ or "").split("\n", 1)[1]
