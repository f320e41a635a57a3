"""``train`` by the ranks of ``collective``, each with its own rows.

The model's bytes are those of one process that has the rows of all ranks in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyopencl_gbdt.compat.xgboost import collective
from pyopencl_gbdt.compat.xgboost.booster import Booster
from pyopencl_gbdt.compat.xgboost.callback import CallbackContainer, TrainingCallback
from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.compat.xgboost.metrics import Metric
from pyopencl_gbdt.compat.xgboost.settings import Settings
from pyopencl_gbdt.compat.xgboost.team_rounds import train_booster
from pyopencl_gbdt.errors import ParameterError


def team_settings(params: Any, *, continues: bool) -> Settings:
    """Return the checked settings of a training among several processes.

    Parameters
    ----------
    params : dict, or list of (str, object)
    continues : bool
        Whether there is a model to continue.

    Raises
    ------
    ParameterError
        If one process has to train by them.
    """
    settings = Settings(params)
    if settings.is_linear:
        raise ParameterError(
            "booster='gblinear': expected 'gbtree' or 'dart' among several processes; train linear "
            "models in one"
        )
    if settings.others.get("process_type") == "update":
        raise ParameterError(
            "process_type='update': expected 'default' among several processes; change trees in one"
        )
    if continues and settings.switch("seed_per_iteration"):
        raise ParameterError(
            "seed_per_iteration=True: expected False among several processes that continue a "
            "model; leave it out, or train in one"
        )
    settings.warn_of_unused()
    settings.checked()
    return settings


def train_ranks(
    team: Any,
    params: Any,
    dtrain: DMatrix,
    n_rounds: int,
    *,
    evals: Sequence[tuple[DMatrix, str]],
    obj: Any,
    xgb_model: Any,
    callbacks: Sequence[TrainingCallback],
    custom_metric: Metric | None,
) -> tuple[Booster, dict[str, Any]]:
    """Train one booster by all ranks; every rank calls this with its own rows.

    Parameters
    ----------
    team : Team
        Of the ranks.
    n_rounds : int
    params, dtrain, evals, obj, xgb_model, callbacks, custom_metric
        As for ``train``.

    Returns
    -------
    Booster, dict
        The booster and the metrics of every round, the same on all ranks.
    """
    CallbackContainer(callbacks, custom_metric)  # raises here for what is none
    before = None if xgb_model is None else Booster(model_file=xgb_model)
    settings = team_settings(params, continues=before is not None)
    bins = getattr(dtrain, "max_bin", None)
    trained = {**settings.trained(), **({} if bins is None else {"max_bin": bins})}
    rows = dtrain.dataset() if dtrain.num_row() else None
    sets = [(matrix.dataset() if matrix.num_row() else None, name) for matrix, name in evals]
    try:
        model = train_booster(
            {**trained, "n_estimators": n_rounds}, rows, evals=sets, communicator=team,
            given=params, obj=obj, custom_metric=custom_metric, callbacks=callbacks, before=before,
        )  # fmt: skip
    except BaseException:
        collective.forget_ranks()
        raise
    booster = Booster(params, model_file=model.save_raw("json"))
    if dtrain.feature_types is not None:
        booster.feature_types = dtrain.feature_types
    return booster, model.history
