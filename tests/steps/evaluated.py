"""Rows of metrics, set up by hand, and what kernels say of them."""

import numpy as np

from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.evaluation.metric_kind import N_WORDS, EvaluatedRows

IDENTITY = "p = margin;"


def evaluated(device, margin, label, weight=None, *, link=IDENTITY, wg=0, n_classes=0):
    ones = np.ones(1, np.float32)
    return EvaluatedRows(
        arena=Arena(device),
        margins=device.upload(margin),
        labels=device.upload(label),
        weights=device.upload(ones if weight is None else weight),
        label=label,
        weight=weight,
        link=link,
        wg_size=wg,
        n_classes=n_classes,
    )


def run(prepared):
    """Run the launches twice, as they have to leave nothing behind; return all words."""
    device, n = prepared.rows.device, prepared.n_results
    if not prepared.rows.arena.has_memory:
        prepared.rows.arena.allocate(joins=True)
    results = device.upload(np.full((n + 1, N_WORDS), -7, np.int64))
    launches = prepared.launches(results, N_WORDS)
    for launch in [*launches, *launches]:
        launch()
    words = results.get()
    assert (words[0] == -7).all()  # another metric's
    return words[1:]


def weights_of(rng, n, kind):
    """Weights of a kind, some of them 0, one of them 1.5."""
    if kind == "none":
        return None
    if kind == "heavy":
        weight = np.exp(rng.normal(0, 8, n))
    else:
        weight = rng.integers(0, 6, n) if kind == "whole" else rng.uniform(0, 3, n)
    weight = (weight * (rng.random(n) < 0.9)).astype(np.float32)
    weight[n // 2] = 1.5
    return weight
