"""How often thresholds of a feature occur in a model's splits, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.model.frames import feature_number, split_value_histogram
from pyopencl_gbdt.model.pictures import COLORS, check_limits, ensemble_of, frame, new_axes, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    check_limits(xlim=xlim, ylim=ylim)
    ensemble = ensemble_of(model)
    edges, counts = split_value_histogram(ensemble, feature, bins)
    axes = new_axes(6.4, 4.2, pyplot=True, layout="constrained") if ax is None else ax
    if not {"color", "facecolor", "fc"} & options.keys():
        options["color"] = COLORS[0]
    widths = edges[1:] - edges[:-1]
    if counts.sum():
        axes.bar(edges[:-1], counts, 0.9 * widths, align="edge", **options)
    axes.locator_params(axis="y", integer=True)
    if title is None:
        name = shorten(ensemble.feature_name(feature_number(ensemble, feature)))
        title = f"Splits of {name}" if counts.sum() else f"The model has no split of {name}"
    if xlim is not None:
        axes.set_xlim(*xlim)
    if ylim is not None:
        axes.set_ylim(*ylim)
    frame(axes, grid="y" if grid else None, title=title, xlabel=xlabel, ylabel=ylabel)
    return axes
