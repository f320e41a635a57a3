"""Bars of feature importances on axes of the user's, by XGBoost's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.explain import check_importance_kind, feature_importances

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Room at the right of the longest bar, for its value.
_ROOM = 1.1


def ensemble_of(model: Any) -> Ensemble:
    """Return the trees of an estimator, a ``Model`` or an ``Ensemble``.

    Raises
    ------
    ParameterError
        If it is something else.
    NotFittedError
        If it is an estimator that is not fitted.
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
    """Draw the importance of features as bars, the largest at the top.

    Parameters
    ----------
    model : estimator, Model, Ensemble, or dict of str to float
        A dict has the importance of each feature.
    ax : matplotlib.axes.Axes or None
        Where to draw; None makes a figure by ``matplotlib.pyplot``.
    height : float, default 0.2
        Height of a bar; bars are 1 apart.
    xlim, ylim : (float, float) or None
        Limits of the axes; None makes room for all bars.
    title, xlabel, ylabel : str or None
        Empty for none. Where ``xlabel`` is None, it names the importance.
    importance_type : str or None
        As in ``feature_importances``; None is the estimator's own, ``"gain"`` of others. XGBoost's
        function takes ``"weight"`` here.
    max_num_features : int or None
        Draw the most important ones alone; None draws all that have a split.
    grid : bool, default True
        Draw the grid.
    show_values : bool, default True
        Write each value beside its bar.
    values_format : str, default "{v:.6g}"
        How a value ``v`` is written.
    **options
        For ``Axes.barh``.

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
    """Return the importance, not shared out, of every feature that has a split, by its name."""
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
