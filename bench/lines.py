"""What `bench.losses` trains: every loss, and every way of drawing rows, columns and splits.

Values and a score of them are those of `comparison.shapes`; a loss's labels are drawn around that
score. Queries have 20 rows, a third of the survival times is censored, there are 10 classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.page_lines import F32
from pyopencl_gbdt.comparison.shapes import Shape
from pyopencl_gbdt.objectives import OBJECTIVES

#: What all other lines are compared with.
BASE = "reg:squarederror"
N_CLASSES, QUERY_ROWS, LEAVES, FOREST = 10, 20, 31, 10
_MULTICLASS = {"num_class": N_CLASSES}
_OWN = {
    "multi:softprob": _MULTICLASS,
    "multi:softmax": _MULTICLASS,
    "reg:quantileerror": {"quantile_alpha": 0.5},
}
#: Losses that XGBoost lacks.
_OURS = (
    "huber", "fair", "mape", "cross_entropy", "dist:normal", "dist:lognormal", "dist:gamma",
    "dist:negative_binomial",
)  # fmt: skip
_LEAF_BY_LEAF = {"grow_policy": "lossguide", "max_leaves": LEAVES, "max_depth": 0}


@dataclass(frozen=True)
class Line:
    """A training.

    Attributes
    ----------
    kind : str
        ``"loss"`` or ``"way"``; a way is one of growing trees for ``BASE``.
    peer : str
        Where XGBoost has it: ``"any"``, ``"cuda"`` or nowhere (``""``).
    needs_weights : bool
        Whether features have weights.
    """

    name: str
    kind: str
    params: dict[str, Any] = field(default_factory=dict)
    peer: str = "any"
    needs_weights: bool = False

    @property
    def objective(self) -> str:
        return self.name if self.kind == "loss" else BASE


def lines(n_features: int) -> list[Line]:
    """Return every line, ``BASE`` first."""
    losses = [
        Line(name, "loss", _OWN.get(name, {}), "" if name in _OURS else "any")
        for name in OBJECTIVES
    ]
    half = n_features // 2
    signs = ",".join(str((1, -1)[f % 2]) for f in range(n_features))
    groups = str([list(range(half)), list(range(half, n_features))])
    goss = {"sampling_method": "goss", "learning_rate": 0.5}
    by_gradient = {"sampling_method": "gradient_based", "subsample": 0.2}
    ways: list[tuple[str, dict[str, Any], str]] = [
        ("subsample=0.5", {"subsample": 0.5}, "any"),
        ("gradient_based, 0.2", by_gradient, "cuda"),
        ("goss, 0.2 and 0.1", goss, ""),
        *((f"{name}=0.5", {name: 0.5}, "any")
          for name in ("colsample_bytree", "colsample_bylevel", "colsample_bynode")),
        ("reg_alpha=1", {"reg_alpha": 1.0}, "any"),
        ("monotone_constraints", {"monotone_constraints": f"({signs})"}, "any"),
        ("interaction_constraints", {"interaction_constraints": groups}, "any"),
        (f"lossguide, {LEAVES} leaves", _LEAF_BY_LEAF, "any"),
        (f"max_leaves={LEAVES}", {"max_leaves": LEAVES}, "any"),
        ("symmetric", {"grow_policy": "symmetric"}, ""),
        ("ordered", {"boosting_type": "ordered"}, ""),
        (f"forest of {FOREST} trees", {"num_parallel_tree": FOREST, "subsample": 0.5}, "any"),
    ]  # fmt: skip
    found = [*losses, *(Line(name, "way", params, peer) for name, params, peer in ways)]
    found.append(Line("feature_weights", "way", {"colsample_bynode": 0.5}, needs_weights=True))
    return found


def make_values(n_rows: int, n_features: int, seed: int) -> tuple[F32, F32]:
    """Return values and a score of each row, of mean 0 and variance 1."""
    shape = Shape("losses", "", n_rows, n_features, BASE)
    values, score = shape.make(seed)
    return values, (score - score.mean()) / score.std()


def data_of(line: Line, score: F32, n_features: int, seed: int) -> dict[str, Any]:
    """Return what a line is trained on beside the values.

    Returns
    -------
    dict
        ``label`` and what else the loss needs, by the names of XGBoost's ``DMatrix``.
    """
    rng = np.random.default_rng(seed)
    if line.needs_weights:
        return {"label": score, "feature_weights": np.linspace(0.1, 1, n_features)}
    if line.objective.startswith("survival:"):
        return _times(line.objective, score, rng)
    draw = _LABELS.get(line.objective)
    label = score if draw is None else draw(score, rng).astype(np.float32)
    if not line.objective.startswith("rank:"):
        return {"label": label}
    ends = [*range(QUERY_ROWS, score.size, QUERY_ROWS), score.size]
    return {"label": label, "group": np.diff([0, *ends])}


Draw = Callable[[F32, np.random.Generator], np.ndarray[Any, Any]]


def _grades(low: float, scale: float, most: int) -> Draw:
    """Return what cuts a score into whole numbers 0 to ``most``."""
    return lambda s, rng: np.clip(np.floor((s - low) * scale), 0, most)


def _positive(s: F32, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    return np.exp(0.5 * s) * rng.gamma(2, 0.5, s.size) + 1e-3


def _either(s: F32, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    return s > 0


def _share(s: F32, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    return 1 / (1 + np.exp(-s))


_CLASS = _grades(-2, N_CLASSES / 4, N_CLASSES - 1)
#: How labels are made of a score; those that are not here are the score itself.
_LABELS: dict[str, Draw] = {
    "count:poisson": lambda s, rng: rng.poisson(np.exp(0.5 * s)),
    "reg:tweedie": lambda s, rng: rng.poisson(np.exp(0.5 * s)) * rng.gamma(2, 0.5, s.size),
    "reg:gamma": _positive,
    "dist:lognormal": _positive,
    "dist:gamma": _positive,
    "dist:negative_binomial": lambda s, rng: rng.poisson(_positive(s, rng)),
    "reg:squaredlogerror": _positive,
    "reg:logistic": _share,
    "cross_entropy": _share,
    "binary:logistic": _either,
    "binary:logitraw": _either,
    "binary:hinge": _either,
    "rank:map": _either,
    "rank:ndcg": _grades(-2.5, 1, 4),
    "rank:pairwise": _grades(-2.5, 1, 4),
    "multi:softprob": _CLASS,
    "multi:softmax": _CLASS,
    "mape": lambda s, rng: s + 5,
}


def _times(objective: str, score: F32, rng: np.random.Generator) -> dict[str, Any]:
    time = np.exp(score) * rng.exponential(1, score.size) + 1e-3
    censored = rng.random(score.size) < 1 / 3
    if objective == "survival:cox":
        return {"label": np.where(censored, -time, time).astype(np.float32)}
    upper = np.where(censored, np.inf, time)
    bounds = {"label_lower_bound": time, "label_upper_bound": upper}
    return {name: bound.astype(np.float32) for name, bound in bounds.items()}
