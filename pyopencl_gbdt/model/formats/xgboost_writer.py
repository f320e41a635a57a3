"""Write an ``Ensemble`` in XGBoost's JSON and UBJSON, byte for byte as XGBoost 3.2 would.

Keys are sorted and there is no white space. A float32 is written with the fewest digits that
read back as the same float32, always with an exponent (``5E-1``): XGBoost's reader takes a number
without exponent or point for an integer, and refuses it in an array of floats.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from pyopencl_gbdt.data.names import UNSAFE
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model.ensemble import Ensemble, each
from pyopencl_gbdt.model.formats.base import more_than_trees
from pyopencl_gbdt.model.formats.loose_nodes import one_leaf
from pyopencl_gbdt.model.formats.xgboost_categories import write_categories
from pyopencl_gbdt.model.formats.xgboost_links import (
    LINKS,
    MULTICLASS,
    SUPPORTED_OBJECTIVES,
    Link,
    scores_agree,
    scores_of,
)
from pyopencl_gbdt.model.formats.xgboost_reader import (
    BASE_MARGIN_KEY,
    FORMAT_VERSION,
    FORMAT_VERSION_KEY,
    OBJECTIVE_KEY,
    PARAMETERS_KEY,
    PLACEHOLDER_KEY,
    RESERVED_KEYS,
    SYMMETRIC_KEY,
)
from pyopencl_gbdt.model.formats.xgboost_sets import split_features, written_sets
from pyopencl_gbdt.model.formats.xgboost_trees import XGBOOST_NONE
from pyopencl_gbdt.model.formats.xgboost_vectors import written_vectors
from pyopencl_gbdt.model.leaf_kinds import LINEAR
from pyopencl_gbdt.model.tables import tables_of
from pyopencl_gbdt.model.tree import NO_NODE, Tree

#: The XGBoost version whose format is written.
XGBOOST_VERSION = [3, 2, 0]


def to_xgboost_json(ensemble: Ensemble) -> str:
    """Return a model as a document in XGBoost's JSON format.

    Parameters
    ----------
    ensemble : Ensemble

    Returns
    -------
    str
        The document; equal ensembles give equal documents. XGBoost 3.2 loads it and predicts the
        same, except for the rounding of ``base_score``: it clamps a logistic base margin to
        -13.8 .. 13.7, so predictions with a base margin beyond that differ in XGBoost.

    Raises
    ------
    ModelFormatError
        If the format cannot hold the model.

    Notes
    -----
    XGBoost takes a logistic ``base_score`` for a margin if there are no trees. So an ensemble
    without trees is written with one leaf of value 0, which this library's reader drops.

    Splits by sets are written with the codes of levels, 0 .. n_levels - 1. XGBoost 3.1 and later
    look the levels of a DataFrame up; an array has to hold the codes, in columns of the feature
    type "c".
    """
    return _render(xgboost_document(ensemble))


def xgboost_document(ensemble: Ensemble) -> dict[str, Any]:
    """Return a model as the document that XGBoost's JSON and UBJSON spell.

    Arrays have the types that XGBoost gives them in UBJSON.

    Raises
    ------
    ModelFormatError
        If the format cannot hold the model.
    """
    _check(ensemble)
    if ensemble.tree_weights is not None:  # XGBoost has no weights of trees with vectors
        ensemble = ensemble.with_numbers()
    trees = ensemble.trees or [one_leaf(np.zeros(1), np.zeros(1))] * ensemble.round_trees
    n_parallel, step = ensemble.n_parallel, ensemble.round_trees
    classes = ensemble.objective in MULTICLASS
    n_features = str(ensemble.n_features)
    names, by_set = ensemble.feature_names or [], {*ensemble.categories}
    by_set |= split_features(trees)
    typed = range(ensemble.n_features) if names or by_set else ()
    model = {
        "cats": write_categories(ensemble.categories, ensemble.n_features),
        "gbtree_model_param": {
            "num_parallel_tree": str(n_parallel),
            "num_trees": str(len(trees)),
        },
        "iteration_indptr": list(range(0, len(trees) + 1, step)),
        "tree_info": [index // n_parallel % (step // n_parallel) for index in range(len(trees))],
        "trees": [_tree(tree, index, n_features) for index, tree in enumerate(trees)],
    }
    booster: dict[str, Any] = {"model": model, "name": "gbtree"}
    if ensemble.tree_weights is not None:
        weights = [np.float32(one) for one in ensemble.tree_weights or [1] * len(trees)]
        booster = {"gbtree": booster, "name": "dart", "weight_drop": weights}
    learner = {
        "attributes": _attributes(ensemble),
        "feature_names": names,
        "feature_types": ["c" if feature in by_set else "float" for feature in typed],
        "gradient_booster": booster,
        "learner_model_param": {
            "base_score": _render(np.array(each(ensemble.base_score), np.float32)),
            "boost_from_average": "1",
            "num_class": str(ensemble.n_outputs) if classes else "0",
            "num_feature": n_features,
            "num_target": "1" if classes else str(ensemble.n_outputs),
        },
        "objective": _objective(ensemble),
    }
    return {"learner": learner, "version": XGBOOST_VERSION}


def lacks(ensemble: Ensemble) -> str:
    """Return what XGBoost's files lack to hold a model; '' if nothing."""
    if ensemble.leaves is LINEAR:
        return f"leaves that are {LINEAR.name}"
    if ensemble.statistics is not None:
        return "statistics of categories"
    return more_than_trees(ensemble)


