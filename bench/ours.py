"""Ours as one of the compared systems, and the facts of its devices."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from bench.page_lines import F32, Line
from bench.system import LEARNING_RATE, Settings, System, params_of
from pyopencl_gbdt import __version__
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import find, open_device
from pyopencl_gbdt.device.bandwidth import device_bandwidth
from pyopencl_gbdt.prediction.model import Model
from pyopencl_gbdt.training.preparing import prepare
from pyopencl_gbdt.training.running_task import RunningTask


def facts(spec: str) -> dict[str, Any]:
    """Return a device's capabilities, its label and the bytes per second of a copy on it."""
    caps = find(spec).caps
    assert caps is not None
    copied = device_bandwidth(open_device(caps.device_id))
    return {"label": caps.label, "copy_bytes_per_second": copied, **asdict(caps)}


class Ours(System):
    """Our library, as ``train`` and ``Model.predict`` use it."""

    def __init__(self, shape: Line, settings: Settings) -> None:
        super().__init__(shape, settings)
        self.version = __version__
        self.params: dict[str, Any] = {
            "objective": shape.objective,
            "max_depth": shape.max_depth,
            "max_bin": shape.max_bin,
            "n_estimators": shape.n_rounds,
            "learning_rate": LEARNING_RATE,
            "device": settings.device,
            "verbosity": 0,
            **params_of(shape),
        }
        if shape.tree_method:
            self.params["tree_method"] = shape.tree_method
        if shape.symmetric:
            self.params["grow_policy"] = "symmetric"

    def setup(self, values: Any, label: F32) -> None:
        self.opened = open_device(self.settings.device)
        self.data = Dataset(values, label, group=self.shape.queries(len(label)))
        self._begin()

    def relabel(self, values: F32, label: F32) -> None:
        del self.fit  # its memory, before the next one takes its own
        self.data.label = np.ascontiguousarray(label)
        self._begin()

    def _begin(self) -> None:
        self.fit = RunningTask(self.opened, prepare(self.params, self.data, (), None, None))
        self.model: Model | None = None
        self.opened.finish()

    def rounds(self, n: int) -> None:
        for _ in range(n):
            self.fit.step()
        self.fit.fit.finished_trees()  # reads them, for which it waits
        self.opened.finish()
        self.model = None

    def predict(self, values: Any) -> F32:
        if self.model is None:
            self.model = self.fit.model()
        return self.model.predict(values, device=self.settings.device)

    def peak_bytes(self) -> int | None:
        return self.opened.peak_bytes
