"""The small real data set that comes with the package; README.md beside it has its licence."""

from __future__ import annotations

from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.readers import read_table

FloatArray = NDArray[np.float32]


def load_higgs7k() -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Load 7500 rows of HIGGS: two classes, signal and background, of nearly equal size.

    Returns
    -------
    X_train, y_train : (7000, 28) and (7000,) float32 arrays
    X_test, y_test : (500, 28) and (500,) float32 arrays
        Labels are 1 (signal) and 0 (background). No value is missing.
    """
    return (*_load("higgs7k.train.tsv.gz"), *_load("higgs7k.test.tsv.gz"))


def _load(name: str) -> tuple[FloatArray, FloatArray]:
    with as_file(files("pyopencl_gbdt.data").joinpath(name)) as path:
        table = read_table(path, header=False)
    assert isinstance(table.X, np.ndarray)
    assert table.y is not None  # label_column is 0, so there is a label
    return table.X, table.y
