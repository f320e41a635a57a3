"""XGBoost's JSON model format, untrusted, as an ``Ensemble``.

Nothing in the text is believed: each value is asked for through a ``Cursor``, each index is
checked before it is used, and whatever is wrong becomes a ``ModelFormatError``.
"""

from __future__ import annotations

import json
import math
import re

import numpy as np

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.json_cursor import Cursor
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.model.xgboost_links import (
    LINKS,
    SUPPORTED_OBJECTIVES,
    margin_from_base_score,
    scores_agree,
)
from pyopencl_gbdt.model.xgboost_parameters import read_objective_parameters
from pyopencl_gbdt.model.xgboost_trees import XGBOOST_NONE, read_tree

#: Keys of our own in XGBoost's ``attributes``; they are written and read here, and are not part
#: of ``Ensemble.attributes``.
PREFIX = "pyopencl_gbdt."
FORMAT_VERSION_KEY = PREFIX + "format_version"
BASE_MARGIN_KEY = PREFIX + "base_margin"
OBJECTIVE_KEY = PREFIX + "objective"
PARAMETERS_KEY = PREFIX + "objective_parameters"
PLACEHOLDER_KEY = PREFIX + "placeholder_tree"
RESERVED_KEYS = (
    FORMAT_VERSION_KEY, BASE_MARGIN_KEY, OBJECTIVE_KEY, PARAMETERS_KEY, PLACEHOLDER_KEY,
)  # fmt: skip
FORMAT_VERSION = "1"

_NUMBER = re.compile(r"-?[0-9]{1,400}(\.[0-9]{0,400})?([eE][-+]?[0-9]{1,9})?")


def from_xgboost_json(text: str | bytes, *, source: str = "<memory>") -> Ensemble:
    """Read a model in XGBoost's JSON format, by us or by XGBoost 1.0 or later.

    Parameters
    ----------
    text : str or bytes
        The document; bytes are UTF-8.
    source : str
        The file's name, for error messages.

    Returns
    -------
    Ensemble
        Trees renumbered breadth-first, without the nodes that pruning deleted.
        ``base_margin`` is our own exact one if the file has it, else what XGBoost computes from
        ``base_score`` (``margin_from_base_score``). The trees of a random forest
        (``num_parallel_tree``) follow each other.

    Raises
    ------
    ModelFormatError
        If the text is not a consistent model, or uses what is not supported: objectives beyond
        those in the message, linear and dart boosters, category splits, several outputs.
    """
    document = Cursor(_parse(text, source), "", source)
    if document.has("version"):
        document.member("version").integers(0, XGBOOST_NONE, 3, "major, minor and patch")
    learner = document.member("learner")
    n_features = _read_n_features(learner)
    attributes = _read_attributes(learner)
    objective = _read_objective(learner, attributes)
    base_score, base_margin = _read_base(learner, objective, attributes)
    parameters = read_objective_parameters(learner, objective, PARAMETERS_KEY)
    trees = _read_trees(learner, n_features)
    if PLACEHOLDER_KEY in attributes and trees and _is_empty_tree(trees[0]):
        del trees[0]
    for key in RESERVED_KEYS:
        attributes.pop(key, None)
    return Ensemble(
        trees=trees,
        objective=objective,
        n_features=n_features,
        base_margin=base_margin,
        base_score=base_score,
        feature_names=_read_feature_names(learner, n_features),
        attributes=attributes,
        objective_parameters=parameters,
    )


