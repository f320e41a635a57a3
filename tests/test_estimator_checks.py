"""scikit-learn's own checks of the estimators, every one of them, none expected to fail.

Which checks there are depends on the estimators' tags and on scikit-learn's version.
"""

from __future__ import annotations

import pytest
import sklearn
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from pyopencl_gbdt import GBDTClassifier, GBDTRegressor

from .conftest import TEST_DEVICE

SKLEARN_1_6 = sklearn.__version__.startswith("1.6.")


def mistaken(estimator, check: str) -> str:
    """Return why a check of scikit-learn 1.6 says nothing here; 1.7 has corrected both."""
    tags = get_tags(estimator)
    if not SKLEARN_1_6 or "sample_weight_equivalence" not in check:
        return ""
    if "sparse" in check and not tags.input_tags.sparse:
        return "scikit-learn 1.6 asks for sparse data whatever the tag says"
    if tags.classifier_tags is not None and not tags.classifier_tags.multi_class:
        return "scikit-learn 1.6 makes two classes by the first row, after shuffling one side"
    return ""


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        GBDTRegressor(n_estimators=5, device=TEST_DEVICE),
        GBDTClassifier(n_estimators=5, device=TEST_DEVICE),
    ]
)
def test_scikit_learns_checks(estimator, check):
    if reason := mistaken(estimator, repr(check)):
        pytest.skip(reason)
    check(estimator)
