"""What a new process does for its first fit, in counts: modules, files of the cache, programs."""

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import TEST_DEVICE
from tests.processes import IMPORT_PATH, QUICK_BUILDS

pytestmark = pytest.mark.thorough
#: Modules of the package that a fit of numbers may import: it imports 196. When modules imported
#: all that they name, it imported 411.
MOST_MODULES = 198
#: What such a fit never needs.
NEEDLESS = (
    "cupy", "email.mime", "gzip", "mako", "numpy.ma", "pygments", "scipy", "sklearn", "statistics",
    "pyopencl_gbdt.callbacks.checkpoint", "pyopencl_gbdt.categories.statistic_columns",
    "pyopencl_gbdt.data.categories.columns", "pyopencl_gbdt.data.files.readers",
    "pyopencl_gbdt.device.team.mpi", "pyopencl_gbdt.device.team.nccl",
    "pyopencl_gbdt.fit.choose_turns", "pyopencl_gbdt.fit.page_stream",
    "pyopencl_gbdt.gradients.sources", "pyopencl_gbdt.growth.dropout",
    "pyopencl_gbdt.growth.histogram", "pyopencl_gbdt.growth.split",
    "pyopencl_gbdt.model.formats.files",
    "pyopencl_gbdt.model.tree_plot", "pyopencl_gbdt.prediction.contributions.explain_rows",
    "pyopencl_gbdt.profiling.profile", "pyopencl_gbdt.training.hosts",
)  # fmt: skip
FIT = """
import json, os, sys
import numpy as np
opened = []
def listen(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        opened.append(arguments[0])
sys.addaudithook(listen)
before = set(sys.modules)
import pyopencl_gbdt
train = pyopencl_gbdt.train
early = set(sys.modules) - before
X = np.arange(600, dtype=np.float32).reshape(200, 3) % 37
params = {"device": sys.argv[1], "max_depth": 3, "verbosity": 0}
model = train(params, pyopencl_gbdt.Dataset(X, X[:, 0]), 2)
from pyopencl_gbdt.device.opencl import device
print(json.dumps({
    "modules": sorted(set(sys.modules) - before),
    "early": sorted(early),
    "opened": [name for name in opened if name.endswith((".bin", ".mako"))],
    "programs": len(device._programs),
    "model": model.save_raw("json").decode(),
}))
"""


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """What two processes report that train the same, one after the other."""
    if "portable" not in TEST_DEVICE:
        pytest.skip("counts PoCL's programs")
    folder = tmp_path_factory.mktemp("cache")
    said = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", FIT, TEST_DEVICE],
            env={
                **os.environ, **QUICK_BUILDS, "PYTHONPATH": IMPORT_PATH,
                "PYOPENCL_GBDT_CACHE": str(folder),
            },
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        said.append(json.loads(done.stdout.splitlines()[-1]))
    return said


def test_the_second_process_reads_one_file_and_renders_nothing(processes):
    first, second = processes
    assert "mako" in first["modules"]
    templates = [name for name in second["opened"] if name.endswith(".mako")]
    assert len(templates) <= 30  # read for the digest of their contents
    assert len(second["opened"]) - len(templates) == 1
    assert first["programs"] == second["programs"] <= 8
    assert first["model"] == second["model"]


def test_what_trains_is_imported_while_drivers_start(processes):
    assert "pyopencl_gbdt.training.train" in processes[1]["early"]
    assert "pyopencl_gbdt.training.running_task" not in processes[1]["early"]


def test_it_imports_no_module_that_it_does_not_use(processes):
    modules = processes[1]["modules"]
    own = [name for name in modules if name.startswith("pyopencl_gbdt")]
    assert len(own) <= MOST_MODULES, own
    assert [name for name in NEEDLESS if name in modules] == []
