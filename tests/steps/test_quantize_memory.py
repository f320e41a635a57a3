"""quantize in little memory: pieces, blocks and batches; what it takes is what was planned."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.device import open_device, staging
from pyopencl_gbdt.device.capabilities import CARD
from pyopencl_gbdt.device.run_ahead import clear_frames
from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.pages import budget as set_up
from pyopencl_gbdt.pages import quantize
from pyopencl_gbdt.pages.budget import plan_set_up
from pyopencl_gbdt.pages.cuts import CUT_RULES
from pyopencl_gbdt.pages.paged import paged
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.memory_estimate import estimate_memory
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.portability.null_device import NullDevice
from tests.steps.test_quantize import check, columns, weights

KERNEL = "quantize"
GIB = 1024**3
H200 = {
    "kind": "gpu", "compute_units": 132, "global_bytes": 139 * GIB, "max_alloc_bytes": 34 * GIB,
    "int64_atomics": True, "unified_memory": False, "max_work_group": 1024, **CARD,
}  # fmt: skip


@pytest.fixture
def scarce(device, monkeypatch):
    """Make sizes small, so that 2000 rows come in pieces, and features in blocks and batches."""

    def do(*, borrows, staged=False, piece=20_000, batch=20_000):
        monkeypatch.setattr(device, "borrows", borrows)
        monkeypatch.setattr(device, "caps", replace(device.caps, max_alloc_bytes=100_000))
        monkeypatch.setattr(set_up, "LEAST_BYTES", 0)
        monkeypatch.setattr(set_up, "PIECE_BYTES", piece)
        monkeypatch.setattr(set_up, "BATCH_BYTES", batch)
        monkeypatch.setattr(set_up, "SHARED_BLOCK_BYTES", 100_000)
        monkeypatch.setattr(staging, "LEAST_BYTES", 0 if staged else 2**40)

    return do


@pytest.mark.parametrize(("borrows", "staged"), [(True, False), (False, False), (False, True)])
@pytest.mark.parametrize("max_bin", [16, 300])
def test_in_blocks_and_pieces(device, variant, force, rng, scarce, borrows, staged, max_bin):
    """Less memory: features are cut a few at a time, and rows come in pieces."""
    force(variant)
    values = columns(rng, 2000)
    scarce(borrows=borrows, staged=staged)
    for weight in (None, weights(rng, 2000, "mixed"), weights(rng, 2000, "whole")):
        plan = plan_set_up(device, *values.shape, max_bin, weighted=weight is not None)
        assert 1 < plan.block < values.shape[1]
        assert plan.batch <= plan.block
        assert plan.piece_rows < 2000
        check(device, values, weight, max_bin)


@pytest.mark.few(3)
@pytest.mark.parametrize("piece", [1, 100, 3000, 96 * 1999, 96 * 2000])
def test_pieces_of_any_size(device, rng, scarce, piece):
    """A row at least; the last piece is shorter."""
    n = {1: 30, 100: 200}.get(piece, 2000)
    for staged in (False, True):
        scarce(borrows=False, staged=staged, piece=piece, batch=1)
        check(device, columns(rng, n), weights(rng, n, "mixed"), 16)


def test_values_that_fit_are_uploaded_once(device, rng, monkeypatch):
    monkeypatch.setattr(device, "borrows", False)
    values = columns(rng, 2000)
    assert plan_set_up(device, *values.shape, 16, weighted=False).piece_rows == 2000
    check(device, values, None, 16)


def test_borrowed_values_take_no_memory(device, rng):
    if not device.borrows:
        pytest.skip("the device does not share the host's memory")
    values = columns(rng, 2000)
    values.setflags(write=False)
    before = device.allocated_bytes
    borrowed = device.borrow(values)
    assert device.allocated_bytes == before
    assert_same_bits(borrowed.get(), values)
    part = values[3:40]  # begins anywhere
    assert_same_bits(device.borrow(part).get(), part)
    check(device, values[7:], None, 16)


@pytest.mark.usefixtures("cut_by_kernels")
@pytest.mark.parametrize("borrows", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_features", [1, 7, 40])
def test_the_plan_is_what_is_taken(rng, monkeypatch, borrows, weighted, n_features):
    monkeypatch.setattr(set_up, "LEAST_BYTES", 0)
    monkeypatch.setattr(set_up, "PIECE_BYTES", 100_000)
    monkeypatch.setattr(set_up, "BATCH_BYTES", 200_000)
    values = rng.random((20_000, n_features)).astype(np.float32)
    weight = rng.random(20_000).astype(np.float32) if weighted else None
    for max_bin in (16, 256, 1000):
        opened = open_device(TEST_DEVICE)
        opened.borrows = opened.borrows and borrows
        quantizer = Quantizer(opened, values, weight, max_bin)
        quantizer.run()
        assert opened.peak_bytes == pytest.approx(quantizer.plan.n_bytes, rel=0.05)
        assert opened.peak_bytes <= quantizer.plan.n_bytes * 1.01


@pytest.mark.parametrize("missing", [False, True])
def test_missing_values_beside_256_bins_take_codes_of_two_bytes(rng, monkeypatch, missing):
    monkeypatch.setattr(set_up, "LEAST_BYTES", 0)
    values = rng.random((20_000, 40)).astype(np.float32)
    values[7, 3] = np.nan if missing else 0
    opened = open_device(TEST_DEVICE)
    quantizer = Quantizer(opened, values, None, 256, rule=CUT_RULES["xgboost"])
    made = quantizer.run()
    assert made.pages[0].codes.code_bytes == 1 + missing
    assert opened.peak_bytes == pytest.approx(quantizer.plan.n_bytes, rel=0.05)
    assert opened.peak_bytes <= quantizer.plan.n_bytes * 1.01


def test_set_up_takes_no_more_than_training():
    """28 features of 11 million rows: two blocks of columns, three uploads."""
    device = NullDevice(replace(open_device(TEST_DEVICE).caps, **H200))
    params = Parameters.from_dict({"objective": "binary:logistic"})
    for rows, features in ((11_000_000, 28), (1_070_000, 968), (473_000, 700), (1_000_000, 28)):
        plan = plan_set_up(device, rows, features, 256, weighted=False)
        training = estimate_memory(device, params, rows, features).training_bytes
        assert plan.n_bytes <= max(training, set_up.LEAST_BYTES)
        assert -(-features // plan.block) <= 7
        assert plan.piece_rows * 4 * features <= 16 * 1024 * 1024
    plan = plan_set_up(device, 11_000_000, 28, 256, weighted=False)
    assert (plan.block, plan.batch) == (14, 1)


def test_what_cannot_be_quantised_is_refused_before_anything_is_allocated(rng, monkeypatch):
    opened = open_device(TEST_DEVICE)
    caps = opened.caps
    values = rng.random((20_000, 4)).astype(np.float32)
    for limit in ({"global_bytes": 350_000}, {"max_alloc_bytes": 70_000}):
        monkeypatch.setattr(opened, "caps", replace(caps, **limit))
        with pytest.raises(MemoryPlanError, match=r"quantising 20000 x 4 values needs \d+ bytes"):
            Quantizer(opened, values, None, 256)
        assert opened.peak_bytes == 0


@pytest.mark.parametrize("failing", ["write_later", "pinned", "borrow"])
def test_an_interrupted_upload_leaves_nothing_behind(rng, monkeypatch, failing):
    opened = open_device(TEST_DEVICE)
    opened.borrows = failing == "borrow"
    monkeypatch.setattr(set_up, "LEAST_BYTES", 0)
    monkeypatch.setattr(set_up, "PIECE_BYTES", 10_000)
    monkeypatch.setattr(staging, "LEAST_BYTES", 0)
    original, calls = getattr(type(opened), failing), []

    def interrupted(*arguments):
        calls.append(failing)
        if len(calls) == (3 if failing == "write_later" else 1):
            arguments = None  # this frame is not the library's: it keeps its variables
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(type(opened), failing, interrupted)
    values = rng.random((20_000, 40)).astype(np.float32)
    with pytest.raises(KeyboardInterrupt) as caught:
        paged(Dataset(values, values[:, 0]), opened, "hist", 16)
    assert opened.peak_bytes > 0
    clear_frames(caught.value)
    assert opened.allocated_bytes == 0


def test_columns_of_a_piece_come_in_launches_of_some_rows(device, rng, scarce, monkeypatch):
    """A piece of few columns has more rows than one of all columns, and more than a launch."""
    values = columns(rng, 6000)
    scarce(borrows=False, piece=4 * values.shape[1] * 1500, batch=1)
    monkeypatch.setattr(quantize, "rows_a_launch", lambda caps, row_bytes: 1024)
    device.caps = replace(device.caps, max_alloc_bytes=10**6)
    plan = plan_set_up(device, *values.shape, 16, weighted=False)
    assert plan.block < values.shape[1]
    assert plan.piece_rows > 1024
    check(device, values, None, 16)
