"""Every family of losses and way of growing, in every way that lays the rows out: one model."""

import numpy as np
import pytest

from pyopencl_gbdt.device import find
from tests.conftest import TEST_DEVICE
from tests.layouts.recipes import Recipe
from tests.layouts.rows import GROWTH, LABELS, LOSSES, ORDER, WEIGHT, N, X
from tests.layouts.run import run
from tests.layouts.ways import WAYS, trained

#: Ways in which the rows lie elsewhere; those that only take other kernels are left to the twins.
PLACES = ("pages", "streamed", "little memory", "tiled", "two queues", "team")
#: More ways to grow trees, each with what several pages or members have to agree on.
MORE = {
    "outliers": {},
    "outliers in constrained trees": {
        "subsample": 0.5, "interaction_constraints": [[0, 1], [2, 3, 4]],
    },
    "sets": {"cat_method": "sets"},
    "sets, leaf by leaf": {"cat_method": "sets", **GROWTH["leaf by leaf"]},
    "sets of symmetric trees": {"cat_method": "sets", "grow_policy": "symmetric"},
    "drawn borders": {"extra_trees": True},
    "noise": {"random_strength": 1.0},
    "noise of symmetric trees": {"random_strength": 1.0, "grow_policy": "symmetric"},
    "smoothed weights": {"path_smooth": 8.0},
    "smoothed weights, leaf by leaf": {"path_smooth": 8.0, **GROWTH["leaf by leaf"]},
    "statistics": {"cat_method": "statistics", "n_estimators": 6},
    "statistics of symmetric trees": {"grow_policy": "symmetric", "n_estimators": 6},
}  # fmt: skip
#: Ways that refuse a case.
REFUSED = {
    **{name: {"streamed"} for name in ("rank:ndcg", "survival:cox")},
    **{name: {"tiled"} for name in MORE if name.startswith("sets")},
    "statistics": {"streamed", "two queues", "team"},
    "statistics of symmetric trees": {"streamed", "tiled", "two queues", "team"},
}


def of_loss(loss):
    label, more = LOSSES[loss]
    columns = {"label": LABELS[label][ORDER]}
    if loss.startswith("rank"):
        columns["qid"] = np.repeat(np.arange(N // 10), 10)
    else:
        columns["weight"] = WEIGHT
    return Recipe(loss, {"objective": loss.split()[0], **more}, X[ORDER], columns)


def of_growth(name):
    label, values, categorical = LABELS["number"][ORDER].copy(), X[ORDER], ()
    if name.startswith("outliers"):  # their quanta have more than 32 bits
        label[::100] *= 1e6
    if name.startswith(("sets", "statistics")):
        values, rng, categorical = values.copy(), np.random.default_rng(8), (2, 4)
        values[:, 2], values[:, 4] = rng.integers(0, 4, N), rng.integers(0, 30, N)
        label += 2 * ((values[:, 2] + values[:, 4]) % 2)
    params = {"max_bin": 32, **(GROWTH | MORE)[name]}
    return Recipe(name, params, values, {"label": label}, categorical)


CASES = {
    **{loss: of_loss(loss) for loss in LOSSES},
    **{name: of_growth(name) for name in GROWTH | MORE},
}


@pytest.mark.few(2)
@pytest.mark.more(8)
@pytest.mark.parametrize("case", CASES)
def test_every_way(case):
    recipe = CASES[case]
    recipe.params.update({"n_estimators": 2, "max_depth": 4} | recipe.params)
    outcome = run([recipe], {name: WAYS[name] for name in PLACES}, TEST_DEVICE)
    assert outcome.problems == []
    refused = {*outcome.refused_in_way}
    if not find(TEST_DEVICE).caps.on_host_cores:
        refused -= {"little memory"}  # kernels of GPUs take more, in some cases than there is
    assert refused == REFUSED.get(case, set())
    if case.startswith("statistics"):  # columns matter together
        tables = trained(recipe, TEST_DEVICE).ensemble.statistics.tables
        assert any(len(table.parts) > 1 for table in tables)
