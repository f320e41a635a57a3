"""Arrays of other libraries as input: PyOpenCL's, CuPy's, and what speaks DLPack.

What lies on the fit's device as float32 in C order is read there: a copy to the host would fail.
"""

import contextlib
import sys
import types

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, GBDTClassifier, GBDTRegressor, partial_dependence, train
from pyopencl_gbdt.data import check_matrix, check_target, check_weight
from pyopencl_gbdt.data.features import check_features
from pyopencl_gbdt.device import foreign as foreign_module
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.prediction import margins as prediction_module
from pyopencl_gbdt.prediction import walk_cells
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(11)
X = RNG.normal(size=(3000, 5)).astype(np.float32)
X[::7, 2] = np.nan
Y = (X[:, 0] > 0).astype(np.float32)
SMALL = {"max_depth": 3}


class Exporter:
    """An array that speaks DLPack and nothing else."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


@pytest.fixture
def no_copy(monkeypatch):
    """Fail where a matrix is copied from a device to the host."""

    def host(self):
        raise AssertionError("copied to the host")

    for kind in (foreign_module._OpenCLMatrix, foreign_module._CudaMatrix):
        monkeypatch.setattr(kind, "host", host)


def check_fit(on_device, device):
    """Train, evaluate, continue and predict with arrays of a device, and beside with NumPy's."""
    params = {**SMALL, "device": device.caps.device_id}
    found, wanted = (
        train(params, Dataset(rows, Y), 3, evals=[(Dataset(rows, Y), "test")])
        for rows in (on_device, X)
    )
    assert to_xgboost_json(found.ensemble) == to_xgboost_json(wanted.ensemble)
    assert found.history == wanted.history
    more = train(params, Dataset(on_device, Y), 2, model=found)
    again = train(params, Dataset(X, Y), 2, model=found)
    assert to_xgboost_json(more.ensemble) == to_xgboost_json(again.ensemble)
    for rows in (on_device, Dataset(on_device)):
        np.testing.assert_array_equal(
            found.predict(rows, device=device), wanted.predict(X, device=device)
        )
    estimator = GBDTRegressor(n_estimators=2, max_depth=3, device=device.caps.device_id)
    alone = GBDTRegressor(n_estimators=2, max_depth=3, device=device.caps.device_id).fit(X, Y)
    estimator.fit(on_device, Y, eval_set=[(on_device, Y)])
    np.testing.assert_array_equal(estimator.predict(on_device), alone.predict(X))


# -- DLPack on the host --------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "u1", "?"])
def test_dlpack_of_the_host(dtype):
    given = np.array([[0, 1], [1, 0]], dtype)
    matrix, names = check_matrix(Exporter(given))
    np.testing.assert_array_equal(matrix, given.astype(np.float32))
    assert names is None
    np.testing.assert_array_equal(check_matrix(Exporter(np.asfortranarray(given)))[0], given)
    assert np.shares_memory(check_matrix(Exporter(X))[0], X)


def test_dlpack_of_targets_and_weights():
    for check in (check_target, check_weight):
        assert check(Exporter(Y), len(Y)).tolist() == Y.tolist()
    estimator = GBDTClassifier(n_estimators=2, max_depth=2, device=TEST_DEVICE)
    estimator.fit(Exporter(X), Exporter(Y), sample_weight=Exporter(Y + 1))
    alone = GBDTClassifier(n_estimators=2, max_depth=2, device=TEST_DEVICE).fit(X, Y, Y + 1)
    np.testing.assert_array_equal(estimator.predict_proba(Exporter(X)), alone.predict_proba(X))


def test_dlpack_that_fails():
    class Broken(Exporter):
        def __dlpack__(self, **options):
            raise BufferError("no such luck")

    with pytest.raises(DataError, match="X is not an array of numbers: no such luck"):
        check_matrix(Broken(X))
    with pytest.raises(DataError, match=r"X has shape \(3000,\)"):
        check_matrix(Exporter(Y))
    with pytest.raises(DataError, match=r"1 infinite value, the first \(inf\) at row 0, column 1"):
        check_matrix(Exporter(np.float32([[0, np.inf]])))


