"""Few rows, and rows where there is no device, walk the trees on the host, to a device's bits."""

import subprocess
import sys
import textwrap
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.data.arrays.check_sparse import check_sparse
from pyopencl_gbdt.device import discovery, open_device
from pyopencl_gbdt.device.drivers import forked
from pyopencl_gbdt.errors import DataError, DeviceError, NoDeviceError
from pyopencl_gbdt.prediction import host_walk, walk_rows
from pyopencl_gbdt.prediction.margins import predict_margins
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.reference import predict as twin
from tests.steps.test_predict import (
    SPECIAL,
    codes_of,
    ensemble,
    model_of,
    random_tree,
    tree_of,
    with_sets,
)

STATISTICS = {"cat_method": "statistics", "max_ctr_complexity": 2}
CASES = {
    "binary": {"objective": "binary:logistic"},
    "forests of classes": {
        "objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2, "subsample": 0.5,
    },
    "leaf-wise": {"max_depth": 0, "max_leaves": 9, "grow_policy": "lossguide"},
    "counts": {"objective": "count:poisson"},
    "statistics": {"objective": "binary:logistic", **STATISTICS},
    "sets": {"objective": "binary:logistic", "cat_method": "sets"},
    "symmetric": {"grow_policy": "symmetric"},
}  # fmt: skip
BY_LEVELS = {"statistics": [1, 4], "sets": [1]}
N_ROWS = 9


