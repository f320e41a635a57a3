"""Checkpoint files: a model whose attributes hold the other state of the training, and a digest.

The digest is the SHA-256 of the whole file, with zeros in the digest's place. It finds damage; it
does not tell who has written the file. So a file of another user is refused, and the content is not
trusted: any mistake becomes a ``ModelFormatError``.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from pyopencl_gbdt.callbacks.base import TrainingState, as_text, from_text
from pyopencl_gbdt.errors import ModelFormatError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.best_round import check_best_round
from pyopencl_gbdt.model.formats.files import model_of
from pyopencl_gbdt.owners import other_owner
from pyopencl_gbdt.prediction.model import History

_KEY, _DIGEST = "pyopencl_gbdt.checkpoint", "pyopencl_gbdt.checkpoint_digest"
_NO_DIGEST = "0" * 64
#: Where the digest stands; within a string of JSON the quotation marks would be escaped.
_PLACE = re.compile(rb'"%b": ?"([0-9a-f]{64})"' % re.escape(_DIGEST).encode())
#: Neither follow a link that took the file's place nor wait for the writer of a pipe.
_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)  # fmt: skip


#: What else can be done about a checkpoint that is refused.
_OTHERWISE = "give another directory=, or resume=False"


@dataclass(frozen=True)
class CheckPoint:
    """The state of a training after some rounds.

    Attributes
    ----------
    n_rounds : int
        Number of finished rounds of this training.
    ensemble : Ensemble
        The trees, including those of a continued model.
    learning_rate : float
        The learning rate of the following rounds, unless a callback sets it.
    history : dict
        As in ``Model``.
    callbacks : list of [str, object]
        Kind and state of every callback that has a state.
    fingerprint : dict of str to str
        Everything that the model depends on, as text by name.
    state : dict of str to float32 array
        What the training keeps beside the model.
    """

    n_rounds: int
    ensemble: Ensemble
    history: History
    learning_rate: float
    callbacks: list[list[Any]]
    attributes: dict[str, str]
    fingerprint: dict[str, str]
    state: TrainingState = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Return the file's content."""
        ensemble = self.ensemble
        ensemble.attributes[_KEY] = json.dumps(
            {
                "n_rounds": self.n_rounds,
                "fingerprint": self.fingerprint,
                "learning_rate": self.learning_rate,
                "history": self.history,
                "callbacks": self.callbacks,
                "attributes": self.attributes,
                **({"state": as_text(self.state)} if self.state else {}),
            }
        )
        ensemble.attributes[_DIGEST] = _NO_DIGEST
        from pyopencl_gbdt.model import to_json

        return sealed(to_json(ensemble).encode("utf-8"))


def sealed(data: bytes) -> bytes:
    """Return a file's content with its digest in the digest's place, if it has one."""
    place = _PLACE.search(data)
    if place is None:
        return data
    before, after = data[: place.start(1)], data[place.end(1) :]
    digest = hashlib.sha256(before + _NO_DIGEST.encode() + after).hexdigest()
    return before + digest.encode() + after


def read_checkpoint(path: Path, n_rounds: int, state_sizes: Mapping[str, int]) -> CheckPoint:
    """Read a checkpoint whose file name claims ``n_rounds`` rounds.

    Raises
    ------
    ModelFormatError
        If it is damaged; the message names the file and the position.
    ParameterError
        If it belongs to another user, or has no digest.
    OSError
        If the file cannot be read.
    """
    data = _read(path)
    ensemble = model_of(data, str(path))
    text = ensemble.attributes.pop(_KEY, None)
    if text is None:
        raise ModelFormatError(f"{path}: attribute {_KEY} is missing: this is a model alone")
    ensemble.attributes.pop(_DIGEST, None)
    if _PLACE.search(data) is None:
        raise ParameterError(
            f"checkpoint {path} has no digest, so nothing tells whether it is damaged: expected "
            f"one that this version wrote; end this training with the version that began it, or "
            f"{_OTHERWISE}"
        )
    if sealed(data) != data:
        raise ModelFormatError(f"{path}: its content does not match its digest")
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path}: attribute {_KEY} is not JSON ({error})") from error
    if isinstance(facts, dict):
        facts.setdefault("state", {})  # most trainings have none
    for name, (is_good, expected) in _CHECKS.items():
        value = facts.get(name) if isinstance(facts, dict) else None
        if not is_good(value):
            raise ModelFormatError(f"{path}: {_KEY}: {name}={value!r:.80}: expected {expected}")
    if facts["n_rounds"] != n_rounds:
        raise ModelFormatError(
            f"{path}: {_KEY}: n_rounds={facts['n_rounds']!r:.80}: expected {n_rounds}, as in the "
            "file's name"
        )
    check_best_round(facts["attributes"], f"{path}: {_KEY}: attributes")
    known = {name: facts[name] for name in _CHECKS}
    known["state"] = from_text(known["state"], state_sizes, f"{path}: {_KEY}: state")
    return CheckPoint(ensemble=ensemble, **known)


