"""``python -m bench dependence``: partial dependence and proximities, beside what they replace.

Partial dependence of one column with ``--values`` values is compared with a prediction of all rows
times that number, and with scikit-learn's ``method="brute"`` if ``--peers`` is given. Proximities
of ``--pairs`` rows with each other are compared with NumPy, which counts for a tenth of them. Times
are medians of ``--repeats``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.host import parser_of
from pyopencl_gbdt import Dataset, GBDTRegressor, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.timing import repeated
from pyopencl_gbdt.explain import partial_dependence, proximities


def main(arguments: list[str]) -> int:
    parser = parser_of("dependence", __doc__)
    parser.add_argument("--rows", type=float, default=1e5)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--values", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="auto", help="as for open_device")
    parser.add_argument("--peers", action="store_true")
    options = parser.parse_args(arguments)
    if options.columns < 3 or min(options.rows, options.values, options.repeats) < 2:
        parser.error("--columns: expected 3 or more; --rows, --values and --repeats: 2 or more")
    X, y = made(int(options.rows), options.columns)
    params = {"max_depth": options.depth, "device": options.device}
    model = train(params, Dataset(X, y), options.trees)
    device = open_device(options.device)
    trees = f"{options.trees} trees of depth {options.depth}"
    print(f"{device.caps.label}: {X.shape[0]} x {X.shape[1]}, {trees}; seconds")
    grid = np.linspace(-2, 2, options.values)
    given = {"grid": grid, "response": "margin"}

    def took(what: str, work: Any, times: float = 1.0) -> None:
        print(f"{what:48} {times * repeated(work, options.repeats).median:9.3f}", flush=True)

    for column in (0, options.columns - 1):
        took(
            f"partial dependence of column {column}, {grid.size} values",
            lambda column=column: partial_dependence(model, X, column, device=device, **given),
        )
    predict = lambda: model.predict(X, output_margin=True, device=device)  # noqa: E731
    took(f"a prediction, times {grid.size}", predict, grid.size)
    if options.peers:
        from sklearn.inspection import partial_dependence as of_scikit_learn

        fitted = GBDTRegressor(n_estimators=options.trees, **params).fit(X, y)
        brute = {"grid_resolution": grid.size, "method": "brute", "kind": "average"}
        took("scikit-learn's brute force", lambda: of_scikit_learn(fitted, X, [0], **brute))
    some = X[: options.pairs]
    took(f"proximities of {len(some)} rows", lambda: proximities(model, some, device=device))
    ids = model.predict(some, pred_leaf=True, device=device)
    tenth = ids[: -(-len(ids) // 10)]
    took("the same in NumPy", lambda: [(ids == one).sum(axis=1) for one in tenth], 10)
    return 0


def made(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return seeded rows of normal numbers, and labels of which the first columns decide most."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.3 * rng.normal(size=n_rows)
    return X, y.astype(np.float32)
