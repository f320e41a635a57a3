from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.model import dump_text, feature_importances, from_xgboost_json
from pyopencl_gbdt.model.explain import IMPORTANCE_KINDS
from tests.model.samples import make_ensemble, saved, train


@pytest.mark.parametrize("kind", IMPORTANCE_KINDS)
@pytest.mark.parametrize(
    "parameters",
    [{"max_depth": 5}, {"max_depth": 1, "n_rounds": 2}, {"tree_method": "exact", "gamma": 4.0}],
)
def test_same_as_xgboost(kind: str, parameters: dict[str, object]) -> None:
    booster = train(**parameters)
    ensemble = from_xgboost_json(saved(booster))
    score = booster.get_score(importance_type=kind)
    theirs = np.array([score.get(f"f{feature}", 0.0) for feature in range(4)])
    ours = feature_importances(ensemble, kind, normalize=False)
    assert ours.dtype == np.float64
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert feature_importances(ensemble, kind).sum() == pytest.approx(1.0)


def test_no_split_no_importance() -> None:
    for ensemble in (make_ensemble([]), make_ensemble([0, 0])):
        assert feature_importances(ensemble).tolist() == [0.0] * 4


def test_unknown_kind() -> None:
    with pytest.raises(ParameterError, match="kind='gini': expected one of gain, weight"):
        feature_importances(make_ensemble([1]), "gini")


def test_text() -> None:
    ensemble = make_ensemble([1, 0], feature_names=["a", "b", "c", "d"])
    first, second = ensemble.trees
    first = dataclasses.replace(
        first,
        feature=np.array([2, 0, 0], np.int32),
        threshold=np.array([0.1, 0, 0], np.float32),
        default_left=np.array([True, False, False]),
        value=np.array([[0], [-0.3], [2]], np.float32),
        gain=np.array([12.5, 0, 0], np.float32),
        sum_hessian=np.array([30, 10, 20], np.float32),
    )
    ensemble.trees[:] = [first, dataclasses.replace(second, value=np.zeros((1, 1), np.float32))]
    assert dump_text(ensemble).splitlines() == [
        "reg:squarederror: 2 trees, 4 features, base margin 0.3",
        "tree 0: 3 nodes, depth 1",
        "  0: c < 0.1, missing left  (gain 12.5, cover 30)",
        "    1: leaf -0.3  (cover 10)",
        "    2: leaf 2  (cover 20)",
        "tree 1: 1 node, depth 0",
        f"  0: leaf 0  (cover {second.sum_hessian[0]!s})",
    ]


def test_text_has_every_node_once() -> None:
    ensemble = make_ensemble([40])
    lines = dump_text(ensemble).splitlines()[2:]
    assert sorted(int(line.split(":")[0]) for line in lines) == list(range(81))
    assert " f" in lines[0]
