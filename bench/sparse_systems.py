"""Ours and the peers, as `bench.system` has them, for shapes that say how splits are found."""

from __future__ import annotations

from typing import Any

from bench import ours, peers
from bench.sparse_shapes import SearchShape
from bench.system import F32, Settings, System


class Ours(ours.Ours):
    """Ours, with the shape's method."""

    def __init__(self, shape: SearchShape, settings: Settings) -> None:
        super().__init__(shape, settings)
        self.params |= shape.params


class XGBoost(peers.XGBoost):
    """XGBoost ``hist``, or ``exact``, which runs on the processor; what is absent is missing."""

    def __init__(self, shape: SearchShape, settings: Settings) -> None:
        super().__init__(shape, settings)
        self.params |= shape.params
        self.exact = shape.tree_method == "exact"
        if self.exact:
            self.device = "cpu"
            del self.params["max_bin"]
        self.params |= {"device": self.device, "tree_method": "exact" if self.exact else "hist"}

    def setup(self, values: Any, label: F32) -> None:
        if not self.exact:
            super().setup(values, label)
            return
        self.data = self.library.DMatrix(values, label, nthread=self.settings.n_threads)
        self._begin()


class LightGBM(peers.LightGBM):
    """LightGBM on the processor; what is absent is missing here too."""

    def __init__(self, shape: SearchShape, settings: Settings) -> None:
        super().__init__(shape, settings)
        self.params["zero_as_missing"] = shape.per_row > 0
        if shape.n_classes:
            self.params |= {"objective": "multiclass", "num_class": shape.n_classes}


SYSTEMS: dict[str, type[System]] = {"ours": Ours, "xgboost": XGBoost, "lightgbm": LightGBM}
