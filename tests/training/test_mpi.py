"""MPI jobs on this machine: ``mpirun`` starts the processes."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pyopencl_gbdt import train
from pyopencl_gbdt.cli import fitting, main
from pyopencl_gbdt.compat import xgboost as xgb
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import pip_install
from pyopencl_gbdt.model import read_model
from tests import host_member
from tests.conftest import TEST_DEVICE
from tests.processes import IMPORT_PATH

ROOT = Path(__file__).resolve().parents[2]
THOROUGH = {"test_ranks_get_the_model_of_one_process": lambda size, more: size == 4}
RUN = shutil.which("mpirun", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def job():
    """Run a command in several ranks; return the exit code and the output."""
    pytest.importorskip("mpi4py")
    if RUN is None:
        pytest.skip(f"mpirun is not here: {pip_install('mpi')}")

    def run(size, *command, **variables):
        environment = {
            **os.environ,
            "PYTHONPATH": IMPORT_PATH,
            "PYOPENCL_GBDT_DEVICE": TEST_DEVICE,
            **variables,
        }
        done = subprocess.run(
            [RUN, "-n", str(size), sys.executable, *map(str, command)],
            env=environment, capture_output=True, text=True, timeout=150, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.parametrize(
    ("size", "more"),
    [
        (2, {}),  # sums of all features, as their levels are small
        (4, {"OWN_BYTES": "0"}),
        (3, {"PACKED": ""}),
        (3, {"PACKED": "", "OWN_BYTES": "0"}),
    ],
    ids=["all features", "own features", "packed", "own features, packed"],
)
def test_ranks_get_the_model_of_one_process(job, size, more):
    params = {**host_member.PARAMS, "device": TEST_DEVICE}
    wanted = host_member.digest(train(params, host_member.rows(0, 1), host_member.ROUNDS))
    code, said = job(size, ROOT / "tests" / "host_member.py", **more)
    assert code == 0, said
    assert said.count(wanted) == size, said


def write_csv(path, first, end):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3)).round(2)
    both = np.column_stack([X[:, 0] > 0.1, X])[first:end]
    np.savetxt(path, both, delimiter=",", fmt="%g")


def test_the_command_line(job, tmp_path):
    """Own files of each rank, parts of one file, and the files of a folder."""
    write_csv(tmp_path / "all.csv", 0, 300)
    (tmp_path / "parts").mkdir()
    write_csv(tmp_path / "parts" / "0.csv", 0, 120)
    write_csv(tmp_path / "parts" / "1.csv", 120, 300)
    made: list[bytes] = []
    for size, name in ((1, "all.csv"), (2, "parts/{rank}.csv"), (2, "all.csv"), (2, "parts")):
        model = tmp_path / f"model-{len(made)}.json"
        given = [
            "train", tmp_path / name, "--model", model, "--label-column", 0, "--n-estimators", 3,
            "--objective", "binary:logistic", "--device", TEST_DEVICE,
        ]  # fmt: skip
        if size == 1:
            assert main([*map(str, given)]) == 0
        else:
            code, said = job(size, "-m", "pyopencl_gbdt", *given)
            assert code == 0, said
            assert said.count("Saved") == 1
        made.append(model.read_bytes())
    assert made == [made[0]] * 4
    assert read_model(tmp_path / "model-1.json").n_features == 3


def test_weights_of_all_files(job, tmp_path):
    """Ranks read all files where one file has the weights of all rows, also beside a folder."""
    parts, made = tmp_path / "parts", []
    parts.mkdir()
    write_csv(parts / "0.csv", 0, 120)
    write_csv(parts / "1.csv", 120, 300)
    np.savetxt(tmp_path / "parts.weight", np.arange(300) % 5 + 1)
    options = {"objective": "binary:logistic", "device": TEST_DEVICE, "n_estimators": 3}
    pairs = [f"data={parts}", *(f"{key}={value}" for key, value in options.items())]
    (tmp_path / "job.conf").write_text("\n".join(pairs))
    named = [f"--{key.replace('_', '-')}={value}" for key, value in options.items()]
    for number, size in enumerate((1, 2, 2)):
        model = tmp_path / f"{number}.json"
        given = [parts, "--model", model, "--weight", tmp_path / "parts.weight", *named]
        if number == 2:
            given = [tmp_path / "job.conf", f"model_out={model}"]
        code, said = job(size, "-m", "pyopencl_gbdt", "train", *given)
        assert code == 0, said
        made.append(model.read_bytes())
    assert made == [made[0]] * 3


#: Rank 1 takes another branch than rank 0: it sends another message, or adds up an array.
BRANCHES = """
import numpy as np
from mpi4py import MPI
from pyopencl_gbdt.device.team.mpi import MpiTeam
from pyopencl_gbdt.device.team.messages import HostName, RowCount, SumPart
team = MpiTeam(MPI.COMM_WORLD)
team.exchange(RowCount, 1)
try:
    if team.rank == 1:
        {}
    else:
        team.exchange(RowCount, 2)
