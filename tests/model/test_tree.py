from __future__ import annotations

import copy
import dataclasses
import pickle
import re

import numpy as np
import pytest

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import Ensemble, Tree
from tests.model.samples import make_ensemble, make_tree


@pytest.fixture
def tree() -> Tree:
    return make_tree(np.random.default_rng(0), 3, 4)


def changed(tree: Tree, name: str, index: int, number: float) -> Tree:
    array = getattr(tree, name).copy()
    array[index] = number
    return dataclasses.replace(tree, **{name: array})


def test_arrays_are_copies_and_read_only(tree: Tree) -> None:
    source = np.array(tree.sum_hessian)
    twin = dataclasses.replace(tree, sum_hessian=source)
    source[0] = 99
    assert twin == tree
    with pytest.raises(ValueError, match="read-only"):
        tree.value[0] = 1


def test_equality_sees_every_array(tree: Tree) -> None:
    assert tree == copy.deepcopy(tree) == pickle.loads(pickle.dumps(tree))
    assert tree != "tree"
    assert tree != make_tree(np.random.default_rng(0), 3, 3)
    leaf = int(np.flatnonzero(tree.is_leaf)[0])
    for name in ("threshold", "gain"):
        assert changed(tree, name, 0, 0.5) != tree
    for name in ("weight", "sum_hessian"):
        assert changed(tree, name, 1, 0.5) != tree
    assert changed(tree, "value", leaf, 0.5) != tree
    assert changed(tree, "default_left", leaf, 1) != tree


def test_depth() -> None:
    chain = np.array([-1, 0, 0, 1, 1], np.int32)
    tree = make_tree(np.random.default_rng(0), 1, 2)
    tree = dataclasses.replace(
        tree,
        parent=chain,
        left=np.array([1, 3, -1, -1, -1], np.int32),
        right=np.array([2, 4, -1, -1, -1], np.int32),
        value=np.zeros((5, 1), np.float32),
        threshold=np.zeros(5, np.float32),
        gain=np.zeros(5, np.float32),
        feature=np.zeros(5, np.int32),
    )
    assert tree.depth.tolist() == [0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("name", "index", "number", "message"),
    [
        ("left", 0, 2, r"tree.left[0]=2: expected 1; number the nodes"),
        ("right", 0, -1, r"tree.right[0]=-1: expected 2"),
        ("parent", 0, 0, r"tree.parent[0]=0: expected -1"),
        ("parent", 1, 1, r"tree.parent[1]=1: expected 0"),
        ("feature", 0, -1, r"tree.feature min -1"),
        ("feature", -1, 1, r"]=1: expected 0; write 0 in leaves"),
        ("threshold", 0, np.nan, r"tree.threshold[0]=nan: expected a finite float32"),
        ("threshold", -1, 1, r"write 0 in leaves"),
        ("gain", -1, 1, r"write 0 in leaves"),
        ("value", -1, np.inf, r"=[inf]: expected a finite"),
        ("value", 0, 1, r"tree.value[0]=[1.]: expected [0.]; write 0 in inner nodes"),
        ("split_kind", 0, 2, r"tree.split_kind max 2"),
    ],
)
def test_inconsistent_arrays(
    tree: Tree, name: str, index: int, number: float, message: str
) -> None:
    with pytest.raises(ModelFormatError, match=re.escape(message)):
        changed(tree, name, index, number)


def test_numbering_that_is_no_tree(tree: Tree) -> None:
    def numbered(left: list[int]) -> Tree:
        n_nodes = len(left)
        ids = np.array(left, np.int32)
        zero = np.zeros(n_nodes, np.float32)
        return Tree(
            ids, np.where(ids < 0, -1, ids + 1).astype(np.int32), np.zeros_like(ids),
            np.zeros_like(ids), zero, zero > 1, np.zeros(n_nodes, np.uint8),
            zero[:, None], zero[:, None], zero, zero,
        )  # fmt: skip

    with pytest.raises(ModelFormatError, match="expected more than 1"):
        numbered([-1, 1, -1])
    with pytest.raises(ModelFormatError, match="expected 1 nodes; drop"):
        numbered([-1, -1, -1])
    with pytest.raises(ModelFormatError, match="expected at least a root"):
        numbered([])


def test_wrong_dtype_and_shape(tree: Tree) -> None:
    with pytest.raises(ModelFormatError, match=r"tree\.left is int64"):
        dataclasses.replace(tree, left=tree.left.astype(np.int64))
    with pytest.raises(ModelFormatError, match=r"tree.gain is float32 \(8,\)"):
        dataclasses.replace(tree, gain=tree.gain[1:])
    with pytest.raises(ModelFormatError, match=r"tree.value is float32 \(9,\)"):
        dataclasses.replace(tree, value=tree.value[:, 0])
    with pytest.raises(ModelFormatError, match=r"tree.weight is list"):
        dataclasses.replace(tree, weight=tree.weight.tolist())


def pair(number: float) -> dict[str, object]:
    return {"n_outputs": 2, "base_margin": (number, 0.0), "base_score": (number, 0.0)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_features": 0}, "n_features=0"),
        ({"n_features": 1}, r"trees\[0\] uses feature"),
        ({"base_margin": 0.3}, "base_margin=0.3: expected a float32"),
        ({"base_margin": np.inf}, "base_margin=inf: expected a finite"),
        ({"base_score": np.nan}, "base_score=nan: expected a finite"),
        ({"base_score": 1e39}, r"base_score=1e\+39: expected a finite"),
        ({"feature_names": ["a"]}, "feature_names has 1 entries"),
        ({"n_outputs": 2}, "base_margin has 1 entries: expected n_outputs=2"),
        ({**pair(0.5), "base_score": 0.5}, "base_score has 1 entries"),
        (pair(0.3), "expected a float32; round it"),
        (pair(0.5), "1 trees: expected a multiple of .* = 2 [*] 1"),
        ({"n_parallel": 3}, "1 trees: expected a multiple of .* = 1 [*] 3"),
        ({"n_parallel": 0}, "expected a multiple of"),
    ],
)
def test_inconsistent_ensemble(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        make_ensemble([8], **changes)


def test_base_score_is_rounded_to_float32() -> None:
    ensemble = Ensemble([], "reg:squarederror", 1, float(np.float32(0.3)), 0.3)
    assert ensemble.base_score == float(np.float32(0.3))
    assert ensemble == pickle.loads(pickle.dumps(ensemble))
