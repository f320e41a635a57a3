"""Trees as tables: a row for every node, and how often thresholds occur, as XGBoost gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import check_whole, whole_number
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.leaf_kinds import LINEAR
from pyopencl_gbdt.model.node_labels import FeatureMap, NodeLabels, children, nine_digits
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, NO_NODE, Tree

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = ("Tree", "Node", "ID", "Feature", "Split", "Yes", "No", "Missing", "Gain", "Cover",
           "Category")  # fmt: skip
_NO = float("nan")


def trees_to_dataframe(ensemble: Ensemble, feature_map: FeatureMap | None = None) -> DataFrame:
    """Return a table with a row for every node, in XGBoost's columns.

    ``feature_map``: names and kinds of columns; None takes the model's names.

    Returns
    -------
    pandas.DataFrame
        ``Tree``, ``Node``, ``ID`` (``"0-2"``), ``Feature`` (``"Leaf"`` in leaves), ``Split`` (the
        threshold), the IDs ``Yes``, ``No`` and ``Missing``, ``Gain`` (of a leaf its value),
        ``Cover``, and ``Category``: the list of levels that go to ``Yes`` at a split by a set. If
        leaves are vectors, ``Gain`` of a leaf is NaN, and ``Leaf 0``, ``Leaf 1`` and so on are its
        values. If leaves are linear, ``Gain`` of a leaf is what rows get that miss one of its
        features, ``Intercept`` the constant of its function, and ``Coefficients`` a dict of
        features and their coefficients; NaN and None where a leaf is a number.

    Raises
    ------
    ImportError
        If pandas is missing.
    """
    pandas = _pandas("trees_to_dataframe returns a DataFrame")
    labels = NodeLabels(ensemble, FeatureMap() if feature_map is None else feature_map)
    rows = [
        (number, node, *_row(tree, number, node, labels))
        for number, tree in enumerate(ensemble.trees)
        for node in range(tree.n_nodes)
    ]
    frame: DataFrame = pandas.DataFrame(rows, columns=list(COLUMNS))
    if ensemble.tree_outputs > 1:
        values = np.concatenate([tree.value for tree in ensemble.trees]).astype(np.float64)
        leaf = np.concatenate([tree.is_leaf for tree in ensemble.trees])
        for output, own in enumerate(values.T):
            frame[f"Leaf {output}"] = np.where(leaf, own, _NO)
    if ensemble.leaves is LINEAR:
        found = [labels.linear(t, node) for t in ensemble.trees for node in range(t.n_nodes)]
        frame["Intercept"] = [float(nine_digits(own)) if terms else _NO for own, terms in found]
        coefficients = [
            {name: float(nine_digits(c)) for name, c in own} or None for _, own in found
        ]
        frame["Coefficients"] = pandas.Series(coefficients, dtype=object)
    return frame


def _row(tree: Tree, number: int, node: int, labels: NodeLabels) -> tuple[Any, ...]:
    """Return a node's row from ``ID`` on."""
    own, cover = f"{number}-{node}", float(nine_digits(tree.sum_hessian[node]))
    if tree.left[node] == NO_NODE:
        value = float(nine_digits(tree.value[node, 0])) if tree.n_outputs == 1 else _NO
        return own, "Leaf", _NO, _NO, _NO, _NO, value, cover, _NO
    left, right, missing = children(tree, node)
    by_set = tree.split_kind[node] == CATEGORY_SPLIT
    yes, no = (right, left) if by_set else (left, right)
    ways = [f"{number}-{child}" for child in (yes, no, missing)]
    threshold = _NO if by_set else float(labels.threshold(tree, node))
    levels = [str(level) for level in labels.levels(tree, node)] if by_set else None
    gain = float(nine_digits(tree.gain[node]))
    return own, labels.name(int(tree.feature[node])), threshold, *ways, gain, cover, levels


def split_value_histogram(
    ensemble: Ensemble, feature: str | int, bins: int | None = None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Count the thresholds of a feature's splits, in bins of one width.

    ``feature``: a feature's name, or its number.
    ``bins``: most bins. None, and more bins than distinct thresholds, are as many bins as these.

    Returns
    -------
    edges : float64 array, shape (n_bins + 1,)
    counts : int64 array, shape (n_bins,)

    Raises
    ------
    DataError
        If the model has no such feature, or its splits are by sets of levels.
    ParameterError
        If ``bins`` is out of range.
    """
    number = feature_number(ensemble, feature)
    values: list[float] = []
    for tree in ensemble.trees:
        own = (tree.feature == number) & ~tree.is_leaf
        if (tree.split_kind[own] == CATEGORY_SPLIT).any():
            raise DataError(
                f"feature={show(feature)}: expected a feature whose splits are by thresholds, this "
                "one's are by sets of levels; see trees_to_dataframe for them"
            )
        values += [float(nine_digits(one)) for one in tree.threshold[own]]
    n_distinct = max(np.unique(values).size, 1)
    most = n_distinct if bins is None else check_whole("bins", bins, 1, move="raise bins")
    counts, edges = np.histogram(values, bins=min(n_distinct, most))
    return edges.astype(np.float64), counts.astype(np.int64)


def feature_number(ensemble: Ensemble, feature: str | int) -> int:
    """Return a feature's number by its name, or the number itself.

    Raises
    ------
    DataError
        If the model has no such feature.
    """
    known = range(ensemble.n_tree_features)
    if isinstance(feature, str):
        found = _number_of(ensemble, feature)
        if found is not None:
            return found
    elif (number := whole_number(feature)) is not None and number in known:
        return number
    some = ", ".join(repr(ensemble.feature_name(one)) for one in known[:5])
    raise DataError(
        f"feature={show(feature)}: expected a name such as {some}, or 0..{len(known) - 1}; choose "
        "a feature of the model"
    )


def _number_of(ensemble: Ensemble, name: str) -> int | None:
    """Return the number of the feature of this name; None if no feature has it."""
    names, n_columns = ensemble.feature_names, ensemble.n_features
    if names is not None and name in names:
        return names.index(name)
    if names is None and name[:1] == "f" and name[1:].isdecimal() and name.isascii():
        number = int(name[1:11])
        if number < n_columns and name == ensemble.feature_name(number):
            return number
    behind = range(n_columns, ensemble.n_tree_features)
    return next((one for one in behind if ensemble.feature_name(one) == name), None)


def histogram_table(
    edges: npt.NDArray[np.float64], counts: npt.NDArray[np.int64], *, as_pandas: bool
) -> Any:
    """Return bins that are not empty: their upper edges and counts, as XGBoost does.

    Returns
    -------
    pandas.DataFrame with the columns ``SplitValue`` and ``Count``, or float64 array, shape (n, 2)
        An array also where pandas is missing.
    """
    table = np.column_stack((edges[1:], counts))[counts > 0]
    if as_pandas:
        try:
            import pandas
        except ImportError:
            return table
        return pandas.DataFrame(table, columns=["SplitValue", "Count"])
    return table


def _pandas(need: str) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"{need}, which needs pandas: pip install pandas") from error
    return pandas
