"""The ranker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyopencl_gbdt.arguments import like, named_arguments
from pyopencl_gbdt.compat.xgboost.estimator_base import XGBModel
from pyopencl_gbdt.compat.xgboost.estimator_inputs import as_ranking_metric, split_qid
from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.messages import show


class XGBRankerMixIn:
    """Says that an estimator ranks."""

    _estimator_type = "ranker"


class XGBRanker(XGBRankerMixIn, XGBModel):
    """A ranker of rows within queries.

    Parameters
    ----------
    objective, **kwargs
        As for ``XGBModel``.

    Raises
    ------
    ParameterError
        If the objective does not rank.
    """

    def __init__(self, *, objective: str = "rank:ndcg", **kwargs: Any) -> None:
        super().__init__(objective=objective, **kwargs)
        if callable(objective):
            raise ParameterError(
                "custom objective function not supported by XGBRanker; give 'rank:ndcg'"
            )
        if "rank:" not in objective:
            raise ParameterError(
                f"objective={show(objective)}: please use XGBRanker for ranking task; give "
                "'rank:ndcg'"
            )

    @named_arguments
    @like(
        XGBModel.fit, after={"y": ("group", "qid"), "eval_set": ("eval_group", "eval_qid")},
        verbose=False,
    )  # fmt: skip
    def fit(self, X: Any, y: Any, **given: Any) -> XGBRanker:
        """Train; see ``XGBModel.fit``.

        Parameters
        ----------
        group, qid : array-like or None
            Sizes of queries, or the query of each row; a table may have a column ``qid``.
        sample_weight : array-like or None
            One for each query.
        eval_group, eval_qid : sequence of array-like, or None
            The query sizes or query ids of each evaluation set.
        """
        one = given.get
        own = {"weight": one("sample_weight"), "base_margin": one("base_margin")}
        sides = {
            "weight": one("sample_weight_eval_set"), "base_margin": one("base_margin_eval_set"),
            "group": one("eval_group"), "qid": one("eval_qid"),
        }  # fmt: skip
        self._train(
            self.get_xgb_params(),
            {"data": X, "label": y, "group": one("group"), "qid": one("qid"), **own},
            one("eval_set"), sides, one("verbose"), one("xgb_model"), one("feature_weights"),
        )  # fmt: skip
        return self

    def _create_dmatrix(self, ref: DMatrix | None, **given: Any) -> DMatrix:
        rows, qid = split_qid(given["data"], given.get("qid"))
        if qid is None and given.get("group") is None:
            raise DataError(
                "Either `group` or `qid` is required for ranking task; give one of them"
            )
        return super()._create_dmatrix(ref, **{**given, "data": rows, "qid": qid})

    def _wrap_metric(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return as_ranking_metric(function)

    def _predicted(self, X: Any, *asked: Any, **how: Any) -> Any:
        return super()._predicted(split_qid(X, None)[0], *asked, **how)

    def apply(self, X: Any, iteration_range: tuple[int, int] | None = None) -> Any:
        """Return the leaf of each row in each tree."""
        return super().apply(split_qid(X, None)[0], iteration_range)

    def score(self, X: Any, y: Any) -> float:
        """Return the last metric of rows of a table that has a column ``qid``."""
        rows, qid = split_qid(X, None)
        params = self.get_params(deep=False)
        matrix = DMatrix(
            rows, y, qid=qid, missing=params["missing"], feature_types=params["feature_types"],
            enable_categorical=params["enable_categorical"],
        )  # fmt: skip
        own = params["eval_metric"]
        feval = as_ranking_metric(own) if callable(own) else None
        return self.get_booster().scores([(matrix, "eval")], feval)[-1][2]
