"""Ours as one of the compared systems, and the facts of its devices."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from bench.system import F32, LEARNING_RATE, Settings, System
from pyopencl_gbdt import __version__
from pyopencl_gbdt.comparison.shapes import Shape
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import find, open_device
from pyopencl_gbdt.device.bandwidth import device_bandwidth
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.booster import Boosting
from pyopencl_gbdt.training.train import Model


def facts(spec: str) -> dict[str, Any]:
    """Return a device's capabilities, its label and the bytes per second of a copy on it."""
    caps = find(spec).caps
    assert caps is not None
    copied = device_bandwidth(open_device(caps.device_id))
    return {"label": caps.label, "copy_bytes_per_second": copied, **asdict(caps)}


class Ours(System):
    """Our library, as ``train`` and ``Model.predict`` use it."""

    def __init__(self, shape: Shape, settings: Settings) -> None:
        super().__init__(shape, settings)
        self.version = __version__
        self.objective = get_objective(shape.objective)
        self.params = Parameters.from_dict(
            {
                "objective": shape.objective,
                "max_depth": shape.max_depth,
                "max_bin": shape.max_bin,
                "n_estimators": shape.n_rounds,
                "learning_rate": LEARNING_RATE,
            }
        )

    def setup(self, values: F32, label: F32) -> None:
        self.opened = open_device(self.settings.device)
        self.data = Dataset(values, label)
        self._begin()

    def relabel(self, values: F32, label: F32) -> None:
        del self.boosting  # its memory, before the next one takes its own
        self.data.label = np.ascontiguousarray(label)
        self._begin()

    def _begin(self) -> None:
        self.score = self.objective.starting_score(self.data.label, None)
        self.margin = self.objective.to_margin(self.score)
        self.boosting = Boosting(self.opened, self.params, self.objective, self.data, self.margin)
        self.model: Model | None = None
        self.opened.finish()

    def rounds(self, n: int) -> None:
        self.boosting.run(n)  # reads the trees, for which it waits
        self.opened.finish()
        self.model = None

    def predict(self, values: F32) -> F32:
        if self.model is None:
            self.model = Model(
                Ensemble(
                    trees=self.boosting.trees,
                    objective=self.shape.objective,
                    n_features=self.shape.n_features,
                    base_margin=self.margin,
                    base_score=self.score,
                )
            )
        return self.model.predict(values, device=self.settings.device)

    def peak_bytes(self) -> int | None:
        return self.opened.peak_bytes
