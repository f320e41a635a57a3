"""The objectives of model files, and the link function between score and margin of each.

XGBoost stores one base score as float32, on the scale of predictions. This library stores the
exact margin too, in an attribute beside it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pyopencl_gbdt.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from pyopencl_gbdt.model.formats.json_cursor import Cursor

_ONE = np.float32(1.0)
_CLAMP = np.float32(1e-6)
_TINY = np.float32(2.0**-126)
_NUMBER = re.compile(r"-?[0-9]{1,40}(\.[0-9]{0,40})?([eE][-+]?[0-9]{1,9})?")
_NO_WORDS: Mapping[str, float] = {}
_HEX = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[-+][0-9]{1,3}")


@dataclass(frozen=True)
class Link:
    """Conversion between the base score in a file and the margin.

    Attributes
    ----------
    xgboost_name : str
        XGBoost's objective with the same link function.
    margin : callable
        Converts a float32 score to a margin, with the same rounding as XGBoost.
    score : callable
        Converts a margin to a score, in float64.
    lowest, highest : float
        Limits of the scores that XGBoost accepts in a file; a user's score must be between them.
    tolerance : float
        Largest accepted difference between ``base_score`` and the score of the stored margin,
        relative above 1. Rounding and XGBoost's clamping stay far below it, an edit by hand far
        above.
    group : str
        Where XGBoost stores the objective's parameters; empty if it has none.
    parameters : mapping of str to float or str
        XGBoost's parameters of the objective, with XGBoost's defaults.
    ours : mapping of str to float or str
        Parameters that XGBoost lacks, with their defaults; they are stored in an attribute.
    words : mapping of str to mapping of str to float
        By parameter: the words that XGBoost writes instead of certain numbers.
    lists : mapping of str to str
        Lists of the objective, always written empty, by the parameter that they depend on.
    choices : mapping of str to tuple of str
        Allowed values of string parameters; a parameter that is not listed may be any string.
    several : tuple of str
        Parameters that may hold several numbers, as a string such as ``[1E-1,5E-1]``.
    n_outputs : int
        How many outputs the objective has, which together predict one number; 0: any number.
    steps : bool
        Whether each output after the first is a step above the one before: the margin is that of
        the step, ``ln(e^step - 1)``.
    """

    xgboost_name: str
    margin: Callable[[np.float32], np.float32]
    score: Callable[[float], float]
    lowest: float
    highest: float
    tolerance: float
    group: str = ""
    parameters: Mapping[str, float | str] = field(default_factory=dict)
    ours: Mapping[str, float | str] = field(default_factory=dict)
    words: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    lists: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    several: tuple[str, ...] = ()
    n_outputs: int = 0
    steps: bool = False


def _logit(score: np.float32) -> np.float32:
    """XGBoost's logit: it clamps the score and takes odds in float32, so 0 and 1 stay finite."""
    clamped = min(max(score, _CLAMP), _ONE - _CLAMP)
    odds_against = np.float32(_ONE / clamped) - _ONE
    # decimal rounds its logarithm correctly; that of the platform's libm may differ
    margin: np.float32 = np.float32(float(-Decimal(float(odds_against)).ln()))
    return margin


def _sigmoid(margin: float) -> float:
    small = math.exp(-abs(margin))
    return 1.0 / (1.0 + small) if margin >= 0.0 else small / (1.0 + small)


def _log(score: np.float32) -> np.float32:
    """XGBoost's logarithm, but of 2^-126 for a score of 0, where XGBoost has minus infinity."""
    margin: np.float32 = np.float32(float(Decimal(float(max(score, _TINY))).ln()))
    return margin


def _exp(margin: float) -> float:
    return math.exp(min(margin, 700.0))


def _identity(name: str, group: str = "", **more: Any) -> Link:
    return Link(name, lambda score: score, lambda margin: margin, -math.inf, math.inf, 0.0,
                group, **more)  # fmt: skip


def _probability(name: str) -> Link:
    return Link(name, _logit, _sigmoid, 0.0, 1.0, 1e-5, _LOSS, _POSITIVE)


def _logarithm(name: str, group: str, parameters: Mapping[str, float | str], **more: Any) -> Link:
    return Link(name, _log, _exp, 0.0, math.inf, 1e-5, group, parameters, **more)


