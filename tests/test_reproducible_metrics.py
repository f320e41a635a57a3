"""Every metric of evaluation sets has the same bits, whatever computes it."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import devices
from pyopencl_gbdt.messages import pip_install
from pyopencl_gbdt.metrics import METRICS
from tests.test_reproducible import loss_labels

from .conftest import TEST_DEVICE
from .higgs import load_higgs7k

#: All combinations are ``thorough``, see tests/conftest.py.
ONCE_EACH = True
N = 600
#: Metrics by a loss whose labels and predictions they take.
METRICS_OF = {
    "reg:squarederror": ["rmse", "mae", "mphe", "quantile", "expectile"],
    "reg:squaredlogerror": ["rmsle"],
    "binary:logistic": ["logloss", "error", "error@0.3", "auc", "aucpr"],
    "multi:softprob": ["merror", "mlogloss"],
    "count:poisson": ["poisson-nloglik", "tweedie-nloglik@1.4"],
    "reg:gamma": ["gamma-nloglik", "gamma-deviance", "mape"],
    "reg:quantileerror": ["quantile"],
    "rank:ndcg": ["ndcg", "ndcg@5"],
    "rank:map": ["map", "map@5-", "pre@3"],
    "survival:cox": ["cox-nloglik"],
    "survival:aft": ["aft-nloglik", "interval-regression-accuracy"],
    "dist:normal": ["nll", "crps"],
    "dist:negative_binomial": ["nll"],
}
#: Their metrics are sums, orders and queries as the others' are.
_ALIKE = {
    "reg:squarederror", "reg:squaredlogerror", "reg:gamma", "reg:quantileerror", "count:poisson",
    "rank:map",
}  # fmt: skip
THOROUGH = {"test_two_work_group_sizes": lambda objective: objective in _ALIKE}
OWN = {
    "multi:softprob": {"num_class": 4},
    "reg:quantileerror": {"quantile_alpha": [0.2, 0.7]},
}


def rows_of(objective: str, X: np.ndarray, y: np.ndarray, weighs: bool) -> Dataset:
    label, extra = loss_labels(objective, X, y), {}
    n = label.size
    weight = np.random.Generator(np.random.PCG64(3)).random(n).astype(np.float32)
    if objective.startswith("rank:"):
        extra["qid"] = np.arange(n) // 17
        weight = weight[::17]
    if objective == "survival:aft":
        censored = np.where(np.arange(n) % 3 == 0, np.float32(np.inf), label)
        extra = {"label_lower_bound": label, "label_upper_bound": censored}
    return Dataset(X, label, weight if weighs else None, **extra)


def bits_of_history(objective: str, **more) -> dict[str, list[str]]:
    """Return every number of the history in full, by set and metric."""
    X, y, _, _ = load_higgs7k()
    X = X[: 2 * N].copy()
    X[np.random.Generator(np.random.PCG64(0)).random(X.shape) < 0.1] = np.nan
    own = {"objective": objective, "max_depth": 4, **OWN.get(objective, {}), **more}
    data = rows_of(objective, X[:N], y[:N], weighs=False)
    others = [rows_of(objective, X[N:], y[N : 2 * N], weighs) for weighs in (False, True)]
    evals = [(data, "train"), (others[0], "plain"), (others[1], "weighted")]
    model = train(own, data, 4, evals=evals, eval_metric=METRICS_OF[objective])
    return {
        f"{name} {metric}": [float(number).hex() for number in numbers]
        for name, found in model.history.items()
        for metric, numbers in found.items()
    }


@pytest.mark.thorough
@pytest.mark.parametrize("objective", METRICS_OF)
def test_two_work_group_sizes(objective):
    found = bits_of_history(objective, device=TEST_DEVICE)
    assert len(found) == 3 * len(METRICS_OF[objective])
    assert all(len(set(numbers)) > 1 for numbers in found.values())
    assert bits_of_history(objective, device=TEST_DEVICE, work_group_size=64) == found


@pytest.mark.intel
@pytest.mark.parametrize("objective", METRICS_OF)
def test_two_runtimes(objective):
    """PoCL and Intel's CPU runtime, where both are."""
    platforms = [d.caps.platform for d in devices() if d.usable and d.caps]
    if not all(any(p.startswith(one) for p in platforms) for one in ("Portable", "Intel")):
        pytest.skip(f"needs both: {pip_install('cpu', 'intel-cpu')}")
    names = ("portable computing language", "intel(r) opencl")
    pocl, intel = (bits_of_history(objective, device=name) for name in names)
    assert pocl == intel


def test_every_metric_is_compared():
    families = {m.partition("@")[0] for metrics in METRICS_OF.values() for m in metrics}
    assert families == {name for name, entry in METRICS.items() if entry.has_kernels}
