"""Resume a training from its checkpoints, and meet a damaged one."""

import re
import warnings
from pathlib import Path

import numpy as np

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.callbacks import TrainingCheckPoint

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
y = X[:, 0] * X[:, 1]


def fit(rounds):
    data = Dataset(X, y)
    return train({"max_depth": 3}, data, rounds, callbacks=[TrainingCheckPoint("kept", interval=2)])


fit(6)
resumed = fit(10)
whole = train({"max_depth": 3}, Dataset(X, y), 10)
assert np.array_equal(resumed.predict(X), whole.predict(X))
newest = sorted(Path("kept").glob("*"), key=lambda path: path.stat().st_mtime_ns)[-1]
text = newest.read_text()
place = re.search(r'"split_conditions":\[-?\d\.(\d)', text).start(1)
newest.write_text(text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    again = fit(10)
assert any(newest.name in str(one.message) for one in caught), [str(one.message) for one in caught]
assert np.array_equal(again.predict(X), whole.predict(X))