_LOSS = "reg_loss_param"
_POSITIVE: Mapping[str, float | str] = {"scale_pos_weight": 1.0}
_SQUARED, _CLASSES = "reg:squarederror", "softmax_multiclass_param"
_RANKING: dict[str, Any] = {
    "parameters": {
        "lambdarank_pair_method": 0.0,
        "lambdarank_num_pair_per_sample": 0.0,
        "lambdarank_normalization": 1.0,
        "lambdarank_score_normalization": 1.0,
        "lambdarank_unbiased": 0.0,
        "lambdarank_bias_norm": 1.0,
        "ndcg_exp_gain": 1.0,
    },
    "words": {
        "lambdarank_pair_method": {"topk": 0.0, "mean": 1.0},
        "lambdarank_num_pair_per_sample": {"4294967295": 0.0},  # XGBoost's "not given"
    },
    "lists": {"ti+": "lambdarank_unbiased", "tj-": "lambdarank_unbiased"},  # estimated anew
}

LINKS: dict[str, Link] = {
    _SQUARED: _identity(_SQUARED, _LOSS, parameters=_POSITIVE),
    "reg:squaredlogerror": _identity("reg:squaredlogerror"),
    "reg:pseudohubererror": _identity(
        "reg:pseudohubererror", "pseudo_huber_param", parameters={"huber_slope": 1.0}
    ),
    "reg:gamma": _logarithm("reg:gamma", _LOSS, _POSITIVE),
    "reg:tweedie": _logarithm(
        "reg:tweedie", "tweedie_regression_param", {"tweedie_variance_power": 1.5}
    ),
    "reg:logistic": _probability("reg:logistic"),
    "count:poisson": _logarithm(
        "count:poisson", "poisson_regression_param", {"max_delta_step": 0.7}
    ),
    "binary:logistic": _probability("binary:logistic"),
    "binary:logitraw": _identity("binary:logitraw", _LOSS, parameters=_POSITIVE),
    "binary:hinge": _identity("binary:hinge"),
    "reg:absoluteerror": _identity("reg:absoluteerror"),
    "reg:quantileerror": _identity(
        "reg:quantileerror",
        "quantile_loss_param",
        parameters={"quantile_alpha": 0.5},
        several=("quantile_alpha",),
    ),
    "reg:expectileerror": _identity(
        "reg:expectileerror",
        "expectile_loss_param",
        parameters={"expectile_alpha": 0.5},
        several=("expectile_alpha",),
        steps=True,
    ),
    **{
        name: _identity(name, "lambdarank_param", **_RANKING)
        for name in ("rank:ndcg", "rank:map", "rank:pairwise")
    },
    "survival:cox": _logarithm("survival:cox", "", {}),
    "survival:aft": _logarithm(
        "survival:aft",
        "aft_loss_param",
        {"aft_loss_distribution": "normal", "aft_loss_distribution_scale": 1.0},
        choices={"aft_loss_distribution": ("normal", "logistic", "extreme")},
    ),
    "huber": _identity(_SQUARED, _LOSS, parameters=_POSITIVE, ours={"huber_alpha": 0.9}),
    "fair": _identity(_SQUARED, _LOSS, parameters=_POSITIVE, ours={"fair_c": 1.0}),
    "mape": _identity(_SQUARED, _LOSS, parameters=_POSITIVE),
    "custom": _identity(
        _SQUARED,
        _LOSS,
        parameters=_POSITIVE,
        ours={"custom_name": "", "custom_link": "identity"},
        choices={"custom_link": ("identity", "logit")},
    ),
    **{
        f"dist:{name}": _identity(_SQUARED, _LOSS, parameters=_POSITIVE, n_outputs=2)
        for name in ("normal", "lognormal", "gamma", "negative_binomial")
    },
    "cross_entropy": _probability("reg:logistic"),
    "multi:softprob": _identity("multi:softprob", _CLASSES, parameters={"num_class": 0.0}),
    "multi:softmax": _identity("multi:softmax", _CLASSES, parameters={"num_class": 0.0}),
}
#: Objectives whose outputs are the classes.
MULTICLASS = ("multi:softprob", "multi:softmax")

SUPPORTED_OBJECTIVES = ", ".join(sorted(LINKS))


#: The least step from an output to the next one, XGBoost's ``kRtEps``.
LEAST_STEP = 1e-6


def scores_of(objective: str, margins: tuple[float, ...]) -> tuple[float, ...]:
    """Return the base scores of the margins of all outputs, in float64."""
    link = LINKS[objective]
    found = [link.score(margin) for margin in margins]
    for output in range(1, len(found) if link.steps else 0):
        margin = found[output]
        step = max(margin, 0.0) + math.log1p(math.exp(-abs(margin))) + LEAST_STEP
        found[output] = found[output - 1] + step
    return tuple(found)


def scores_agree(objective: str, expected: float, base_score: float) -> bool:
    """Tell whether a base score equals that of ``scores_of``, except for rounding."""
    link = LINKS[objective]
    tolerance = max(link.tolerance, LEAST_STEP if link.steps else 0.0)
    return abs(expected - base_score) <= tolerance * max(1.0, abs(base_score))


