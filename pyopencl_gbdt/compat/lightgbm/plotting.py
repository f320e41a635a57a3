"""LightGBM's pictures; they need matplotlib, and trees as graphs need graphviz."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopencl_gbdt.compat.lightgbm.booster import Booster
from pyopencl_gbdt.compat.lightgbm.errors import log_warning
from pyopencl_gbdt.compat.lightgbm.estimator_base import LGBMModel
from pyopencl_gbdt.model.tree_plot import plot_tree as draw_tree

_Pair = tuple[float, float] | None


def _booster(given: Any) -> Booster:
    if isinstance(given, LGBMModel):
        return given.booster_
    if not isinstance(given, Booster):
        raise TypeError("booster must be Booster or LGBMModel.")
    return given


def _check_pair(given: Any, name: str) -> None:
    if not isinstance(given, tuple) or len(given) != 2:
        raise TypeError(f"{name} must be a tuple of 2 elements.")


def _axes(ax: Any, figsize: Any, dpi: int | None) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "You must install matplotlib and restart your session to plot: pip install matplotlib"
        ) from error
    if figsize is not None:
        _check_pair(figsize, "figsize")
    return plt.subplots(1, 1, figsize=figsize, dpi=dpi)[1]


def _finish(
    ax: Any, xlim: Any, ylim: Any, usual: tuple[tuple[float, float], tuple[float, float]],
    texts: tuple[str | None, str | None, str | None], grid: bool,
) -> Any:  # fmt: skip
    """Set the limits, where ``usual`` ones count if none are given, the title and the labels."""
    for name, limits, own in (("xlim", xlim, usual[0]), ("ylim", ylim, usual[1])):
        if limits is not None:
            _check_pair(limits, name)
        getattr(ax, f"set_{name}")(own if limits is None else limits)
    for name, text in zip(("title", "xlabel", "ylabel"), texts, strict=True):
        if text is not None:
            getattr(ax, f"set_{name}")(text)
    ax.grid(grid)
    return ax


def plot_importance(
    booster: Booster | LGBMModel,
    ax: Any = None,
    height: float = 0.2,
    xlim: _Pair = None,
    ylim: _Pair = None,
    title: str | None = "Feature importance",
    xlabel: str | None = "Feature importance",
    ylabel: str | None = "Features",
    importance_type: str = "auto",
    max_num_features: int | None = None,
    ignore_zero: bool = True,
    figsize: _Pair = None,
    dpi: int | None = None,
    grid: bool = True,
    precision: int | None = 3,
    **kwargs: Any,
) -> Any:
    """Draw a bar for the importance of each column; return matplotlib's axes."""
    if isinstance(booster, LGBMModel) and importance_type == "auto":
        importance_type = booster.importance_type
    kind = "split" if importance_type == "auto" else importance_type
    model = _booster(booster)
    values = model.feature_importance(importance_type=kind)
    pairs = sorted(zip(model.feature_name(), values.tolist(), strict=True), key=lambda one: one[1])
    pairs = [one for one in pairs if one[1] > 0] if ignore_zero else pairs
    if max_num_features is not None and max_num_features > 0:
        pairs = pairs[-max_num_features:]
    if not pairs:
        raise ValueError(
            "No non-zero feature importances found. The model may have no splits. Use "
            "ignore_zero=False to show all features."
        )
    axes, places = _axes(ax, figsize, dpi), np.arange(len(pairs))
    axes.barh(places, [one[1] for one in pairs], align="center", height=height, **kwargs)
    for place, (_, value) in enumerate(pairs):
        plain = kind != "gain" or precision is None
        text = str(value) if plain else f"{value:.{precision}f}"
        axes.text(value + 1, float(place), text, va="center")
    axes.set_yticks(places)
    axes.set_yticklabels([one[0] for one in pairs])
    usual = (0, max(one[1] for one in pairs) * 1.1), (-1, len(pairs))
    named = None if xlabel is None else xlabel.replace("@importance_type@", kind)
    return _finish(axes, xlim, ylim, usual, (title, named, ylabel), grid)


