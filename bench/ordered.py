"""``python -m bench ordered``: held-out loss of ordered boosting beside plain, on small data.

A cell has means over seeds of the least loss of 200 rounds, then of the loss after them. The last
column says in how many seeds four orders were better than plain. A seed draws the rows that are
held out, the made data and the orders. Nothing is tuned: all ways have the same parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from sklearn import datasets

from bench.host import parser_of
from pyopencl_gbdt import Dataset, train

F64 = npt.NDArray[np.float64]
Rows = tuple[F64, F64]
#: The share of the rows that is held out.
_HELD_OUT = 0.4
#: Rows of the made sets.
_MADE_ROWS = 600
#: Levels of a categorical column.
_LEVELS = 50
WAYS = {
    "plain": {},
    "ordered, 1 order": {"boosting_type": "ordered", "permutation_count": 1},
    "ordered, 2 orders": {"boosting_type": "ordered"},
    "ordered, 4 orders": {"boosting_type": "ordered", "permutation_count": 4},
}
_SHARED = {"n_estimators": 200, "learning_rate": 0.05, "max_depth": 6}


def _bundled(load: Callable[..., Rows]) -> Callable[[int], Rows]:
    return lambda seed: load(return_X_y=True)


def _noisy(seed: int) -> Rows:
    """Return classes of which one in four is drawn at random."""
    return datasets.make_classification(  # type: ignore[no-any-return]
        _MADE_ROWS, 20, n_informative=5, flip_y=0.25, random_state=seed
    )


def _friedman(seed: int) -> Rows:
    return datasets.make_friedman1(_MADE_ROWS, 10, noise=3.0, random_state=seed)  # type: ignore[no-any-return]


def _levels(seed: int) -> Rows:
    """Return two columns of levels with effects of their own, and two of numbers."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, _LEVELS, (_MADE_ROWS, 2))
    numbers = rng.normal(size=(_MADE_ROWS, 2))
    score = numbers[:, 0] + rng.normal(size=(2, _LEVELS))[[0, 1], levels].sum(axis=1)
    hit = rng.random(_MADE_ROWS) < 1 / (1 + np.exp(-score))
    return np.column_stack([levels, numbers]), hit.astype(np.float64)


#: Loss, metric, and what returns features and labels of a seed.
SETS = {
    "diabetes": ("reg:squarederror", "rmse", _bundled(datasets.load_diabetes)),
    "breast_cancer": ("binary:logistic", "logloss", _bundled(datasets.load_breast_cancer)),
    "wine": ("multi:softprob", "mlogloss", _bundled(datasets.load_wine)),
    "iris": ("multi:softprob", "mlogloss", _bundled(datasets.load_iris)),
    "noisy classes": ("binary:logistic", "logloss", _noisy),
    "friedman, noisy": ("reg:squarederror", "rmse", _friedman),
    "levels": ("binary:logistic", "logloss", _levels),
}


def losses(name: str, seed: int, device: str, **params: object) -> dict[str, tuple[float, float]]:
    """Return the least held-out loss, and the last one, of every way."""
    objective, metric, load = SETS[name]
    X, y = load(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    cut = int(len(y) * _HELD_OUT)
    own = {"num_class": 3} if metric == "mlogloss" else {}
    columns = {"categorical_features": [0, 1]} if name == "levels" else {}
    data, test = (Dataset(X[some], y[some], **columns) for some in (order[cut:], order[:cut]))
    found = {}
    for way, more in WAYS.items():
        given = {**_SHARED, "objective": objective, "device": device, "random_state": seed}
        every = {**given, **own, **params, **more}
        model = train(every, data, evals=[(test, "test")], eval_metric=metric)
        curve = model.history["test"][metric]
        found[way] = min(curve), curve[-1]
    return found


def lines(seeds: range, device: str, **params: object) -> Iterator[str]:
    """Yield a Markdown table: means over seeds, and in how many ordered boosting was better."""
    yield "| data | " + " | ".join(WAYS) + " | better than plain |"
    yield "|---|" + "---|" * (len(WAYS) + 1)
    for name in SETS:
        runs = [losses(name, seed, device, **params) for seed in seeds]
        cells = [
            f"{np.mean([run[way][0] for run in runs]):.4f}; "
            f"{np.mean([run[way][1] for run in runs]):.4f}"
            for way in WAYS
        ]
        last = list(WAYS)[-1]
        better = [sum(run[last][k] < run["plain"][k] for run in runs) for k in (0, 1)]
        yield f"| {name} | " + " | ".join(cells) + f" | {better[0]}; {better[1]} of {len(seeds)} |"


def main(arguments: list[str] | None = None) -> int:
    parser = parser_of("ordered", __doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--device", default="auto")
    given = parser.parse_args(arguments)
    seeds = range(given.first, given.first + given.seeds)
    for line in lines(seeds, given.device, verbosity=0):
        print(line, flush=True)
    return 0
