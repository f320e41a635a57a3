"""Kill a training again and again at random moments; it ends with the bytes of one never killed.

``python -m tests.kill_and_resume 200`` kills 200 times, each kind of training as often. Each
training is a process of its own: it resumes from the newest checkpoint in a folder and is killed
(SIGKILL, where there is one) after a random time since its first round. One that ends alive is
compared, and the next starts afresh.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.callbacks import LearningRateScheduler, TrainingCallback, TrainingCheckPoint
from pyopencl_gbdt.model import to_xgboost_json
from tests.conftest import TEST_DEVICE
from tests.processes import QUICK_BUILDS, ROOT

N_ROUNDS = 60


class Ready(TrainingCallback):
    """Tells the other process that rounds begin."""

    def before_training(self, model):
        print("ready", flush=True)


#: What is trained: parameters, and what Dataset gets of the columns.
KINDS = {
    "logistic": ({"objective": "binary:logistic"}, {}),
    "sampled classes": (
        {
            "objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2,
            "subsample": 0.6, "colsample_bytree": 0.8, "colsample_bynode": 0.5, "random_state": 5,
        },
        {"feature_weights": [1, 2, 3, 4, 5, 6]},
    ),
    "ordered": (
        {"objective": "binary:logistic", "boosting_type": "ordered", "subsample": 0.7}, {},
    ),
    "leaf by leaf": (
        {
            "sampling_method": "goss", "grow_policy": "lossguide", "max_leaves": 7,
            "max_depth": 0, "colsample_bylevel": 0.7, "monotone_constraints": [1],
        },
        {},
    ),
}  # fmt: skip


def text_of_training(kind, directory=None):
    """Train with weights, metrics, early stopping and a schedule; return the model as text."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((900, 6)).astype(np.float32)
    params, extra = KINDS[kind]
    signal = X[:, 0] * X[:, 1] + rng.standard_normal(900)
    y = (signal > 0).astype(np.float32) + (signal > 1) * (params.get("num_class", 2) > 2)
    data = Dataset(X[:600], y[:600], rng.integers(0, 3, 600), **extra)
    test = Dataset(X[600:], y[600:])
    callbacks = [LearningRateScheduler(lambda number: 0.3 * 0.98**number)]
    if directory is not None:
        callbacks += [TrainingCheckPoint(directory, interval=1), Ready()]
    model = train(
        {"device": TEST_DEVICE, **params}, data, N_ROUNDS,
        evals=[(test, "test")], early_stopping_rounds=50, callbacks=callbacks,
    )  # fmt: skip
    return to_xgboost_json(model.ensemble)


def one_process(kind, directory, wait):
    """Start a training, kill it ``wait`` seconds after it begins; return its model, or None."""
    saved = Path(directory, "model.txt")
    command = [sys.executable, "-m", "tests.kill_and_resume", "--train", kind, directory]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, cwd=ROOT, env={**os.environ, **QUICK_BUILDS}
    ) as process:
        assert process.stdout is not None
        if process.stdout.readline().strip() != b"ready":
            raise RuntimeError(f"the training failed with {process.wait()}")
        try:
            code = process.wait(wait)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None
    if code:
        raise RuntimeError(f"the training failed with {code}")
    return saved.read_text(encoding="utf-8")


def kill_and_resume(n_kills, kind, seed=0, report=lambda line: None):
    """Kill one kind ``n_kills`` times; return how many trainings ended, with the right model.

    Raises
    ------
    AssertionError
        If one of them has other bytes.
    """
    rng, expected, n_ended, n_done = random.Random(seed), text_of_training(kind), 0, 0
    longest = 1.0
    while n_done < n_kills or not n_ended:
        with tempfile.TemporaryDirectory() as directory:
            text = None
            while text is None:
                last = n_done >= n_kills
                start = time.perf_counter()
                text = one_process(kind, directory, None if last else rng.uniform(0, longest))
                n_done += text is None
                kept = sorted(path.name for path in Path(directory).iterdir())
                report(f"{n_done} kills, {time.perf_counter() - start:.1f} s: {', '.join(kept)}")
            assert text == expected, "another model"
            left = [path.name for path in Path(directory).iterdir() if "partial" in path.name]
            assert not left, f"partial files stay: {left}"
            n_ended += 1
    return n_ended


if __name__ == "__main__":
    if sys.argv[1] == "--train":
        # written whole, as it is read when the process has ended by itself alone
        text = text_of_training(*sys.argv[2:])
        Path(sys.argv[3], "model.txt").write_text(text, encoding="utf-8")
    else:
        for name in KINDS:
            ended = kill_and_resume(-(-int(sys.argv[1]) // len(KINDS)), name, report=print)
            print(f"{name}: {ended} trainings ended, all with the same bytes")
