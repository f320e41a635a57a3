"""Model files: what is accepted predicts like any other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pyopencl_gbdt import GBDTClassifier, GBDTRanker, GBDTRegressor, Model
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.estimators.base import Base
from pyopencl_gbdt.model import Ensemble, dump_text, from_xgboost_json, to_xgboost_json
from pyopencl_gbdt.model.tree import Tree
from tests.conftest import TEST_DEVICE
from tests.fuzz.formats import Format
from tests.fuzz.mutations import mutate
from tests.reference.predict import predict

#: A value in the place of another.
STRANGE = (
    None, True, False, -1, 0, 1, 2, 3, 2**31 - 1, 2**31, 2**64, -(2**40), 10**400, 0.5, -0.0, 1e39,
    5e-324, -1e308, float("nan"), float("-inf"), "", "x", "0", "1", "-1", "2", "3", "99999999",
    str(2**20), str(2**31 - 1), "[1E0]", "[5E-1,5E-1]", "nan", "0x1.8p+1", "\x1b[2J", "\ud800",
    "binary:logistic", "reg:squarederror", "multi:softprob", "rank:ndcg", "survival:cox", "custom",
    "a" * 5000, [], [0], [[]], [1.5, 2.5], {}, {"a": 1},
)  # fmt: skip
PIECES = (
    b"null", b"true", b"[]", b"{}", b'"', b"\\", b"\\ud800", b"[", b"]", b"{", b"}", b",", b":",
    b"1e999", b'{"a":1}', b"-1", b"2147483647", b"E", b"E-1", b'"1"', b"\xff", b"\xef\xbb\xbf",
)  # fmt: skip
#: Attributes that something is made of.
_ATTRIBUTES = (
    "best_iteration", "best_score", "scikit_learn", "pyopencl_gbdt.classes",
    "pyopencl_gbdt.base_margin", "pyopencl_gbdt.objective", "pyopencl_gbdt.objective_parameters",
    "pyopencl_gbdt.format_version", "pyopencl_gbdt.placeholder_tree",
)  # fmt: skip
_MOST_FEATURES = 64


class Models(Format):
    name, suffix, pieces = "model", ".json", PIECES
    n_mutations, n_sampled = 100_000, 40

    def prepare(self) -> None:
        """Build the kernels of prediction."""
        for text in _model_seeds():
            use(from_xgboost_json(text))

    def seeds(self) -> list[bytes]:
        return _model_seeds()

    def read(self, path: Path) -> None:
        ensemble = Model.load_model(path).ensemble
        try:
            self.check_round_trip(ensemble, path)
        except ModelFormatError as error:
            raise AssertionError("a model that was read cannot be written") from error
        use(ensemble)
        fits = [_loaded(kind, path, ensemble) for kind in (GBDTRegressor, GBDTClassifier)]
        fits.append(_loaded(GBDTRanker, path, ensemble))
        assert sum(fits) <= 1

    def learner(self, document: Any) -> Any:
        """Return XGBoost's ``learner`` of a seed."""
        return document["learner"]

    def check_round_trip(self, ensemble: Ensemble, path: Path) -> None:
        """Write the model and read it again."""
        assert from_xgboost_json(to_xgboost_json(ensemble)) == ensemble

    def mutate(self, data: bytes, rng: np.random.Generator) -> bytes:
        if rng.random() < 0.3:
            return mutate(data, rng, self.pieces)
        document = json.loads(data)
        if rng.random() < 0.1:
            attributes = self.learner(document).setdefault("attributes", {})
            name = _ATTRIBUTES[rng.integers(len(_ATTRIBUTES))]
            attributes[name] = deepcopy(STRANGE[rng.integers(len(STRANGE))])
        else:
            edit(document, rng)
        return json.dumps(document).encode()


def edit(document: Any, rng: np.random.Generator) -> None:
    """Change values, leave out members, and copy or cut arrays."""
    for _ in range(min(rng.geometric(0.6), 4)):
        found = list(_places(document))
        if not found:
            return
        container, key = found[rng.integers(len(found))]
        before, chance = container[key], rng.random()
        if chance < 0.1:
            del container[key]
        elif isinstance(before, list) and chance < 0.4:
            cut = int(rng.integers(len(before) + 1))
            container[key] = (before[:cut], before[cut:], before * 2, before[::-1])[rng.integers(4)]
        elif chance < 0.6:  # of the same kind, from elsewhere
            other, place = found[rng.integers(len(found))]
            container[key] = deepcopy(other[place])
        else:
            container[key] = deepcopy(STRANGE[rng.integers(len(STRANGE))])


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key])


