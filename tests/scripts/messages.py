"""Silence the library, or send its messages to a program's own logger."""

import logging
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import numpy as np
from pyopencl_gbdt import GBDTRegressor
X = np.random.default_rng(0).normal(size=(200, 3))
GBDTRegressor(n_estimators=3, verbosity=0).fit(X, X[:, 0], eval_set=[(X, X[:, 0])], verbose=False)
"""
done = subprocess.run(
    [sys.executable, "-W", "ignore", "-c", PROGRAM],
    stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT,
    check=False,
    text=True,
    env={**os.environ, "XDG_CACHE_HOME": str(Path.cwd()), "PYOPENCL_NO_CACHE": "1"},
)
assert (done.returncode, done.stdout) == (0, ""), done.stdout

import numpy as np  # noqa: E402

from pyopencl_gbdt import Dataset, train  # noqa: E402

records = []


class Keep(logging.Handler):
    def emit(self, record):
        records.append(record.getMessage())


logger = logging.getLogger("pyopencl_gbdt")
logger.addHandler(Keep())
X = np.random.default_rng(0).normal(size=(200, 3))
data = Dataset(X, X[:, 0])
train({"eval_metric": "rmse"}, data, 3, evals=[(data, "train")], verbose_eval=True)
assert any("rmse" in text for text in records), records
