"""The way from ``train`` to the first histogram: few files, and no call into a room above."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device.variants.tuning import Choice, using
from tests.calls import PACKAGE, Calls, rooms
from tests.conftest import TEST_DEVICE

#: Files of the package on the way, those of ``device/`` apart; lower it when there are fewer.
MOST_FILES = 26
#: Holds what the standard library would generate.
GENERATED = "lazy_dataclasses.py"


@pytest.fixture(scope="module")
def calls():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 5)).astype(np.float32)
    data, params = Dataset(X, X[:, 0] > 0), {"device": TEST_DEVICE, "max_depth": 3}
    with using({"whole_trees": Choice("steps", {"wg_size": 1})}):
        train(params, data, 1)  # imports modules, builds kernels, keeps the codes
        with Calls("histogram") as found:
            train(params, data, 1)
    assert found.is_over
    return found


def test_every_room_of_the_table_is_a_folder():
    assert all((PACKAGE / name).is_dir() for name in rooms())


def test_no_room_calls_one_above_it(calls):
    assert dict(calls.upward) == {}


def test_files_on_the_way(calls):
    found = {name for name in calls.files if not name.startswith("device/")}
    outside = sorted(found - {GENERATED})
    assert len(outside) <= MOST_FILES, outside
    assert {"training/train.py", "fit/parts.py", "growth/histogram.py"} <= {*outside}
