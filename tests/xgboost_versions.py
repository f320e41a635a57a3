"""What differs between versions of XGBoost, for tests that compare with any of them."""

import xgboost

VERSION = tuple(int(part) for part in xgboost.__version__.split(".")[:2])

SMOOTHS = VERSION >= (3, 4)
"""``reg:absoluteerror`` and ``reg:quantileerror`` have smooth gradients; leaves are no quantiles.
The predictions of several quantiles are sorted."""

PENALISES_BOUNDED_LEAVES = VERSION >= (3, 4)
"""The gain of a split with ``reg_alpha`` contains the penalty also if leaf values are bounded."""

KEEPS_SETS_OF_VECTORS = VERSION >= (3, 4)
"""A file of trees with vector leaves is written with all of their sets of levels."""
