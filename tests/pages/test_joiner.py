"""Joint codes that are made of a piece of rows at a time: memory, and what was not expected."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device, staging
from pyopencl_gbdt.device.switches import JOINT_CODES
from pyopencl_gbdt.errors import KernelBuildError, KernelFallbackWarning, ParameterError
from pyopencl_gbdt.growth import histogram, joint_columns
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.pages import budget, joiner
from pyopencl_gbdt.pages.cuts import CUT_RULES, cut_features, layout_of
from pyopencl_gbdt.pages.joiner import expected_layout
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.primitives import histogram_kernel
from pyopencl_gbdt.primitives.packed_codes import bytes_of_codes
from pyopencl_gbdt.training import joint_pages, placement
from pyopencl_gbdt.training.fit import Fit
from pyopencl_gbdt.training.memory_estimate import estimate_memory
from tests.conftest import TEST_DEVICE
from tests.training.test_work import LABELS

N_ROWS, N_FEATURES = 6000, 60
PARAMS = {"max_depth": 3, "max_bin": 5}


@pytest.fixture(autouse=True)
def _gpu(monkeypatch):
    """Let the device have the kernels of GPUs, and pieces few rows."""
    monkeypatch.setenv("PYOPENCL_GBDT_PRETEND", "gpu")
    monkeypatch.setenv(JOINT_CODES, "alone")
    monkeypatch.setattr(histogram_kernel, "_LEAST_PAIRED", 0)
    monkeypatch.setattr(staging, "PIECE_BYTES", 4 * N_FEATURES * 100)
    monkeypatch.setattr(budget, "PIECE_BYTES", 4 * N_FEATURES * 100)
    monkeypatch.setattr(budget, "LEAST_BYTES", 0)
    monkeypatch.setattr(budget, "BATCH_BYTES", 4 * N_ROWS)


@pytest.fixture
def _pays(monkeypatch):
    """Let joint codes stand alone wherever they can, as on a GPU of NVIDIA with large data."""
    monkeypatch.setenv(JOINT_CODES, "auto")
    monkeypatch.setattr(joint_columns, "joint_codes_pay", lambda facts: True)
    monkeypatch.setattr(joint_pages, "_pays", lambda facts: True)
    monkeypatch.setattr(placement, "may_stand_alone", lambda facts, n_features: True)


def data(n_values=5):
    rng = np.random.default_rng(5)
    X = rng.integers(0, n_values, (N_ROWS, N_FEATURES)).astype(np.float32)
    return Dataset(X, X[:, 3] - X[:, 9] * X[:, 31])


def opened(**caps):
    device = open_device(TEST_DEVICE)
    device.borrows = False
    device.caps = replace(device.caps, **caps)
    return device


def fit_of(device, rows, **params):
    p = Parameters.from_dict({**PARAMS, **params})
    return Fit(device, p, get_objective(p.objective, p), rows, 0.0), p


def digest_of(fit):
    fit.run(3)
    return fit.finished_digest()


@pytest.mark.parametrize("share", [1.0, 0.2], ids=["by row", "by column"])
def test_quantising_takes_no_more_than_joint_codes_and_a_piece(asked, share):
    device, rows = opened(), data()
    own = bytes_of_codes(device, N_ROWS, N_FEATURES, 5)
    fit, p = fit_of(device, rows, colsample_bytree=share)
    peak = device.peak_bytes
    assert fit.parts.rows.kinds()["codes"].startswith("joint")
    assert peak < 1.1 * device.allocated_bytes < 0.8 * own
    planned = estimate_memory(opened(), p, N_ROWS, N_FEATURES)
    assert [one for one in planned.allocations if one.name != LABELS] == asked[device]
    assert planned.peak_bytes == pytest.approx(peak, rel=1e-3)


def test_data_fit_whose_own_codes_do_not(monkeypatch):
    own = bytes_of_codes(opened(), N_ROWS, N_FEATURES, 5)
    small = {"global_bytes": own - 1000}
    fit, _ = fit_of(opened(**small), data())
    found = digest_of(fit)
    assert fit.parts.rows.kinds() == {"page": "dense", "codes": "joint, by row"}
    monkeypatch.setenv(JOINT_CODES, "off")
    streamed, _ = fit_of(opened(**small), data())
    assert streamed.parts.rows.kinds()["page"] == "streamed"
    assert digest_of(streamed) == found


@pytest.mark.usefixtures("_pays")
@pytest.mark.parametrize("share", [4.0, 1.25], ids=["fits", "streams"])
def test_columns_of_more_values_than_some_rows_told(monkeypatch, share):
    monkeypatch.setattr(joiner, "_SAMPLED_ROWS", 50)
    rows = data()
    values = rows.values.copy()
    told = np.linspace(0, N_ROWS - 1, 50).astype(np.int64)
    others = np.setdiff1d(np.arange(N_ROWS), told)
    values[others] = np.random.default_rng(6).random((others.size, N_FEATURES))
    rows = Dataset(values, rows.label)
    memory = int(share * bytes_of_codes(opened(), N_ROWS, N_FEATURES, 140))
    fit, _ = fit_of(opened(global_bytes=memory), rows, max_bin=140)
    assert fit.parts.rows.kinds() == {"page": "dense" if share > 2 else "streamed"}
    found = digest_of(fit)
    monkeypatch.setenv(JOINT_CODES, "off")
    assert digest_of(fit_of(opened(), rows, max_bin=140)[0]) == found


@pytest.mark.parametrize("kind", ["numbers", "levels", "given cuts"])
def test_some_rows_tell_how_many_codes_columns_have(kind):
    rng, device = np.random.default_rng(7), opened()
    X = rng.integers(0, np.arange(1, 9), (900, 8)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 2] = np.nan
    if kind == "levels":
        rows = Dataset(np.nan_to_num(X), np.nan_to_num(X[:, 7]), categorical_features=[1, 5])
    else:
        rows = Dataset(X, np.nan_to_num(X[:, 7]))
    if kind == "given cuts":
        rows.cut_points = {3: np.array([0.5, 2.5], np.float32)}
    found = expected_layout(rows, device, 8, CUT_RULES["shares"])
    quantizer = Quantizer(device, rows.values, None, 8, cut=cut_features(rows))
    layout = layout_of(quantizer.cuts(), rows)
    wanted = np.diff(layout.feature_offset).astype(int)
    told = np.diff(found.feature_offset).astype(int)
    assert (told <= wanted).all()
    assert told.sum() > 0.8 * wanted.sum()


@pytest.mark.usefixtures("nothing_refused", "_pays")
def test_a_driver_that_fails_to_read_joint_codes_gets_the_columns_own(monkeypatch):
    class Failing(histogram.HistogramKernel):
        def __init__(self, *arguments, joint=None, **options):
            if joint is not None:
                raise KernelBuildError("not today")
            super().__init__(*arguments, joint=joint, **options)

    rows = data()
    monkeypatch.setenv(JOINT_CODES, "off")
    wanted = to_xgboost_json(train({**PARAMS, "device": TEST_DEVICE}, rows, 3).ensemble)
    monkeypatch.setenv(JOINT_CODES, "auto")
    monkeypatch.setattr(histogram, "HistogramKernel", Failing)
    with pytest.warns(KernelFallbackWarning) as said:
        model = train({**PARAMS, "device": TEST_DEVICE}, rows, 3)
    assert "joint codes are all that is stored" in str(said[-1].message)
    assert "codes" not in model.variants
    assert to_xgboost_json(model.ensemble) == wanted


@pytest.mark.usefixtures("nothing_refused")
def test_a_driver_that_fails_and_was_asked_says_what_to_unset(monkeypatch):
    def build(*arguments, joint=None, **options):
        raise KernelBuildError("not today")

    monkeypatch.setattr(histogram, "HistogramKernel", build)
    with (
        pytest.warns(KernelFallbackWarning),
        pytest.raises(ParameterError, match=rf"^{JOINT_CODES}='alone': .*; unset it$"),
    ):
        train({**PARAMS, "device": TEST_DEVICE}, data(), 3)
