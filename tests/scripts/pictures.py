"""Draw importances, a tree and learning curves."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from pyopencl_gbdt import GBDTClassifier, plot_importance, plot_metric, plot_tree

rng = np.random.default_rng(0)
frame = pd.DataFrame(
    {"age": rng.normal(size=300), "town": pd.Categorical(rng.choice(list("abc"), 300))}
)
y = (frame["town"] == "b") ^ (frame["age"] > 0)
model = GBDTClassifier(n_estimators=10, max_depth=3)
model.fit(frame, y, eval_set=[(frame, y)], verbose=False)
axes = plot_importance(model, max_num_features=5)
axes.figure.savefig("importance.png")
figure, ax = plt.subplots()
assert plot_tree(model, ax=ax) is ax
texts = " ".join(text.get_text() for text in ax.texts)
assert "town in {" in texts or "age" in texts, texts
figure.savefig("tree.png")
plot_metric(model).figure.savefig("metric.png")
