"""Matrices of several jobs whose columns are cut by one sort: the cut points of each alone."""

import numpy as np
import pytest

from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.room import Room
from pyopencl_gbdt.pages import together
from pyopencl_gbdt.pages.cuts import CUT_RULES
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.pages.together import tell_matrices
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(5)


def matrices(n_rows=300):
    """Return three matrices: plain, with missing values and few values, and with one value."""
    found = RNG.standard_normal((3, n_rows, 3)).astype(np.float32)
    found[1, RNG.random((n_rows, 3)) < 0.2] = np.nan
    found[1, :, 1] = np.round(found[1, :, 1])
    found[2, :, 2] = 7
    return list(found)


def quantised(values, rule="shares", told=(), max_bin=16, weight=None):
    """Return the codes, the layout's bytes, and the waits of each job."""
    room, found, first = Room(len(values)), [], None
    if told:
        tell_matrices(room.shared, told)
    for own in values:
        device = open_device(TEST_DEVICE)
        if first is None:
            first = device
        else:
            device.share_queue(first)
        device.room = room.job()
        before = device.n_waits
        quantizer = Quantizer(device, own, weight, max_bin, rule=CUT_RULES[rule])
        made = quantizer.run()
        waits, layout = device.n_waits - before, made.layout
        parts = layout.feature_bins, layout.feature_offset, layout.thresholds, layout.fullest
        codes = [page.codes.by_feature.get().tobytes() for page in made.pages]
        found.append((codes, [part.tobytes() for part in parts], waits))
    return found


@pytest.mark.parametrize("rule", ["shares", "xgboost"])
def test_the_cut_points_of_each_job_alone(rule):
    every = matrices()
    alone, found = quantised(every, rule), quantised(every, rule, told=every)
    assert [one[:2] for one in found] == [one[:2] for one in alone]
    # one read of all cut points, in place of one for each job; none waits for its codes, unless
    # they are made of the host's memory
    borrows = open_device(TEST_DEVICE).borrows
    assert [one[2] for one in found] == [1 + borrows, *[int(borrows)] * (len(every) - 1)]


def test_jobs_that_cut_their_columns_alone(monkeypatch):
    """Copies of the matrices, shapes that differ, rows with weights, or too much memory."""
    every = matrices(40)
    cut, n_cut = together.MatricesOfJobs._cut, []
    monkeypatch.setattr(
        together.MatricesOfJobs, "_cut", lambda self, own: n_cut.append(0) or cut(self, own)
    )
    quantised(every, told=[one.copy() for one in every])
    quantised(every, told=[*every[:2], every[2][:30]])
    quantised(every, told=[*every[:2], None])
    quantised(every, told=every, weight=np.ones(40, np.float32))
    monkeypatch.setattr(together, "BATCH_BYTES", 100)
    quantised(every, told=every)
    assert not n_cut


def test_jobs_that_ask_for_other_bins():
    """They cut alone; the others' cut points are those of the first one's bins."""
    every = matrices(60)
    room = Room(2)
    tell_matrices(room.shared, every[:2])
    found = []
    for own, max_bin in zip(every[:2], (8, 5), strict=True):
        device = open_device(TEST_DEVICE)
        device.room = room.job()
        found.append(Quantizer(device, own, None, max_bin).cuts())
    assert found[0].n_bins.max() == 8
    assert found[1].n_bins.max() == 5
