"""Row weights from class weights, as in scikit-learn's ``compute_sample_weight``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show


def weights_of_classes(
    class_weight: Any, classes: npt.NDArray[Any], codes: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    """Return the weight of each row.

    Parameters
    ----------
    class_weight : "balanced" or mapping of class to number
        ``"balanced"`` is ``n_rows / (n_classes * rows of the class)``. Classes that a mapping
        does not list have weight 1. If it lists all classes, it may list others too.
    classes : array, shape (n_classes,)
    codes : float32 array, shape (n_rows,)
        Indices into ``classes``.

    Returns
    -------
    float64 array, shape (n_rows,)

    Raises
    ------
    ParameterError
        If it is anything else, a weight is not a finite number >= 0, or a class is unknown.
    """
    rows = codes.astype(np.intp)
    if isinstance(class_weight, str) and class_weight == "balanced":
        counts = np.bincount(rows, minlength=classes.size)
        balanced: npt.NDArray[np.float64] = (rows.size / (classes.size * counts))[rows]
        return balanced
    if not isinstance(class_weight, Mapping):
        raise ParameterError(
            f"class_weight={show(class_weight)}: expected 'balanced', a dict of classes to "
            f"numbers, or None; give one of them"
        )
    labels = classes.tolist()
    for label, weight in class_weight.items():
        if not isinstance(weight, Real) or not 0 <= float(weight) < math.inf:
            raise ParameterError(
                f"class_weight={{{show(label)}: {show(weight)}}}: expected a finite number >= 0; "
                f"use 0 to leave a class out"
            )
    unknown = [label for label in class_weight if label not in labels]
    if unknown and any(label not in class_weight for label in labels):
        raise ParameterError(
            f"class_weight names {show(unknown[0])}: expected classes of y, {labels}; name these"
        )
    return np.array([float(class_weight.get(label, 1)) for label in labels])[rows]
