"""Twin of ``gradients.sample``: which rows a tree is trained on, and factors of gradients."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import (
    df_from_i64,
    portable_exp,
    portable_log,
    portable_rsqrt,
    reciprocal,
    scale_by,
)
from pyopencl_gbdt.numerics.random_numbers import mix, random_bits, stream
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.reference.feature_mask import unit_numbers

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
_f = np.float32
_CLASSES = 2048
_NEAR, _FAR = _f(2.0**-100), _f(2.0**100)


def factors(
    params: Parameters, g: F32, h: F32, weight: F32 | None, number: int, tree: int
) -> F32 | None:
    """Return a tree's factor for every row, 0 if not sampled; None if all rows count fully.

    Parameters
    ----------
    params : Parameters
    g, h : float32 array, shape (n_rows,) or (n_alike, n_rows)
        Gradients without weights; of several outputs whose trees draw the same rows.
    weight : float32 array, shape (n_rows,), or None
        Scaled by ``weights.normalise``.
    number, tree : int
        The round, and the tree within it.
    """
    if not params.samples_rows:
        return None
    drawn = number // max(params.bagging_freq, 1)
    bits = random_bits(stream(params.random_state, drawn, tree), np.arange(g.shape[-1]))
    if params.sampling_method == "uniform":
        return (bits < params.keep_below).astype(np.float32)
    if params.sampling_method == "bayesian":
        weights = random_weights(mix(bits), _f(params.bagging_temperature))
        return np.where(bits <= params.keep_below, weights, _f(0))
    if weight is not None:
        g, h = g * weight, h * weight
    s = importance_of_rows(params, np.atleast_2d(g), np.atleast_2d(h))
    counted = s if weight is None else s[weight != 0]
    counts = np.bincount(counted.view(np.uint32) >> 20, minlength=_CLASSES)
    if params.sampling_method == "goss":
        return _goss(params, s, counts, bits, number)
    m, power = _border(counts, _f(params.subsample))
    scaled = scale_by(s, -power)
    seen = (scaled > _NEAR) & (unit_numbers(bits) * m < scaled)
    chance = np.where(seen, m * reciprocal(np.where(scaled > _NEAR, scaled, _f(1))), _f(0))
    return np.asarray(np.where(scaled < m, chance, _f(1)), np.float32)


def random_weights(bits: npt.NDArray[np.uint32], power: np.float32) -> F32:
    """Return (-ln u)^power, with an odd multiple u of 2^-24 for each random number."""
    u = ((bits >> 9 << 1) + 1).astype(np.float32) * _f(2.0**-24)
    return portable_exp(power * portable_log(-portable_log(u)))


def importance_of_rows(params: Parameters, g: F32, h: F32) -> F32:
    """Return the importance of each row, of its gradients in several outputs."""
    first, *others = map(partial(importance, params), g, h)
    for own in others:
        if params.sampling_method == "goss":
            first = first + own
        else:
            first = importance(replace(params, reg_lambda=1.0), first, own)
    return first


def importance(params: Parameters, g: F32, h: F32) -> F32:
    """Return the importance of each row: |g h| for GOSS, else sqrt(g^2 + lambda h^2)."""
    a, b = np.abs(g), np.abs(h)
    if params.sampling_method == "goss":
        far, near = _f(2.0**50), _f(2.0**-50)
        product = np.minimum(a, far) * np.minimum(b, far)
        return np.asarray(np.where((a < near) | (b < near), _f(0), product), np.float32)
    b = params.root_lambda * b
    most, least = np.maximum(a, b), np.where(a > b, b, a)
    none = ~(most > _NEAR)
    most = np.where(none, _f(1), np.minimum(most, _FAR))
    ratio = np.where(least < most, least * reciprocal(most), _f(1))
    total = _f(1) + ratio * ratio
    return np.asarray(np.where(none, _f(0), most * (total * portable_rsqrt(total))), np.float32)


def _border(counts: I64, rate: np.float32) -> tuple[np.float32, int]:
    """Return the importance above which rows are always drawn, in units of 2^power, and the power.

    A row counts as the middle of its class, in integers: 2^29 for each power of two below it, which
    is rounded down to half of them at each higher power.
    """
    top = int(np.flatnonzero(counts)[-1]) if counts.any() else 0
    power = (top >> 3) - 127
    wanted = rate * _f(counts.sum())
    lowest = top - 640 if top > 640 else 1
    above, total, m, found = int(counts[lowest:].sum()), 0, _f(4), False
    for c in range(lowest, top + 1):
        if c % 8 == 0:
            total >>= 1
        if not counts[c]:
            continue
        above -= int(counts[c])
        total += int(counts[c]) * (17 + 2 * (c % 8)) << 25
        rest = wanted - _f(above)
        if rest <= 0:
            continue
        need = df_from_i64(np.array([total]))[0] * reciprocal(np.array([rest]))
        if found and need[0] < (8 + c % 8) << 26:
            continue
        m, found = scale_by(need, (c >> 3) - (top >> 3) - 29)[0], True
    return m, power


def _goss(
    params: Parameters, s: F32, counts: I64, bits: npt.NDArray[np.uint32], number: int
) -> F32:
    if number < params.rounds_of_all_rows:
        return np.ones_like(s)
    rate, other = _f(params.top_rate), _f(params.other_rate)
    wanted = int(rate * _f(counts.sum()))
    above, border, share = 0, 0, _f(1)
    for c in range(_CLASSES - 1, -1, -1):
        if above + counts[c] > wanted:
            border = c
            share = _f(wanted - above) * reciprocal(np.array([counts[c]], np.float32))[0]
            break
        above += int(counts[c])
    mine = s.view(np.uint32) >> 20
    top = (mine > border) | ((mine == border) & (unit_numbers(mix(bits)) < share))
    rest = _f(1) - rate
    drawn = unit_numbers(bits) * rest < other
    factor = rest * reciprocal(np.array([other]))[0]
    return np.asarray(np.where(top, _f(1), np.where(drawn, factor, _f(0))), np.float32)