def rows_of(n, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    X[:, 1], X[:, 2] = rng.integers(0, 30, n), rng.choice([0, -0.0, 1e-40, -1e-40, 1], n)
    X[:, 4] = rng.integers(0, 4, n)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


@cache
def trained(name):
    X = rows_of(400)
    given = CASES[name]
    label = (np.nan_to_num(X[:, 0]) > 0).astype(int) + (np.nan_to_num(X[:, 2]) > 0)
    label += (np.nan_to_num(X[:, 1]) % 7 > 3) if name == "sets" else 0
    label = label if "num_class" in given else np.minimum(label, 1)
    params = {"max_depth": 4, **given, "device": TEST_DEVICE}
    return train(params, Dataset(X, label, categorical_features=BY_LEVELS.get(name)), 5)


@pytest.fixture(scope="module", params=CASES)
def model(request):
    return trained(request.param)


@pytest.fixture
def rng():
    return np.random.default_rng(12)


@pytest.fixture
def no_device(monkeypatch):
    """No OpenCL, no CUDA, and nothing is remembered of devices that were there."""
    monkeypatch.setattr(discovery, "_opencl", lambda: ([], ["OpenCL: no platform"]))
    monkeypatch.setattr(discovery, "_cuda", lambda: ([], []))
    monkeypatch.setattr(walk_rows, "_found", {})
    monkeypatch.delenv(discovery.ENVIRONMENT, raising=False)


def on_a_host(model, values, device=TEST_DEVICE, rounds=(0, 5)):
    return walk_rows.host_rows(model.ensemble, values, device, rounds)


# -- few rows, where there is a device -------------------------------------------------------------
@pytest.mark.few(4)
@pytest.mark.parametrize("n_rows", [1, N_ROWS])
def test_margins_are_those_of_a_device(model, n_rows):
    X, n_outputs = rows_of(n_rows, seed=4), model.ensemble.n_outputs
    values = model.tree_values(X)
    start = np.random.default_rng(5).normal(size=(n_outputs, n_rows)).astype(np.float32)
    few = on_a_host(model, values, rounds=(1, 3)).margins(start, (1, 3))
    found = predict_margins(model.ensemble, values, TEST_DEVICE, start=start, rounds=(1, 3))
    assert_same_bits(few.squeeze(), found.squeeze())
    of_device = model.predict(X, device=open_device(TEST_DEVICE))
    assert_same_bits(model.predict(X, device=TEST_DEVICE), of_device)


def test_others_go_to_the_device(model, device, monkeypatch):
    values = model.tree_values(rows_of(N_ROWS))
    assert on_a_host(model, values, device) is None
    for name, few in (
        ("MOST_WALKS", N_ROWS),
        ("MOST_NODES", 2),
        ("_MOST_KEPT", 2),
        ("_MOST_VALUES", 8),
    ):
        monkeypatch.setattr(walk_rows, name, few)
        assert on_a_host(model, values) is None
        assert on_a_host(model, values, "auto") is None
        monkeypatch.undo()
    assert on_a_host(model, values) is not None
    with pytest.raises(NoDeviceError, match="device='nothing'"):
        model.predict(rows_of(1), device="nothing")


# -- no device -------------------------------------------------------------------------------------
def test_predictions_are_those_of_a_device(model, device, no_device, monkeypatch):
    X = rows_of(300, seed=6)
    wanted = model.predict(X, device=device)
    for rows in (300, 7):
        monkeypatch.setattr(host_walk, "_ROWS", rows)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert_same_bits(model.predict(X), wanted)
    some = {"iteration_range": (1, 4), "output_margin": True}
    assert_same_bits(model.predict(X, **some), model.predict(X, **some, device=device))


@pytest.mark.parametrize("walks", [1, 50, 2**14])
def test_random_trees(walks, no_device, rng, monkeypatch):
    """Of any shape, with sets, special values, and chains below the upper levels."""
    monkeypatch.setattr(host_walk, "_WALKS", walks)
    nan = np.array([0x7FC00000, 0xFFC00000, 0x7F800001], np.uint32).view(np.float32)
    chain = np.array([1, 3, -1, 5, -1, 7, -1, 9, -1, 11, -1, -1, -1])
    trees = [*ensemble(rng, 20, 3, SPECIAL).trees, tree_of(rng, chain, 3, SPECIAL)]
    values = rng.choice(np.concatenate([SPECIAL, nan, np.float32([np.inf])]), (200, 3))
    margins, model = check(trees, values), model_of(trees, 3)
    ids = on_a_host(Model(model), values, "auto", (0, 21)).leaf_ids(range(21))
    assert ids.tolist() == [[twin.leaf_of(tree, x) for tree in trees] for x in values]
    stages = np.empty((21, 1, 200), np.float32)
    start = np.full((1, 200), np.float32(0.25))
    on_a_host(Model(model), values, "auto", (0, 21)).margins(start, (0, 21), stages)
    assert_same_bits(stages[-1, 0], margins)
    assert_same_bits(stages[7, 0], twin.predict(model_of(trees[:8], 3), values))
    check([with_sets(rng, tree, [1, 2, 40]) for tree in trees], codes_of(rng, 200, 3, 1400))


def check(trees, values):
    model = model_of(trees, values.shape[1])
    margins = on_a_host(Model(model), values, "auto", (0, len(trees))).margins(
        np.full((1, len(values)), np.float32(0.25)), (0, len(trees))
    )[0]
    assert_same_bits(margins, twin.predict(model, values))
    return margins


def test_sparse_rows(no_device, rng, monkeypatch):
    dense = rng.normal(size=(90, 40)).astype(np.float32)
    dense[rng.random(dense.shape) < 0.7] = np.nan
    rows = check_sparse(as_sparse(dense))
    monkeypatch.setattr(host_walk, "_KEYS", 200)
    check(ensemble(rng, 9, 40, SPECIAL).trees, rows)
    with pytest.raises(DataError, match="X is sparse"):
        check([with_sets(rng, random_tree(rng, 40, 5, SPECIAL), [1])], rows)


def as_sparse(dense):
    sparse = pytest.importorskip("scipy.sparse")
    row, column = np.nonzero(~np.isnan(dense))
    return sparse.csr_matrix((dense[row, column], (row, column)), dense.shape)


def test_only_auto_and_only_predictions_do_without(model, no_device, monkeypatch):
    X = rows_of(500, seed=7)
    for name in ("gpu", "opencl:0:0", "cpu"):
        with pytest.raises(NoDeviceError, match=f"device='{name}'"):
            model.predict(X, device=name)
    with pytest.raises(DeviceError, match="no usable device"):
        train({}, Dataset(X, X[:, 2] > 0), 1)
    monkeypatch.setenv(discovery.ENVIRONMENT, "gpu")
    with pytest.raises(NoDeviceError, match="device='gpu' \\(PYOPENCL_GBDT_DEVICE\\)"):
        model.predict(X)


@pytest.mark.parametrize("model", ["binary"], indirect=True)
def test_a_forked_process_predicts_as_its_parent_did(model, no_device, monkeypatch):
    """Without a driver there are no threads that a fork would lose."""
    X = rows_of(50)
    wanted = model.predict(X)
    monkeypatch.setattr(forked, "_is_child", True)
    assert_same_bits(model.predict(X), wanted)
    with pytest.raises(DeviceError, match="was forked"):
        model.predict(X, device=TEST_DEVICE)


@pytest.mark.parametrize("model", ["forests of classes"], indirect=True)
def test_threads_predict_on_one_model(model, no_device, tmp_path):
    """Also the first ones, which lay out the trees together."""
    X = rows_of(600, seed=8)
    wanted = [model.predict(X[i : i + 50]) for i in range(0, 600, 50)]
    model.save_model(tmp_path / "m.json")
    again = Model.load_model(tmp_path / "m.json")
    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda i: again.predict(X[i : i + 50]), range(0, 600, 50)))
    for own, expected in zip(found, wanted, strict=True):
        assert_same_bits(own, expected)


