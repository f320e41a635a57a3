"""The peers: five libraries and a fork of one of them, at parameters equal to ours.

XGBoost, LightGBM, Falcata (a fork of LightGBM for NVIDIA's cards), CatBoost, scikit-learn and
hessboost take learning rate 0.1, L2 penalty 1, the shape's depth and bins, a least Hessian of 1 in
a child where they have that parameter, and all the processor's threads. XGBoost, Falcata and
CatBoost run on an NVIDIA card where ours does; XGBoost's exact search on the processor alone. A
library is imported by its constructor: in the process that measures it, and only there.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from bench.page_lines import F32, Line
from bench.system import LEARNING_RATE, Settings, System, params_of


def _xgboosts_names(shape: Line, settings: Settings, device: str) -> dict[str, Any]:
    """Return a line's parameters by XGBoost's names, which hessboost takes, too."""
    return {
        "objective": shape.objective,
        "tree_method": "hist",
        "device": device,
        "max_depth": shape.max_depth,
        "max_bin": shape.max_bin,
        "learning_rate": LEARNING_RATE,
        "lambda": 1.0,
        "min_child_weight": 1.0,
        "nthread": settings.n_threads,
        **params_of(shape),
    }


class XGBoost(System):
    """XGBoost ``hist``; set-up is its ``QuantileDMatrix`` from NumPy.

    On CUDA it leaves a part of that work to the first round, which the table has beside it.
    """

    def __init__(self, shape: Line, settings: Settings) -> None:
        super().__init__(shape, settings)
        import xgboost

        self.library, self.version = xgboost, xgboost.__version__
        if not xgboost.build_info().get("USE_CUDA"):
            self.device = "cpu"
        self.exact = shape.tree_method == "exact"
        if self.exact:
            self.device = "cpu"
        self.params = _xgboosts_names(shape, settings, self.device) | {"verbosity": 0}
        if self.exact:
            del self.params["max_bin"]
            self.params["tree_method"] = "exact"

    def given(self, values: F32) -> Any:
        """Return the values as this system hands them to the library."""
        return values

    def setup(self, values: F32, label: F32) -> None:
        kind = self.library.DMatrix if self.exact else self.library.QuantileDMatrix
        own = {} if self.exact else {"max_bin": self.shape.max_bin}
        own |= {"nthread": self.settings.n_threads, "group": self.shape.queries(len(label))}
        self.data = kind(self.given(values), label, **own)
        self._begin()

    def relabel(self, values: F32, label: F32) -> None:
        self.data.set_label(label)
        self._begin()

    def _begin(self) -> None:
        self.booster = self.library.Booster(self.params, [self.data])
        self.n_done = 0

    def rounds(self, n: int) -> None:
        for _ in range(n):  # a round ends with the tree on the host
            self.booster.update(self.data, self.n_done)
            self.n_done += 1

    def predict(self, values: F32) -> F32:
        return np.asarray(self.booster.inplace_predict(values))


class XGBoostCupy(XGBoost):
    """XGBoost on CUDA, fed through CuPy: it sketches on the card, so set-up is faster."""

    def __init__(self, shape: Line, settings: Settings) -> None:
        super().__init__(shape, settings)
        if self.device != "cuda":
            raise RuntimeError("needs an NVIDIA card and XGBoost built for CUDA")
        import cupy

        self.cupy = cupy

    def given(self, values: F32) -> Any:
        return self.cupy.asarray(values)

    def predict(self, values: F32) -> F32:
        return np.asarray(self.cupy.asnumpy(self.booster.inplace_predict(self.given(values))))


class LightGBM(System):
    """LightGBM on the processor; as many leaves as the depth allows.

    It has 255 bins, as it keeps one for the missing. What a sparse matrix lacks is missing.
    """

    #: The package: forks have other names.
    package: ClassVar[str] = "lightgbm"
    on_cuda: ClassVar[bool] = False

    def __init__(self, shape: Line, settings: Settings) -> None:
        super().__init__(shape, settings)
        self.library: Any = importlib.import_module(self.package)
        self.version = self.library.__version__
        if not self.on_cuda:
            self.device = "cpu"
        self.params = {
            "objective": {"binary:logistic": "binary"}.get(shape.objective, "regression"),
            "num_leaves": 2**shape.max_depth,
            "max_depth": shape.max_depth,
            "max_bin": min(255, shape.max_bin),
            "learning_rate": LEARNING_RATE,
            "lambda_l2": 1.0,
            "min_sum_hessian_in_leaf": 1.0,
            "min_data_in_leaf": 1,
            "num_threads": settings.n_threads,
            "verbosity": -1,
            "zero_as_missing": shape.per_row > 0,
        }
        if shape.leaves:
            self.params |= {"num_leaves": shape.leaves, "max_depth": -1}
        if shape.n_classes:
            self.params |= {"objective": "multiclass", "num_class": shape.n_classes}
        if shape.drawn < 1:
            self.params["feature_fraction"] = shape.drawn

    def setup(self, values: F32, label: F32) -> None:
        self.data = self.library.Dataset(values, label, params=self.params).construct()
        self.booster = self.library.Booster(self.params, self.data)

    def relabel(self, values: F32, label: F32) -> None:
        self.data.set_label(label)
        self.booster = self.library.Booster(self.params, self.data)

    def rounds(self, n: int) -> None:
        for _ in range(n):
            self.booster.update()

    def predict(self, values: F32) -> F32:
        return np.asarray(self.booster.predict(values))


class Falcata(LightGBM):
    """Falcata on CUDA; its gradients are integers that are rounded to the nearest one."""

    package = "falcata"
    on_cuda = True
    #: ``fixedpoint`` rounds to the nearest integer, ``stochastic`` at random to one of few.
    quant_mode: ClassVar[str] = "fixedpoint"

    def __init__(self, shape: Line, settings: Settings) -> None:
        super().__init__(shape, settings)
        if self.device != "cuda":
            raise RuntimeError(
                f"device {self.device!r}: Falcata is measured on 'cuda' alone; name lightgbm for a "
                "processor"
            )
        self.params |= {"device_type": "cuda", "quant_mode": self.quant_mode, "cuda_plan": "auto"}

    def rounds(self, n: int) -> None:
        super().rounds(n)
        self.booster.get_leaf_output(self.booster.num_trees() - 1, 0)  # the last tree is here


class FalcataStochastic(Falcata):
    """Falcata with gradients of a few values, which are rounded at random: its fastest way."""

    quant_mode = "stochastic"


class Hessboost(System):
    """hessboost on the processor; it bins within ``train``."""

    incremental = False

    def __init__(self, shape: Line, settings: Settings) -> None:
        super().__init__(shape, settings)
        import hessboost

        self.library, self.version, self.device = hessboost, hessboost.__version__, "cpu"
        self.params = _xgboosts_names(shape, settings, self.device)

    def setup(self, values: F32, label: F32) -> None:
        self.data = self.library.DMatrix(values, label=label)

    def rounds(self, n: int) -> None:
        self.booster = self.library.train(self.params, self.data, n, verbose_eval=False)

    def predict(self, values: F32) -> F32:
        return np.asarray(self.booster.predict(values))


class CatBoost(System):
    """CatBoost, ``Depthwise``, ``Lossguide`` or symmetric trees, no sampling.

    Its GPU takes no callbacks, hence two fits.
    """

    incremental = False

    def __init__(self, shape: Line, settings: Settings) -> None:
        super().__init__(shape, settings)
        import catboost

        self.library, self.version = catboost, catboost.__version__
        self.logistic = shape.objective == "binary:logistic"
        self.params = {
            "loss_function": "Logloss" if self.logistic else "RMSE",
            "grow_policy": "SymmetricTree" if shape.symmetric else "Depthwise",
            "depth": shape.max_depth,
            "border_count": shape.max_bin - 1,
            "learning_rate": LEARNING_RATE,
            "l2_leaf_reg": 1.0,
            "min_data_in_leaf": 1,
            "bootstrap_type": "No",
            "random_strength": 0,
            "leaf_estimation_iterations": 1,
            "boosting_type": "Plain",
            "boost_from_average": True,
            "task_type": "GPU" if self.device == "cuda" else "CPU",
            "thread_count": settings.n_threads,
            "logging_level": "Silent",
            "allow_writing_files": False,
        }
        if shape.leaves:
            self.params |= {"grow_policy": "Lossguide", "max_leaves": shape.leaves, "depth": 16}
        if shape.n_classes:
            self.params |= {"loss_function": "MultiClass", "boost_from_average": False}
        if shape.drawn < 1:
            self.params["rsm"] = shape.drawn

    def setup(self, values: F32, label: F32) -> None:
        self.data = self.library.Pool(values, label, thread_count=self.settings.n_threads)
        self.data.quantize(border_count=self.shape.max_bin - 1, task_type=self.params["task_type"])

    def rounds(self, n: int) -> None:
        self.model = self.library.CatBoost({**self.params, "iterations": n})
        self.model.fit(self.data)

    def predict(self, values: F32) -> F32:
        if self.logistic or self.shape.n_classes:
            found = np.asarray(self.model.predict(values, prediction_type="Probability"))
            return found[:, 1] if self.logistic else found
        return np.asarray(self.model.predict(values))


class ScikitLearn(System):
    """scikit-learn's histogram gradient boosting; it bins within ``fit``, 255 bins at most."""

    incremental = False

    def __init__(self, shape: Line, settings: Settings) -> None:
        super().__init__(shape, settings)
        import sklearn
        from sklearn import ensemble

        self.version, self.device = sklearn.__version__, "cpu"
        self.logistic = shape.objective == "binary:logistic"
        kind = "Classifier" if self.logistic else "Regressor"
        self.estimator = getattr(ensemble, f"HistGradientBoosting{kind}")

    def setup(self, values: F32, label: F32) -> None:
        self.values, self.label = values, label

    def rounds(self, n: int) -> None:
        self.model = self.estimator(
            max_iter=n,
            learning_rate=LEARNING_RATE,
            max_depth=self.shape.max_depth,
            max_leaf_nodes=2**self.shape.max_depth,
            min_samples_leaf=1,
            l2_regularization=1.0,
            max_bins=min(255, self.shape.max_bin),
            early_stopping=False,
        ).fit(self.values, self.label)

    def predict(self, values: F32) -> F32:
        if self.logistic:
            return np.asarray(self.model.predict_proba(values)[:, 1])
        return np.asarray(self.model.predict(values))


