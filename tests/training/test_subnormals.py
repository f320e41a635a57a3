"""No bit of a model depends on a number below 2^-126: some devices flush them to zero.

PoCL switches the processor to flushing them if its compiler is told so, which makes it such a
device. Each case trains on both kinds, and predicts the same rows.
"""

import numpy as np
import pytest

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.targets import check_base_margin
from pyopencl_gbdt.device.drivers import measured_facts
from pyopencl_gbdt.device.opencl import device as opencl
from pyopencl_gbdt.device.opencl.pocl import POCL
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.numerics.portable_math import as_margin, finite
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.train import train
from tests.reference.train import train_reference

N_ROWS = 300
RNG = np.random.default_rng(4)
WHOLE = RNG.integers(-8, 9, (N_ROWS, 3)).astype(np.float32)
SIGNAL = (WHOLE[:, 0] * WHOLE[:, 1] + RNG.normal(size=N_ROWS)).astype(np.float32)
CLASS = (SIGNAL > 0).astype(np.float32)
SQUARED = {"objective": "reg:squarederror"}


def scaled(values, power):
    return (values * np.float32(2.0) ** power).astype(np.float32)


def half(values, power):
    """Values of which every second one is tiny."""
    out = values.copy()
    out[::2] = scaled(values[::2], power)
    return out


#: Parameters, values, labels, weights.
CASES = {
    "values": ({"objective": "binary:logistic"}, half(WHOLE, -131), CLASS, None),
    "values, exact": ({**SQUARED, "tree_method": "exact"}, half(WHOLE, -128), SIGNAL, None),
    "labels below": (SQUARED, WHOLE, scaled(SIGNAL, -130), None),
    "labels near": (SQUARED, WHOLE, scaled(SIGNAL, -126), None),
    "labels small": (SQUARED, WHOLE, half(SIGNAL, -110), None),
    "medians near": ({"objective": "reg:absoluteerror"}, WHOLE, scaled(SIGNAL, -125), None),
    "quantiles small": (
        {"objective": "reg:quantileerror", "quantile_alpha": 0.3}, WHOLE, scaled(SIGNAL, -101), None
    ),
    "counts": ({"objective": "count:poisson"}, WHOLE, np.abs(half(SIGNAL, -128)), None),
    "weights": ({"objective": "binary:logistic"}, WHOLE, CLASS, half(np.abs(SIGNAL) + 1, -128)),
    "learning rate": ({**SQUARED, "learning_rate": 1.5e-38}, WHOLE, SIGNAL, None),
    "small rate": ({**SQUARED, "learning_rate": 1e-30}, WHOLE, SIGNAL, None),
    "subnormal rate": ({**SQUARED, "learning_rate": 1e-40}, WHOLE, scaled(SIGNAL, 120), None),
    "alpha": ({**SQUARED, "reg_alpha": 1e-40}, WHOLE, scaled(SIGNAL, -90), None),
    "step": ({**SQUARED, "max_delta_step": 1e-40}, WHOLE, SIGNAL, None),
    "small step": ({**SQUARED, "max_delta_step": 1e-30}, WHOLE, scaled(SIGNAL, 90), None),
    "huge labels": ({**SQUARED, "reg_lambda": 1e-3}, WHOLE, scaled(SIGNAL, 120), None),
}  # fmt: skip


def bits(device, case):
    params, values, label, weight = CASES[case]
    params = {**params, "max_depth": 3, "device": device.caps.device_id}
    model = train(params, Dataset(values, label, weight), 3)
    margins = model.predict(half(WHOLE, -127), device=device, output_margin=True)
    return to_xgboost_json(model.ensemble), margins.tobytes()


@pytest.fixture(scope="module")
def flushed(device):
    """A function that returns a case's bits on a device that flushes subnormals."""
    if device.caps.platform != POCL:
        pytest.skip("only PoCL flushes subnormals on request")
    usual = opencl.OpenCLDevice._options

    def flushing(patch):
        patch.setattr(
            opencl.OpenCLDevice, "_options", lambda *a: [*usual(*a), "-cl-denorms-are-zero"]
        )

    def of(case):
        with pytest.MonkeyPatch.context() as patch:
            flushing(patch)
            return bits(device, case)

    with pytest.MonkeyPatch.context() as patch:
        flushing(patch)
        assert measured_facts.subnormals(device) == 1
    return of


@pytest.mark.few(2)
@pytest.mark.more(3)
@pytest.mark.parametrize("case", CASES)
def test_a_device_that_flushes_them_trains_the_same_model(device, flushed, case):
    assert bits(device, case) == flushed(case)


@pytest.mark.parametrize(
    "case", ["labels near", "medians near", "quantiles small", "small rate", "step", "small step"]
)
def test_the_twin_trains_it_too(device, case):
    params, values, label, weight = CASES[case]
    given = {**params, "max_depth": 3, "n_estimators": 3}
    twin = train_reference(Parameters.from_dict(given), values, label, weight)
    assert to_xgboost_json(twin) == bits(device, case)[0]


def test_what_is_added_to_margins_has_no_subnormal_sums():
    tiny = np.float32(2.0) ** np.array([-149, -127, -126, -102, -101, -100], np.float32)
    assert as_margin(tiny).tolist() == [0, 0, 0, 0, 2.0**-101, 2.0**-100]
    assert finite(tiny).tolist() == [0, 0, 0, *tiny[3:].tolist()]
    assert np.signbit(as_margin(-tiny)).all()
    parts = as_margin(RNG.uniform(-1, 1, 10_000).astype(np.float32) * np.float32(2.0**-100))
    sums = np.cumsum(parts, dtype=np.float32)
    assert not (((sums != 0) & (np.abs(sums) < np.float32(2.0**-126))).any())


def test_tiny_margins_of_users_count_as_zero():
    margin = np.array([1, 1e-40, 0, -(2.0**-130), 2.0**-101], np.float32)
    assert check_base_margin(margin, 5).tolist() == [1, 0, 0, 0, 2.0**-101]
    whole = margin[[0, 2, 4]]
    assert np.shares_memory(check_base_margin(whole, 3), whole)
