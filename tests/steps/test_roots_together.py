"""Roots of several trees that are read together have the trees of roots read one by one."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device.variants import fallbacks
from pyopencl_gbdt.growth.whole_trees import WholeTrees
from pyopencl_gbdt.model import to_xgboost_json
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(44)
N = 900
#: Numbers, of which one lacks values, and indicators: 11 places, and 15 with joint codes.
NUMBERS = RNG.standard_normal((N, 11)).astype(np.float32)
NUMBERS[::9, 3] = np.nan
X = np.hstack([NUMBERS[:, :10], RNG.integers(0, 2, (N, 40))]).astype(np.float32)
SCORE = np.nan_to_num(X) @ RNG.standard_normal((50, 7)) + RNG.gumbel(size=(N, 7))
SOFTMAX = {"objective": "multi:softprob"}
#: Values, label and parameters: groups of 4, 2 and 1 trees; of 4 and 1; of 2 and 1; of 4 and 2.
CASES = {
    "seven": (X, SCORE.argmax(1), {**SOFTMAX, "num_class": 7}),
    "five": (NUMBERS, SCORE[:, :5].argmax(1), {**SOFTMAX, "num_class": 5, "max_depth": 1}),
    "three": (NUMBERS[:, :3], SCORE[:, :3].argmax(1), {**SOFTMAX, "num_class": 3}),
    "forest": (X, SCORE[:, 0], {"num_parallel_tree": 6, "subsample": 0.5}),
    "high_words": (X, np.where(np.arange(N)[:, None] % 350 == 7, SCORE * 1e7, SCORE), {}),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("case", CASES)
def test_the_model_is_that_of_roots_one_by_one(monkeypatch, device, case):
    if fallbacks("whole_trees", device.caps)[0].name != "one_launch":
        pytest.skip("this device grows trees step by step")
    values, label, params = CASES[case]
    together, models = WholeTrees._roots_at_once, []
    for way in (together, property(lambda grower: 0)):
        monkeypatch.setattr(WholeTrees, "_roots_at_once", way)
        found = {"device": TEST_DEVICE, "max_depth": 4, **params}
        models.append(to_xgboost_json(train(found, Dataset(values, label), 3).ensemble))
    assert models[0] == models[1]