def test_an_unknown_device_is_asked_for_host_memory():
    class Elsewhere(Exporter):
        def __dlpack_device__(self):
            return (10, 0)

        def __dlpack__(self, *, dl_device=None, **options):
            if dl_device != (1, 0):
                raise BufferError("elsewhere")
            return self._array.__dlpack__(**options)

    if np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("NumPy before 2.1 asks for no device")
    np.testing.assert_array_equal(check_matrix(Elsewhere(X))[0], X)


def test_torch():
    torch = pytest.importorskip("torch")
    rows, y = torch.from_numpy(X.copy()), torch.from_numpy(Y.copy())
    for given in (rows, rows.double(), rows.T.contiguous().T):
        np.testing.assert_array_equal(check_matrix(given)[0], X)
    estimator = GBDTRegressor(n_estimators=2, device=TEST_DEVICE).fit(rows, y, sample_weight=y + 1)
    alone = GBDTRegressor(n_estimators=2, device=TEST_DEVICE).fit(X, Y, Y + 1)
    np.testing.assert_array_equal(estimator.predict(rows), alone.predict(X))
    with pytest.raises(DataError, match=r"X is not an array of numbers.*requires grad"):
        check_matrix(rows.clone().requires_grad_())
    with pytest.raises(DataError, match=r"X is not an array of numbers.*BFloat16"):
        check_matrix(rows.bfloat16())


# -- OpenCL --------------------------------------------------------------------------------------
@pytest.fixture
def opencl(device):
    if device.caps.api != "opencl":
        pytest.skip("the tests' device is no OpenCL one")
    return device


def to_opencl(values, queue):
    array = pytest.importorskip("pyopencl.array")
    return array.to_device(queue, values)


def test_pyopencl_arrays_are_read_where_they_lie(opencl, no_copy):
    check_fit(to_opencl(X, opencl.queue), opencl)


def test_own_arrays_are_read_where_they_lie(opencl, no_copy):
    check_fit(opencl.upload(X), opencl)


def test_pieces_of_a_pyopencl_array(opencl, no_copy, monkeypatch):
    model = train({**SMALL, "device": opencl.caps.device_id}, Dataset(X, Y), 3)
    wanted = model.predict(X, device=opencl)
    monkeypatch.setattr(prediction_module, "_PIECE_BYTES", 1024 * 20)
    found = model.predict(to_opencl(X, opencl.queue), device=opencl)
    np.testing.assert_array_equal(found, wanted)


def test_partial_dependence_of_a_pyopencl_array(opencl, no_copy, monkeypatch):
    """In pieces of rows, which stay where they are while the values of a column change."""
    model = train({**SMALL, "device": opencl.caps.device_id}, Dataset(X, Y), 3)
    given = {"grid": np.linspace(-1, 1, 40), "kind": "both", "device": opencl}
    wanted = partial_dependence(model, X, 2, **given)
    monkeypatch.setattr(walk_cells, "_PIECE_BYTES", 1024 * 4 * 64)
    found = partial_dependence(model, to_opencl(X, opencl.queue), 2, **given)
    np.testing.assert_array_equal(found.individual, wanted.individual)
    np.testing.assert_array_equal(found.average, wanted.average)


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_and_values_copied_when_asked_for(opencl, weighted):
    weight = np.arange(len(Y)) % 3 if weighted else None  # rows of weight 0 too
    params = {**SMALL, "device": opencl.caps.device_id}
    data = Dataset(to_opencl(X, opencl.queue), Y, weight)
    found, wanted = train(params, data, 2), train(params, Dataset(X, Y, weight), 2)
    assert to_xgboost_json(found.ensemble) == to_xgboost_json(wanted.ensemble)
    np.testing.assert_array_equal(data.values, X)
    np.testing.assert_array_equal(data.slice([4, 2]).values, X[[4, 2]])
    assert data.digests() == Dataset(X, Y, weight).digests()


