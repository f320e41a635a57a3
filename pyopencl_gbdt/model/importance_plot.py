"""Plots of what splits tell of features: importances, and how often thresholds occur."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.arguments import check_whole
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import plural
from pyopencl_gbdt.model import pictures
from pyopencl_gbdt.model.explain import check_importance_kind, used_importances
from pyopencl_gbdt.model.frames import feature_number, split_value_histogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Width of the axes relative to the longest bar, to leave room for its value.
_ROOM = 1.15
#: Inches: the length of the longest bar, a bar and the space to the next, title and axis.
_LONGEST_BAR, _SLOT, _AROUND, _TALLEST = 5.0, 0.3, 1.3, 600.0


def plot_importance(
    model: Any,
    ax: Axes | None = None,
    *,
    height: float = 0.7,
    xlim: tuple[float, float] | None = None,
    ylim: tuple[float, float] | None = None,
    title: str = "Feature importance",
    xlabel: str | None = None,
    ylabel: str = "Features",
    importance_type: str | None = None,
    max_num_features: int | None = None,
    grid: bool = True,
    show_values: bool = True,
    values_format: str = "{v:.4g}",
    **options: Any,
) -> Axes:
    """Draw feature importances as horizontal bars, the largest at the top.

    Parameters
    ----------
    model : estimator, Model, Ensemble, or dict of str to float
        A dict maps feature names to importances.
    ax : matplotlib.axes.Axes or None
        Where to draw; None makes a new figure with ``matplotlib.pyplot``, of a size that suits the
        number of bars and the names.
    height : float, default 0.7
        Height of a bar; the distance between bars is 1.
    xlim, ylim : (float, float) or None
        Limits of the axes; None makes room for all bars.
    title, xlabel, ylabel : str or None
        An empty string leaves it out. If ``xlabel`` is None, it names the kind of importance, and
        what is not drawn.
    importance_type : str or None
        As in ``feature_importances``. None uses the estimator's ``importance_type``, or
        ``"gain"`` for other models. The default of XGBoost's function is ``"weight"``.
    max_num_features : int or None
        How many of the most important features to draw; None draws all that have a split.
    grid : bool, default True
        Draw the grid.
    show_values : bool, default True
        Write each value beside its bar.
    values_format : str, default "{v:.4g}"
        Format of a value ``v``.
    **options
        Passed to ``Axes.barh``.

    Returns
    -------
    matplotlib.axes.Axes
        Its figure is ``axes.figure``; ``axes.figure.savefig("importance.png")`` writes a file.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or no feature has a split.
    NotFittedError
        If the estimator is not fitted.
    ImportError
        If matplotlib is missing.
    """
    pictures.check_limits(xlim=xlim, ylim=ylim)
    if max_num_features is not None:
        check_whole("max_num_features", max_num_features, 1, move="leave it out for all")
    asked = importance_type or getattr(model, "importance_type", None)
    kind = check_importance_kind(asked, "importance_type")
    scores = dict(model) if isinstance(model, Mapping) else importance_scores(model, kind)
    if not scores:
        raise ParameterError(
            "plot_importance: the model has no splits: expected one or more; train on more rows, "
            "or with other limits of growth"
        )
    best, note = _best(scores, max_num_features)
    if xlabel is None:
        named = "" if isinstance(model, Mapping) else f": {kind.replace('_', ' ')}"
        xlabel = f"Importance score{named}" + (f"\n{note}" if note else "")
    axes = _axes_for(best, pyplot=True) if ax is None else ax
    _draw(axes, best, values_format if show_values else "", height=height, **options)
    if xlim is not None:
        axes.set_xlim(*xlim)
    if ylim is not None:
        axes.set_ylim(*ylim)
    pictures.frame(axes, grid="x" if grid else None, title=title, xlabel=xlabel, ylabel=ylabel)
    return axes


def plot_importances(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    top: int = 20,
    *,
    kind: str = "gain",
) -> Figure:
    """Draw the shares of the most important features into a figure, without pyplot.

    Parameters
    ----------
    model : estimator, Model or Ensemble
    path : path-like, optional
        Where to save the picture; the ending chooses the format (.png, .svg, .pdf).
    top : int
        Number of features drawn at most; of equal features the lower column comes first.
    kind : str
        As in ``feature_importances``.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ParameterError
        If ``top`` or ``kind`` is out of range.
    ImportError
        If matplotlib is missing.
    """
    if top < 1:
        raise ParameterError(f"top={top}: expected 1 or more; raise top")
    scores = importance_scores(model, kind)
    total = sum(scores.values()) or 1.0
    best, note = _best({name: value / total for name, value in scores.items()}, top)
    axes = _axes_for(best, pyplot=False)
    _draw(axes, best, "{v:.3f}", height=0.7)
    title = f"Feature importance: {kind.replace('_', ' ')}, share of the sum"
    note = note if scores else "the model has no splits"
    pictures.frame(axes, grid="x", title=title, xlabel=note)
    pictures.save(axes, path)
    drawn: Any = axes.figure
    figure: Figure = drawn
    return figure


def importance_scores(model: Any, kind: str) -> dict[str, float]:
    """Return the unnormalised importance of every feature with a split, by feature name."""
    ensemble = pictures.ensemble_of(model)
    used, values = used_importances(ensemble, kind)
    return dict(zip(map(ensemble.feature_name, used.tolist()), values.tolist(), strict=True))


def _best(scores: Mapping[str, float], most: int | None) -> tuple[list[tuple[str, float]], str]:
    """Return the features to draw, the best one first, and a note on the others."""
    order = sorted(scores.items(), key=lambda pair: -pair[1])
    left_out, total = order[len(order) if most is None else most :], sum(scores.values())
    if not left_out:
        return order, ""
    share = sum(value for _, value in left_out) / total if total else 0.0
    names = plural(len(left_out), "feature")
    return order[:most], f"not drawn: {names} of {len(order)}, {share:.1%} of the sum"


def _axes_for(best: list[tuple[str, float]], *, pyplot: bool) -> Axes:
    names = pictures.CHARACTER * max((len(pictures.shorten(name)) for name, _ in best), default=0)
    tall = min(_AROUND + _SLOT * len(best), _TALLEST)
    return pictures.new_axes(_LONGEST_BAR + 1.2 + names, tall, pyplot=pyplot, layout="constrained")


def _draw(axes: Axes, best: list[tuple[str, float]], values_format: str, **options: Any) -> None:
    values = [float(value) for _, value in reversed(best)]
    places = range(len(values))
    if not {"color", "facecolor", "fc"} & options.keys():
        options["color"] = pictures.COLORS[0]
    axes.barh(places, values, align="center", **options)
    for place, value in enumerate(values if values_format else ()):
        text = values_format.format(v=value)
        axes.text(value, place, f" {text}", va="center", size="small", parse_math=False)
    axes.set_yticks(list(places))
    axes.set_yticklabels([pictures.shorten(name) for name, _ in reversed(best)], parse_math=False)
    axes.set_xlim(0.0, max(values, default=0.0) * _ROOM or 1.0)
    axes.set_ylim(-0.6, max(len(values), 1) - 0.4)


def plot_split_histogram(
    model: Any,
    feature: str | int,
    bins: int | None = 30,
    *,
    ax: Axes | None = None,
    xlim: tuple[float, float] | None = None,
    ylim: tuple[float, float] | None = None,
    title: str | None = None,
    xlabel: str = "Threshold",
    ylabel: str = "Splits",
    grid: bool = True,
    **options: Any,
) -> Axes:
    """Draw where a model splits a feature: a bar for the splits in each range of thresholds.

    Parameters
    ----------
    model : estimator, Model or Ensemble
    feature : str or int
        A feature's name, or its number.
    bins : int or None, default 30
        Most bars. None is one for each distinct threshold.
    ax : matplotlib.axes.Axes or None
        Where to draw; None makes a new figure with ``matplotlib.pyplot``.
    xlim, ylim : (float, float) or None
        Limits of the axes; None makes room for all bars.
    title : str or None
        None names the feature. An empty string leaves it out.
    xlabel, ylabel : str
        An empty string leaves it out.
    grid : bool, default True
        Draw the grid.
    **options
        Passed to ``Axes.bar``.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    DataError
        If the model has no such feature, or its splits are by sets of levels.
    ParameterError
        If ``bins`` is out of range.
    ImportError
        If matplotlib is missing.
    """
    pictures.check_limits(xlim=xlim, ylim=ylim)
    ensemble = pictures.ensemble_of(model)
    edges, counts = split_value_histogram(ensemble, feature, bins)
    axes = pictures.new_axes(6.4, 4.2, pyplot=True, layout="constrained") if ax is None else ax
    if not {"color", "facecolor", "fc"} & options.keys():
        options["color"] = pictures.COLORS[0]
    widths = edges[1:] - edges[:-1]
    if counts.sum():
        axes.bar(edges[:-1], counts, 0.9 * widths, align="edge", **options)
    axes.locator_params(axis="y", integer=True)
    if title is None:
        name = pictures.shorten(ensemble.feature_name(feature_number(ensemble, feature)))
        title = f"Splits of {name}" if counts.sum() else f"The model has no split of {name}"
    if xlim is not None:
        axes.set_xlim(*xlim)
    if ylim is not None:
        axes.set_ylim(*ylim)
    pictures.frame(axes, grid="y" if grid else None, title=title, xlabel=xlabel, ylabel=ylabel)
    return axes