def plot_split_value_histogram(
    booster: Booster | LGBMModel,
    feature: int | str,
    bins: int | str | None = None,
    ax: Any = None,
    width_coef: float = 0.8,
    xlim: _Pair = None,
    ylim: _Pair = None,
    title: str | None = "Split value histogram for feature with @index/name@ @feature@",
    xlabel: str | None = "Feature split value",
    ylabel: str | None = "Count",
    figsize: _Pair = None,
    dpi: int | None = None,
    grid: bool = True,
    **kwargs: Any,
) -> Any:
    """Draw how often thresholds of a column occur; return matplotlib's axes."""
    counts, edges = _booster(booster).get_split_value_histogram(feature, bins=bins)
    if np.count_nonzero(counts) == 0:
        raise ValueError(
            f"Cannot plot split value histogram, because feature {feature} was not used in "
            "splitting"
        )
    axes = _axes(ax, figsize, dpi)
    width = width_coef * (edges[1] - edges[0])
    axes.bar((edges[:-1] + edges[1:]) / 2, counts, align="center", width=width, **kwargs)
    spread = (edges[-1] - edges[0]) * 0.2
    axes.yaxis.get_major_locator().set_params(integer=True)
    kind = "name" if isinstance(feature, str) else "index"
    if title is not None:
        title = title.replace("@feature@", str(feature)).replace("@index/name@", kind)
    usual = (edges[0] - spread, edges[-1] + spread), (0, max(counts) * 1.1)
    return _finish(axes, xlim, ylim, usual, (title, xlabel, ylabel), grid)


def plot_metric(
    booster: dict[str, Any] | LGBMModel,
    metric: str | None = None,
    dataset_names: list[str] | None = None,
    ax: Any = None,
    xlim: _Pair = None,
    ylim: _Pair = None,
    title: str | None = "Metric during training",
    xlabel: str | None = "Iterations",
    ylabel: str | None = "@metric@",
    figsize: _Pair = None,
    dpi: int | None = None,
    grid: bool = True,
) -> Any:
    """Draw a metric by round, from what ``record_evaluation`` kept; return matplotlib's axes."""
    if isinstance(booster, Booster):
        raise TypeError(
            "booster must be dict or LGBMModel. To use plot_metric with Booster type, first record "
            "the metrics using record_evaluation callback then pass that to plot_metric as "
            "argument `booster`"
        )
    if not isinstance(booster, (dict, LGBMModel)):
        raise TypeError("booster must be dict or LGBMModel.")
    results = booster if isinstance(booster, dict) else booster.evals_result_
    if not results:
        raise ValueError("eval results cannot be empty.")
    if dataset_names is not None and (
        not isinstance(dataset_names, (list, tuple, set)) or not dataset_names
    ):
        raise ValueError("dataset_names should be iterable and cannot be empty")
    names = list(results if dataset_names is None else dataset_names)
    known = results[names[0]]
    if metric is None:
        if len(known) > 1:
            log_warning("More than one metric available, picking one to plot.")
        metric = list(known)[-1]
    elif metric not in known:
        raise KeyError("No given metric in eval results.")
    axes = _axes(ax, figsize, dpi)
    lines = [results[name][metric] for name in names]
    for name, values in zip(names, lines, strict=True):
        axes.plot(range(len(values)), values, label=name)
    axes.legend(loc="best")
    low, high = min(map(min, lines)), max(map(max, lines))
    usual = (0, len(lines[0])), (low - (high - low) * 0.2, high + (high - low) * 0.2)
    label = None if ylabel is None else ylabel.replace("@metric@", metric)
    return _finish(axes, xlim, ylim, usual, (title, xlabel, label), grid)


def plot_tree(
    booster: Booster | LGBMModel,
    ax: Any = None,
    tree_index: int = 0,
    figsize: _Pair = None,
    dpi: int | None = None,
    show_info: list[str] | None = None,
    precision: int | None = 3,
    orientation: str = "horizontal",
    example_case: Any = None,
    **kwargs: Any,
) -> Any:
    """Draw a tree as ``pyopencl_gbdt.plot_tree`` does; return matplotlib's axes.

    ``show_info``, ``precision``, ``orientation``, ``example_case`` and others have no effect; see
    ``create_tree_digraph``.
    """
    model = _booster(booster)
    _check_index(model, tree_index)
    return draw_tree(model._model(), tree_index, ax=_axes(ax, figsize, dpi))


def _check_index(model: Booster, tree_index: int) -> None:
    if not 0 <= tree_index < model.num_trees():
        raise IndexError("tree_index is out of range.")