def _check(ensemble: Ensemble) -> None:
    ensemble.check()
    if ensemble.leaves is LINEAR:
        raise ModelFormatError(
            f"the leaves of the model are {LINEAR.name}, which XGBoost does not have: expected "
            "numbers; write the model by save_model, in this library's format or as LightGBM's text"
        )
    if ensemble.statistics is not None:
        raise ModelFormatError(
            "the model has statistics of categories, which XGBoost cannot evaluate: expected trees "
            "on columns alone; write it by save_model, in this library's format, or train with "
            "cat_method='sets'"
        )
    objective, score = ensemble.objective, ensemble.base_score
    if objective not in LINKS:
        raise ModelFormatError(
            f"objective={objective!r}: expected one of {SUPPORTED_OBJECTIVES}; "
            f"pickle the ensemble instead"
        )
    link = LINKS[objective]
    scores = [*scores_of(objective, each(ensemble.base_margin))]
    expected = repr(scores if len(scores) > 1 else scores[0])
    if not all(
        link.lowest <= one <= link.highest and scores_agree(objective, own, one)
        for own, one in zip(scores, each(score), strict=True)
    ):
        raise ModelFormatError(
            f"base_score={score!r}: expected {expected}, the score of "
            f"base_margin={ensemble.base_margin!r} under {objective}; set both"
        )
    for name, value in ensemble.objective_parameters.items():
        known = [*link.parameters, *link.ours]
        several = name in link.several and isinstance(value, str)
        default = "" if several else {**link.parameters, **link.ours}.get(name, "")
        if name not in known or not _is_kept(value, default):
            raise ModelFormatError(
                f"objective_parameters[{name!r}]={value!r}: expected a finite float32 "
                f"(a string where the default is one) for one of {known} of {objective}; "
                f"leave it out for its default"
            )
    texts = [*(ensemble.feature_names or []), *ensemble.attributes]
    for text in [*texts, *ensemble.attributes.values()]:
        if not isinstance(text, str) or UNSAFE.search(text):
            raise ModelFormatError(
                f"feature name or attribute {text!r}: expected a string without control "
                f"characters and lone surrogates; rename it"
            )


def _is_kept(value: float | str, default: float | str) -> bool:
    """Tell whether a parameter has its default's type and, if a number, is exact in float32."""
    if isinstance(value, str) or isinstance(default, str):
        return isinstance(value, str) and isinstance(default, str) and not UNSAFE.search(value)
    return abs(value) < np.inf and float(np.float32(value)) == value


def _exact(value: float | str) -> str:
    return value if isinstance(value, str) else float(value).hex()


def _objective(ensemble: Ensemble) -> dict[str, Any]:
    link = LINKS[ensemble.objective]
    written: dict[str, Any] = {"name": link.xgboost_name}
    if link.group:
        given = {**link.parameters, **ensemble.objective_parameters}
        written[link.group] = {k: _parameter(link, k, given[k]) for k in link.parameters}
        written |= {name: [] for name, asks in link.lists.items() if given[asks]}
    return written


def _parameter(link: Link, name: str, value: float | str) -> str:
    """Return a string unchanged, a number as XGBoost's word for it or as digits."""
    if isinstance(value, str):
        return value
    words = {number: word for word, number in link.words.get(name, {}).items()}
    return words.get(value, f"{np.float32(value):.9g}")


def _attributes(ensemble: Ensemble) -> dict[str, str]:
    attributes = {k: v for k, v in ensemble.attributes.items() if k not in RESERVED_KEYS}
    attributes[FORMAT_VERSION_KEY] = FORMAT_VERSION
    attributes[BASE_MARGIN_KEY] = " ".join(m.hex() for m in each(ensemble.base_margin))
    attributes[OBJECTIVE_KEY] = ensemble.objective
    given, ours = ensemble.objective_parameters, LINKS[ensemble.objective].ours
    if any(k in given for k in ours):
        exact = {k: _exact(given[k]) for k in ours if k in given}
        attributes[PARAMETERS_KEY] = json.dumps(exact, sort_keys=True)
    if not ensemble.trees:
        attributes[PLACEHOLDER_KEY] = "1"
    if tables_of(ensemble.trees) is not None:
        attributes[SYMMETRIC_KEY] = "1"
    return attributes


def _tree(tree: Tree, index: int, n_features: str) -> dict[str, Any]:
    own = written_vectors(tree) if tree.n_outputs > 1 else {
        "base_weights": tree.weight[:, 0],
        "right_children": tree.right,
        "split_conditions": np.where(tree.is_leaf, tree.value[:, 0], tree.threshold),
    }  # fmt: skip
    return {
        **own,
        **written_sets(tree),
        "default_left": tree.default_left.astype(np.uint8),
        "id": index,
        "left_children": tree.left,
        "loss_changes": tree.gain,
        "parents": np.where(tree.parent == NO_NODE, np.int32(XGBOOST_NONE), tree.parent),
        "split_indices": tree.feature,
        "split_type": tree.split_kind,
        "sum_hessian": tree.sum_hessian,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": n_features,
            "num_nodes": str(tree.n_nodes),
            "size_leaf_vector": str(tree.n_outputs),
        },
    }


def _render(value: object) -> str:
    """Return a value as JSON: sorted keys, no white space, float32 arrays through ``_float``."""
    if isinstance(value, dict):
        return (
            "{" + ",".join(f"{_render(key)}:{_render(value[key])}" for key in sorted(value)) + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(_render, value)) + "]"
    if isinstance(value, np.ndarray):
        words = map(_float, value) if value.dtype == np.float32 else map(str, value.tolist())
        return "[" + ",".join(words) + "]"
    if isinstance(value, np.float32):
        return _float(value)
    # keep UTF-8: XGBoost's reader does not decode \uXXXX
    return json.dumps(value, ensure_ascii=False)


def _float(number: np.float32) -> str:
    digits, exponent = np.format_float_scientific(number, unique=True, trim="-").split("e")
    return f"{digits}E{int(exponent)}"
