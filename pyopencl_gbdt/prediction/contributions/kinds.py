"""Which contributions the arguments of ``Model.predict`` ask for."""

from __future__ import annotations

from enum import Enum
from typing import Any

from pyopencl_gbdt.arguments import check_switches
from pyopencl_gbdt.errors import ParameterError


class Kind(Enum):
    """What gets a number of its own: each feature, each pair, or each step of a row's path."""

    FEATURES = "features"
    PAIRS = "pairs"
    MEANS = "means"


def kind_of(
    pred_contribs: bool,
    pred_interactions: bool,
    approx_contribs: bool,
    background: Any,
    pred_leaf: bool = False,
) -> Kind | None:
    """Return the kind of contributions that is asked for; None for predictions.

    Raises
    ------
    ParameterError
        If two of the arguments contradict each other.
    """
    check_switches(
        pred_contribs=pred_contribs, pred_interactions=pred_interactions,
        approx_contribs=approx_contribs,
    )  # fmt: skip
    if pred_leaf and (pred_contribs or pred_interactions):
        raise ParameterError(
            "pred_leaf=True and contributions: expected one of them; call predict twice"
        )
    if pred_contribs and pred_interactions:
        raise ParameterError(
            "pred_contribs=True and pred_interactions=True: expected one of them; call predict "
            "twice, or add up the lines of the interactions, which are the contributions"
        )
    if approx_contribs and not pred_contribs:
        raise ParameterError(
            "approx_contribs=True: expected pred_contribs=True with it; give both, or leave "
            "approx_contribs out, as interactions have no approximation"
        )
    if background is not None and (approx_contribs or not (pred_contribs or pred_interactions)):
        raise ParameterError(
            "background is given: expected pred_contribs=True or pred_interactions=True, and not "
            "approx_contribs=True; give one of them, or leave background out"
        )
    if pred_interactions:
        return Kind.PAIRS
    if pred_contribs:
        return Kind.MEANS if approx_contribs else Kind.FEATURES
    return None
