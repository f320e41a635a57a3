"""XGBoost's estimators whose rows are Dask's collections."""

from __future__ import annotations

from typing import Any

import distributed
import numpy as np
import numpy.typing as npt
from dask import array

from pyopencl_gbdt.arguments import like
from pyopencl_gbdt.compat.xgboost import estimators
from pyopencl_gbdt.compat.xgboost.booster import Booster
from pyopencl_gbdt.compat.xgboost.dask.training import DaskDMatrix, inplace_predict, predict, train
from pyopencl_gbdt.compat.xgboost.estimator_base import XGBModel
from pyopencl_gbdt.compat.xgboost.ranker import XGBRanker
from pyopencl_gbdt.errors import ParameterError


class DaskScikitLearnBase(XGBModel):
    """What the estimators share: they train and predict on the workers.

    Parameters
    ----------
    coll_cfg
        Has no effect.
    **kwargs
        As for ``XGBModel``.
    """

    _client: distributed.Client | None = None

    def __init__(self, *, coll_cfg: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.coll_cfg = coll_cfg

    @property
    def client(self) -> distributed.Client | None:
        """The cluster's client; None is the current one."""
        return self._client

    @client.setter
    def client(self, client: distributed.Client | None) -> None:
        self._client = client

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the client, which belongs to this process."""
        return {name: value for name, value in self.__dict__.items() if name != "_client"}

    def get_xgb_params(self) -> dict[str, Any]:
        """Return the parameters for ``train``, without functions."""
        own = ("coll_cfg", "allow_group_split")
        params = super().get_xgb_params()
        return {name: value for name, value in params.items() if name not in own}

    def _create_dmatrix(self, ref: Any, **given: Any) -> Any:
        return DaskDMatrix(
            self.client, missing=self.missing, feature_types=self.feature_types,
            enable_categorical=self.enable_categorical, **given,
        )  # fmt: skip

    def _boosted(self, params: Any, rows: Any, history: dict[str, Any], **options: Any) -> Booster:
        found = train(self.client, params, rows, self.get_num_boosting_rounds(), **options)
        history.update(found["history"])
        booster: Booster = found["booster"]
        return booster

    def _predicted(self, X: Any, output_margin: bool, iteration_range: Any, **how: Any) -> Any:
        """Return predictions as a Dask array. ``base_margin`` is refused."""
        return inplace_predict(
            self.client, self.get_booster(), X, iteration_range=self._range(iteration_range),
            predict_type="margin" if output_margin else "value", missing=self.missing, **how,
        )  # fmt: skip

    def apply(self, X: Any, iteration_range: tuple[int, int] | None = None) -> Any:
        """Return the leaf of each row in each tree, a Dask array."""
        return predict(
            self.client, self.get_booster(), X, pred_leaf=True, missing=self.missing,
            iteration_range=self._range(iteration_range),
        )  # fmt: skip


class DaskXGBRegressor(DaskScikitLearnBase, estimators.XGBRegressor):
    """``XGBRegressor`` whose rows are Dask's collections."""


class DaskXGBClassifier(DaskScikitLearnBase, estimators.XGBClassifier):
    """``XGBClassifier`` whose rows are Dask's collections; classes are 0 .. n_classes - 1."""

    def _classes_of(self, y: Any) -> npt.NDArray[Any]:
        found = array.unique(y) if isinstance(y, array.Array) else y.drop_duplicates()
        return np.unique(np.asarray(found.compute()))

    def _chances(self, share: Any) -> Any:
        if self.objective == "multi:softmax":
            raise ParameterError(
                "objective='multi:softmax': expected 'multi:softprob' for predict_proba on Dask; "
                "train with it"
            )
        return share if share.ndim > 1 else array.stack([1 - share, share], axis=1)

    def _of_rows(self, found: Any) -> Any:
        if self.objective == "multi:softmax":
            return found
        return found.argmax(axis=1) if found.ndim > 1 else (found > 0.5).astype(np.int64)


class DaskXGBRanker(DaskScikitLearnBase, XGBRanker):
    """``XGBRanker`` whose rows are Dask's collections; ``fit`` takes ``qid``, which ascends.

    Parameters
    ----------
    objective, **kwargs
        As for ``XGBRanker``.
    allow_group_split
        Has no effect: the rows of a query go to one worker.
    coll_cfg
        Has no effect.
    """

    def __init__(
        self,
        *,
        objective: str = "rank:ndcg",
        allow_group_split: bool = False,
        coll_cfg: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(objective=objective, coll_cfg=coll_cfg, **kwargs)
        self.allow_group_split = allow_group_split

    def _create_dmatrix(self, ref: Any, **given: Any) -> Any:
        if given.get("qid") is None and given.get("group") is None:
            raise ParameterError("qid=None: expected the query of each row; give it")
        return super()._create_dmatrix(ref, **given)


class _Forest(estimators.Forest):
    """A forest whose rows are Dask's collections; name a class of estimators after this base."""

    @like(estimators.Forest.__init__, after={"reg_lambda": ("coll_cfg",)}, learning_rate=1)
    def __init__(self, **given: Any) -> None:
        super().__init__(**given)


class DaskXGBRFRegressor(_Forest, DaskXGBRegressor):
    """``XGBRFRegressor`` whose rows are Dask's collections; see ``DaskXGBRFClassifier``."""


class DaskXGBRFClassifier(_Forest, DaskXGBClassifier):
    """``XGBRFClassifier`` whose rows are Dask's collections.

    Parameters
    ----------
    learning_rate, subsample, colsample_bynode, reg_lambda, **kwargs
        As for ``XGBRFClassifier``.
    coll_cfg
        Has no effect.
    """
