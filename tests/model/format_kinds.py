"""Models of every kind, and what becomes of each in each format; `docs/formats.md` shows it."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from pyopencl_gbdt import Model
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.model import Ensemble, Tree
from pyopencl_gbdt.model.formats.base import CALIBRATION, HEAD_SIZE, Format
from pyopencl_gbdt.model.formats.files import model_of
from pyopencl_gbdt.model.formats.registry import FORMATS
from pyopencl_gbdt.model.leaf_kinds import LINEAR
from pyopencl_gbdt.model.linear_leaves import LinearTerms
from tests.fuzz import category_models
from tests.fuzz.models import rows_of
from tests.model.samples import make_ensemble
from tests.model.write_corpus import CORPUS
from tests.reference.predict import predict


def _without_missing() -> Ensemble:
    """Return a model of data without missing values, which go right."""
    model = make_ensemble([4, 3])
    trees = [replace(tree, default_left=np.zeros(tree.n_nodes, np.bool_)) for tree in model.trees]
    return replace(model, trees=trees)


def _linear(model: Ensemble) -> Ensemble:
    """Return the model with functions of the first columns in every other leaf of all trees."""
    trees = []
    for tree in model.trees:
        n_leaves = int(tree.is_leaf.sum())
        sizes = np.arange(n_leaves) % 2 * 2
        features = np.tile([0, 1], n_leaves // 2)
        intercepts = np.where(sizes > 0, 0.25, 0)
        terms = LinearTerms(sizes, intercepts, features, np.linspace(-1, 1, features.size))
        trees.append(tree.with_linear(terms))
    return replace(model, trees=trees)


def _of_outputs(objective: str, **parameters: Any) -> Ensemble:
    three = (0.0, 0.5, -0.5)
    return make_ensemble(
        [3] * 6, objective=objective, n_outputs=3, base_margin=three, base_score=three,
        objective_parameters=parameters,
    )  # fmt: skip


def _symmetric() -> Ensemble:
    """Return two trees whose levels have one split each."""
    n_nodes, inner = 7, 3
    leaf = np.arange(n_nodes) >= inner
    values = np.linspace(-1, 1, n_nodes).astype(np.float32)
    level = np.array([0, 1, 1, 0, 0, 0, 0], np.int32)
    left = np.where(leaf, -1, 1 + 2 * np.arange(n_nodes)).astype(np.int32)
    made = Tree(
        left=left, right=np.where(leaf, -1, left + 1).astype(np.int32),
        parent=np.array([-1, 0, 0, 1, 1, 2, 2], np.int32),
        feature=np.where(leaf, 0, level).astype(np.int32),
        threshold=np.where(leaf, 0, level - np.float32(0.5)).astype(np.float32),
        default_left=~leaf, split_kind=np.zeros(n_nodes, np.uint8),
        value=np.where(leaf, values, 0).astype(np.float32)[:, None], weight=values[:, None],
        gain=np.where(leaf, 0, 1).astype(np.float32), sum_hessian=np.ones(n_nodes, np.float32),
    )  # fmt: skip
    return make_ensemble([], trees=[made, made])


@cache
def _of_xgboost(name: str) -> Ensemble:
    """Return a model that XGBoost wrote."""
    newest = sorted(CORPUS.glob("*.zip"))[-1]
    with zipfile.ZipFile(newest) as archive:
        return model_of(archive.read(name), name)


#: Formats in which a model is the same as before.
KEPT_WHOLE = (".gbdt", ".gbdt.json", ".json", ".ubj")
_HALF = {"base_margin": 0.0, "base_score": 0.5}
_ONE = {"base_margin": 0.0, "base_score": 1.0}
KINDS: dict[str, Callable[[], Ensemble]] = {
    "numbers": _without_missing,
    "missing values": lambda: make_ensemble([4, 3]),
    "two classes": lambda: make_ensemble([4, 3], objective="binary:logistic", **_HALF),
    "classes": lambda: _of_outputs("multi:softprob", num_class=3.0),
    "several targets": lambda: _of_outputs("reg:squarederror"),
    "counts": lambda: make_ensemble([4, 3], objective="count:poisson", **_ONE),
    "ranking": lambda: make_ensemble(
        [4, 3], objective="rank:ndcg", base_margin=0.0, base_score=0.0
    ),
    "survival (AFT)": lambda: make_ensemble([4, 3], objective="survival:aft", **_ONE),
    "survival (Cox)": lambda: make_ensemble([4, 3], objective="survival:cox", **_ONE),
    "forests": lambda: make_ensemble([4, 3, 2] * 2, n_parallel=3),
    "categories by sets": lambda: category_models._models()[0],
    "categories by statistics": lambda: category_models._models()[2],
    "constraints": lambda: make_ensemble([2, 2]),
    "symmetric trees": _symmetric,
    "vector leaves": lambda: _of_xgboost("vectors.json"),
    "linear leaves": lambda: _linear(make_ensemble([4, 3])),
    "dropped trees (DART)": lambda: _of_xgboost("dart.json"),
    "several expectiles": lambda: make_ensemble(
        [4, 3, 2, 5],
        objective="reg:expectileerror",
        objective_parameters={"expectile_alpha": "[0.200000003,0.800000012]"},
        n_outputs=2,
        base_margin=(0.0, 0.0),
        base_score=(0.0, 0.693148196),
    ),
    "distributions": lambda: make_ensemble(
        [4, 3, 2, 5],
        objective="dist:normal",
        n_outputs=2,
        base_margin=(0.0, 0.5),
        base_score=(0.0, 0.5),
    ),
    "calibrated probabilities": lambda: make_ensemble(
        [4, 3],
        objective="binary:logistic",
        **_HALF,
        attributes={CALIBRATION: '[{"slope": 1.5, "intercept": 0.0}]'},
    ),
    "a loss of your own": lambda: make_ensemble(
        [4, 3], objective="custom", objective_parameters={"custom_name": "mine"}
    ),
}


def _holds_symmetric(one: Format, ensemble: Ensemble) -> bool:
    """Tell whether a format could hold a model if its trees were symmetric."""
    if ensemble.leaves is LINEAR:
        return False
    like, plain = _symmetric().trees[0], ensemble.with_numbers()
    return not one.lacks(replace(plain, trees=[like] * len(plain.trees)))


def margins(ensemble: Ensemble) -> np.ndarray:
    """Return the margins of some rows, by the twin."""
    values = Model(ensemble).tree_values(rows_of(ensemble))
    with np.errstate(all="ignore"):
        return predict(ensemble, values.host() if isinstance(values, DeviceMatrix) else values)


def outcome(one: Format, ensemble: Ensemble) -> str:
    """Write a model in a format, and read it again; return what the page shows.

    A model that was read predicts the same within 1e-6 of the size of what is summed; in formats of
    ours and of XGBoost it is the same. Without a package that a format needs for writing, only what
    it lacks is asked.
    """
    lack = one.lacks(ensemble)
    if not one.writes:
        return "read only"
    if lack:
        return "only symmetric trees" if _holds_symmetric(one, ensemble) else f"no {lack}"
    try:
        data = one.write(ensemble)
    except ImportError:  # a package that the format needs: others than the page's author have it
        return "written"
    assert [other.name for other in FORMATS if other.sniff(data[:HEAD_SIZE])] == [one.name]
    if not one.reads:
        return "written"
    again = one.read(data, "m")
    if one.suffixes[0] in KEPT_WHOLE:
        assert again == ensemble
        assert one.write(again) == data
    sizes = sum(np.abs(tree.value).max() for tree in ensemble.trees) + 1
    np.testing.assert_allclose(margins(again), margins(ensemble), rtol=0, atol=1e-6 * sizes)
    return "yes"
