"""Check the data, rounds and evaluation sets given to ``train`` and ``cv``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import DataTypeError, ParameterError
from pyopencl_gbdt.parameters.names import ROWS


def check_dataset(data: Any) -> Dataset:
    """Return ``data``; raise an error unless it is a ``Dataset``.

    Raises
    ------
    DataTypeError
    """
    if not isinstance(data, Dataset):
        raise DataTypeError(
            f"data is of type {type(data).__name__}: expected a Dataset; make one of the rows and "
            "their labels: Dataset(X, y)"
        )
    return data


def check_rounds(n_rounds: Any, *, also_none: bool = True) -> int | None:
    """Return the number of rounds; None if ``params`` gives it.

    Raises
    ------
    ParameterError
    """
    if n_rounds is None and also_none:
        return None
    if n_rounds is None:
        raise ParameterError("n_rounds=None: expected an integer >= 0; give the number of rounds")
    return int(ROWS["n_estimators"].convert(n_rounds, "n_rounds"))  # type: ignore[arg-type]


def check_history(evals_result: Any) -> None:
    """Raise an error unless ``evals_result`` is None or a dictionary to fill.

    Raises
    ------
    ParameterError
    """
    if evals_result is not None and not isinstance(evals_result, dict):
        raise ParameterError(
            f"evals_result is of type {type(evals_result).__name__}: expected a dict, which "
            "receives the metrics; give an empty one"
        )


def check_pairs(evals: Any) -> list[tuple[Dataset, str]]:
    """Return evaluation sets as a list of (Dataset, name); None becomes an empty list.

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
