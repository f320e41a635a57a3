"""Pictures, with XGBoost's signatures."""

from __future__ import annotations

import os
from typing import Any

from pyopencl_gbdt.arguments import named_arguments
from pyopencl_gbdt.compat.xgboost.booster import Booster
from pyopencl_gbdt.errors import DataTypeError, ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model.graphviz import Dot
from pyopencl_gbdt.model.node_labels import FeatureMap
from pyopencl_gbdt.prediction.model import Model

Path = str | os.PathLike[str]


def _booster_of(booster: Any) -> Booster:
    found = booster.get_booster() if hasattr(booster, "get_booster") else booster
    if not isinstance(found, Booster):
        raise DataTypeError(
            f"booster is of type {type(booster).__name__}: `booster` must be Booster or XGBModel "
            "instance; give one"
        )
    return found


@named_arguments
def plot_importance(
    booster: Any,
    *,
    ax: Any = None,
    height: float = 0.2,
    xlim: tuple[float, float] | None = None,
    ylim: tuple[float, float] | None = None,
    title: str = "Feature importance",
    xlabel: str = "Importance score",
    ylabel: str = "Features",
    fmap: Path = "",
    importance_type: str = "weight",
    max_num_features: int | None = None,
    grid: bool = True,
    show_values: bool = True,
    values_format: str = "{v}",
    **kwargs: Any,
) -> Any:
    """Draw the importance of columns as bars.

    Parameters
    ----------
    booster : Booster, estimator, or dict of str to float
    ax : matplotlib Axes or None
    height : float
        The height of a bar.
    xlim, ylim : (float, float) or None
    title, xlabel, ylabel : str
    fmap : path
        A feature map with the columns' names.
    importance_type : str
        As for ``Booster.get_score``.
    max_num_features : int or None
        The most bars.
    grid, show_values : bool
    values_format : str
        How a value is written; ``v`` is the value.
    **kwargs
        For ``Axes.barh``.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ParameterError
        If there is nothing to draw, or a limit is not a pair.
    """
    import matplotlib.pyplot as plt

    if isinstance(booster, dict):
        scores = booster
    else:
        scores = _booster_of(booster).get_score(fmap=fmap, importance_type=importance_type)
    if not scores:
        raise ParameterError(
            "Booster.get_score() results in empty. This maybe caused by having all trees as "
            "decision dumps.; train a model that splits"
        )
    pairs = sorted(scores.items(), key=lambda pair: float(pair[1]))
    if max_num_features is not None and max_num_features > 0:
        pairs = pairs[-max_num_features:]
    values = [value for _, value in pairs]
    ax = plt.subplots(1, 1)[1] if ax is None else ax
    places = range(len(values))
    ax.barh(places, values, align="center", height=height, **kwargs)
    if show_values:
        for place, value in zip(places, values, strict=True):
            ax.text(value + 1, place, values_format.format(v=value), va="center")
    ax.set_yticks(places)
    ax.set_yticklabels([name for name, _ in pairs])
    usual = {"xlim": (0, max(values) * 1.1), "ylim": (-1, len(values))}
    for name, given in (("xlim", xlim), ("ylim", ylim)):
        if given is not None and (not isinstance(given, tuple) or len(given) != 2):
            raise ParameterError(
                f"{name}={show(given)}: {name} must be a tuple of 2 elements; give (low, high)"
            )
        getattr(ax, f"set_{name}")(usual[name] if given is None else given)
    for name, text in (("title", title), ("xlabel", xlabel), ("ylabel", ylabel)):
        if text is not None:
            getattr(ax, f"set_{name}")(text)
    ax.grid(grid)
    return ax


@named_arguments
def to_graphviz(
    booster: Any,
    *,
    fmap: Path = "",
    num_trees: int | None = None,
    rankdir: str | None = None,
    yes_color: str | None = None,
    no_color: str | None = None,
    condition_node_params: dict[str, Any] | None = None,
    leaf_node_params: dict[str, Any] | None = None,
    with_stats: bool = False,
    tree_idx: int = 0,
    **kwargs: Any,
) -> Any:
    """Return a tree as a graph: graphviz's ``Source`` where that is installed, else its text.

    Parameters
    ----------
    booster : Booster or estimator
    fmap : path
        A feature map with the columns' names.
    num_trees : int or None
        The former name of ``tree_idx``.
    rankdir, yes_color, no_color, condition_node_params, leaf_node_params, **kwargs
        How it is drawn.
    with_stats : bool
        Whether nodes show gains and covers.
    tree_idx : int
        The tree's number in the file.
    """
    dot = _dot(
        booster, tree_idx if num_trees is None else num_trees, fmap=fmap, rankdir=rankdir,
        yes_color=yes_color, no_color=no_color, with_stats=with_stats,
        condition_node_params=condition_node_params, leaf_node_params=leaf_node_params, **kwargs,
    )  # fmt: skip
    try:
        from graphviz import Source
    except ImportError:
        return dot
    return Source(str(dot))


def _dot(booster: Any, tree: int, **options: Any) -> Dot:
    given = {name: value for name, value in options.items() if value is not None}
    found = _booster_of(booster)
    given["fmap"] = found._map_of(given.get("fmap", ""))
    return Model(found._ensemble()).to_graphviz(tree, **given)


@named_arguments
def plot_tree(
    booster: Any,
    *,
    fmap: Path = "",
    num_trees: int | None = None,
    rankdir: str | None = None,
    ax: Any = None,
    with_stats: bool = False,
    tree_idx: int = 0,
    **kwargs: Any,
) -> Any:
    """Draw a tree; no other program is needed.

    Parameters
    ----------
    booster, fmap, num_trees, tree_idx
        As for ``to_graphviz``.
    ax : matplotlib Axes or None
    rankdir, with_stats, **kwargs
        Have no effect: the root is at the left, and nodes show their splits.

    Returns
    -------
    matplotlib Axes
    """
    from pyopencl_gbdt.model.tree_plot import plot_tree as draw

    own = Model(_booster_of(booster).copy()._ensemble())
    if fmap:
        own.feature_names = FeatureMap.read(fmap).names
    return draw(own, tree_idx if num_trees is None else num_trees, ax=ax)
