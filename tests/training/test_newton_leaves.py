"""Several Newton steps of a leaf: the twin's models, in every way of laying rows out."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.model import to_json
from tests.beside_twin import trained_as_twin
from tests.conftest import TEST_DEVICE
from tests.layouts.rows import LABELS, WEIGHT, X
from tests.training.test_streamed import copied  # noqa: F401 (a fixture)

LOGISTIC = {"objective": "binary:logistic"}
POISSON = {"objective": "count:poisson"}
STEPS = {"leaf_estimation_iterations": 4, "n_estimators": 2, "max_depth": 4, "max_bin": 32}
#: Parameters, label, and whether rows have weights.
CASES = {
    "logistic": (LOGISTIC, "two classes", True),
    "two steps": ({**LOGISTIC, "leaf_estimation_iterations": 2}, "two classes", False),
    "classes": ({"objective": "multi:softprob", "num_class": 3}, "classes", True),
    "classes of a sample": (
        {"objective": "multi:softmax", "num_class": 3, "subsample": 0.6, "num_parallel_tree": 2},
        "classes", False,
    ),
    "counts": ({**POISSON, "reg_alpha": 0.5, "reg_lambda": 0}, "count", True),
    "gamma deviance": ({"objective": "reg:tweedie", "max_delta_step": 0.3}, "count", False),
    "sampled": ({**LOGISTIC, "subsample": 0.5, "num_parallel_tree": 2}, "two classes", True),
    "goss": ({**LOGISTIC, "sampling_method": "goss", "learning_rate": 0.9}, "two classes", False),
    "weighed": ({"sampling_method": "bayesian", "subsample": 0.7}, "number", True),
    "monotone": ({**LOGISTIC, "monotone_constraints": [1, 0, 0, -1, 0]}, "two classes", True),
    "leaf by leaf": (
        {**POISSON, "grow_policy": "lossguide", "max_leaves": 9, "max_depth": 0}, "count", False
    ),
    "symmetric": (
        {**LOGISTIC, "grow_policy": "symmetric", "min_child_weight": 0}, "two classes", True
    ),
    "counted rows": ({**LOGISTIC, "min_samples_leaf": 20}, "two classes", True),
    "exact": ({**LOGISTIC, "tree_method": "exact", "max_bin": 256}, "two classes", False),
    "dropped": ({**LOGISTIC, "booster": "dart", "rate_drop": 0.5}, "two classes", True),
    "targets": ({"subsample": 0.6}, "two targets", True),
    "vectors": (
        {"multi_strategy": "multi_output_tree", "subsample": 0.6, "colsample_bylevel": 0.8},
        "two targets", True,
    ),
}  # fmt: skip


def problem(case):
    params, label, weighted = CASES[case]
    return {**STEPS, **params}, LABELS[label], WEIGHT if weighted else None


def text(params, label, weight, values=X, **more):
    return to_json(
        train({"device": TEST_DEVICE, **params}, Dataset(values, label, weight, **more)).ensemble
    )


@pytest.mark.few(2)
@pytest.mark.more(5)
@pytest.mark.parametrize("case", CASES)
def test_the_twins_model(case):
    params, label, weight = problem(case)
    model = trained_as_twin(params, X, label, weight)
    one = text({**params, "leaf_estimation_iterations": 1}, label, weight)
    assert to_json(model.ensemble) != one


def categories(n_levels):
    column = np.random.default_rng(2).integers(0, n_levels, len(X))
    return np.column_stack([X, column]).astype(np.float32)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "params",
    [
        {"cat_method": "sets"},
        {"cat_method": "statistics", "max_depth": 2},
        {"cat_method": "statistics"},
    ],
    ids=["sets", "statistics", "leaves by the next order"],
)
def test_categories(params):
    """A size of work-groups says nothing to the model."""
    values, label = categories(40), LABELS["two classes"]
    params = {**STEPS, **LOGISTIC, **params}
    of_levels = {"categorical_features": [5]}
    data = Dataset(values, label, WEIGHT, **of_levels)
    model = train({"device": TEST_DEVICE, **params}, data)
    walks = params["cat_method"] == "statistics" and params["max_depth"] == 4
    assert ("leaves_by_next_order" in model.variants) == walks
    assert model.variants["newton_leaves"]
    assert to_json(model.ensemble) == text(
        {**params, "work_group_size": 64}, label, WEIGHT, values, **of_levels
    )
    one = {**params, "leaf_estimation_iterations": 1}
    assert to_json(model.ensemble) != text(one, label, WEIGHT, values, **of_levels)


def leaf_sums(model, label):
    """Return each leaf's sum of gradients where its weight leads, and the weight."""
    (tree,) = model.ensemble.trees
    leaves = model.predict(X, pred_leaf=True).ravel().astype(int)
    value = np.asarray(tree.value, np.float64).ravel()
    start = model.ensemble.base_margin
    p = 1 / (1 + np.exp(-(start + value[leaves])))
    for leaf in np.unique(leaves):
        own = leaves == leaf
        yield (p - label)[own].sum(), value[leaf]


@pytest.mark.parametrize("alpha", [0, 0.7])
def test_steps_lead_to_the_minimum_of_the_penalised_loss(alpha):
    """There G + lambda w + alpha sign(w) is 0."""
    label = LABELS["two classes"]
    params = {**LOGISTIC, "n_estimators": 1, "learning_rate": 1, "max_depth": 3}
    penalties = {"reg_lambda": 0.5, "reg_alpha": alpha, "device": TEST_DEVICE}
    left = []
    for n_steps in (1, 8):
        steps = {"leaf_estimation_iterations": n_steps}
        model = train({**params, **penalties, **steps}, Dataset(X, label))
        found = leaf_sums(model, label)
        left.append(max(abs(g + 0.5 * w + alpha * np.sign(w)) for g, w in found if w))
    assert left[0] > 1
    assert left[1] < 1e-3


def test_a_step_does_not_run_away():
    """Far from the minimum Hessians are near 0, and a Newton step goes too far by thousands."""
    label = LABELS["two classes"]
    start = np.where(label > 0, -12, 12).astype(np.float32)
    params = {**LOGISTIC, "n_estimators": 1, "learning_rate": 1, "max_depth": 3, "max_bin": 32}
    params |= {"min_child_weight": 0, "reg_lambda": 0.01, "device": TEST_DEVICE}
    largest = []
    for n_steps in (1, 30):
        data = Dataset(X, label, base_margin=start)
        model = train({**params, "leaf_estimation_iterations": n_steps}, data)
        (tree,) = model.ensemble.trees
        largest.append(np.abs(tree.value).max())
    assert largest[0] > 1000
    assert largest[1] < 30