#: Every peer by its name, with the modules that it needs.
PEERS: dict[str, tuple[type[System], tuple[str, ...]]] = {
    "xgboost": (XGBoost, ("xgboost",)),
    "xgboost-cupy": (XGBoostCupy, ("xgboost", "cupy")),
    "lightgbm": (LightGBM, ("lightgbm",)),
    "falcata": (Falcata, ("falcata",)),
    "falcata-stochastic": (FalcataStochastic, ("falcata",)),
    "catboost": (CatBoost, ("catboost",)),
    "sklearn": (ScikitLearn, ("sklearn",)),
    "hessboost": (Hessboost, ("hessboost",)),
}
#: Peers that take part where they are named.
NAMED_ALONE = frozenset({"xgboost-cupy", "sklearn"})
#: Peers that take sparse matrices; those that take exact search, and lines with parameters.
SPARSE, ALONE = frozenset({"xgboost", "lightgbm"}), frozenset({"xgboost", "xgboost-cupy"})
#: Losses that all peers are given.
COMMON = ("binary:logistic", "reg:squarederror", "multi:softprob")
#: Peers that run on NVIDIA's cards alone, and those that run on processors alone.
ON_CUDA_ALONE = frozenset({"xgboost-cupy", "falcata", "falcata-stochastic"})
ON_CPUS_ALONE = frozenset({"lightgbm", "sklearn", "hessboost"})


#: Peers by their names, with the modules that each needs.
Offered = Mapping[str, tuple[type[System], tuple[str, ...]]]


def choose_peers(text: str, *, cuda: bool, offered: Offered = PEERS) -> list[str]:
    """Return the names of ``auto`` (what is installed), ``none`` or a list with commas."""
    if text == "none":
        return []
    if text != "auto":
        names = [name.strip() for name in text.split(",")]
        for name in names:
            if name not in offered:
                raise ValueError(
                    f"--peers {name}: expected auto, none or some of {', '.join(offered)}"
                )
        return names
    found = [
        name for name, (_, needs) in offered.items() if all(map(importlib.util.find_spec, needs))
    ]
    left_out = NAMED_ALONE if cuda else NAMED_ALONE | ON_CUDA_ALONE
    return [name for name in found if name not in left_out]
