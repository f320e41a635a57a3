"""ONNX files, read by ONNX Runtime."""

from __future__ import annotations

import builtins
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyopencl_gbdt import Model
from pyopencl_gbdt.errors import ModelFormatError, ParameterError
from pyopencl_gbdt.model import CATEGORY_SPLIT, Ensemble, Tree
from pyopencl_gbdt.model.formats.onnx_trees import MOST_LEVELS, Onnx, to_onnx
from pyopencl_gbdt.model.sets import packed
from tests.conftest import TEST_DEVICE
from tests.model.kinds import KINDS, edge_rows, frame, kind, rows, with_sets
from tests.model.samples import make_ensemble

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
OPSETS = (3, 5)


def run(model: Ensemble, X: np.ndarray, opset: int) -> dict[str, np.ndarray]:
    data = to_onnx(model, opset)
    onnx.checker.check_model(onnx.load_from_string(data))
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    found = session.run(None, {"X": np.asarray(X, np.float32)})
    return dict(zip([one.name for one in session.get_outputs()], found, strict=True))


def predicted(model: Ensemble, X: Any, **given: Any) -> np.ndarray:
    return Model(model).predict(X, device=TEST_DEVICE, **given)


def assert_near(found: np.ndarray, expected: np.ndarray) -> None:
    largest = max(1, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * largest)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("name", KINDS)
def test_onnxruntime_predicts_the_same(name: str, opset: int) -> None:
    model = kind(name)
    found, expected = run(model, rows(), opset), predicted(model, rows())
    if "probabilities" not in found:
        assert_near(found["variable"], expected.reshape(len(rows()), -1))
    elif name == "logistic":
        assert_near(found["probabilities"][:, 1], expected)
        clear = np.abs(expected - 0.5) > 1e-6
        np.testing.assert_array_equal(found["label"][clear], expected[clear] > 0.5)
    elif name == "most probable class":
        assert np.mean(found["label"] == expected) > 0.999
    else:
        assert_near(found["probabilities"], expected)
        assert np.mean(found["label"] == expected.argmax(axis=1)) > 0.999


@pytest.mark.parametrize("opset", OPSETS)
def test_decisions_are_the_same_beside_thresholds(opset: int) -> None:
    """Each leaf has a value of its own, so that a wrong decision shows."""
    model = kind("huge thresholds")
    trees = []
    for index, tree in enumerate(model.trees):
        value = np.where(tree.is_leaf, np.arange(tree.n_nodes) * 64.0**index, 0)
        trees.append(replace(tree, value=value.astype(np.float32)[:, None]))
    whole = replace(model, trees=trees[:3], base_margin=0.0, base_score=0.0)
    X = np.concatenate([edge_rows(model), rows()])
    found = run(whole, X, opset)["variable"][:, 0]
    np.testing.assert_array_equal(found, predicted(whole, X))


def coded(text: bool) -> np.ndarray:
    table = frame(text=text)
    for name in ("town", "size"):
        codes = table[name].cat.codes.to_numpy()
        table = table.assign(**{name: np.where(codes < 0, np.nan, codes)})
    return table.to_numpy(np.float32)


@pytest.mark.parametrize("opset", OPSETS)
def test_sets(opset: int) -> None:
    model = with_sets()
    found = run(model, coded(text=True), opset)["variable"][:, 0]
    assert_near(found, predicted(model, frame()))


def stump(n_levels: int, *, default_left: bool = True) -> Ensemble:
    """Return a tree with a split by a set of every second code, up to ``n_levels`` codes."""
    bits = np.zeros(2 * n_levels, np.bool_)
    bits[::2] = True
    leaf = np.array([False, True, True])
    words = packed(bits)
    tree = Tree(
        left=np.array([1, -1, -1], np.int32),
        right=np.array([2, -1, -1], np.int32),
        parent=np.array([-1, 0, 0], np.int32),
        feature=np.zeros(3, np.int32),
        threshold=np.zeros(3, np.float32),
        default_left=~leaf & default_left,
        split_kind=np.array([CATEGORY_SPLIT, 0, 0], np.uint8),
        value=np.array([[0], [1], [2]], np.float32),
        weight=np.zeros((3, 1), np.float32),
        gain=np.zeros(3, np.float32),
        sum_hessian=np.ones(3, np.float32),
        sets=words,
        set_begin=np.array([0, words.size, words.size, words.size], np.int32),
    )
    return make_ensemble([], trees=[tree], n_features=1)


@pytest.mark.parametrize("default_left", [True, False])
@pytest.mark.parametrize("opset", OPSETS)
def test_the_largest_sets(opset: int, default_left: bool) -> None:
    most = MOST_LEVELS[opset]
    model = stump(most, default_left=default_left)
    X = np.append(np.arange(2 * most), np.nan).astype(np.float32)[:, None]
    np.testing.assert_array_equal(run(model, X, opset)["variable"][:, 0], predicted(model, X))
    assert not Onnx(opset).lacks(model)
    assert f"more than {most} levels" in Onnx(opset).lacks(stump(most + 1))


@pytest.mark.parametrize("names", [["no", "yes"], [3, 7]])
def test_names_of_classes(names: list[Any]) -> None:
    text = str(names).replace("'", '"')
    model = replace(kind("logistic"), attributes={"pyopencl_gbdt.classes": text})
    found, expected = run(model, rows(), 3)["label"], predicted(model, rows())
    clear = np.abs(expected - 0.5) > 1e-6
    np.testing.assert_array_equal(
        found[clear], np.array(names)[(expected > 0.5).astype(int)][clear]
    )


def test_files_through_the_doors(tmp_path: Path) -> None:
    model = Model(kind("regression"))
    for name, opset in (("m.onnx", 3), ("m.opset5.onnx", 5)):
        model.save_model(tmp_path / name)
        found = onnx.load(tmp_path / name)
        assert [one.version for one in found.opset_import if one.domain == "ai.onnx.ml"] == [opset]
        assert found.metadata_props[0].value == '["f0", "f1", "f2", "f3", "f4"]'
        with pytest.raises(ModelFormatError, match=r"ONNX.*, which is only written"):
            Model.load_model(tmp_path / name)


def test_bad_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match=r"opset=4: expected 3 or 5"):
        to_onnx(kind("regression"), 4)
    imported = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("onnx"):
            raise ImportError(name)
        return imported(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"need onnx: .*\[onnx\]"):
        to_onnx(kind("regression"))
