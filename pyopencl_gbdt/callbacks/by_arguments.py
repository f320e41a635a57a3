"""The callbacks that arguments of ``train`` and ``cv`` stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyopencl_gbdt.arguments import check_callables, check_switches, check_verbose
from pyopencl_gbdt.callbacks.base import CallbackList, TrainingCallback
from pyopencl_gbdt.callbacks.early_stopping import EarlyStopping
from pyopencl_gbdt.callbacks.monitor import EvaluationMonitor


def all_callbacks(
    callbacks: Sequence[TrainingCallback] | None,
    *,
    verbose: bool | int | None = False,
    show_stdv: bool = False,
    report: Callable[[str], None] | None = None,
    early_stopping_rounds: int | None = None,
    maximize: bool | None = None,
) -> CallbackList:
    """Return callbacks, and those for other arguments of ``train`` and ``cv``.

    Raises
    ------
    ParameterError
        If the value of an argument is not allowed.
    """
    listed = CallbackList(() if callbacks is None else callbacks).callbacks
    period = check_verbose(verbose)
    check_callables(report=report)
    check_switches(show_stdv=show_stdv, maximize=maximize)
    if period:
        listed.append(EvaluationMonitor(period, show_stdv, report))
    if early_stopping_rounds is not None:
        listed.append(EarlyStopping(early_stopping_rounds, maximize=maximize))
    return CallbackList(listed)
