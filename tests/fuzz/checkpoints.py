"""Checkpoints: a training goes on from what is accepted, or passes it over with a warning."""

from __future__ import annotations

import json
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.callbacks import EarlyStopping, LearningRateScheduler, TrainingCheckPoint
from pyopencl_gbdt.callbacks.checkpoint_files import sealed
from pyopencl_gbdt.errors import GBDTError, ModelFormatError
from tests.conftest import TEST_DEVICE
from tests.fuzz.formats import Format
from tests.fuzz.models import PIECES, edit
from tests.fuzz.mutations import mutate


class CheckPoints(Format):
    name, suffix, pieces = "checkpoint", ".json", PIECES
    n_mutations, n_sampled = 10_000, 20
    #: Rounds of the training, and those after which its checkpoint was written.
    n_rounds, saved_at = 6, 4
    _attribute = "pyopencl_gbdt.checkpoint"

    def training(self, callbacks: list[Any]) -> Model:
        X = (np.arange(120, dtype=np.float32).reshape(40, 3) * 7) % 11
        data, test = Dataset(X[:30], X[:30, 0]), Dataset(X[30:], X[30:, 0])
        params = {"device": TEST_DEVICE, "max_depth": 2}
        return train(params, data, self.n_rounds, evals=[(test, "test")], callbacks=callbacks)

    def learner(self, document: Any) -> Any:
        """Return XGBoost's ``learner`` of a seed."""
        return document["learner"]

    def prepare(self) -> None:
        """Train, which builds kernels."""
        self._training(None)

    @cache  # noqa: B019 (the formats live as long as the process)
    def seeds(self) -> list[bytes]:
        with tempfile.TemporaryDirectory() as folder:
            self._training(Path(folder) / "m.json")
            return [(Path(folder) / f"m_{self.saved_at}.json").read_bytes()]

    def _training(self, path: Path | None) -> Model:
        """Train; with a path go on from, and save to, checkpoints beside it."""
        schedule = LearningRateScheduler([0.5] * self.n_rounds)
        callbacks: list[Any] = [EarlyStopping(9), schedule]
        if path is not None:
            callbacks.append(TrainingCheckPoint(path.parent, path.stem, interval=self.saved_at))
        return self.training(callbacks)

    def read(self, path: Path) -> None:
        """Go on from the file; it is passed over with a warning, or training ends as it should."""
        for left in path.parent.glob(f"{path.stem}_*.json"):
            left.unlink()
        path.rename(path.with_name(f"{path.stem}_{self.saved_at}.json"))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                model = self._training(path)
            except GBDTError as error:
                raise ModelFormatError(f"{path.name}: {error}") from error
        # fewer rounds are kept where another leaf or score makes an earlier one the best
        assert 1 <= model.ensemble.n_rounds <= self.n_rounds
        assert {len(scores) for scores in model.history["test"].values()} == {self.n_rounds}
        for warning in said:
            if "no whole checkpoint" in str(warning.message):
                raise ModelFormatError(f"{path.name}: {warning.message}")

    def mutate(self, data: bytes, rng: np.random.Generator) -> bytes:
        document = json.loads(data)
        attributes = self.learner(document)["attributes"]
        text, chance = attributes[self._attribute], rng.random()
        if chance < 0.2:
            changed = mutate(text.encode(), rng, self.pieces)
            attributes[self._attribute] = changed.decode(errors="replace")
        elif chance < 0.9:
            facts = json.loads(text)
            edit(facts, rng)
            attributes[self._attribute] = json.dumps(facts)
        else:
            edit(document, rng)
        return sealed(json.dumps(document).encode())


class StatisticsCheckPoints(CheckPoints):
    """Of a training whose trees use a combination of two columns."""

    name, n_sampled = "statistics", 12
    n_rounds, saved_at = 10, 8

    def training(self, callbacks: list[Any]) -> Model:
        rng = np.random.default_rng(4)
        levels = rng.integers(0, 6, (400, 2))
        X, y = np.column_stack([levels, rng.normal(size=400)]), levels.sum(axis=1) % 2
        data = Dataset(X[:300], y[:300], categorical_features=[0, 1])
        test = Dataset(X[300:], y[300:], categorical_features=[0, 1])
        params = {"device": TEST_DEVICE, "max_depth": 3, "cat_method": "statistics"}
        return train(params, data, self.n_rounds, evals=[(test, "test")], callbacks=callbacks)

    def learner(self, document: Any) -> Any:
        return document["model"]["learner"]

    def mutate(self, data: bytes, rng: np.random.Generator) -> bytes:
        if rng.random() < 0.5:
            return super().mutate(data, rng)
        document = json.loads(data)
        edit(document["statistics"], rng)
        return json.dumps(document).encode()


FORMATS: list[Format] = [CheckPoints(), StatisticsCheckPoints()]
