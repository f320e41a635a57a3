"""``warm_start``: a fit that adds rounds to the former fit."""

from __future__ import annotations

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.parameters.table import TABLE
from pyopencl_gbdt.prediction.model import History


def missing_rounds(n_estimators: object, former: Ensemble) -> int:
    """Return how many rounds the former model lacks of ``n_estimators``.

    Raises
    ------
    ParameterError
        If the former model has more than ``n_estimators`` rounds.
    """
    row = next(row for row in TABLE if row.name == "n_estimators")
    wanted = row.convert(n_estimators)
    assert isinstance(wanted, int)
    if wanted < former.n_rounds:
        raise ParameterError(
            f"n_estimators={wanted}: expected {former.n_rounds} or more, the rounds of the former "
            f"fit, as warm_start=True adds to them; raise n_estimators, or give warm_start=False"
        )
    return wanted - former.n_rounds


def joined_history(former: History, n_rounds: int, added: History) -> History:
    """Return the metrics of all rounds, if both fits have the same sets and metrics.

    Parameters
    ----------
    former, added : dict
        ``history[evaluation set][metric]``, one value per round.
    n_rounds : int
        Number of rounds of the former model; ``EarlyStopping(save_best=True)`` dropped later ones.
    """
    names = {(name, metric) for name, metrics in added.items() for metric in metrics}
    known = {(name, metric) for name, metrics in former.items() for metric in metrics}
    if names != known or any(len(former[name][metric]) < n_rounds for name, metric in names):
        return added
    return {
        name: {metric: former[name][metric][:n_rounds] + values for metric, values in own.items()}
        for name, own in added.items()
    }
