"""Train on a sparse matrix; what is absent is missing."""

import numpy as np
import scipy.sparse as sp

from pyopencl_gbdt import GBDTClassifier

rng = np.random.default_rng(0)
X = sp.random(500, 40, density=0.1, format="csr", random_state=0, dtype=np.float32)
y = np.asarray(X[:, :5].sum(axis=1)).ravel() > 0.2
model = GBDTClassifier(n_estimators=20, max_depth=4, learning_rate=0.3).fit(X, y)
assert model.score(X, y) > 0.85
dense = X.toarray()
dense[dense == 0] = np.nan
assert np.array_equal(model.predict_proba(X), model.predict_proba(dense))
