"""Losses of held-out rows from their margins, in float64, by the losses' definitions.

Each returns one number a row; of a query for ranking, of an event for ``survival:cox``.
"""

from __future__ import annotations

import math

import numpy as np

from tests.conformance.samples import Rows


def held_out_loss(objective: str, params: dict, margin: np.ndarray, rows: Rows) -> np.ndarray:
    """Return the losses; ``margin`` has shape (n_rows,) or (n_rows, n_classes)."""
    y, margin = rows.label.astype(np.float64), margin.astype(np.float64)
    family, _, name = objective.partition(":")
    if family == "rank":
        return _query_losses(margin, y, rows.extras["qid"])
    if family == "multi":
        shifted = margin.reshape(y.size, -1)
        return np.logaddexp.reduce(shifted, axis=1) - shifted[np.arange(y.size), y.astype(int)]
    if name == "hinge":
        return np.maximum(0, 1 - (2 * y - 1) * margin)
    if name.startswith("logi"):
        return np.logaddexp(0, margin) - y * margin
    if name == "cox":
        return _partial_likelihood(margin, y)
    return _NUMBERS[name](margin, y, params, rows)


def _tweedie(m: np.ndarray, y: np.ndarray, params: dict, rows: Rows) -> np.ndarray:
    rho = params.get("tweedie_variance_power", 1.5)
    return np.exp(m * (2 - rho)) / (2 - rho) - y * np.exp(m * (1 - rho)) / (1 - rho)


def _pseudo_huber(m: np.ndarray, y: np.ndarray, params: dict, rows: Rows) -> np.ndarray:
    slope = params.get("huber_slope", 1.0)
    return slope**2 * (np.sqrt(1 + ((m - y) / slope) ** 2) - 1)


def _quantile(m: np.ndarray, y: np.ndarray, params: dict, rows: Rows) -> np.ndarray:
    alpha = params["quantile_alpha"]
    return np.maximum(alpha * (y - m), (alpha - 1) * (y - m))


def _aft(m: np.ndarray, y: np.ndarray, params: dict, rows: Rows) -> np.ndarray:
    """Normal distribution of logarithms, scale 1; censored rows lie above their time."""
    z = np.log(y) - m
    beyond = np.array([0.5 * math.erfc(v / math.sqrt(2)) for v in z])
    censored = np.isinf(rows.extras["label_upper_bound"])
    return np.where(censored, -np.log(np.maximum(beyond, 1e-12)), z**2 / 2 + np.log(y))


_NUMBERS = {
    "squarederror": lambda m, y, params, rows: (m - y) ** 2,
    "squaredlogerror": lambda m, y, params, rows: (
        np.log1p(np.maximum(m, 1e-6 - 1)) - np.log1p(y)
    ) ** 2,
    "absoluteerror": lambda m, y, params, rows: np.abs(m - y),
    "gamma": lambda m, y, params, rows: y * np.exp(-m) + m,
    "poisson": lambda m, y, params, rows: np.exp(m) - y * m,
    "tweedie": _tweedie,
    "pseudohubererror": _pseudo_huber,
    "quantileerror": _quantile,
    "aft": _aft,
}  # fmt: skip


def _query_losses(margin: np.ndarray, y: np.ndarray, qid: np.ndarray) -> np.ndarray:
    """1 - NDCG of each query, with gains 2^grade - 1."""
    losses = []
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        gain, discount = 2 ** y[rows] - 1, 1 / np.log2(np.arange(rows.size) + 2)
        best = np.sort(gain)[::-1] @ discount
        if best > 0:
            losses.append(1 - gain[np.argsort(-margin[rows], kind="stable")] @ discount / best)
    return np.array(losses)


def _partial_likelihood(margin: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Minus Cox's log partial likelihood of each event; negative labels are censored."""
    order = np.argsort(-np.abs(y), kind="stable")
    at_risk = np.logaddexp.accumulate(margin[order])
    return (at_risk - margin[order])[y[order] > 0]
