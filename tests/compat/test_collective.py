"""``compat.xgboost.collective`` among ranks; ``training/test_mpi.py`` starts real ones."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest

from pyopencl_gbdt.compat import xgboost as xgb
from pyopencl_gbdt.compat.xgboost import collective
from pyopencl_gbdt.device.team import mpi


@pytest.fixture
def ranks(monkeypatch):
    """The communicator of rank 1 of 3: the others have an array's double and its negative."""
    made = Mock(**{"Get_rank.return_value": 1, "Get_size.return_value": 3})
    made.Dup.return_value = made
    made.bcast = lambda data, root: {"from": root}
    made.allgather = lambda data: [data * 2, data, -data]
    monkeypatch.setenv("PMI_SIZE", "3")
    monkeypatch.setattr(mpi, "mpi", lambda: Mock(COMM_WORLD=made))
    return made


def test_ranks_of_a_job(ranks):
    with collective.CommunicatorContext(dmlc_tracker_uri="127.0.0.1", dmlc_num_worker=3):
        assert (collective.get_rank(), collective.get_world_size()) == (1, 3)
        assert collective.is_distributed()
        assert collective.broadcast({"a": 1}, 2) == {"from": 2}
        own = np.array([1, 6])
        found = {op.name: collective.allreduce(own, op).tolist() for op in collective.Op}
    assert found == {
        "MAX": [2, 12], "MIN": [-1, -6], "SUM": [2, 12], "BITWISE_AND": [2 & 1 & -1, 12 & 6 & -6],
        "BITWISE_OR": [2 | 1 | -1, 12 | 6 | -6], "BITWISE_XOR": [2 ^ 1 ^ -1, 12 ^ 6 ^ -6],
    }  # fmt: skip
    ranks.Free.assert_called_once_with()
    assert (collective.get_rank(), collective.get_world_size()) == (0, 1)


def test_boosters_do_not_train_among_ranks(ranks):
    rows = xgb.DMatrix(np.zeros((4, 1)), np.zeros(4))
    with collective.CommunicatorContext(), pytest.raises(ValueError, match="init joined 3 ranks"):
        xgb.train({}, rows, 1)
