"""Read a model in words, tables, pieces and pictures, and ask where it errs."""

import matplotlib

matplotlib.use("Agg")
import numpy as np
import pandas as pd

from pyopencl_gbdt import (
    GBDTRegressor,
    analyze,
    plot_contributions,
    plot_partial_dependence,
    plot_split_histogram,
)
from pyopencl_gbdt.explain import explain

rng = np.random.default_rng(0)
flats = pd.DataFrame({"area": rng.gamma(9, 9, 400), "town": rng.choice(["Bern", "Ulm"], 400)})
rent = flats["area"] * np.where(flats["town"] == "Bern", 19, 11)
model = GBDTRegressor(n_estimators=10, max_depth=3).fit(flats, rent)
booster = model.get_booster()
assert "town {Bern,Ulm}" in booster.describe()
assert "<script" not in model._repr_html_()
table = booster.trees_to_dataframe()
assert set(table["Feature"]) == {"area", "town", "Leaf"}
assert booster[2:5].num_boosted_rounds() == len(list(booster)[2:5]) == 3
assert booster.to_graphviz(0).source.startswith("digraph {")
booster.set_attr(owner="Ada")
assert booster.copy().attr("owner") == "Ada"
found = analyze(model, flats, np.where(flats["town"] == "Ulm", rent + 500, rent))
assert "town in {Ulm}" in found.segments[0].text, found
plot_split_histogram(model, "area").figure.savefig("splits.png")
plot_partial_dependence(model, flats, "area").figure.savefig("area.png")
plot_contributions(explain(model, flats)).figure.savefig("contributions.png")
try:
    booster[2:50]
except IndexError as error:
    assert "choose rounds that the model has" in str(error)
else:
    raise AssertionError("rounds that are not there")
