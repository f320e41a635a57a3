"""Checkpoints on disk, from which a training goes on as if it had never stopped."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyopencl_gbdt.arguments import check_path, check_switches
from pyopencl_gbdt.callbacks.base import CallbackList, EvalsLog, Plan, TrainingCallback
from pyopencl_gbdt.callbacks.training_model import TrainingModel
from pyopencl_gbdt.errors import ModelFormatError, ParameterError
from pyopencl_gbdt.fitted_model import History
from pyopencl_gbdt.model import Ensemble, read_model, to_xgboost_json

_KEY = "pyopencl_gbdt.checkpoint"


@dataclass(frozen=True)
class CheckPoint:
    """A training after some rounds.

    Attributes
    ----------
    n_rounds : int
        Rounds of this training that are done.
    ensemble : Ensemble
        The trees, those of a continued model included.
    learning_rate : float
        Of the rounds to come, unless a callback sets it.
    """

    n_rounds: int
    ensemble: Ensemble
    history: History
    learning_rate: float
    callbacks: list[list[Any]]
    attributes: dict[str, str]


class TrainingCheckPoint(TrainingCallback):
    """Save the training every so many rounds, and go on from what was saved.

    Parameters
    ----------
    directory : path-like
        Made where it is absent.
    name : str, default "model"
        Files are ``<name>_<rounds>.json``: models in XGBoost's JSON format that can be loaded as
        such, each whole or not there.
    interval : int, default 100
        Rounds from a checkpoint to the next.
    keep : int or None, default 2
        Checkpoints to keep, the newest ones; None keeps all.
    resume : bool, default True
        Go on from the newest checkpoint in the directory that is whole. The model has the same
        bytes as that of a training that never stopped. Data and parameters have to be the same;
        the number of rounds and the device may be others.

    Raises
    ------
    ParameterError
        When training begins, if a checkpoint is of other data or parameters: says what differs.
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
        self._n_rounds = 0

    def check(self, plan: Plan) -> None:
        """Refuse what cannot be saved; make the directory."""
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
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ParameterError(
                f"TrainingCheckPoint: directory={os.fspath(self.directory)!r}: cannot be made "
                f"({error}); give another"
            ) from error
        self._fingerprint, self._n_rounds = plan.fingerprint(), plan.n_rounds

    def accompany(self, callbacks: CallbackList) -> None:
        """Save the states of these callbacks too."""
        self._callbacks = callbacks

    def after_iteration(self, model: TrainingModel, epoch: int, evals_log: EvalsLog) -> bool:
        """Save, if it is time."""
        if (epoch + 1) % self.interval == 0:
            self._save(model, epoch + 1, evals_log)
        return False

    def _save(self, model: TrainingModel, n_rounds: int, evals_log: EvalsLog) -> None:
        ensemble = model.current().ensemble
        ensemble.attributes[_KEY] = json.dumps(
            {
                "n_rounds": n_rounds,
                "fingerprint": self._fingerprint,
                "learning_rate": model.learning_rate,
                "history": {name: dict(metrics) for name, metrics in evals_log.items()},
                "callbacks": [] if self._callbacks is None else self._callbacks.states(),
                "attributes": model.attributes,
            }
        )
        target = self.directory / f"{self.name}_{n_rounds}.json"
        partial = self.directory / f".{self.name}.partial"  # one, whatever was killed before
        with partial.open("wb") as file:
            file.write(to_xgboost_json(ensemble).encode())
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
        files = self._files()
        newer = [path for number, path in files if number > n_rounds]  # of a training before
        older = [path for number, path in files if number <= n_rounds]
        for path in [*newer, *([] if self.keep is None else older[self.keep :])]:
            path.unlink(missing_ok=True)

    def newest(self) -> CheckPoint | None:
        """Return the newest checkpoint that is whole, and of this training.

        Raises
        ------
        ParameterError
            If it is of other data or parameters.
        """
        return next(self._readable(), None) if self.resume else None

    def _readable(self) -> Iterator[CheckPoint]:
        for number, path in self._files():
            if number > self._n_rounds:
                continue
            try:
                ensemble = read_model(path)
                facts = json.loads(ensemble.attributes.pop(_KEY))
            except (ModelFormatError, KeyError, ValueError) as error:
                warnings.warn(
                    f"{path} is no whole checkpoint: the one before is used ({error})", stacklevel=4
                )
                continue
            self._compare(path, facts["fingerprint"])
            yield CheckPoint(
                facts["n_rounds"], ensemble, facts["history"], facts["learning_rate"],
                facts["callbacks"], facts["attributes"],
            )  # fmt: skip

    def _compare(self, path: Path, then: dict[str, str]) -> None:
        now = self._fingerprint
        differing = [n for n in dict.fromkeys([*now, *then]) if now.get(n) != then.get(n)]
        if differing:
            raise ParameterError(
                f"checkpoint {path} is of another training: "
                + "; ".join(_difference(name, now.get(name), then.get(name)) for name in differing)
                + ". Give what it was trained with, or another directory=, or resume=False"
            )

    def _files(self) -> list[tuple[int, Path]]:
        """Return the rounds and the path of every checkpoint, the newest first."""
        pattern = re.compile(re.escape(self.name) + r"_([0-9]{1,10})\.json")
        matches = [(pattern.fullmatch(path.name), path) for path in self.directory.iterdir()]
        return sorted(((int(m[1]), path) for m, path in matches if m), reverse=True)


def _difference(name: str, now: str | None, then: str | None) -> str:
    """Say what differs; digests say nothing to a reader."""
    longest = 40
    if now is None or then is None:
        return f"{name} is {'absent' if now is None else 'given'} now, unlike then"
    if len(now) > longest or len(then) > longest or not (now and then):
        return f"{name} differs"
    return f"{name} is {now} now and was {then}"
