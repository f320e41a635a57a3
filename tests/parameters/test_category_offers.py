"""What categorical columns offer to the search, by parameters and by numbers of levels."""

import pytest

from pyopencl_gbdt.pages.cuts import MOST_LEVELS
from pyopencl_gbdt.parameters.category_offers import SETS, STATISTICS, Offer, offers
from pyopencl_gbdt.parameters.parameters import Parameters

BOTH = Offer(sets=True, statistics=True)
LEVELS = {5: 100, 0: 16, 3: 17}


def offered(**params):
    return offers(Parameters.from_dict({"objective": "binary:logistic", **params}), LEVELS)


@pytest.mark.parametrize(
    ("params", "wanted"),
    [
        ({}, [SETS, STATISTICS, STATISTICS]),
        ({"max_set_levels": 99}, [SETS, SETS, STATISTICS]),
        ({"max_set_levels": 0}, [STATISTICS] * 3),
        ({"max_set_levels": 99, "min_statistic_levels": 17}, [SETS, BOTH, STATISTICS]),
        ({"max_set_levels": 100, "min_statistic_levels": 1}, [BOTH] * 3),
        ({"cat_method": "sets"}, [SETS] * 3),
        ({"cat_method": "statistics", "max_set_levels": 100}, [STATISTICS] * 3),
        ({"cat_method": "both", "max_set_levels": 0}, [BOTH] * 3),
        ({"objective": "survival:cox", "min_statistic_levels": 2}, [SETS] * 3),
    ],
)
def test_methods_and_levels_decide(params, wanted):
    found = offered(**params)
    assert list(found) == [0, 3, 5]
    assert list(found.values()) == wanted


def test_a_column_of_more_levels_than_sets_have_offers_statistics_alone():
    params = Parameters.from_dict({"cat_method": "both"})
    found = offers(params, {0: MOST_LEVELS, 1: MOST_LEVELS + 1})
    assert found == {0: BOTH, 1: STATISTICS}
