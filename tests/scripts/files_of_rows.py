"""Train on files: name the label's column, and slip in a cell."""

from pathlib import Path

import numpy as np

from pyopencl_gbdt import Dataset, GBDTRegressor, train

rng = np.random.default_rng(0)
rows = rng.normal(size=(200, 3))
rows[:, 2] = rows[:, 0] + rows[:, 1]
header = "a,b,label"
np.savetxt("rows.csv", rows, delimiter=",", header=header, comments="", fmt="%.6f")

try:
    GBDTRegressor(n_estimators=3).fit("rows.csv")
except ValueError as error:
    print(error)
    assert "label_column" in str(error)
else:
    raise AssertionError("the first column became the label without a word")
model = GBDTRegressor(n_estimators=20).fit("rows.csv", label_column="label")
assert model.n_features_in_ == 2
assert model.score(rows[:, :2], rows[:, 2]) > 0.8

lines = Path("rows.csv").read_text().splitlines()
lines[50] = "5O,1.0,2.0"
Path("slip.csv").write_text("\n".join(lines) + "\n")
try:
    train({}, Dataset.from_batches("slip.csv", label_column="label"), 2)
except ValueError as error:
    print(error)
    assert "5O" in str(error)
else:
    raise AssertionError("a slip made the column categorical")
