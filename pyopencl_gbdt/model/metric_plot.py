"""Learning curves: a metric of every evaluation set, round by round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model.best_round import first_of_history
from pyopencl_gbdt.model.pictures import COLORS, FAINT, check_limits, fitted, frame, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_Curves = dict[str, list[float]]
_STYLES = ("-", "--", "-.", ":")


def plot_metric(
    model: Any,
    metric: str | None = None,
    *,
    dataset_names: str | Sequence[str] | None = None,
    ax: Axes | None = None,
    xlim: tuple[float, float] | None = None,
    ylim: tuple[float, float] | None = None,
    title: str = "Metric during training",
    xlabel: str = "Round",
    ylabel: str | None = None,
    grid: bool = True,
) -> Axes:
    """Draw a metric of the evaluation sets after every round.

    Parameters
    ----------
    model : estimator, Model, or dict
        A dict is a history, as ``Model.history``, ``evals_result()`` and ``evals_result=`` hold
        it: ``history[evaluation set][metric]`` is a list with one value per round.
    metric : str or None
        Which metric; None is the last one, which early stopping watches.
    dataset_names : str, sequence of str or None
        Which evaluation sets; None is all that have the metric.
    ax : matplotlib.axes.Axes or None
        Where to draw; None makes a new figure with ``matplotlib.pyplot``.
    xlim, ylim : (float, float) or None
        Limits of the axes; None makes room for all values.
    title, xlabel : str
        An empty string leaves it out.
    ylabel : str or None
        None is the metric's name.
    grid : bool, default True
        Draw the grid.

    Returns
    -------
    matplotlib.axes.Axes
        If the model was stopped early, a dotted line marks its best round. The rounds of a model
        that continues another one begin behind those of the other, whose history it does not hold.

    Raises
    ------
    ParameterError
        If there is no history, or it has no such metric or evaluation set.
    NotFittedError
        If the estimator is not fitted.
    ImportError
        If matplotlib is missing.
    """
    check_limits(xlim=xlim, ylim=ylim)
    model = fitted(model)
    name, curves = _choose(_history(model), metric, dataset_names)
    first = 0 if isinstance(model, Mapping) else first_of_history(model)
    axes = new_axes(6.4, 4.2, pyplot=True, layout="constrained") if ax is None else ax
    for number, (label, values) in enumerate(curves.items()):
        color, style = COLORS[number % len(COLORS)], _STYLES[number % len(_STYLES)]
        marker = "o" if len(values) == 1 else None
        rounds = range(first, first + len(values))
        axes.plot(rounds, values, style, color=color, label=label, marker=marker)
    best = getattr(model, "best_iteration", None)
    if best is not None:
        axes.axvline(best, color=FAINT, linestyle=(0, (1, 2)), label=f"best round: {best}")
    for text in axes.legend(frameon=False).get_texts():
        text.set_parse_math(False)
    if xlim is not None:
        axes.set_xlim(*xlim)
    if ylim is not None:
        axes.set_ylim(*ylim)
    axes.locator_params(axis="x", integer=True)
    ylabel = name if ylabel is None else ylabel
    frame(axes, grid="both" if grid else None, title=title, xlabel=xlabel, ylabel=ylabel)
    return axes


def _history(model: Any) -> Mapping[str, Mapping[str, Sequence[float]]]:
    """Return the history of a ``Model``, or the one that was given; check its form."""
    found = model if isinstance(model, Mapping) else getattr(model, "history", None)
    if found is None:
        raise ParameterError(
            f"model={type(model).__name__}: expected an estimator, a Model or a history; give what "
            "train or fit returned"
        )
    if not found:
        raise ParameterError(
            "plot_metric: the model has no history, as it was trained without evaluation sets or "
            "read from a file; train with evals= or eval_set=, or give the dict of evals_result="
        )
    for name, metrics in found.items():
        if not isinstance(metrics, Mapping):
            raise ParameterError(
                f"model[{name!r}]={show(metrics)}: expected a dict of metrics; give a history such "
                "as {'test': {'rmse': [0.5, 0.4]}}"
            )
    return found


def _choose(
    history: Mapping[str, Mapping[str, Sequence[float]]],
    metric: str | None,
    dataset_names: str | Sequence[str] | None,
) -> tuple[str, _Curves]:
    """Return the name of a metric, and its values by evaluation set."""
    if isinstance(dataset_names, str):
        dataset_names = [dataset_names]
    if dataset_names is not None:
        _check_known("dataset_names", dataset_names, list(history))
        history = {name: history[name] for name in dataset_names}
    known = list(dict.fromkeys(name for metrics in history.values() for name in metrics))
    if metric is None and known:
        metric = known[-1]
    _check_known("metric", [metric], known)
    assert metric is not None
    curves = {
        name: [float(value) for value in metrics[metric]]
        for name, metrics in history.items()
        if metric in metrics
    }
    return metric, curves


def _check_known(parameter: str, names: Sequence[Any], known: list[str]) -> None:
    for name in names:
        if name not in known:
            listed = ", ".join(map(repr, known)) or "at least one in the history"
            raise ParameterError(f"{parameter}={name!r}: expected {listed}; choose one of these")
