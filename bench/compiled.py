"""Models of peers that are compiled to machine code before they predict, for lines of prediction.

They train as the peer does whose model they take. `compile` then takes seconds to minutes, which
`bench.turns` measures beside the predictions. Both need more than the peer: `treelite` and
`tl2cgen` with a C compiler, or `lleaves` with an llvmlite that it knows (0.43 was measured).
"""

from __future__ import annotations

import importlib.metadata
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.page_lines import F32
from bench.peers import LightGBM, XGBoost
from bench.system import System

#: Files of C code of a model: one would take a compiler too long.
_FILES = 64


class Treelite(XGBoost):
    """XGBoost's model as a C library by tl2cgen, compiled at its default level."""

    predictor: Any

    def compile(self) -> None:
        import tl2cgen
        import treelite

        self.version = f"{treelite.__version__}, tl2cgen {tl2cgen.__version__}"
        self.rows_of = tl2cgen.DMatrix
        model = treelite.frontend.from_xgboost(self.booster)
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model.so")
            tl2cgen.export_lib(
                model, toolchain="gcc", libpath=path, params={"parallel_comp": _FILES},
                nthread=self.settings.n_threads,
            )  # fmt: skip
            self.predictor = tl2cgen.Predictor(path, nthread=self.settings.n_threads)

    def predict(self, values: F32) -> F32:
        found = self.predictor.predict(self.rows_of(values))
        return np.asarray(found, np.float32).reshape(len(values))


class LLeaves(LightGBM):
    """LightGBM's model as machine code by lleaves.

    Its functions are not inlined: with 500 trees of depth 8, LLVM did not end within 4 minutes.
    """

    predictor: Any

    def compile(self) -> None:
        import lleaves

        self.version = importlib.metadata.version("lleaves")
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model.txt")
            self.booster.save_model(path)
            self.predictor = lleaves.Model(model_file=path)
            self.predictor.compile(finline=False)

    def predict(self, values: F32) -> F32:
        found = self.predictor.predict(values, n_jobs=self.settings.n_threads)
        return np.asarray(found, np.float32)


#: Every compiled peer by its name, with the modules that it needs.
COMPILED: dict[str, tuple[type[System], tuple[str, ...]]] = {
    "treelite": (Treelite, ("xgboost", "treelite", "tl2cgen")),
    "lleaves": (LLeaves, ("lightgbm", "lleaves")),
}