def _read(path: Path) -> bytes:
    """Return a file's content; what another user has written is not read."""
    with os.fdopen(os.open(path, _FLAGS), "rb") as file:
        owner = other_owner(path, os.fstat(file.fileno()))
        if owner:
            raise ParameterError(
                f"checkpoint {path} belongs to {owner}: expected a file of yours or of root, as "
                "its content decides what is trained; if you trust it, copy it into a folder of "
                f"yours and give that as directory=, or {_OTHERWISE}"
            )
        return file.read()


def check_checkpoint(
    found: CheckPoint,
    path: Path,
    watched: Mapping[str, Sequence[str]],
    begins_with: Mapping[str, Any],
) -> None:
    """Raise an error if a checkpoint cannot belong to a training.

    ``watched``: the metrics of every evaluation set.
    ``begins_with``: the fields that every model of the training shares, see ``Plan``.

    Raises
    ------
    ModelFormatError
    """
    n_values = {
        name: {metric: len(values) for metric, values in metrics.items()}
        for name, metrics in found.history.items()
    }
    if n_values != {s: dict.fromkeys(metrics, found.n_rounds) for s, metrics in watched.items()}:
        raise ModelFormatError(
            f"{path}: {_KEY}: history: expected {found.n_rounds} values of every metric"
        )
    ensemble, first = found.ensemble, begins_with["trees"]
    for name, value in begins_with.items():
        if name != "trees" and getattr(ensemble, name) != value:
            raise ModelFormatError(
                f"{path}: {name}={getattr(ensemble, name)!r:.80}: expected {value!r:.80}, as this "
                "training has"
            )
    n_trees = len(first) + found.n_rounds * ensemble.round_trees
    if len(ensemble.trees) != n_trees or ensemble.trees[: len(first)] != first:
        raise ModelFormatError(
            f"{path}: {len(ensemble.trees)} trees: expected {n_trees}, which begin with those of "
            "the model to continue"
        )


def checkpoint_files(folder: Path, name: str) -> list[tuple[int, Path]]:
    """Return the rounds and path of every checkpoint, newest first.

    Only regular files count: folders and links are ignored.

    Raises
    ------
    OSError
        If the folder cannot be read.
    """
    pattern = re.compile(re.escape(name) + r"_([0-9]{1,10})\.json")
    matches = [(pattern.fullmatch(path.name), path) for path in folder.iterdir()]
    found = [(int(match[1]), path) for match, path in matches if match and _is_file(path)]
    return sorted(found, reverse=True)


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:  # another training has removed it
        return False


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < 2**63)


def _holds(is_good: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return a check of an object whose values are all good."""
    return lambda value: isinstance(value, dict) and all(map(is_good, value.values()))


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)


def _lists(is_good: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return a check of a list of good values."""
    return lambda value: isinstance(value, list) and all(map(is_good, value))


_TEXTS = _holds(lambda value: isinstance(value, str)), "an object of strings"
#: For each part of a checkpoint: a check, and what is expected.
_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "n_rounds": (lambda value: type(value) is int and 1 <= value < 2**31, "a number of rounds"),
    "fingerprint": _TEXTS,
    "learning_rate": (
        lambda value: _is_number(value) and 0 <= value < math.inf, "a number of 0 or more"
    ),
    "history": (
        _holds(_holds(_lists(_is_number))), "lists of numbers by evaluation set and metric"
    ),
    "callbacks": (_lists(_is_pair), "a list of pairs, the kind and the state of a callback"),
    "attributes": _TEXTS,
    "state": _TEXTS,
}  # fmt: skip
