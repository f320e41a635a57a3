"""Trees whose leaves are vectors, on categorical columns: the bits of the twin."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.callbacks import TrainingCheckPoint
from pyopencl_gbdt.categories.statistic_columns import replace_by_statistics
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.parameters.category_offers import STATISTICS
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.conftest import TEST_DEVICE
from tests.reference.train import train_reference

N_CLASSES, LEVELS = 3, [1, 2]
PARAMS = {
    "multi_strategy": "multi_output_tree", "objective": "multi:softprob", "num_class": N_CLASSES,
    "max_depth": 3, "n_estimators": 3, "max_bin": 32, "device": TEST_DEVICE, "verbosity": 0,
}  # fmt: skip
RNG = np.random.default_rng(6)
X = RNG.normal(size=(500, 4)).astype(np.float32)
X[:, 1], X[:, 2] = RNG.integers(0, 3, 500), np.minimum(RNG.zipf(1.4, 500) - 1, 30)
EFFECT = RNG.normal(size=(31, 2))
PLACE = X[:, 2].astype(int)
Y = np.digitize(EFFECT[PLACE, 0] + X[:, 1] + X[:, 0] / 2, [0.2, 1.4]).astype(np.float32)
TARGETS = (EFFECT[PLACE] + X[:, [0, 1]] * [[1, 2]]).astype(np.float32)
X[RNG.random(500) < 0.05, 2] = np.nan


def rows(label=Y):
    return Dataset(X, label, categorical_features=LEVELS)


@pytest.mark.parametrize("more", [{}, {"grow_policy": "lossguide", "max_leaves": 7}])
def test_statistics_are_columns_of_the_twin(more):
    given = {
        **PARAMS, "cat_method": "statistics", "permutation_count": 1, "max_ctr_complexity": 1,
        "base_score": 0.5, **more,
    }  # fmt: skip
    model = train(given, rows())
    found = model.ensemble
    assert found.leaves.name == "vectors"
    params = Parameters.from_dict(given)
    offers = dict.fromkeys(LEVELS, STATISTICS)
    made = replace_by_statistics(params, rows(), offers, open_device(TEST_DEVICE))
    assert found.trees == train_reference(params, made.data.values, made.data.label).trees
    assert (np.concatenate([tree.feature for tree in found.trees]) >= X.shape[1]).any()
    assert set(np.flatnonzero(model.feature_importances())) > set(LEVELS)


@pytest.mark.parametrize("more", [{}, {"sketch": 2}])
def test_trainings_with_statistics_resume_to_the_same_bytes(more, tmp_path):
    """Orders take turns, leaves have values of the next one, and pairs of columns are chosen."""
    given = {**PARAMS, "cat_method": "statistics", "max_ctr_complexity": 2, **more}
    whole = train(given, rows(), 10, evals=[(rows(), "rows")])
    saver = {"callbacks": [TrainingCheckPoint(tmp_path, interval=6)]}
    for n_rounds in (6, 10):
        resumed = train(given, rows(), n_rounds, evals=[(rows(), "rows")], **saver)
    assert len(whole.ensemble.statistics.tables) > len(LEVELS)
    assert to_json(resumed.ensemble) == to_json(whole.ensemble)
    assert resumed.history == whole.history
    chance = whole.predict(X, device=TEST_DEVICE)[np.arange(Y.size), Y.astype(int)]
    assert -np.log(chance).mean() == pytest.approx(whole.history["rows"]["mlogloss"][-1], rel=1e-5)
