"""Draw the pictures of pages: ``python docs/pictures.py``; needs the extra ``plot`` and a device.

Every device grows the same trees, so a new run changes a picture only where the code did.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from pyopencl_gbdt import (
    GBDTRegressor,
    plot_contributions,
    plot_importance,
    plot_metric,
    plot_partial_dependence,
    plot_tree,
)
from pyopencl_gbdt.cli.demonstration import run_demo
from pyopencl_gbdt.explain import explain

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"
TOWNS = ["Bern", "Lyon", "Oslo", "Riga", "Turin", "Ulm"]


def rents(n_rows: int) -> tuple[pd.DataFrame, pd.Series]:
    """Return made-up flats and their rents; two towns are dear."""
    rng = np.random.default_rng(0)
    flats = pd.DataFrame(
        {
            "area": rng.gamma(9, 9, n_rows).round(1),
            "town": pd.Categorical(rng.choice(TOWNS, n_rows)),
            "floor": rng.integers(0, 9, n_rows),
            "year built": rng.integers(1900, 2024, n_rows),
            "distance to the station": rng.gamma(2, 400, n_rows).round(),
        }
    )
    dear = flats["town"].isin(["Bern", "Ulm"])
    rent = flats["area"] * np.where(dear, 19, 11) + 20 * flats["floor"]
    return flats, rent - 0.1 * flats["distance to the station"] + rng.normal(0, 120, n_rows)


def draw() -> None:
    """Write every picture."""
    X, y = rents(3000)
    model = GBDTRegressor(n_estimators=200, max_depth=3, learning_rate=0.2, max_cat_to_onehot=1,
                          early_stopping_rounds=10)  # fmt: skip
    train, test = (X[:2000], y[:2000]), (X[2000:], y[2000:])
    model.fit(*train, eval_set=[train, test], verbose=False)
    plot_tree(model, 0, IMAGES / "tree.png")
    rows = test[0][:500]
    axes = {
        "importance": plot_importance(model),
        "learning-curves": plot_metric(model),
        "contributions": plot_contributions(explain(model, rows)),
        "waterfall": plot_contributions(explain(model, rows), "waterfall", row=0),
        "dependence": plot_partial_dependence(model, rows, "area", kind="both"),
    }
    for name, drawn in axes.items():
        drawn.figure.savefig(IMAGES / f"{name}.png", dpi=90)
    with tempfile.TemporaryDirectory() as folder:
        run_demo(folder=folder)
        shutil.copy(Path(folder) / "first_tree.png", DOCS / "demo-first-tree.png")


if __name__ == "__main__":
    draw()