def margins_from_base_scores(objective: str, scores: tuple[float, ...]) -> tuple[float, ...]:
    """Return the margins of the base scores of all outputs, see ``margin_from_base_score``.

    Where outputs are steps, one that is not above the output before gets the least step, as in
    XGBoost 3.4.
    """
    of_score = {score: margin_from_base_score(objective, score) for score in set(scores)}
    found = [of_score[score] for score in scores]
    if not LINKS[objective].steps:
        return tuple(found)
    steps = [max(b - a - LEAST_STEP, LEAST_STEP) for a, b in pairwise(found)]
    return (found[0], *map(_margin_of_step, steps))


def _margin_of_step(step: float) -> float:
    if step > 40.0:  # e^-step is nothing beside 1
        return float(np.float32(step))
    exact = (Decimal(step).exp() - 1).ln()  # the platform's libm may differ
    return float(np.float32(float(exact)))


def margin_from_base_score(objective: str, base_score: float) -> float:
    """Return the margin that XGBoost computes from a base score.

    Parameters
    ----------
    objective : str
        One of ``LINKS``.
    base_score : float
        On the scale of predictions; used in float32.

    Returns
    -------
    float
        A margin that is exact in float32. XGBoost 3.2 clamps a probability to 1e-6 .. 1 - 1e-6
        and computes ``1 / p - 1`` in float32. Near 1 the result differs from the exact logit by
        up to 0.06; this function does the same, for equal predictions.
    """
    return float(LINKS[objective].margin(np.float32(base_score)))


def read_objective_parameters(learner: Cursor, objective: str, key: str) -> dict[str, float | str]:
    """Return the parameters of a loss that differ from their defaults.

    ``objective``: one of ``LINKS``.
    ``key``: the attribute that holds this library's parameters.

    Returns
    -------
    dict of str to float or str
        Each number is a finite float32.

    Raises
    ------
    ModelFormatError
        If a value is not a finite float32, or the attribute holds an unknown parameter.
    """
    link = LINKS[objective]
    found: dict[str, float | str] = {}
    place = learner.member("objective")
    if link.group and place.has(link.group):
        group = place.member(link.group)
        for name in link.parameters:
            if group.has(name):
                found[name] = _value(group.member(name), link, name, decimal=True)
    if learner.has("attributes") and learner.member("attributes").has(key):
        place = learner.member("attributes").member(key)
        ours = type(place)(_object(place), place.place, place.source)
        for name in ours.fields():
            if name not in link.ours:
                place.fail(f"parameters out of {list(link.ours)} for {objective}")
            found[name] = _value(ours.member(name), link, name, decimal=False)
    return {k: v for k, v in found.items() if v != _default(link, k)}


def _default(link: Link, name: str) -> float | str:
    default = {**link.parameters, **link.ours}[name]
    return default if isinstance(default, str) else float(np.float32(default))


def _value(place: Cursor, link: Link, name: str, *, decimal: bool) -> float | str:
    if name in link.several and "," in place.text():
        return _numbers(place)
    if not isinstance(_default(link, name), str):
        return _number(place, decimal=decimal, words=link.words.get(name, _NO_WORDS))
    text, allowed = place.text(), link.choices.get(name)
    if allowed is not None and text not in allowed:
        place.fail(f"one of {list(allowed)}")
    return text


def _numbers(place: Cursor) -> str:
    """Return a list of numbers as a string in this library's format, rounded to float32."""
    text = place.text().strip()
    parts = text[1:-1].split(",") if text.startswith("[") and text.endswith("]") else [""]
    if not all(_NUMBER.fullmatch(part.strip()) for part in parts):
        place.fail("a list of numbers, such as '[1E-1,5E-1]'")
    with np.errstate(over="ignore"):
        numbers = np.array([float(part) for part in parts]).astype(np.float32)
    if not np.isfinite(numbers).all():
        place.fail("a list of finite numbers")
    return "[" + ",".join(f"{number:.9g}" for number in numbers) + "]"


def _object(place: Cursor) -> object:
    try:
        return json.loads(place.text())
    except (ValueError, RecursionError):
        place.fail("a JSON object of parameters, as we write it")


def _number(place: Cursor, *, decimal: bool, words: Mapping[str, float] = _NO_WORDS) -> float:
    text, value = place.text().strip(), math.nan
    if text.startswith("[") and text.endswith("]"):  # a number per output
        text = text[1:-1].strip()
    if text in words or len(words) > 1:
        value = words.get(text, math.nan)
    elif decimal and _NUMBER.fullmatch(text):
        value = float(text)
    elif not decimal and _HEX.fullmatch(text):
        value = float.fromhex(text)
    with np.errstate(over="ignore"):
        rounded = float(np.float32(value))
    if not math.isfinite(rounded):
        place.fail("a string that holds one finite number")
    return rounded
