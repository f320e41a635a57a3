"""``train`` on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import distributed

from pyopencl_gbdt.compat.xgboost import collective
from pyopencl_gbdt.compat.xgboost.booster import Booster
from pyopencl_gbdt.compat.xgboost.callback import (
    CallbackContainer,
    EarlyStopping,
    EvaluationMonitor,
    TrainingCallback,
)
from pyopencl_gbdt.compat.xgboost.dask.matrices import DaskDMatrix
from pyopencl_gbdt.compat.xgboost.keyword_arguments import named_arguments
from pyopencl_gbdt.compat.xgboost.metrics import Metric
from pyopencl_gbdt.compat.xgboost.team_rounds import train_booster
from pyopencl_gbdt.compat.xgboost.team_training import team_settings
from pyopencl_gbdt.compat.xgboost.training import PlainObj
from pyopencl_gbdt.dask.training import train_by_workers


@named_arguments
def train(
    client: distributed.Client | None,
    params: Mapping[str, Any],
    dtrain: DaskDMatrix,
    num_boost_round: int = 10,
    *,
    evals: Sequence[tuple[DaskDMatrix, str]] | None = None,
    obj: PlainObj | None = None,
    early_stopping_rounds: int | None = None,
    xgb_model: Booster | None = None,
    verbose_eval: int | bool = True,
    callbacks: Sequence[TrainingCallback] | None = None,
    custom_metric: Metric | None = None,
    coll_cfg: Any = None,
) -> dict[str, Any]:
    """Train a booster on a cluster's workers.

    Parameters
    ----------
    client : distributed.Client or None
        None is the current one.
    params, num_boost_round, evals, early_stopping_rounds, xgb_model, verbose_eval
        As for ``pyopencl_gbdt.compat.xgboost.train``.
    dtrain : DaskDMatrix
    obj : callable or None
        A loss: ``function(margins, dtrain)`` returns gradients and Hessians. Each worker calls it
        with its own rows.
    callbacks : sequence of TrainingCallback, or None
        Every worker calls copies of them; what those of the worker with the first rows return
        counts. Only the learning rate can change.
    custom_metric : callable or None
        ``function(prediction, matrix)`` returns a name and a number, or a list of such pairs. That
        worker alone calls it, with all rows of a set, without values where the set is ``dtrain``;
        so ``collective`` knows one process there.
    coll_cfg
        Has no effect.

    Returns
    -------
    dict
        ``"booster"``, a ``Booster``, and ``"history"``, the metrics of every round.
    """
    del coll_cfg
    settings = team_settings(params, continues=xgb_model is not None)
    bins = getattr(dtrain, "max_bin", None)
    trained = {**settings.trained(), **({} if bins is None else {"max_bin": bins})}
    listed = list(callbacks or ())
    if verbose_eval:
        listed.append(EvaluationMonitor(period=1 if verbose_eval is True else verbose_eval))
    if early_stopping_rounds:
        listed.append(EarlyStopping(rounds=early_stopping_rounds))
    CallbackContainer(listed, custom_metric)  # raises here for what is none
    options = {
        "given": dict(params), "obj": obj, "custom_metric": custom_metric, "callbacks": listed,
        "before": None if xgb_model is None else xgb_model.copy(),
    }  # fmt: skip
    model = train_by_workers(
        client, {**trained, "n_estimators": num_boost_round}, dtrain.rows, dtrain.columns,
        [(one.rows, name) for one, name in evals or ()], options, trainer=train_booster,
    )  # fmt: skip
    booster = Booster(params, model_file=model.save_raw("json"))
    if dtrain.feature_types is not None:
        booster.feature_types = dtrain.feature_types
    return {"booster": booster, "history": model.history}


class WorkerContext(collective.CommunicatorContext):
    """As ``collective.CommunicatorContext``; the worker's name and address are its task."""

    def __init__(self, **args: Any) -> None:
        super().__init__(**args)
        worker = distributed.get_worker()
        self.args["DMLC_TASK_ID"] = f"[xgboost.dask-{worker.name}]:{worker.address}"
