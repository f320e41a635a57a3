"""Ours and the peers, as `bench.system` has them, for the lines of the pages."""

from __future__ import annotations

from typing import Any

from bench import ours, peers
from bench.page_lines import Line
from bench.system import Settings, System


def _of_line(line: Line) -> dict[str, Any]:
    """Return the parameters that ours and XGBoost share beyond those of a shape."""
    found: dict[str, Any] = {}
    if line.leaves:
        found |= {"grow_policy": "lossguide", "max_leaves": line.leaves, "max_depth": 0}
    if line.n_classes:
        found["num_class"] = line.n_classes
    if line.drawn < 1:
        found["colsample_bytree"] = line.drawn
    return found


class Ours(ours.Ours):
    """Ours."""

    def __init__(self, shape: Line, settings: Settings) -> None:
        super().__init__(shape, settings)
        self.params |= _of_line(shape)


class XGBoost(peers.XGBoost):
    """XGBoost's ``hist``."""

    def __init__(self, shape: Line, settings: Settings) -> None:
        super().__init__(shape, settings)
        self.params |= _of_line(shape)


class OfLightGBM:
    """What LightGBM and its forks take from a line; 255 bins, as they keep one for the missing."""

    params: dict[str, Any]

    def __init__(self, shape: Line, settings: Settings) -> None:
        super().__init__(shape, settings)  # type: ignore[call-arg]
        self.params["max_bin"] = min(255, shape.max_bin)
        if shape.leaves:
            self.params |= {"num_leaves": shape.leaves, "max_depth": -1}
        if shape.n_classes:
            self.params |= {"objective": "multiclass", "num_class": shape.n_classes}
        if shape.drawn < 1:
            self.params["feature_fraction"] = shape.drawn


class LightGBM(OfLightGBM, peers.LightGBM):
    """LightGBM on the processor."""


class Falcata(OfLightGBM, peers.Falcata):
    """Falcata on CUDA."""


class FalcataStochastic(OfLightGBM, peers.FalcataStochastic):
    """Falcata on CUDA, gradients rounded at random."""


class Hessboost(peers.Hessboost):
    """hessboost on the processor."""

    def __init__(self, shape: Line, settings: Settings) -> None:
        super().__init__(shape, settings)
        self.params |= _of_line(shape)


class CatBoost(peers.CatBoost):
    """CatBoost; leaf by leaf it calls ``Lossguide``."""

    def __init__(self, shape: Line, settings: Settings) -> None:
        super().__init__(shape, settings)
        if shape.leaves:
            self.params |= {
                "grow_policy": "Lossguide", "max_leaves": shape.leaves, "depth": 16,
            }  # fmt: skip
        if shape.n_classes:
            self.params |= {"loss_function": "MultiClass", "boost_from_average": False}
        if shape.drawn < 1:
            self.params["rsm"] = shape.drawn

    def predict(self, values: Any) -> Any:
        if self.shape.objective == "multi:softprob":
            return self.model.predict(values, prediction_type="Probability")
        return super().predict(values)


SYSTEMS: dict[str, type[System]] = {
    "ours": Ours, "xgboost": XGBoost, "lightgbm": LightGBM, "falcata": Falcata,
    "falcata-stochastic": FalcataStochastic, "catboost": CatBoost, "hessboost": Hessboost,
}  # fmt: skip
