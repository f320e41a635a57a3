"""What formats write that know neither a best round nor our losses."""

from __future__ import annotations

import math

from pyopencl_gbdt.model.best_round import BEST_ITERATION, BEST_SCORE, check_best_round
from pyopencl_gbdt.model.ensemble import Ensemble

#: Columns without names that get one; names of so many take 0.4 GB.
MOST_UNNAMED = 2**22
#: What a prediction is of margins, by loss. The rest are the margins themselves.
_LINKS = {
    **dict.fromkeys(
        ("reg:gamma", "reg:tweedie", "count:poisson", "survival:cox", "survival:aft"), "exp"
    ),
    **dict.fromkeys(("reg:logistic", "binary:logistic", "cross_entropy"), "sigmoid"),
    "binary:hinge": "positive",
    "multi:softprob": "softmax",
    "multi:softmax": "class",
}


def link_of(ensemble: Ensemble) -> str:
    """Return what makes predictions of margins.

    ``identity``, ``exp``, ``sigmoid``, ``positive`` (1 if the margin is above 0, else 0),
    ``softmax`` or ``class`` (the first class with the largest margin).
    """
    return _LINKS.get(ensemble.objective, "identity")


def of_used_rounds(ensemble: Ensemble) -> Ensemble:
    """Return the model of the rounds that ``predict`` uses: those up to the best one.

    Weights of trees are multiplied into their leaves.
    """
    ensemble.check()
    if BEST_ITERATION not in ensemble.attributes:
        return ensemble.folded()
    best, _ = check_best_round(ensemble.attributes, "model.ensemble.attributes")
    kept = {k: v for k, v in ensemble.attributes.items() if k not in (BEST_ITERATION, BEST_SCORE)}
    return ensemble.of_rounds(range(best + 1), kept).folded()


def bits_of(ensemble: Ensemble, told: str) -> str:
    """Return a program's sentence about equal bits; none if leaves were multiplied by weights."""
    return told if ensemble.tree_weights is None else ""


def too_many_columns(ensemble: Ensemble) -> str:
    """Return what formats lack that write a name for each column; '' if nothing.

    A file of few bytes may claim 2^31 columns without names, for which names would take 100 GB.
    """
    unnamed = ensemble.feature_names is None and ensemble.n_features > MOST_UNNAMED
    return f"more than {MOST_UNNAMED} columns without names" if unnamed else ""


def splits_by_sets(ensemble: Ensemble) -> bool:
    """Tell whether a tree of a model splits by a set of levels."""
    return any(tree.sets.size for tree in ensemble.trees)


def base_of(link: str, margins: tuple[float, ...]) -> tuple[float, ...]:
    """Return the base scores of base margins, on the scale of predictions."""
    if link == "exp":
        return tuple(math.exp(min(margin, 88.0)) for margin in margins)
    if link == "sigmoid":
        return tuple(1.0 / (1.0 + math.exp(-max(margin, -700.0))) for margin in margins)
    return margins