def _parse(text: str | bytes, source: str) -> object:
    try:
        return json.loads(text if isinstance(text, str) else text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # bad JSON, bad UTF-8, endless digits, nesting
        raise ModelFormatError(
            f"{source}: not JSON or cut short ({error}): expected XGBoost's JSON model format; "
            f"write the model again, under a name that ends in .json (UBJSON is not read)"
        ) from error


def _read_n_features(learner: Cursor) -> int:
    """Return ``num_feature``; refuse several outputs and boosters that are not sums of trees."""
    parameters = learner.member("learner_model_param")
    for name, move in (
        ("num_class", "train one model per class"),
        ("num_target", "train one model per target"),
    ):
        if parameters.has(name) and parameters.member(name).parameter(0, XGBOOST_NONE) > 1:
            parameters.member(name).fail("at most 1; only one output is supported", move)
    booster = learner.member("gradient_booster").member("name")
    if booster.text() != "gbtree":
        booster.fail("'gbtree', the only booster supported", "train with booster='gbtree'")
    return parameters.member("num_feature").parameter(1, XGBOOST_NONE)


def _read_attributes(learner: Cursor) -> dict[str, str]:
    if not learner.has("attributes"):
        return {}
    attributes = learner.member("attributes")
    texts = {key: attributes.member(key).text() for key in attributes.fields()}
    version = texts.get(FORMAT_VERSION_KEY, FORMAT_VERSION)
    if version != FORMAT_VERSION:
        attributes.member(FORMAT_VERSION_KEY).fail(
            f"'{FORMAT_VERSION}'", "read it with a newer pyopencl_gbdt"
        )
    return texts


def _read_objective(learner: Cursor, attributes: dict[str, str]) -> str:
    """Return our name of the objective, which must have the link of XGBoost's beside it."""
    place = learner.member("objective").member("name")
    xgboost_name = place.text()
    objective = attributes.get(OBJECTIVE_KEY, xgboost_name)
    if objective not in LINKS:
        if OBJECTIVE_KEY in attributes:
            place = learner.member("attributes").member(OBJECTIVE_KEY)
        place.fail(f"one of {SUPPORTED_OBJECTIVES}", "train with one of these")
    if LINKS[objective].xgboost_name != xgboost_name:
        place.fail(
            f"'{LINKS[objective].xgboost_name}', as attribute {OBJECTIVE_KEY} is '{objective}'",
            "remove the attribute if the objective was changed on purpose",
        )
    return objective


def _read_base(learner: Cursor, objective: str, attributes: dict[str, str]) -> tuple[float, float]:
    """Return the starting score and the starting margin."""
    place = learner.member("learner_model_param").member("base_score")
    text = place.text().strip()
    if text.startswith("[") and text.endswith("]"):  # since XGBoost 3.1, a number per output
        text = text[1:-1].strip()
    link = LINKS[objective]
    with np.errstate(over="ignore"):
        number = np.float32(float(text)) if _NUMBER.fullmatch(text) else np.float32(np.nan)
    if not np.isfinite(number) or not link.lowest <= number <= link.highest:
        place.fail(
            f"a string that holds one finite number, {link.lowest:g}..{link.highest:g} for "
            f"{objective}, such as '[5E-1]'"
        )
    base_score = float(number)
    if BASE_MARGIN_KEY not in attributes:
        return base_score, margin_from_base_score(objective, base_score)
    exact = learner.member("attributes").member(BASE_MARGIN_KEY)
    try:
        base_margin = float.fromhex(exact.text())
    except (ValueError, OverflowError):
        base_margin = math.nan
    with np.errstate(over="ignore"):
        is_float32 = math.isfinite(base_margin) and float(np.float32(base_margin)) == base_margin
    if not is_float32:
        exact.fail("a finite float32, as written by float.hex")
    if not scores_agree(objective, base_margin, base_score):
        exact.fail(
            f"the margin of base_score={base_score!r}",
            "remove the attribute if base_score was changed on purpose",
        )
    return base_score, base_margin


def _read_trees(learner: Cursor, n_features: int) -> list[Tree]:
    model = learner.member("gradient_booster").member("model")
    parameters = model.member("gbtree_model_param")
    n_trees = parameters.member("num_trees").parameter(0, XGBOOST_NONE)
    why = "gbtree_model_param.num_trees"
    trees = model.member("trees")
    trees.array(n_trees, why)
    groups = model.member("tree_info")
    for index, group in enumerate(groups.integers(0, XGBOOST_NONE, n_trees, why)):
        if group:
            groups.entry(index).fail("0; only one output is supported", "train one model per class")
    if model.has("iteration_indptr"):
        _check_iterations(model.member("iteration_indptr"), n_trees)
    return [read_tree(trees.entry(index), n_features) for index in range(n_trees)]


def _check_iterations(cursor: Cursor, n_trees: int) -> None:
    bounds = cursor.integers(0, n_trees)
    if not bounds or bounds[0] != 0 or bounds[-1] != n_trees or bounds != sorted(set(bounds)):
        cursor.fail(f"numbers that rise from 0 to num_trees={n_trees}")


def _read_feature_names(learner: Cursor, n_features: int) -> list[str] | None:
    for name in ("feature_names", "feature_types"):
        if learner.has(name) and learner.member(name).array():
            learner.member(name).array(n_features, "learner_model_param.num_feature, or none")
            learner.member(name).texts()
    names = learner.member("feature_names").texts() if learner.has("feature_names") else []
    return names or None


def _is_empty_tree(tree: Tree) -> bool:
    return tree.n_nodes == 1 and not tree.value.any()
