"""A progress bar in a terminal or a notebook."""

from __future__ import annotations

from typing import Any, TextIO

from pyopencl_gbdt.callbacks.base import EvalsLog, Plan, TrainingCallback, TrainingModel
from pyopencl_gbdt.callbacks.monitor import latest
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.logger import tell
from pyopencl_gbdt.messages import show


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