def create_tree_digraph(
    booster: Booster | LGBMModel,
    tree_index: int = 0,
    show_info: list[str] | None = None,
    precision: int | None = 3,
    orientation: str = "horizontal",
    example_case: Any = None,
    max_category_values: int = 10,
    **kwargs: Any,
) -> Any:
    """Return a tree as a graph of the package graphviz.

    Parameters
    ----------
    booster : Booster or LGBMModel
    tree_index : int
    show_info : list of str or None
        What nodes tell besides: ``"split_gain"``, ``"internal_value"``, ``"internal_count"``,
        ``"internal_weight"``, ``"leaf_count"``, ``"leaf_weight"``, ``"data_percentage"``.
    precision : int or None
        Decimals of numbers.
    orientation : {"horizontal", "vertical"}
    example_case : array or DataFrame of one row, or None
        The row whose path is drawn in another colour.
    max_category_values : int
        Most levels that a label lists.
    **kwargs
        For ``graphviz.Digraph``.
    """
    model = _booster(booster)
    _check_index(model, tree_index)
    path: set[str] = set()
    if example_case is not None:
        if len(getattr(example_case, "shape", ())) != 2:
            raise ValueError("example_case must be a numpy 2-D array or a pandas DataFrame")
        if example_case.shape[0] != 1:
            raise ValueError("example_case must have a single row.")
        path = _path(model, tree_index, example_case)
    try:
        from graphviz import Digraph
    except ImportError as error:
        raise ImportError(
            "You must install graphviz and restart your session to plot tree: pip install graphviz"
        ) from error
    found = model.dump_model()
    tree = found["tree_info"][tree_index]["tree_structure"]
    if "split_index" not in tree:
        raise Exception("Cannot plot trees with no split")
    graph = Digraph(**kwargs)
    graph.attr("graph", nodesep="0.05", ranksep="0.3",
               rankdir="LR" if orientation == "horizontal" else "TB")  # fmt: skip
    shown = _Shown(show_info or [], precision, max_category_values, tree["internal_count"],
                   found["feature_names"])  # fmt: skip
    _add(graph, tree, shown, path, None, "")
    return graph


def _path(model: Booster, tree_index: int, row: Any) -> set[str]:
    """Return the names of the nodes that a row comes through."""
    table = model.trees_to_dataframe()
    own = table[table["tree_index"] == tree_index]
    parents = dict(zip(own["node_index"], own["parent_index"], strict=True))
    leaf = int(model.predict(row, num_iteration=0, pred_leaf=True)[0, tree_index])
    name, found = f"{tree_index}-L{leaf}", set()
    while isinstance(name, str):  # the root has no parent
        kind, number = name.split("-")[1][0], name.split("-")[1][1:]
        found.add(f"{'split' if kind == 'S' else 'leaf'}{number}")
        name = parents[name]
    return found


class _Shown:
    """What the labels of a graph tell."""

    def __init__(
        self, info: list[str], precision: int | None, most: int, n_rows: int, names: list[str]
    ) -> None:
        self.info, self.precision, self.most = info, precision, most
        self.n_rows, self.names = max(n_rows, 1), names

    def number(self, value: float) -> str:
        whole = self.precision is None or isinstance(value, str)
        return str(value) if whole else f"{value:.{self.precision}f}"

    def label(self, node: dict[str, Any]) -> str:
        inner = "split_index" in node
        if inner:
            threshold = str(node["threshold"])
            levels = threshold.split("||")
            if node["decision_type"] == "==" and len(levels) > self.most:
                threshold = "||".join(levels[:2]) + "||...||" + levels[-1]
            elif node["decision_type"] == "<=":
                threshold = self.number(node["threshold"])
            sign = "≤" if node["decision_type"] == "<=" else "="
            lines = [f"{self.names[node['split_feature']]} {sign} {threshold}"]
        else:
            lines = [f"leaf {node['leaf_index']}: {self.number(node['leaf_value'])}"]
        for name in self.info:
            if name in node:
                lines.append(f"{self.number(node[name])} {name.split('_')[-1]}")
            elif name == "data_percentage":
                count = node["internal_count" if inner else "leaf_count"]
                lines.append(f"{self.number(count / self.n_rows * 100)}% of data")
        return "\n".join(lines)


def _add(
    graph: Any, node: dict[str, Any], shown: _Shown, path: set[str], parent: str | None, side: str
) -> None:
    inner = "split_index" in node
    name = f"split{node['split_index']}" if inner else f"leaf{node['leaf_index']}"
    color = "blue" if name in path else "black"
    graph.node(name, label=shown.label(node), shape="rectangle" if inner else "ellipse",
               color=color)  # fmt: skip
    if parent is not None:
        graph.edge(parent, name, side, color=color)
    for child, text in (("left_child", "yes"), ("right_child", "no")) if inner else ():
        _add(graph, node[child], shown, path, name, text)
