"""Print metrics as lines of text, or beside a bar in a terminal or a notebook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TextIO

from pyopencl_gbdt.arguments import check_callables, check_switches
from pyopencl_gbdt.callbacks.base import EvalsLog, Plan, TrainingCallback, TrainingModel
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.logger import tell, tell_round
from pyopencl_gbdt.messages import show


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


class ProgressBar(TrainingCallback):
    """Show the progress of a training with its latest metrics.

    Parameters
    ----------
    description : str, default "train"
        Text before the bar.
    file : text stream or None
        None is standard error.
    **options
        Passed to ``tqdm``.

    Notes
    -----
    Shows a bar of ``tqdm.auto``, in terminals and notebooks, if tqdm is installed. Otherwise prints
    a plain line after every tenth of the rounds.
    """

    def __init__(
        self, description: str = "train", file: TextIO | None = None, **options: Any
    ) -> None:
        self.description, self.file, self.options = description, file, options
        self._n_rounds = self._done = 0
        self._bar: Any = None

    def check(self, plan: Plan) -> None:
        """Store the number of rounds; raise an error for a file that cannot be written to."""
        if self.file is not None and not callable(getattr(self.file, "write", None)):
            raise ParameterError(
                f"ProgressBar: file={show(self.file)}: expected an open text file, or None for "
                "standard error; give one of them"
            )
        self._n_rounds = plan.n_rounds

    def before_training(self, model: TrainingModel) -> None:
        """Open the bar."""
        self._done = 0
        tqdm = _tqdm()
        if tqdm is not None:
            self._bar = tqdm(
                total=self._n_rounds, desc=self.description, file=self.file, **self.options
            )

    def after_iteration(self, model: TrainingModel, epoch: int, evals_log: EvalsLog) -> bool:
        """Advance the bar; after a resume, from the resumed round."""
        more, self._done = epoch + 1 - self._done, epoch + 1
        metrics = " ".join(latest(evals_log))
        if self._bar is not None:
            self._bar.set_postfix_str(metrics, refresh=False)
            self._bar.update(more)
        elif self._done == self._n_rounds or self._done % max(1, self._n_rounds // 10) == 0:
            line = f"{self.description}: round {self._done} of {self._n_rounds} {metrics}".rstrip()
            if self.file is None:
                tell(line)
            else:
                print(line, file=self.file, flush=True)
        return False

    def close(self) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()
        self._bar = None


def _tqdm() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm
