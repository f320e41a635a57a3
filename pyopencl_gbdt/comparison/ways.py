"""How a shape is trained: its parameters, and the rows as the trainer takes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from pyopencl_gbdt.comparison.shapes import Shape
from pyopencl_gbdt.data.dataset import Dataset

F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Trainer:
    """A trainer beside that of dense columns of numbers.

    Attributes
    ----------
    params : dict
        Parameters that ask for it.
    sparse : bool
        Whether values below the shape's share of missing ones are left out, and the rest is a
        sparse matrix.
    levels : tuple of int
        Levels of the first columns, which become categorical.
    """

    params: dict[str, Any] = field(default_factory=dict)
    sparse: bool = False
    levels: tuple[int, ...] = ()


#: Ways by the names that `Shape.way` has.
WAYS: dict[str, Trainer] = {
    "": Trainer(),
    "exact": Trainer({"tree_method": "exact"}),
    "sparse": Trainer(sparse=True),
    "statistics": Trainer({"cat_method": "statistics"}, levels=(8, 30, 100, 300, 1000, 3000)),
    "sets": Trainer({"cat_method": "sets"}, levels=(4, 8, 12, 16, 24, 32)),
}


def parameters(shape: Shape, device_id: str) -> dict[str, Any]:
    """Return the training parameters of a shape."""
    symmetric = {"grow_policy": "symmetric"} if shape.symmetric else {}
    return {
        "objective": shape.objective,
        "max_depth": shape.max_depth,
        "max_bin": shape.max_bin,
        "learning_rate": 0.1,
        "device": device_id,
        "verbosity": 0,
        **symmetric,
        **WAYS[shape.way].params,
    }


def dataset(shape: Shape, values: F32, label: F32 | None = None) -> Dataset:
    """Return rows of `Shape.make` as the shape's trainer takes them.

    Parameters
    ----------
    shape : Shape
    values : float32 array, shape (n_rows, n_features)
        Uniform in [0, 1) where columns become categorical or sparse.
    label : float32 array, shape (n_rows,), or None
    """
    way = WAYS[shape.way]
    if way.sparse:
        there = np.where(values >= np.float32(shape.missing), values, np.float32(0))
        return Dataset(scipy.sparse.csr_matrix(there), label)
    if not way.levels:
        return Dataset(values, label)
    coded = values.copy()
    for column, n_levels in enumerate(way.levels):
        coded[:, column] = np.floor(values[:, column] * np.float32(n_levels))
    return Dataset(coded, label, categorical_features=list(range(len(way.levels))))


__all__ = ["WAYS", "Trainer", "dataset", "parameters"]
