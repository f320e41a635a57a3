"""Metrics that are means over rows, as kernels compute them, with host twins.

A row's loss is a float32 computed by +, -, * in a fixed order and by functions of
``portable_math.h``, ``portable_log.h`` and ``portable_loss.h``. Some formulas of XGBoost are
small differences of large numbers, such as likelihoods close to the best prediction. Here the
loss is that difference itself; terms of the label alone are summed once, on the host.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.metrics.class_losses import MERROR, MLOGLOSS
from pyopencl_gbdt.metrics.classification import error, logloss, merror, mlogloss
from pyopencl_gbdt.metrics.likelihood import (
    gamma_deviance,
    gamma_nloglik,
    log64,
    log_gamma,
    poisson_nloglik,
    tweedie_nloglik,
)
from pyopencl_gbdt.metrics.regression import mae, mape, mphe, quantile, rmse, rmsle
from pyopencl_gbdt.metrics.row_loss import F32, RowLoss
from pyopencl_gbdt.numerics.expressions import literal
from pyopencl_gbdt.numerics.portable_log import portable_log, portable_log1p
from pyopencl_gbdt.numerics.portable_loss import divergence, portable_sqrt
from pyopencl_gbdt.numerics.portable_math import portable_exp, reciprocal

_f = np.float32
_ONE, _ZERO, _NAN, _INF = _f(1), _f(0), _f(np.nan), _f(np.inf)
#: Least argument of a logarithm, largest value of a reciprocal, and labels that count as 0.
_EDGE, _MOST, _NO_LABEL = _f(1e-16), _f(1e36), _f(1e-30)
_LOG_EDGE = _f(np.log(1e-16))
_KERNEL_NAN, _KERNEL_INF = "as_f32(0x7FC00000u)", "as_f32(0x7F800000u)"


def _rmse(p: F32, y: F32, unit: np.float32) -> F32:
    d: F32 = (p - y) * unit
    return d * d


def _mape(p: F32, y: F32, unit: np.float32) -> F32:
    d, a = np.abs(p - y), np.abs(y)
    down = np.where(a > _f(2.0**100), _f(2.0**-64), _ONE)
    share: F32 = (d * down) * reciprocal(a * down)
    edge = np.where(d == 0, _NAN, _INF)
    return np.where(a < _f(2.0**-120), edge, share)


def _rmsle(p: F32, y: F32, unit: np.float32) -> F32:
    low, high = np.where(p < y, p, y), np.where(p < y, y, p)
    log = portable_log1p((high - low) * reciprocal(np.minimum(_ONE + low, _MOST)))
    edge = np.where(high == -1, _NAN, _INF)
    return np.where(low < -1, _NAN, np.where(low == -1, edge, log * log))


def _logloss(p: F32, y: F32, unit: np.float32) -> F32:
    other = np.where(_ONE - p < _EDGE, _LOG_EDGE, portable_log1p(-p))
    loss: F32 = -(y * portable_log(np.maximum(p, _EDGE)) + (_ONE - y) * other)
    return loss


def _poisson(p: F32, y: F32, unit: np.float32) -> F32:
    p, some = np.minimum(np.maximum(p, _EDGE), _MOST), np.minimum(y, _MOST)
    return np.where(y < _NO_LABEL, p, divergence(p - some, p, some))


def _gamma_nloglik(p: F32, y: F32, unit: np.float32) -> F32:
    p = np.minimum(np.maximum(p, _f(1e-6)), _MOST)
    loss: F32 = y * reciprocal(p) + portable_log(p)
    return loss


def _gamma_deviance(p: F32, y: F32, unit: np.float32) -> F32:
    a, b = y + _f(1e-6), np.minimum(p + _f(1e-6), _MOST)
    loss = divergence(y - p, a, b) * reciprocal(b)
    return np.where((a < _NO_LABEL) | (b < _NO_LABEL), _NAN, loss)


def _label_logs(y: F32) -> npt.NDArray[np.float64]:
    """Return y - y ln y; 0 for labels that count as 0."""
    there = y >= _NO_LABEL
    some = np.where(there, np.minimum(y, _MOST), _ONE).astype(np.float64)
    return np.where(there, some - some * log64(some), 0.0)


def _poisson_constant(y: F32) -> npt.NDArray[np.float64]:
    there = y >= _NO_LABEL
    some = np.where(there, np.minimum(y, _MOST), _ZERO).astype(np.float64)
    return np.where(there, log_gamma(some + 1.0), 0.0) + _label_logs(y)


_RMSE = RowLoss(
    "const f32 d = p - y; const f32 e = d * unit; loss = e * e;",
    _rmse,
    root=True,
)
_MAE = RowLoss(
    "const f32 d = p - y; loss = d < 0.0f ? -d : d;",
    lambda p, y, unit: np.abs(p - y),
)
_MAPE = RowLoss(
    "const f32 e = p - y; const f32 d = e < 0.0f ? -e : e; const f32 a = y < 0.0f ? -y : y; "
    f"const f32 down = a > {literal(2.0**100)} ? {literal(2.0**-64)} : 1.0f; "
    "const f32 top = d * down; loss = top * reciprocal(a * down); "
    f"if (a < {literal(2.0**-120)}) loss = d == 0.0f ? {_KERNEL_NAN} : {_KERNEL_INF};",
    _mape,
)
_RMSLE = RowLoss(
    "const f32 low = p < y ? p : y; const f32 high = p < y ? y : p; const f32 b = 1.0f + low; "
    f"const f32 d = high - low; const f32 most = {literal(_MOST)}; "
    "const f32 ln = portable_log1p(d * reciprocal(b > most ? most : b)); loss = ln * ln; "
    f"if (low == -1.0f) loss = high == -1.0f ? {_KERNEL_NAN} : {_KERNEL_INF}; "
    f"if (low < -1.0f) loss = {_KERNEL_NAN};",
    _rmsle,
    root=True,
)
_LOGLOSS = RowLoss(
    f"const f32 edge = {literal(_EDGE)}; const f32 q = 1.0f - p; const f32 no = 1.0f - y; "
    f"const f32 other = q < edge ? {literal(_LOG_EDGE)} : portable_log1p(-p); "
    "const f32 a = y * portable_log(p < edge ? edge : p); const f32 b = no * other; "
    "const f32 sum = a + b; loss = -sum;",
    _logloss,
)
_CLAMPED = (
    f"const f32 least = {literal(_EDGE)}, most = {literal(_MOST)}; "
    "const f32 above = p < least ? least : p; const f32 a = above > most ? most : above; "
    "const f32 some = y > most ? most : y; const f32 d = a - some; "
    f"loss = y < {literal(_NO_LABEL)} ? a : divergence(d, a, some);"
)
_POISSON = RowLoss(_CLAMPED, _poisson, constant=_poisson_constant)
_GAMMA_NLOGLIK = RowLoss(
    f"const f32 least = {literal(1e-6)}, most = {literal(_MOST)}; "
    "const f32 above = p < least ? least : p; const f32 a = above > most ? most : above; "
    "const f32 share = y * reciprocal(a); loss = share + portable_log(a);",
    _gamma_nloglik,
)
_GAMMA_DEVIANCE = RowLoss(
    f"const f32 eps = {literal(1e-6)}, none = {literal(_NO_LABEL)}, most = {literal(_MOST)}; "
    "const f32 a = y + eps; const f32 more = p + eps; const f32 b = more > most ? most : more; "
    "loss = divergence(y - p, a, b) * reciprocal(b); "
    f"if (a < none || b < none) loss = {_KERNEL_NAN};",
    _gamma_deviance,
    factor=2.0,
)


def _mphe(slope: float) -> RowLoss:
    number, per = _f(slope), _f(1.0 / slope)

    def twin(p: F32, y: F32, unit: np.float32) -> F32:
        d = p - y
        a = np.abs(d)
        z = a * per
        root = portable_sqrt(_ONE + z * z)
        return np.where(z > _f(1e12), a * number, d * (d * reciprocal(_ONE + root)))

    kernel = (
        f"const f32 d = p - y; const f32 a = d < 0.0f ? -d : d; const f32 z = a * {literal(per)}; "
        "const f32 square = z * z; const f32 root = portable_sqrt(1.0f + square); "
        "const f32 part = d * reciprocal(1.0f + root); "
        f"loss = z > {literal(1e12)} ? a * {literal(number)} : d * part;"
    )
    return RowLoss(kernel, twin)


def _quantile(alpha: float) -> RowLoss:
    above, below = _f(alpha), _f(alpha - 1.0)

    def twin(p: F32, y: F32, unit: np.float32) -> F32:
        d = y - p
        loss: F32 = d * np.where(d >= 0, above, below)
        return loss

    return RowLoss(
        f"const f32 d = y - p; loss = d * (d >= 0.0f ? {literal(above)} : {literal(below)});",
        twin,
    )


def _error(threshold: float) -> RowLoss:
    t = _f(threshold)
    return RowLoss(
        f"loss = p > {literal(t)} ? 1.0f - y : y;",
        lambda p, y, unit: np.where(p > t, _ONE - y, y),
    )


def _tweedie(rho: float) -> RowLoss:
    if rho == 1.0:
        return RowLoss(_CLAMPED, _poisson, constant=_label_logs)
    one, two = _f(1.0 - rho), _f(2.0 - rho)
    per_one, per_two = _f(1.0 / (rho - 1.0)), _f(1.0 / (2.0 - rho))

    def twin(p: F32, y: F32, unit: np.float32) -> F32:
        log = portable_log(np.maximum(p, _NO_LABEL))
        scaled = (y * portable_exp(one * log)) * per_one
        loss: F32 = portable_exp(two * log) * per_two + scaled
        return loss

    kernel = (
        f"const f32 least = {literal(_NO_LABEL)}; "
        "const f32 ln = portable_log(p < least ? least : p); "
        f"const f32 b = portable_exp({literal(two)} * ln) * {literal(per_two)}; "
        f"const f32 a = y * portable_exp({literal(one)} * ln); "
        f"const f32 scaled = a * {literal(per_one)}; loss = b + scaled;"
    )
    return RowLoss(kernel, twin)


_PLAIN: dict[object, RowLoss] = {
    rmse: _RMSE,
    mae: _MAE,
    mape: _MAPE,
    rmsle: _RMSLE,
    logloss: _LOGLOSS,
    mlogloss: MLOGLOSS,
    merror: MERROR,
    poisson_nloglik: _POISSON,
    gamma_nloglik: _GAMMA_NLOGLIK,
    gamma_deviance: _GAMMA_DEVIANCE,
}
_WITH_NUMBER: dict[object, Callable[[float], RowLoss]] = {
    mphe: _mphe,
    quantile: _quantile,
    error: _error,
    tweedie_nloglik: _tweedie,
}


def row_loss(function: object, number: float | None) -> RowLoss | None:
    """Return the loss per row of a metric; None if it is not a mean over rows."""
    if number is not None and function in _WITH_NUMBER:
        return _WITH_NUMBER[function](number)
    return _PLAIN.get(function)
