"""Eight queues of one device are a team of eight: the same trees, launches and bytes of sums."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.division import sum_bytes
from pyopencl_gbdt.training.fit import Fit
from pyopencl_gbdt.training.preparing import prepare
from pyopencl_gbdt.training.train import opened_fit
from tests.conftest import TEST_DEVICE
from tests.training.test_team import listed

N, DEPTH, ROUNDS, EIGHT = 4096, 4, 3, 8
PARAMS = {"max_depth": DEPTH, "n_estimators": 1 + ROUNDS, "max_bin": 32, "min_child_weight": 0.0}
pytestmark = pytest.mark.usefixtures("devices_named_twice")


def trained(device):
    """Return the model's text, the launches of every member's rounds, and the bytes of sums."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(N, 6)).astype(np.float32)
    label = (values @ rng.normal(size=6) + rng.normal(size=N)).astype(np.float32)
    task = prepare({**PARAMS, "device": device}, Dataset(values, label), (), None, None)
    with opened_fit(task) as fit:
        fit.step()
        fit.wait()
        buffers = getattr(fit.team, "buffers", None)
        before, counts = buffers and buffers.n_bytes, dict(COUNTS)
        for _ in range(ROUNDS):
            fit.step()
        fit.wait()
        n_bytes = 0 if buffers is None else buffers.n_bytes - before
        model = fit.model()
    later = {rank: COUNTS[rank] - counts[rank] for rank in counts}
    return model, later, n_bytes / ROUNDS


COUNTS: dict[int, int] = {}


@pytest.fixture
def counted(monkeypatch):
    original = Fit.step

    def step(self, pace):
        device, rank = self.parts.arena.device, self.parts.rows.team.rank
        before = device.n_launches
        original(self, pace)
        COUNTS[rank] = COUNTS.get(rank, 0) + device.n_launches - before

    monkeypatch.setattr(Fit, "step", step)
    COUNTS.clear()


def test_order_launches_and_bytes(counted):
    """The launches of a member do not depend on the size of the team, nor do the bytes of a sum."""
    alone, _, nothing = trained(TEST_DEVICE)
    COUNTS.clear()
    two, of_two, bytes_of_two = trained(listed([TEST_DEVICE] * 2))
    COUNTS.clear()
    many, of_eight, n_bytes = trained(listed([TEST_DEVICE] * EIGHT))
    assert to_json(many.ensemble) == to_json(two.ensemble) == to_json(alone.ensemble)
    assert set(of_eight.values()) == set(of_two.values())
    assert len(of_eight) == EIGHT
    full = all(np.count_nonzero(tree.left >= 0) == 2**DEPTH - 1 for tree in many.ensemble.trees)
    assert full  # so that every level has as many new histograms as it can have
    of_levels = sum_bytes(Parameters.from_dict(PARAMS), N, 6)
    assert nothing == 0
    assert abs(n_bytes - bytes_of_two) < 1024  # the roots' sums come from other work-groups
    assert of_levels <= n_bytes <= 1.2 * of_levels  # and exponents, and the roots' sums
