"""Files of linear models: XGBoost's JSON and UBJSON, read and written."""

from __future__ import annotations

import pathlib
from dataclasses import fields
from typing import Any

import numpy as np

from pyopencl_gbdt.compat.xgboost.linear_ensemble import LinearEnsemble
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.formats.json_cursor import Cursor
from pyopencl_gbdt.model.formats.ubjson import parse_ubjson
from pyopencl_gbdt.model.formats.xgboost_reader import PLACEHOLDER_KEY, parse, read_document
from pyopencl_gbdt.model.formats.xgboost_writer import xgboost_document

_MOST_ROUNDS = 2**31 - 1


def linear_document(model: LinearEnsemble) -> dict[str, Any]:
    """Return a model as the document that XGBoost's JSON and UBJSON spell.

    Raises
    ------
    ModelFormatError
        If the format cannot hold the model.
    """
    found = xgboost_document(model)
    learner = found["learner"]
    learner["attributes"].pop(PLACEHOLDER_KEY, None)
    weights = [np.float32(one) for one in model.weights.reshape(-1)]
    learner["gradient_booster"] = {
        "model": {"boosted_rounds": model.rounds, "weights": weights},
        "name": "gblinear",
    }
    return found


def read_linear(source: str | bytes | bytearray) -> LinearEnsemble | None:
    """Return the linear model of a file, or of its content; None if it is another model.

    Raises
    ------
    ModelFormatError
        If it is a linear model that is not consistent.
    """
    name = source if isinstance(source, str) else "<memory>"
    try:
        data = pathlib.Path(source).read_bytes() if isinstance(source, str) else bytes(source)
    except OSError:
        return None  # the reader of other models tells
    if b"gblinear" not in data:
        return None
    is_text = data[:1] == b"{" and data[1:2] in b'"\n \r\t'
    document: Any = parse(data, name) if is_text else parse_ubjson(data, name)
    whole = Cursor(document, "", name)
    booster = whole.member("learner").member("gradient_booster")
    if booster.member("name").value != "gblinear":
        return None
    model = booster.member("model")
    base = _without_weights(document, name)
    n_weights = (base.n_features + 1) * base.n_outputs
    weights = model.member("weights").floats(n_weights, "one for each column and bias, and output")
    if not np.isfinite(weights).all():
        model.member("weights").fail("finite numbers")
    rounds = model.member("boosted_rounds").value if model.has("boosted_rounds") else 0
    if type(rounds) is not int or not 0 <= rounds <= _MOST_ROUNDS:
        model.member("boosted_rounds").fail(f"an integer 0..{_MOST_ROUNDS}")
    given = {own.name: getattr(base, own.name) for own in fields(Ensemble)}
    shape = (base.n_features + 1, base.n_outputs)
    return LinearEnsemble(**given, weights=weights.reshape(shape), rounds=int(str(rounds)))


def _without_weights(document: Any, name: str) -> Ensemble:
    """Return the model of a document as if it had trees, but none of them."""
    booster = {
        "name": "gbtree",
        "model": {
            "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": "0"},
            "tree_info": [],
            "trees": [],
        },
    }
    learner = {**document["learner"], "gradient_booster": booster}
    return read_document(Cursor({**document, "learner": learner}, "", name))
