"""Train here, predict on a machine that has NumPy and no driver."""

import os
import subprocess
import sys

import numpy as np

from pyopencl_gbdt import GBDTClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 5))
X[::5, 1] = np.nan
y = (X[:, 0] > 0).astype(int) + (X[:, 2] > 0.5)
model = GBDTClassifier(n_estimators=15, max_depth=4).fit(X, y)
model.save_model("m.json")
np.save("X.npy", X)
np.save("here.npy", model.predict_proba(X))

THERE = """
import sys, threading

for name in ("pyopencl", "cupy", "mako", "scipy", "sklearn"):
    sys.modules[name] = None  # as if it were not installed
import numpy as np
from pyopencl_gbdt import Model

model = Model.load_model("m.json")
X = np.load("X.npy")
found = [None] * 4

def work(number):
    found[number] = model.predict(X)

threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for one in found:
    assert np.array_equal(one, np.load("here.npy"))
"""
env = {key: value for key, value in os.environ.items() if key != "PYOPENCL_GBDT_DEVICE"}
done = subprocess.run(
    [sys.executable, "-c", THERE],
    stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT,
    check=False,
    text=True,
    env=env,
)
assert (done.returncode, done.stdout) == (0, ""), done.stdout
