"""What a model does on labelled rows: its metrics, what it depends on, and where it errs."""

from __future__ import annotations

import textwrap
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import check_whole
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.explain.dependence import partial_dependence
from pyopencl_gbdt.explain.results import PartialDependence, value_text
from pyopencl_gbdt.explain.rows import ExplainedRows
from pyopencl_gbdt.explain.scores import LabelledRows, labelled_rows
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import plural
from pyopencl_gbdt.model.explain import used_importances
from pyopencl_gbdt.model.node_labels import listed, right_levels
from pyopencl_gbdt.model.pictures import shorten
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, NO_NODE, Tree
from pyopencl_gbdt.training.train import Model, train

#: Values of a curve at most, and rows that its mean is of.
_GRID, _MOST_ROWS = 20, 10_000
F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
#: Conditions of a segment at most; rows at least, as a number and as a share.
_MOST_CONDITIONS, _LEAST_ROWS, _LEAST_SHARE = 3, 20, 0.02
#: Characters of a column's name, and levels, that a condition shows.
_LONGEST, _MOST_LEVELS = 34, 6


@dataclass(frozen=True, eq=False)
class Analysis:
    """What ``analyze`` found; ``print`` shows it.

    Attributes
    ----------
    n_rows : int
    metrics : dict of str to float
        The default metric of the model's loss first.
    importances : dict of str to float
        Share of the total gain of every column that has a split, the largest first.
    dependence : list of PartialDependence
        The dependence on the most important columns, the strongest first.
    segments : list of Segment
        Rows whose mean loss is above that of all, the worst ones first; empty if the metric is not
        a mean over rows.
    """

    n_rows: int
    metrics: dict[str, float]
    importances: dict[str, float]
    dependence: list[PartialDependence]
    segments: list[Segment]

    def __str__(self) -> str:
        scores = ", ".join(f"{name} {value:.6g}" for name, value in self.metrics.items())
        lines = [f"{plural(self.n_rows, 'row')}: {scores}", "", "features, by total gain"]
        lines += [f"  {share:6.1%}  {name}" for name, share in list(self.importances.items())[:10]]
        for one in self.dependence:
            lines += ["", f"mean prediction by {one.feature_names[0]}", *_ends(one)]
        if self.segments:
            lines += ["", "where it errs most"]
        metric = next(iter(self.metrics))
        for segment in self.segments:
            score = f"{metric} {segment.score:.5g}, {segment.ratio:.1f} times the mean loss"
            text = f"{segment.text}: {plural(segment.n_rows, 'row')}, {score}"
            lines.append(textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="    "))
        return "\n".join(lines)


def analyze(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    weight: Any = None,
    qid: Any = None,
    n_features: int = 3,
    n_segments: int = 5,
    missing: float | None = None,
    device: Any = None,
) -> Analysis:
    """Tell how well a model predicts rows, what its predictions depend on, and where it errs.

    Parameters
    ----------
    model : Model or fitted estimator
    X : (n_rows, n_features) array-like, DataFrame or Dataset
        Rows, best such as training has not seen.
    y : (n_rows,) array-like or None
        Their labels; None takes those of the Dataset ``X``. A fitted classifier takes its own
        labels, a Model the numbers that it was trained with.
    weight, qid : (n_rows,) array-like or None
        Weights, and queries for ranking, as for ``Dataset``.
    n_features : int, default 3
        How many columns, the most important ones, to compute the partial dependence of.
    n_segments : int, default 5
        How many segments to return at most.
    missing, device
        As for ``partial_dependence``.

    Returns
    -------
    Analysis

    Raises
    ------
    DataError
        If the columns differ from those of training, or labels are missing or do not suit the
        model's loss.
    ParameterError
        If a number is out of range.
    """
    for name, number in (("n_features", n_features), ("n_segments", n_segments)):
        check_whole(name, number, 0, move=f"raise {name}")
    labelled = labelled_rows(model, X, y, weight=weight, qid=qid, missing=missing, device=device)
    return analysis_of(labelled, n_features, n_segments)


def analysis_of(labelled: LabelledRows, n_features: int, n_segments: int) -> Analysis:
    """Return the analysis of checked rows."""
    rows = labelled.rows
    shares = strongest_columns(rows)
    return Analysis(
        rows.n_rows,
        labelled.scores(),
        {rows.names[column]: share for column, share in shares.items()},
        [one for column in list(shares)[:n_features] if (one := dependence_on(rows, column))],
        worst_segments(labelled, n_segments),
    )


def strongest_columns(rows: ExplainedRows) -> dict[int, float]:
    """Return the share of the total gain of each column that has a split, the largest first."""
    used, gains = used_importances(rows.model.ensemble, "total_gain")
    whole = float(gains.sum()) or 1.0
    order = np.argsort(-gains, kind="stable")
    return {int(used[i]): float(gains[i]) / whole for i in order.tolist()}


def dependence_on(rows: ExplainedRows, column: int) -> PartialDependence | None:
    """Return the mean prediction for each value of a column; of many rows it takes some.

    Where the usual percentiles are one value, as in columns of zeros for the most part, the grid
    is over all values. None where the column has no value, or no level that the model knows.
    """
    data = some_rows(rows, _MOST_ROWS)
    levels = rows.model.categories.get(column)
    resolution = _GRID if levels is None else max(_GRID, levels.n_levels)
    for percentiles in ((0.05, 0.95), (0.0, 1.0)):
        with suppress(ParameterError):
            return partial_dependence(
                rows.model, data, column, grid_resolution=resolution, percentiles=percentiles,
                device=rows.device,
            )  # fmt: skip
    return None


