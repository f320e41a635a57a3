"""links: devices convert margins to the bits that the host's functions give."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.prediction import margins as links
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE

KERNEL = "links"
OPTIMISED = True
LOSSES = {
    "binary:logistic": {},
    "count:poisson": {},
    "multi:softprob": {"num_class": 3},
}


@pytest.mark.parametrize("name", LOSSES)
def test_equals_the_host(device, variant, force, rng, name):
    force(variant)
    objective = get_objective(name, LOSSES[name])
    assert objective.device_link
    for n in (1, 5000):
        shape = (3, n) if name == "multi:softprob" else (n,)
        margins = (rng.normal(size=shape) * np.exp(rng.normal(0, 4, shape))).astype(np.float32)
        special = np.array([0, -0.0, 1e-40, 3e38, -3e38, 50, -80], np.float32)
        margins.flat[: special.size] = special[: margins.size]
        there = device.upload(margins)
        links.apply_link(device, objective.device_link, there)
        assert_same_bits(there.get(), objective.to_prediction(margins))


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["binary:logistic", "multi:softprob"])
def test_predictions_are_the_same(monkeypatch, rng, name):
    X = rng.normal(size=(300, 4)).astype(np.float32)
    params = {"objective": name, **LOSSES[name], "device": TEST_DEVICE, "max_depth": 3}
    model = train(params, Dataset(X, X[:, 0] > 0), 3)
    wanted = model.predict(X)
    monkeypatch.setattr(links, "FEW_MARGINS", 0)
    assert_same_bits(model.predict(X), wanted)
    monkeypatch.setattr(links, "MOST_BYTES", 0)
    assert_same_bits(model.predict(X), wanted)


def test_few_margins_stay_on_the_host():
    assert not links.on_device("sigmoid", links.FEW_MARGINS - 1, 1)
    assert not links.on_device("", 10**9, 1)
    assert links.on_device("sigmoid", 10**9, 1)
    assert not links.on_device("softmax", 10**9, 3)
