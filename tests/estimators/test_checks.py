"""scikit-learn's own checks of the estimators, every one of them.

With XGBoost's defaults none is expected to fail. The usual preset samples rows and holds some out,
so a row of weight 2 is not two rows; the checks of that are expected to fail.

Which checks there are depends on the estimators' tags and on scikit-learn's version.
"""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import SkipTestWarning
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from pyopencl_gbdt import (
    GBDTClassifier,
    GBDTRandomForestClassifier,
    GBDTRandomForestRegressor,
    GBDTRanker,
    GBDTRegressor,
)
from pyopencl_gbdt.errors import DataError
from tests.conftest import TEST_DEVICE

SKLEARN_1_6 = sklearn.__version__.startswith("1.6.")
#: Checks that compare a row's weight with as many rows; the second is the name before 1.6.
WEIGHT_CHECKS = ("sample_weight_equivalence", "sample_weights_invariance")


def mistaken(estimator, check: str) -> str:
    """Return why a check of scikit-learn 1.6 says nothing here; 1.7 has corrected both."""
    if not SKLEARN_1_6 or "sample_weight_equivalence" not in check:
        return ""
    tags = estimator.__sklearn_tags__()
    if "sparse" in check and not tags.input_tags.sparse:
        return "scikit-learn 1.6 asks for sparse data whatever the tag says"
    if tags.classifier_tags is not None and not tags.classifier_tags.multi_class:
        return "scikit-learn 1.6 makes two classes by the first row, after shuffling one side"
    return ""


def n_rows(X):
    return (X if hasattr(X, "shape") else np.asarray(X)).shape[0]


class OneQuery(GBDTRanker):
    """A ranker that takes all rows for one query, as scikit-learn's checks know of none."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags._skip_test = False
        return tags

    def _more_tags(self):
        return {"_skip_test": False}

    def fit(self, X, y, sample_weight=None, **options):
        return super().fit(X, y, sample_weight, group=[n_rows(X)], **options)

    def score(self, X, y, sample_weight=None):
        return super().score(X, y, sample_weight, group=[n_rows(X)])


SMALL = {"n_estimators": 5, "device": TEST_DEVICE, "preset": "xgboost"}
FORESTS = (GBDTRandomForestRegressor, GBDTRandomForestClassifier)
#: Forests share the classes of the others.
THOROUGH = {"test_scikit_learns_checks": lambda estimator, check: isinstance(estimator, FORESTS)}


@pytest.mark.few(6)
@pytest.mark.more(45)
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [GBDTRegressor(**SMALL), GBDTClassifier(**SMALL), *(forest(**SMALL) for forest in FORESTS)]
)
def test_scikit_learns_checks(estimator, check):
    if reason := mistaken(estimator, repr(check)):
        pytest.skip(reason)
    if isinstance(estimator, FORESTS) and any(name in repr(check) for name in WEIGHT_CHECKS):
        estimator = estimator.set_params(subsample=1.0)  # else a row more is another sample
    check(estimator)


#: How an estimator of each kind trains by default: one until it stops, one for so many rounds.
USUAL = [GBDTRegressor(device=TEST_DEVICE), GBDTClassifier(device=TEST_DEVICE, n_estimators=5)]


@pytest.mark.few(6)
@pytest.mark.more(20)
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(USUAL)
def test_scikit_learns_checks_of_the_usual_preset(estimator, check):
    if reason := mistaken(estimator, repr(check)):
        pytest.skip(reason)
    if any(name in repr(check) for name in WEIGHT_CHECKS):
        pytest.xfail("rows are sampled and held out one by one, whatever their weights")
    check(estimator)


@pytest.mark.few(16)
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([OneQuery(**SMALL)])
def test_scikit_learns_checks_of_a_ranker(estimator, check):
    if any(name in repr(check) for name in (*WEIGHT_CHECKS, "weights_not_overwritten")):
        pytest.skip("weights of a ranker are those of its queries")
    check(estimator)


@pytest.mark.skipif(
    not hasattr(estimator_checks, "estimator_checks_generator"), reason="scikit-learn before 1.6"
)
def test_a_ranker_says_that_the_checks_know_of_no_queries():
    with pytest.warns(SkipTestWarning, match="GBDTRanker"):
        checks = list(estimator_checks.estimator_checks_generator(GBDTRanker()))
    for estimator, check in checks:  # at most those that fit nothing
        check(estimator)
    with pytest.raises(DataError, match="expected qid= or group="):
        GBDTRanker(**SMALL).fit(np.zeros((3, 1)), np.arange(3))
