"""Train on a DataFrame with categories and missing values; meet unknown levels afterwards."""

import warnings

import numpy as np
import pandas as pd

from pyopencl_gbdt import GBDTClassifier

rng = np.random.default_rng(0)
frame = pd.DataFrame(
    {
        "age": rng.integers(18, 80, 500).astype(float),
        "sex": pd.Categorical(rng.choice(["male", "female"], 500)),
        "town": pd.Categorical(rng.choice(["Bern", "Ulm", "Lyon"], 500)),
    }
)
frame.loc[::7, "age"] = np.nan
y = np.where((frame["sex"] == "male") ^ (frame["town"] == "Ulm"), "yes", "no")
model = GBDTClassifier(n_estimators=20, max_depth=3, learning_rate=0.3).fit(frame, y)
assert model.score(frame, y) > 0.95
assert list(model.classes_) == ["no", "yes"]
assert list(model.feature_names_in_) == ["age", "sex", "town"]

slip = frame.assign(sex=pd.Categorical([f"{level} " for level in frame["sex"]]))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model.predict(slip)
messages = [str(one.message) for one in caught]
assert any("sex" in text and "male " in text for text in messages), messages
with warnings.catch_warnings():
    warnings.simplefilter("error")
    model.predict(frame)

ids = frame.assign(id=np.arange(500) + 2**24)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    GBDTClassifier(n_estimators=2).fit(ids, y)
assert any("id" in str(one.message) for one in caught)
