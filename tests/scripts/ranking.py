"""Rank documents of queries."""

import numpy as np

from pyopencl_gbdt import GBDTRanker

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 5))
y = np.clip(np.round(X[:, 0] + rng.normal(size=600) / 2 + 1), 0, 3)
qid = np.repeat(np.arange(60), 10)
model = GBDTRanker(n_estimators=20, objective="rank:ndcg", max_depth=3).fit(X, y, qid=qid)
assert model.score(X, y, qid=qid) > 0.8
same = GBDTRanker(n_estimators=20, objective="rank:ndcg", max_depth=3).fit(X, y, group=[10] * 60)
assert np.array_equal(model.predict(X), same.predict(X))
try:
    GBDTRanker().fit(X, y)
except ValueError as error:
    print(error)
    assert "qid" in str(error)
    assert "group" in str(error)
else:
    raise AssertionError("a ranker took rows without queries")
