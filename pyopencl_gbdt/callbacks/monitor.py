"""Print metrics as lines of text."""

from __future__ import annotations

from collections.abc import Callable

from pyopencl_gbdt.arguments import check_callables, check_switches
from pyopencl_gbdt.callbacks.base import EvalsLog, Plan, TrainingCallback, TrainingModel
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.logger import tell_round


def latest(evals_log: EvalsLog, *, deviation: bool = False) -> list[str]:
    """Return ``set-metric:value`` of the last round, for every set and metric."""
    parts = []
    for name, metrics in evals_log.items():
        for metric, values in metrics.items():
            value = values[-1]
            mean, std = value if isinstance(value, tuple) else (value, None)
            more = f"+{std:.5f}" if deviation and std is not None else ""
            parts.append(f"{name}-{metric}:{mean:.5f}{more}")
    return parts


class EvaluationMonitor(TrainingCallback):
    """Print the metrics of the first round, of every ``period`` rounds, and of the last round.

    Parameters
    ----------
    period : int, default 1
        Number of rounds between lines.
    show_stdv : bool, default False
        Print the standard deviation over folds too, in cross-validation.
    logger : callable or None
        A function that takes each line; None takes the library's, see ``register_logger``.
    """

    def __init__(
        self,
        period: int = 1,
        show_stdv: bool = False,
        logger: Callable[[str], None] | None = None,
    ) -> None:
        self.period, self.show_stdv = period, show_stdv
        self.logger = tell_round if logger is None else logger
        self._waiting: str | None = None

    def check(self, plan: Plan) -> None:
        """Raise an error for an invalid period or logger."""
        check_callables(logger=self.logger)
        check_switches(show_stdv=self.show_stdv)
        if isinstance(self.period, bool) or not isinstance(self.period, int) or self.period < 1:
            raise ParameterError(
                f"EvaluationMonitor: period={self.period!r}: expected an integer >= 1; "
                "1 prints every round"
            )

    def before_training(self, model: TrainingModel) -> None:
        """Forget the lines of an earlier training."""
        self._waiting = None

    def after_iteration(self, model: TrainingModel, epoch: int, evals_log: EvalsLog) -> bool:
        """Print a line, or keep it in case the round is the last."""
        line = "\t".join([f"[{epoch}]", *latest(evals_log, deviation=self.show_stdv)])
        self._waiting = None if epoch % self.period == 0 else line
        if self._waiting is None:
            self.logger(line)
        return False

    def after_training(self, model: TrainingModel) -> None:
        """Print the last round, unless it has been printed."""
        if self._waiting is not None:
            self.logger(self._waiting)
        self._waiting = None
