"""Checkpoints on disk, from which a training resumes with exactly the same result."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

from pyopencl_gbdt.arguments import check_path, check_switches
from pyopencl_gbdt.callbacks.base import (
    CallbackList,
    EvalsLog,
    Plan,
    TrainingCallback,
    TrainingModel,
)
from pyopencl_gbdt.callbacks.checkpoint_files import (
    CheckPoint,
    check_checkpoint,
    checkpoint_files,
    read_checkpoint,
)
from pyopencl_gbdt.data.files.whole_file import remove_partial_files, write_whole
from pyopencl_gbdt.errors import ModelFormatError, ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.owners import resolved

#: The end of a file name with the largest number of rounds.
_LONGEST = "_9999999999.json"
#: How many differences from a checkpoint an error lists.
_MOST_SHOWN = 8


class TrainingCheckPoint(TrainingCallback):
    """Save the training at regular intervals, and resume from the newest checkpoint.

    Parameters
    ----------
    directory : path-like
        Created if it does not exist.
    name : str, default "model"
        Files are ``<name>_<rounds>.json``. They are models in XGBoost's JSON format and can be
        loaded as models; each is written atomically.
    interval : int, default 100
        Number of rounds between checkpoints.
    keep : int or None, default 2
        How many of the newest checkpoints to keep; None keeps all.
    resume : bool, default True
        Resume from the newest intact checkpoint in the directory. The model has the same bytes
        as without an interruption. Data and parameters must be the same; the number of rounds
        and the device may differ.

    Raises
    ------
    ParameterError
        When training begins, if a checkpoint was made with other data or parameters (the message
        lists the differences), belongs to another user, or has no digest, as those of version 0.1.

    Notes
    -----
    If a checkpoint cannot be written, for example on a full disk, a warning is issued and training
    continues. A damaged checkpoint causes a warning, and the previous one is used. Trainings may
    share a directory; use another ``name`` for other data or parameters.
    """

    saves = True

    def __init__(
        self,
        directory: str | os.PathLike[str],
        name: str = "model",
        interval: int = 100,
        keep: int | None = 2,
        resume: bool = True,
    ) -> None:
        check_path("TrainingCheckPoint: directory", directory)
        check_switches(resume=resume)
        self.directory, self.name = Path(directory), name
        self.interval, self.keep, self.resume = interval, keep, resume
        self._callbacks: CallbackList | None = None
        self._fingerprint: dict[str, str] = {}
        self._plan = Plan(0, {}, None)

    def check(self, plan: Plan) -> None:
        """Raise an error for invalid settings; create the directory."""
        for parameter, value in (("interval", self.interval), ("keep", self.keep)):
            none = parameter == "keep" and value is None
            if not none and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ParameterError(
                    f"TrainingCheckPoint: {parameter}={value!r}: expected an integer >= 1; "
                    "give a number of rounds" if parameter == "interval" else
                    f"TrainingCheckPoint: keep={value!r}: expected an integer >= 1, or None for all"
                )  # fmt: skip
        if plan.fingerprint is None:
            raise ParameterError(
                "TrainingCheckPoint: cross-validation has no model to save; leave it out"
            )
        if not isinstance(self.name, str) or not re.fullmatch(r"[^/\\\0]+", self.name):
            raise ParameterError(
                f"TrainingCheckPoint: name={self.name!r}: expected the beginning of a file name; "
                "give the folder as directory"
            )
        self._make_directory()
        self._fingerprint, self._plan = plan.fingerprint(), plan

    def _make_directory(self) -> None:
        """Create the directory; raise if it is read-only or the name is too long."""
        try:
            resolved(self.directory)  # or a link on the way may be another user's
            self.directory.mkdir(parents=True, exist_ok=True)
            if not os.access(self.directory, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, "it cannot be written")
            with contextlib.suppress(FileNotFoundError):
                (self.directory / f"{self.name}{_LONGEST}").lstat()
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
                raise ParameterError(
                    f"TrainingCheckPoint: name={self.name!r}: too long for a file's name; give a "
                    "shorter one"
                ) from error
            raise ParameterError(
                f"TrainingCheckPoint: directory={os.fspath(self.directory)!r}: cannot be made or "
                f"written ({error}); give another"
            ) from error
        remove_partial_files(self.directory)

    def accompany(self, callbacks: CallbackList) -> None:
        """Include the states of these callbacks in checkpoints."""
        self._callbacks = callbacks

    def after_iteration(self, model: TrainingModel, epoch: int, evals_log: EvalsLog) -> bool:
        """Save a checkpoint after every ``interval`` rounds."""
        if (epoch + 1) % self.interval == 0:
            self._save(model, epoch + 1, evals_log)
        return False

    def _save(self, model: TrainingModel, n_rounds: int, evals_log: EvalsLog) -> None:
        point = CheckPoint(
            n_rounds=n_rounds,
            ensemble=model.current().ensemble,
            history={
                name: {metric: list(values) for metric, values in metrics.items()}
                for name, metrics in evals_log.items()
            },
            learning_rate=model.learning_rate,
            callbacks=[] if self._callbacks is None else self._callbacks.states(),
            attributes=model.attributes,
            fingerprint=self._fingerprint,
            state=model.state(),
        )
        target = self.directory / f"{self.name}_{n_rounds}.json"
        try:
            write_whole(target, point.to_bytes(), follow_link=False)
            files = checkpoint_files(self.directory, self.name)
        except OSError as error:
            warnings.warn(f"no checkpoint of round {n_rounds}: {error}", stacklevel=2)
            return
        newer = [path for number, path in files if number > n_rounds]  # of an earlier training
        older = [path for number, path in files if number <= n_rounds]
        for path in [*newer, *([] if self.keep is None else older[self.keep :])]:
            with contextlib.suppress(OSError):  # another training may have removed it
                path.unlink()

    def newest(self) -> CheckPoint | None:
        """Return the newest intact checkpoint of this training.

        Raises
        ------
        ParameterError
            If it was made with other data or parameters, belongs to another user, or has no digest.
        """
        return next(self._readable(), None) if self.resume else None

    def _readable(self) -> Iterator[CheckPoint]:
        try:
            files = checkpoint_files(self.directory, self.name)
        except OSError as error:
            raise ParameterError(
                f"TrainingCheckPoint: directory={os.fspath(self.directory)!r}: cannot be read "
                f"({error}); give another, or resume=False"
            ) from error
        if not files or self._plan.begins_with is None:
            return
        begins_with = self._plan.begins_with()
        for number, path in files:
            if not 1 <= number <= self._plan.n_rounds:
                continue
            try:
                point = read_checkpoint(path, number, self._plan.state_sizes)
                self._compare(path, point.fingerprint)
                check_checkpoint(point, path, self._plan.watched, begins_with)
                if self._callbacks is not None:
                    self._callbacks.restore(point.callbacks)
            except FileNotFoundError:  # another training has removed it
                continue
            except (ModelFormatError, OSError) as error:
                warnings.warn(
                    f"{path} is damaged: using the previous checkpoint ({error})", stacklevel=4
                )
                continue
            yield point

    def _compare(self, path: Path, then: dict[str, str]) -> None:
        now = self._fingerprint
        differing = [n for n in dict.fromkeys([*now, *then]) if now.get(n) != then.get(n)]
        if differing:
            shown = [_difference(n, now.get(n), then.get(n)) for n in differing[:_MOST_SHOWN]]
            if len(differing) > _MOST_SHOWN:
                shown.append(f"and {len(differing) - _MOST_SHOWN} more")
            raise ParameterError(
                f"checkpoint {path} belongs to another training: "
                + "; ".join(shown)
                + ". Give what it was trained with, or another directory=, or resume=False"
            )


def _difference(name: str, now: str | None, then: str | None) -> str:
    """Describe a difference; digests are not shown."""
    longest = 40
    name = name if name.isprintable() and len(name) <= 2 * longest else show(name)
    if now is None:
        return f"{name} is absent now, but was given"
    if then is None:
        return f"{name} is given now, but was absent"
    plain = now.isprintable() and then.isprintable()
    if len(now) > longest or len(then) > longest or not (now and then and plain):
        return f"{name} differs"
    return f"{name} is {now} now and was {then}"