ALONE = """
import sys

BLOCKED = {"pyopencl", "mako", "scipy", "sklearn", "cupy", "pandas", "pyarrow"}
sys.modules.update(dict.fromkeys(BLOCKED))  # an import of them raises

from pathlib import Path
import numpy as np
import pyopencl_gbdt
from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.cli import main

folder = Path(sys.argv[1])
X = np.load(folder / "X.npy")
for file in sorted(folder.glob("*.json")):
    model = Model.load_model(file)
    np.save(file.with_suffix(".alone.npy"), model.predict(X))
    np.save(file.with_suffix(".leaves.npy"), model.predict(X, pred_leaf=True))
np.savetxt(folder / "rows.csv", X, delimiter=",", fmt="%.9g")
predict = ["predict", "--model", str(folder / "binary.json"), "--no-label", "--out"]
assert main([*predict, str(folder / "out.txt"), str(folder / "rows.csv")]) == 0
assert main([*predict, str(folder / "sparse.txt"), str(folder / "rows.libsvm")]) == 0
try:
    train({}, Dataset(X, X[:, 2] > 0), 1)
except pyopencl_gbdt.errors.NoDeviceError as error:
    assert "pyopencl" in str(error)
else:
    raise AssertionError("trained without a device")
assert not any(sys.modules[name] for name in BLOCKED)
"""


def test_numpy_alone_predicts(tmp_path, device, monkeypatch):
    """Without a driver, and where nothing but NumPy can be imported."""
    monkeypatch.delenv("PYOPENCL_GBDT_DEVICE", raising=False)
    X = rows_of(120, seed=9)
    X[:3] = np.float32([[0, 1, -0.0, 3, 2], [1e-40, 2, 0, 0, 1], [np.nan] * 4 + [1]])
    wanted = {}
    for name in CASES:
        made = trained(name)
        made.save_model(tmp_path / f"{name}.json")
        wanted[name] = (
            made.predict(X, device=device),
            made.predict(X, device=device, pred_leaf=True),
        )
    np.save(tmp_path / "X.npy", X)
    present = [" ".join(f"{i}:{v}" for i, v in enumerate(row) if v == v) for row in X]
    (tmp_path / "rows.libsvm").write_text("\n".join(present) + "\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALONE, str(tmp_path)],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("", "".join(
        f"120 predictions written to {tmp_path / name}.txt\n" for name in ("out", "sparse")
    ))  # fmt: skip
    for name, (predictions, leaves) in wanted.items():
        assert_same_bits(np.load(tmp_path / f"{name}.alone.npy"), predictions, name)
        assert_same_bits(np.load(tmp_path / f"{name}.leaves.npy"), leaves, name)
    for name in ("out", "sparse"):
        text = (tmp_path / f"{name}.txt").read_text(encoding="utf-8")
        assert_same_bits(np.float32(text.split()), wanted["binary"][0])


@pytest.mark.thorough
def test_estimators_predict_without_pyopencl(tmp_path, device):
    """scikit-learn brings SciPy."""
    X = rows_of(50, seed=10)
    made = trained("binary")
    made.save_model(tmp_path / "m.json")
    np.save(tmp_path / "X.npy", X)
    code = """
    import sys

    sys.modules.update(dict.fromkeys(["pyopencl", "mako"]))  # an import of them raises
    import numpy as np
    from pyopencl_gbdt import GBDTClassifier

    folder = sys.argv[1]
    model, X = GBDTClassifier().load_model(folder + "/m.json"), np.load(folder + "/X.npy")
    np.save(folder + "/found.npy", model.predict_proba(X)[:, 1])
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)],
        cwd=Path(__file__).parents[2], timeout=100, check=True,
    )  # fmt: skip
    assert_same_bits(np.load(tmp_path / "found.npy"), made.predict(X, device=device))