def use(ensemble: Ensemble) -> None:
    """Predict on the device with the bits of the twin, and print the model."""
    dump_text(ensemble)
    repr(Model(ensemble))
    if ensemble.n_tree_features > _MOST_FEATURES:
        return
    model, X = Model(ensemble), rows_of(ensemble)
    with np.errstate(all="ignore"):
        margins = model.predict(X, output_margin=True, device=TEST_DEVICE, iteration_range=(0, 0))
        n_rounds = model._rounds(None)[1]
        kept = ensemble.of_rounds(range(n_rounds), ensemble.attributes)
        values = model.tree_values(X)
        expected = predict(kept, values.host() if isinstance(values, DeviceMatrix) else values)
        model.predict(X, device=TEST_DEVICE)
    np.testing.assert_array_equal(margins.reshape(len(X), -1), expected.reshape(-1, len(X)).T)
    for kind in ("gain", "weight", "total_cover"):
        assert model.feature_importances(kind).shape == (ensemble.n_features,)


def _loaded(kind: type[Base], path: Path, ensemble: Ensemble) -> bool:
    """Tell whether an estimator takes the file; then it predicts."""
    estimator, refused = kind(device=TEST_DEVICE), ""
    try:
        estimator.load_model(path)
    except ModelFormatError as error:
        refused = str(error)
    if refused:
        assert path.name in refused
        assert not hasattr(estimator, "model_")
        return False
    if ensemble.n_features <= _MOST_FEATURES:
        X = rows_of(ensemble)
        if ensemble.feature_names is None:
            estimator.predict(X)
        if isinstance(estimator, GBDTClassifier) and ensemble.feature_names is None:
            found = estimator.predict_proba(X)
            assert ((found >= 0) & (found <= 1)).all() or np.isnan(found).any()
    return True


def rows_of(ensemble: Ensemble) -> np.ndarray[Any, np.dtype[Any]]:
    """Return rows to predict, some of whose values are missing, huge, or levels never seen."""
    X = np.random.default_rng(0).standard_normal((4, ensemble.n_features)).astype(np.float32)
    X[1, ::2], X[2], X[3] = np.nan, 3e38, -3e38
    if not ensemble.categories:
        return X
    found = X.astype(object)
    for column, levels in ensemble.categories.items():
        new = "never seen" if levels.are_strings else -77
        seen = levels.values.tolist()[:2] or [new]
        found[:, column] = [seen[0], seen[-1], None, new]
    return found


def tree_of(threshold: float, *values: float) -> Tree:
    """Return a tree of two or three leaves."""
    deep = len(values) > 2
    n = 5 if deep else 3
    left = [1, 3, -1, -1, -1] if deep else [1, -1, -1]
    leaf = np.array(left) < 0
    numbers = np.zeros(n, np.float32)
    numbers[leaf] = values
    return Tree(
        left=np.array(left, np.int32),
        right=np.where(leaf, -1, np.array(left) + 1).astype(np.int32),
        parent=np.array([-1, 0, 0, 1, 1][:n], np.int32),
        feature=np.array([1, 2 if deep else 0, 0, 0, 0][:n], np.int32),
        threshold=np.where(leaf, 0, threshold).astype(np.float32),
        default_left=~leaf,
        split_kind=np.zeros(n, np.uint8),
        value=numbers[:, None],
        weight=numbers[:, None] + np.float32(0.25),
        gain=np.where(leaf, 0, 2).astype(np.float32),
        sum_hessian=np.arange(n, 0, -1, np.float32),
    )


@cache
def _model_seeds() -> list[bytes]:
    """Models of several losses, outputs and shapes; with what estimators add."""
    trees = [tree_of(0.5, 0.1, -0.2), tree_of(-0.25, 0.3, 0.5, -1.5), tree_of(1, 2, 3)]
    one = {"n_features": 3, "base_margin": 0.0, "base_score": 0.0}
    half = {**one, "base_score": 0.5}
    three = {"base_margin": (0.0, 0.5, 1.0), "base_score": (0.0, 0.5, 1.0), "n_outputs": 3}
    saved_by = {"scikit_learn": '{"_estimator_type": "classifier"}'}
    found = [
        Ensemble(trees=trees, objective="reg:squarederror", **one),
        Ensemble(
            trees=trees, objective="binary:logistic", **half,
            attributes={"pyopencl_gbdt.classes": '["no", "yes"]', **saved_by},
        ),
        Ensemble(
            trees=trees * 2, objective="multi:softprob", **{**one, **three},
            objective_parameters={"num_class": 3.0},
        ),
        Ensemble(
            trees=trees, objective="reg:squarederror", n_parallel=3, **one,
            feature_names=["a", "b", "c"],
        ),
        Ensemble(
            trees=trees, objective="huber", objective_parameters={"huber_alpha": 0.5}, **one,
            attributes={"best_iteration": "1", "best_score": "0.25"},
        ),
        Ensemble(
            trees=trees, objective="custom", **one,
            objective_parameters={"custom_name": "mine", "custom_link": "logit"},
        ),
        Ensemble(trees=trees[:1], objective="rank:ndcg", **one),
        Ensemble(trees=[], objective="reg:squarederror", **one),
        Ensemble(trees=trees, objective="survival:aft", **{**one, "base_score": 1.0}),
    ]  # fmt: skip
    return [to_xgboost_json(ensemble).encode() for ensemble in found]


FORMATS: list[Format] = [Models()]