def test_pyopencl_arrays_that_go_by_the_host(opencl):
    import pyopencl

    other = pyopencl.CommandQueue(pyopencl.Context([opencl.cl_device]))
    model = train({**SMALL, "device": opencl.caps.device_id}, Dataset(X, Y), 2)
    wanted = model.predict(X, device=opencl)
    for rows in (
        to_opencl(X, other),  # a context that our kernels cannot see into
        to_opencl(X.astype(np.float64), opencl.queue),
        to_opencl(np.asfortranarray(X), opencl.queue),
        to_opencl(np.concatenate([X, X]), opencl.queue)[3000:],  # not from its buffer's start
    ):
        assert not isinstance(check_features(rows).values, DeviceMatrix)
        np.testing.assert_array_equal(model.predict(rows, device=opencl), wanted)
    zeros = np.where(np.isnan(X), np.float32(0), X)
    rows = to_opencl(zeros, opencl.queue)
    np.testing.assert_array_equal(model.predict(rows, missing=0, device=opencl), wanted)
    y = to_opencl(Y, opencl.queue)
    assert check_target(y, len(Y)).tolist() == Y.tolist()


def test_another_device_gets_a_copy(opencl):
    class Other:
        caps = opencl.caps
        context = None

    given = check_features(to_opencl(X, opencl.queue)).values
    assert isinstance(given, DeviceMatrix)
    assert given.on(Other()) is None
    np.testing.assert_array_equal(given.for_device(Other()), X)


def test_infinity_in_a_pyopencl_array_is_placed(opencl):
    bad = X.copy()
    bad[41, 3] = -np.inf
    for rows in (to_opencl(bad, opencl.queue), opencl.upload(bad)):
        with pytest.raises(DataError, match=r"1 infinite value, .*\(-inf\) at row 41, column 3"):
            Dataset(rows, Y)
    with pytest.raises(DataError, match=r"X has shape \(3000,\)"):
        Dataset(to_opencl(Y, opencl.queue))
    with pytest.raises(DataError, match="expecting 4 features"):
        check_features(to_opencl(X, opencl.queue), n_features=4)


# -- CUDA ----------------------------------------------------------------------------------------
class FakeArray:
    """An array with CuPy's names, in the host's memory."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.shape, self.ndim = self.values.shape, self.values.ndim
        self.size, self.dtype = self.values.size, self.values.dtype
        self.device = FakeCard()

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **options):
        raise BufferError("on a card")

    def __array__(self, *args, **options):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def get(self):
        return self.values

    def any(self):
        return self.values.any()

    def __getitem__(self, key):
        return FakeArray(self.values[key])

    def __eq__(self, other):
        return FakeArray(self.values == getattr(other, "values", other))

    def __ior__(self, other):
        return FakeArray(self.values | other.values)

    __hash__ = None


class FakeCard(contextlib.nullcontext):
    id = 0

    def synchronize(self):
        pass


def lifted(function):
    """Return NumPy's function for fake arrays."""

    def call(*args, **options):
        with np.errstate(over="ignore"):
            return FakeArray(function(*(getattr(one, "values", one) for one in args), **options))

    return call


@pytest.fixture
def fake_cupy(monkeypatch, device):
    """Put a stand-in for CuPy in place, after a CUDA device is opened by the real one."""
    stream = types.SimpleNamespace(synchronize=lambda: None)
    module = types.SimpleNamespace(
        ndarray=FakeArray,
        cuda=types.SimpleNamespace(get_current_stream=lambda: stream),
        ascontiguousarray=lifted(np.ascontiguousarray),
        isinf=lifted(np.isinf),
        where=lifted(np.where),
    )
    monkeypatch.setitem(sys.modules, "cupy", module)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_what_is_asked_of_cupy(fake_cupy, device, dtype):
    whole = np.arange(6).reshape(3, 2).astype(dtype)
    found, names = (checked := check_features(FakeArray(whole), missing=4)).values, checked.names
    assert isinstance(found, DeviceMatrix)
    assert names is None
    assert found.shape == (3, 2)
    np.testing.assert_array_equal(found.host(), [[0, 1], [2, 3], [np.nan, 5]])
    assert found.host().dtype == np.float32
    assert whole[2, 0] == 4
    assert found.on(device) is None or device.caps.device_id == "cuda:0"
    data = Dataset(FakeArray(X), FakeArray(Y))
    np.testing.assert_array_equal(data.values, X)
    np.testing.assert_array_equal(data.label, Y)
    with pytest.raises(DataError, match=r"X holds 1 infinite value, .* row 1, column 0"):
        check_features(FakeArray(np.array([[1.0, 2], [np.inf, 4]])))
    with pytest.raises(DataError, match=r"X holds 1 too large value, .* row 1, column 0"):
        check_features(FakeArray(np.array([[1.0, 2], [1e300, 4]])))
    with pytest.raises(DataError, match="complex"):
        check_features(FakeArray(np.array([[1j]])))


