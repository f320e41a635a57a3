"""Rows that are added in words of 32 and 32 bits have the sums of pairs of 64 bits."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.switches import JOINT_CODES
from pyopencl_gbdt.device.variants import fallbacks
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE
from tests.reference.joint_columns import rows_of_run

RNG = np.random.default_rng(331)
N = 5000
#: Three columns of 5 values share a place. Column 0 and its neighbours have one code 127 times in
#: each 1024 rows, or 128 times.
FULL = {127: np.arange(N) % 1024 < 127, 128: np.arange(N) % 1024 < 128}


def table(most):
    """Return 54 columns of 5 values: 18 places, the first 16 of which are a block."""
    values = RNG.integers(0, 5, (N, 54)).astype(np.float32)
    rest = np.arange(N)[:, None] // np.array([1, 5, 25]) % 5
    rest[(rest == 4).all(axis=1)] = 0, 0, 1
    values[:, :3] = np.where(FULL[most][:, None], 4, rest)
    return values


TABLES = {most: table(most) for most in FULL}
#: Gradients of one sign just below 2^24 quanta, and a few far above.
NEAR = np.full(N, np.float32(1.9999))
MIXED = np.where(RNG.random(N) < 0.3, -NEAR, RNG.random(N).astype(np.float32))
CASES = {
    "near": (127, NEAR), "more": (128, NEAR), "mixed": (127, MIXED),
    "outliers": (127, np.where(np.arange(N) % 1700 == 3, np.float32(-90), MIXED)),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _whole(device, monkeypatch):
    if fallbacks("whole_trees", device.caps)[0].name != "one_launch":
        pytest.skip("this device grows trees step by step")
    monkeypatch.setenv(JOINT_CODES, "on")


def test_a_run_has_each_code_at_most_127_times():
    for most, expected in ((127, 1024), (128, 512)):
        data, p = Dataset(TABLES[most], NEAR), Parameters.from_dict({"max_depth": 2})
        fit = Fit(open_device(TEST_DEVICE), p, get_objective(p.objective, p), data, 0.0)
        fit.kernels.grower.tree(fit.parts.nodes.batches[0])[-1]()
        found, blocks = fit.parts.arena["run_rows"].get(), fit.parts.arena["place_codes"].get()
        n_places = fit.parts.features.places.n_places
        assert n_places == 18
        by_place = blocks.transpose(0, 2, 1).reshape(-1, N)[:n_places]
        assert rows_of_run(by_place[:16]) == expected
        assert found.tolist() == [expected, 0]  # few places are not packed


@pytest.mark.few(1)
@pytest.mark.parametrize("case", CASES)
def test_the_model_is_that_of_pairs(monkeypatch, case):
    most, labels = CASES[case]
    models = []
    for word in ("on", "off"):
        monkeypatch.setenv(JOINT_CODES, word)
        params = {"device": TEST_DEVICE, "max_depth": 4, "base_score": 0.0}
        model = train(params, Dataset(TABLES[most], labels), 2)
        models.append(to_xgboost_json(model.ensemble))
    assert models[0] == models[1]