def some_rows(rows: ExplainedRows, most: int | npt.NDArray[np.int64]) -> Any:
    """Return a data set of ``most`` rows that lie evenly, or of the rows with these numbers."""
    data = Dataset(rows.features, base_margin=rows.base_margin)
    data.feature_names = rows.model.feature_names
    if isinstance(most, int):
        if rows.n_rows <= most:
            return data
        most = np.linspace(0, rows.n_rows - 1, most).astype(np.int64)
    return data.slice(most)


def _ends(one: PartialDependence) -> list[str]:
    """Return the values with the lowest and highest mean prediction, of each output."""
    assert one.average is not None
    lines = []
    for output, curve in enumerate(one.average):
        name = f"output {output}: " if len(one.average) > 1 else ""
        low, high = int(np.argmin(curve)), int(np.argmax(curve))
        ends = [f"{curve[i]:.5g} at {value_text(one.grid[0][i])}" for i in (low, high)]
        lines.append(f"  {name}from {ends[0]} to {ends[1]}")
    return lines


@dataclass(frozen=True)
class Segment:
    """Rows that meet some conditions.

    Attributes
    ----------
    text : str
        The conditions: ``area >= 91.5 and town in {Bern}``.
    n_rows : int
    score : float
        The metric of these rows.
    ratio : float
        Their mean loss over that of all rows.
    """

    text: str
    n_rows: int
    score: float
    ratio: float


def worst_segments(labelled: LabelledRows, most: int) -> list[Segment]:
    """Return the segments whose mean loss is above that of all rows, the worst one first.

    A tree that predicts the losses of the rows finds them: its leaves are the segments.

    Returns
    -------
    list of Segment
        Empty if the metric is not a mean over rows, or no segment is worse than the rest.
    """
    losses = labelled.losses()
    if losses is None or not np.isfinite(losses).all() or losses.max() == losses.min():
        return []
    rows = labelled.rows
    scaled = (losses / losses.max()).astype(np.float32)
    tree, leaves = _tree_of(rows, scaled)
    found = []
    for leaf in np.unique(leaves).tolist():
        chosen = leaves == leaf
        ratio = float(losses[chosen].mean() / losses.mean())
        if ratio > 1.0 and leaf:
            score = labelled.mean(losses, chosen)
            text = " and ".join(_conditions(rows, tree, leaf, chosen))
            found.append(Segment(text, int(chosen.sum()), score, ratio))
    return sorted(found, key=lambda one: -one.ratio)[:most]


def _tree_of(rows: ExplainedRows, losses: npt.NDArray[np.float32]) -> tuple[Model, I32]:
    """Return a model of one tree that predicts losses, and the leaf of each row."""
    least = max(_LEAST_ROWS, int(_LEAST_SHARE * rows.n_rows))
    parameters: dict[str, Any] = {
        "max_depth": _MOST_CONDITIONS, "learning_rate": 1.0, "reg_lambda": 0.0,
        "min_child_weight": least, "cat_method": "sets", "device": rows.device, "verbosity": 0,
    }  # fmt: skip
    data = Dataset(rows.features, losses)
    model = train(parameters, data, 1)
    leaves: I32 = model.predict(data, pred_leaf=True, device=rows.device)[:, 0]
    return model, leaves


def _conditions(
    rows: ExplainedRows, model: Model, leaf: int, chosen: npt.NDArray[np.bool_]
) -> list[str]:
    """Return what rows of a leaf have in common: one condition for each column on its path."""
    ensemble = model.ensemble
    tree = ensemble.trees[0]
    columns: dict[int, list[int]] = {}
    node = leaf
    while tree.parent[node] != NO_NODE:
        columns.setdefault(int(tree.feature[tree.parent[node]]), []).insert(0, node)
        node = int(tree.parent[node])
    texts = []
    for column, path in reversed(columns.items()):
        name = shorten(rows.names[column], _LONGEST)
        by_set = tree.split_kind[tree.parent[path[0]]] == CATEGORY_SPLIT
        text = _levels(rows, model, column, path) if by_set else _bounds(name, tree, path)
        if by_set:
            text = f"{name} in {text}"
        absent = np.isnan(rows.host_values()[chosen, column])
        if absent.any():
            text = f"{name} missing" if absent.all() else f"({text} or missing)"
        texts.append(text)
    return texts


def _bounds(name: str, tree: Tree, path: list[int]) -> str:
    """Return the range of a numeric column in a node, by the splits above it."""
    low, high = -np.inf, np.inf
    for node in path:
        parent = tree.parent[node]
        threshold = float(tree.threshold[parent])
        if tree.left[parent] == node:
            high = min(high, threshold)
        else:
            low = max(low, threshold)
    if np.isinf(low):
        return f"{name} < {high:.5g}"
    return f"{name} >= {low:.5g}" if np.isinf(high) else f"{low:.5g} <= {name} < {high:.5g}"


def _levels(rows: ExplainedRows, model: Model, column: int, path: list[int]) -> str:
    """Return the levels that a node's rows may have, by the splits above it."""
    ensemble = model.ensemble
    tree, levels = ensemble.trees[0], ensemble.categories[column]
    left = [level if isinstance(level, str) else int(level) for level in levels.values]
    for node in path:
        parent = int(tree.parent[node])
        right = set(right_levels(ensemble, tree, parent))
        goes_left = tree.left[parent] == node
        left = [level for level in left if (level in right) != goes_left]
    return listed([shorten(str(level)) for level in left], _MOST_LEVELS)
