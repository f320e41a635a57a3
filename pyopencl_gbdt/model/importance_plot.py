"""Bar plot of feature importances on the user's axes, with XGBoost's parameter names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.explain import check_importance_kind, feature_importances

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Width of the axes relative to the longest bar, to leave room for its value.
_ROOM = 1.1


def ensemble_of(model: Any) -> Ensemble:
    """Return the ``Ensemble`` of an estimator, a ``Model`` or an ``Ensemble``.

    Raises
    ------
    ParameterError
        If ``model`` is anything else.
    NotFittedError
        If ``model`` is an estimator that is not fitted.
    """
    if hasattr(model, "_fitted"):  # an estimator
        model = model._fitted()
    found = getattr(model, "ensemble", model)
    if not isinstance(found, Ensemble):
        raise ParameterError(
            f"model={type(model).__name__}: expected an estimator, a Model or an Ensemble; give "
            "one that is fitted"
        )
    return found


def plot_importance(
    model: Any,
    ax: Axes | None = None,
    *,
    height: float = 0.2,
    xlim: tuple[float, float] | None = None,
    ylim: tuple[float, float] | None = None,
    title: str = "Feature importance",
    xlabel: str | None = None,
    ylabel: str = "Features",
    importance_type: str | None = None,
    max_num_features: int | None = None,
    grid: bool = True,
    show_values: bool = True,
    values_format: str = "{v:.6g}",
    **options: Any,
) -> Axes:
    """Draw feature importances as horizontal bars, the largest at the top.

    Parameters
    ----------
    model : estimator, Model, Ensemble, or dict of str to float
        A dict maps feature names to importances.
    ax : matplotlib.axes.Axes or None
        Where to draw; None makes a new figure with ``matplotlib.pyplot``.
    height : float, default 0.2
        Height of a bar; the distance between bars is 1.
    xlim, ylim : (float, float) or None
        Limits of the axes; None makes room for all bars.
    title, xlabel, ylabel : str or None
        An empty string leaves it out. If ``xlabel`` is None, it names the kind of importance.
    importance_type : str or None
        As in ``feature_importances``. None uses the estimator's ``importance_type``, or
        ``"gain"`` for other models. The default of XGBoost's function is ``"weight"``.
    max_num_features : int or None
        How many of the most important features to draw; None: all that have a split.
    grid : bool, default True
        Draw the grid.
    show_values : bool, default True
        Write each value beside its bar.
    values_format : str, default "{v:.6g}"
        Format of a value ``v``.
    **options
        Passed to ``Axes.barh``.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If a parameter is out of range, or no feature has a split.
    NotFittedError
        If the estimator is not fitted.
    ImportError
        If matplotlib is missing.
    """
    limits = {"xlim": xlim, "ylim": ylim}
    for name, limit in limits.items():
        if limit is not None and (not isinstance(limit, (tuple, list)) or len(limit) != 2):
            raise ParameterError(f"{name}={limit!r}: expected two numbers; give (from, to)")
    whole = isinstance(max_num_features, int) and not isinstance(max_num_features, bool)
    if max_num_features is not None and not (whole and max_num_features >= 1):
        raise ParameterError(
            f"max_num_features={max_num_features!r}: expected an integer >= 1; leave it out for all"
        )
    asked = importance_type or getattr(model, "importance_type", None)
    kind = check_importance_kind(asked, "importance_type")
    scores = dict(model) if isinstance(model, Mapping) else importance_scores(model, kind)
    if not scores:
        raise ParameterError(
            "plot_importance: the model has no splits: expected one or more; train on more rows, "
            "or with other limits of growth"
        )
    best = sorted(scores.items(), key=lambda pair: -pair[1])[:max_num_features][::-1]
    names, values = [name for name, _ in best], [float(value) for _, value in best]
    axes = _new_axes() if ax is None else ax
    places = range(len(values))
    axes.barh(places, values, align="center", height=height, **options)
    if show_values:
        for place, value in zip(places, values, strict=True):
            text = values_format.format(v=value)
            axes.text(value, place, f" {text}", va="center", parse_math=False)
    axes.set_yticks(list(places))
    axes.set_yticklabels(names, parse_math=False)
    axes.set_xlim(*((0.0, max(values) * _ROOM or 1.0) if xlim is None else xlim))
    axes.set_ylim(*((-1.0, float(len(values))) if ylim is None else ylim))
    if xlabel is None:
        named = "" if isinstance(model, Mapping) else f": {kind.replace('_', ' ')}"
        xlabel = f"Importance score{named}"
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    axes.grid(grid)
    return axes


def importance_scores(model: Any, kind: str) -> dict[str, float]:
    """Return the unnormalised importance of every feature with a split, by feature name."""
    ensemble = ensemble_of(model)
    counts = feature_importances(ensemble, "weight", normalize=False)
    values = feature_importances(ensemble, kind, normalize=False)
    pairs = enumerate(zip(counts, values, strict=True))
    return {ensemble.feature_name(i): float(value) for i, (count, value) in pairs if count > 0}


def _new_axes() -> Axes:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib; install it by: pip install 'pyopencl_gbdt[plot]'"
        ) from error
    axes: Axes = plt.subplots(1, 1)[1]
    return axes
