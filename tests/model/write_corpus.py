"""``python tests/model/write_corpus.py``: write small models of the installed XGBoost into corpus/.

A version's zip archive has its models in each format that it writes, and the margins that it
predicts after it has loaded its JSON. The file needs nothing but XGBoost and NumPy, since old
versions run only with old packages around them: 1.0 to 2.0 ran with Python 3.11, NumPy 1.23,
SciPy 1.10 and pandas 1.5.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import xgboost

CORPUS = Path(__file__).resolve().parent / "corpus"
VERSION = tuple(int(part) for part in xgboost.__version__.split(".")[:2])
#: Rows that the margins belong to.
N_SHOWN = 12
#: Models whose third column is codes of levels.
BY_SETS = ("sets", "onehot")


def rows() -> tuple[Any, Any]:
    """Return the columns, a fifth of whose values are missing, and the codes of levels."""
    rng = np.random.RandomState(5)
    X = np.round(rng.normal(size=(60, 3)), 2).astype(np.float32)
    X[rng.rand(60, 3) < 0.2] = np.nan
    return X, rng.randint(0, 6, 60)


def shown(name: str) -> Any:
    """Return the rows that the margins of a model belong to."""
    X, codes = rows()
    if name in BY_SETS:
        X[:, 2] = codes
    return X[:N_SHOWN]


def models() -> dict[str, Any]:
    """Return boosters, and a linear model, by name."""
    X, codes = rows()
    with_codes = X.copy()
    with_codes[:, 2] = codes
    filled = np.nan_to_num(X)
    y = (filled[:, 0] * 2 + np.sin(3 * filled[:, 1]) + 0.1 * codes).astype(np.float32)
    classes = np.digitize(y, [-1, 1])
    targets = np.stack([y, filled[:, 2] * y, -filled[:, 1]], 1)
    vectors = {"multi_strategy": "multi_output_tree"}
    softprob = {"objective": "multi:softprob", "num_class": 3}
    dart = {"booster": "dart", "rate_drop": 0.5, "one_drop": 1}

    def train(labels: Any, n_rounds: int = 2, **parameters: Any) -> Any:
        common = {"max_depth": 2, "eta": 0.5, "nthread": 1, "tree_method": "hist", "seed": 1}
        common.update(base_score=0.5, objective="reg:squarederror", verbosity=0)
        return xgboost.train({**common, **parameters}, xgboost.DMatrix(X, labels), n_rounds)

    def train_by_sets(onehot: int) -> Any:
        types = ["q", "q", "c"]
        data = xgboost.DMatrix(with_codes, y + codes % 3, feature_types=types,
                               enable_categorical=True)  # fmt: skip
        chosen = {"max_depth": 2, "nthread": 1, "tree_method": "hist", "base_score": 0.5}
        return xgboost.train({**chosen, "max_cat_to_onehot": onehot}, data, 2)

    found = {
        "numeric": train(y, base_score=0.25),
        "binary": train(y > 0, objective="binary:logistic"),
        "classes": train(classes, 1, num_parallel_tree=2, subsample=0.8, **softprob),
        "dart": train(y, 4, **dart),
        "linear": xgboost.train({"booster": "gblinear", "nthread": 1}, xgboost.DMatrix(X, y), 1),
    }
    if VERSION >= (1, 6):
        found.update(sets=train_by_sets(1), onehot=train_by_sets(99))
    if VERSION >= (2, 0):
        found["vectors"] = train(targets, **vectors)
        found["vector-classes"] = train(classes, **vectors, **softprob)
    if VERSION >= (3, 2):
        found["reduced-vectors"] = train_by_one_gradient(X, targets)
    return found


def train_by_one_gradient(X: Any, targets: Any) -> Any:
    """Return vectors of three outputs whose splits were searched by the gradients of the first."""
    from xgboost.objective import TreeObjective

    class Reduced(TreeObjective):
        def __call__(self, _: int, margins: Any, data: Any) -> Any:
            return margins - data.get_label().reshape(margins.shape), np.ones_like(margins)

        def split_grad(self, _: int, gradient: Any, hessian: Any) -> Any:
            return gradient[:, :1].copy(), hessian[:, :1].copy()

    chosen = {"max_depth": 2, "nthread": 1, "num_target": 3, "base_score": 0.5}
    chosen.update(multi_strategy="multi_output_tree")
    return xgboost.train(chosen, xgboost.QuantileDMatrix(X, targets), 2, obj=Reduced())


def margins(name: str, file: Path) -> list[Any]:
    types: dict[str, Any] = {}
    if name in BY_SETS:
        types = {"feature_types": ["q", "q", "c"], "enable_categorical": True}
    booster = xgboost.Booster(model_file=str(file))
    found = booster.predict(xgboost.DMatrix(shown(name), **types), output_margin=True)
    listed: list[Any] = np.asarray(found, np.float64).tolist()
    return listed


def main() -> None:
    """Write the archive of the installed version; equal models give equal bytes."""
    endings = ["json"] + (["ubj"] if VERSION >= (1, 6) else [])
    files: dict[str, bytes] = {}
    facts: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, booster in models().items():
            for ending in endings:
                path = Path(folder) / f"{name}.{ending}"
                booster.save_model(str(path))
                files[path.name] = path.read_bytes()
            if name != "linear":
                facts[name] = margins(name, Path(folder) / f"{name}.json")
            if name == "numeric" and VERSION < (3, 1):
                old = Path(folder) / ("old.bin" if VERSION < (2, 1) else "old.deprecated")
                booster.save_model(str(old))
                files["old.bin"] = old.read_bytes()
    files["margins.json"] = json.dumps(facts).encode()
    path = CORPUS / f"xgboost-{xgboost.__version__}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main()