@pytest.fixture
def cupy():
    cupy = pytest.importorskip("cupy")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        pytest.skip(f"no CUDA device: {error}")
    return cupy


@pytest.mark.gpu
@pytest.mark.parametrize("wrap", ["cupy", "dlpack", "own"])
def test_cuda_arrays_are_read_where_they_lie(cupy, no_copy, wrap):
    device = open_device("cuda:0")
    with cupy.cuda.Device(0):
        rows = cupy.asarray(X)
    given = {"cupy": rows, "dlpack": Exporter(rows), "own": device.upload(X)}[wrap]
    check_fit(given, device)


@pytest.mark.gpu
def test_cuda_arrays_are_converted_on_the_card(cupy, no_copy):
    device = open_device("cuda:0")
    rows = cupy.asarray(X)
    model = train({**SMALL, "device": "cuda:0"}, Dataset(X, Y), 2)
    wanted = model.predict(X, device=device)
    zeros = cupy.where(cupy.isnan(rows), cupy.float32(0), rows)
    for given, missing in (
        (rows.astype(cupy.float64), None),
        (cupy.asfortranarray(rows), None),
        (cupy.concatenate([rows, rows], axis=1)[:, :5], None),
        (zeros, 0),
        (zeros.astype(cupy.float64), 0),
    ):
        found = model.predict(given, missing=missing, device=device)
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(zeros.get(), np.where(np.isnan(X), 0, X))


@pytest.mark.gpu
def test_cuda_arrays_elsewhere(cupy):
    rows = cupy.asarray(X)
    model = train({**SMALL, "device": TEST_DEVICE}, Dataset(rows, cupy.asarray(Y)), 2)
    wanted = train({**SMALL, "device": TEST_DEVICE}, Dataset(X, Y), 2)
    assert to_xgboost_json(model.ensemble) == to_xgboost_json(wanted.ensemble)
    np.testing.assert_array_equal(model.predict(rows, device=TEST_DEVICE), wanted.predict(X))
    if cupy.cuda.runtime.getDeviceCount() > 1:
        with cupy.cuda.Device(1):
            other = cupy.asarray(X)
        np.testing.assert_array_equal(model.predict(other, device="cuda:0"), wanted.predict(X))


@pytest.mark.gpu
def test_pieces_of_a_cuda_array(cupy, no_copy, monkeypatch):
    model = train({**SMALL, "device": "cuda:0"}, Dataset(X, Y), 3)
    wanted = model.predict(X, device="cuda:0")
    monkeypatch.setattr(prediction_module, "_PIECE_BYTES", 1024 * 20)
    np.testing.assert_array_equal(model.predict(cupy.asarray(X), device="cuda:0"), wanted)


@pytest.mark.gpu
def test_infinity_in_a_cuda_array_is_placed(cupy):
    bad = X.copy()
    bad[41, 3] = np.inf
    for given in (
        cupy.asarray(bad),
        cupy.asarray(bad.astype(np.float64)),
        Exporter(cupy.asarray(bad)),
    ):
        with pytest.raises(DataError, match=r"1 infinite value, .*\(inf\) at row 41, column 3"):
            Dataset(given, Y)
    with pytest.raises(DataError, match=r"4 too large values, .* at row 0, column 0"):
        Dataset(cupy.full((2, 2), 1e300), [0, 1])
    assert sys.modules["cupy"] is cupy