except Exception as error:
    print(f"rank {{team.rank}} said: {{error}};", flush=True)
    team.leave()
    raise SystemExit(1)
"""


def test_ranks_that_send_different_messages(job):
    code, said = job(3, "-c", BRANCHES.format('team.exchange(HostName, "a")'))
    assert code != 0
    for rank in range(3):
        text = "rank 0 sends RowCount after 0 sums, rank 1 sends HostName after 0 sums"
        assert f"rank {rank} said: {text}" in said


def test_a_rank_that_adds_up_while_others_send(job):
    """Both would wait for ever: signs of life tell what a rank sends."""
    code, said = job(3, "-c", BRANCHES.format("team.add_up(SumPart, np.arange(10))"))
    assert code != 0
    assert "the numbers of a sum after 0 sums" in said
    assert "sends RowCount after 0 sums" in said
    assert "training ends on all ranks" in said


#: Signs of life of one team after the other; none is left for what follows.
WATCHES = """
import time
from mpi4py import MPI
from pyopencl_gbdt.device.team.handshake import Limits
from pyopencl_gbdt.device.team.mpi import watch
for _ in range(5):
    own = watch(MPI.COMM_WORLD, Limits(silence=1.0))
    time.sleep(0.21)
    own.end()
    other = MPI.COMM_WORLD.Dup()
    other.Barrier()
    print("left" if other.iprobe() else "nothing", flush=True)
    other.Free()
"""


def test_signs_of_life_end_with_their_team(job):
    code, said = job(2, "-c", WATCHES)
    assert code == 0, said
    assert said.count("nothing") == 10, said  # the launcher may join lines of two ranks
    assert "left" not in said


#: XGBoost's functions among ranks, twice: the second communicator is another one. Then a training.
COLLECTIVE = """
import hashlib
import numpy as np
from pyopencl_gbdt.compat import xgboost as xgb
from pyopencl_gbdt.compat.xgboost import collective as own
for _ in range(2):
    with own.CommunicatorContext():
        rank, size = own.get_rank(), own.get_world_size()
        total = own.allreduce(np.array([rank, 2.5]), own.Op.SUM)
        own.communicator_print(f"{size} ranks, {own.broadcast(rank + 7, 1)}, {total}")
X = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
with own.CommunicatorContext():
    X = np.split(X, [80])[rank]
    rows = xgb.DMatrix(X, X[:, 0] * X[:, 1])
    booster = xgb.train({"max_depth": 3}, rows, 3)
    own.communicator_print(hashlib.sha256(booster.save_raw()).hexdigest())
"""


def test_xgboosts_collective(job):
    code, said = job(2, "-c", COLLECTIVE)
    assert code == 0, said
    assert said.count("2 ranks, 8, [1. 5.]") == 4, said
    X = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    booster = xgb.train({"max_depth": 3}, xgb.DMatrix(X, X[:, 0] * X[:, 1]), 3)
    assert said.count(hashlib.sha256(booster.save_raw()).hexdigest()) == 2, said


def test_a_missing_part_ends_all_ranks(job, tmp_path):
    write_csv(tmp_path / "0.csv", 0, 120)
    code, said = job(
        2, "-m", "pyopencl_gbdt", "train", tmp_path / "{rank}.csv", "--model",
        tmp_path / "model.json", "--device", TEST_DEVICE,
    )  # fmt: skip
    assert code != 0
    assert "rank 1: " in said
    assert "no such file" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.csv"]


def test_mpi_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.setenv("PMI_SIZE", "4")
    with pytest.raises(ParameterError, match=re.escape(pip_install("mpi"))):
        fitting.rank_job()
    monkeypatch.setenv("PMI_SIZE", "1")
    assert fitting.rank_job().size == 1
