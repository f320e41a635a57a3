"""The kinds of arguments of ``train``, ``cv`` and ``Model``, checked before anything is done."""

from __future__ import annotations

import numbers
import operator
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from pyopencl_gbdt.data.places import show
from pyopencl_gbdt.dataset import Dataset
from pyopencl_gbdt.errors import DataTypeError, ParameterError
from pyopencl_gbdt.parameter_names import ROWS


def check_dataset(data: Any) -> None:
    """Refuse what is no ``Dataset``, such as a matrix.

    Raises
    ------
    DataTypeError
    """
    if not isinstance(data, Dataset):
        raise DataTypeError(
            f"data is of type {type(data).__name__}: expected a Dataset; make one of the rows and "
            "their labels: Dataset(X, y)"
        )


def check_rounds(n_rounds: Any, *, also_none: bool = True) -> int | None:
    """Return a number of rounds; None where the parameters say how many.

    Raises
    ------
    ParameterError
    """
    if n_rounds is None and also_none:
        return None
    if n_rounds is None:
        raise ParameterError("n_rounds=None: expected an integer >= 0; give the number of rounds")
    return int(ROWS["n_estimators"].convert(n_rounds, "n_rounds"))  # type: ignore[arg-type]


def check_pairs(evals: Any) -> list[tuple[Dataset, str]]:
    """Return evaluation sets as a list of (Dataset, name); None is none.

    Raises
    ------
    ParameterError
    """
    if evals is None:
        return []
    is_table = isinstance(evals, (str, bytes, dict, Dataset)) or hasattr(evals, "shape")
    if is_table or not isinstance(evals, Iterable):
        raise ParameterError(
            f"evals is of type {type(evals).__name__}: expected a list of (Dataset, name); give one"
        )
    pairs = []
    for index, pair in enumerate(evals):
        is_pair = isinstance(pair, (tuple, list)) and len(pair) == 2
        if not is_pair or not isinstance(pair[0], Dataset) or not isinstance(pair[1], str):
            raise ParameterError(
                f"evals[{index}]={type(pair).__name__}: expected (Dataset, name); make a Dataset "
                "of the rows and their labels"
            )
        pairs.append((pair[0], pair[1]))
    return pairs


def check_verbose(verbose: Any) -> int:
    """Return after how many rounds metrics are printed; 0 is never.

    Raises
    ------
    ParameterError
    """
    if verbose is None:
        return 0
    try:
        period = operator.index(verbose)
    except TypeError:
        period = -1
    if period < 0:
        raise ParameterError(
            f"verbose={show(verbose)}: expected True, False or a number of rounds >= 1; give one"
        )
    return period


def check_callables(**given: Any) -> None:
    """Refuse arguments that are neither None nor functions.

    Raises
    ------
    ParameterError
    """
    for name, value in given.items():
        if value is not None and not callable(value):
            raise ParameterError(f"{name}={show(value)}: expected a function or None; give one")


def check_switches(**given: Any) -> None:
    """Refuse arguments that are neither None nor True, False, 1 or 0.

    Raises
    ------
    ParameterError
    """
    for name, value in given.items():
        number = isinstance(value, (bool, np.bool_, numbers.Integral))
        if value is not None and (not number or value not in (0, 1)):
            raise ParameterError(f"{name}={show(value)}: expected True or False; give one of them")


def check_path(name: str, path: Any) -> None:
    """Refuse what cannot be the path of a file.

    Raises
    ------
    ParameterError
    """
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else path
    if not isinstance(text, str) or not text or "\0" in text:
        raise ParameterError(
            f"{name}={show(path)}: expected the path of a file as str or Path; give one"
        )
