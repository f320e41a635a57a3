"""Callbacks between rounds, with XGBoost's names and hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyopencl_gbdt.public_names import at_first_use

if TYPE_CHECKING:
    from pyopencl_gbdt.callbacks.base import (
        CallbackList,
        EvalsLog,
        Plan,
        TrainingCallback,
        TrainingModel,
    )
    from pyopencl_gbdt.callbacks.checkpoint import TrainingCheckPoint
    from pyopencl_gbdt.callbacks.early_stopping import EarlyStopping
    from pyopencl_gbdt.callbacks.monitor import EvaluationMonitor, ProgressBar
    from pyopencl_gbdt.callbacks.schedule import LearningRateScheduler, reset_parameter

__getattr__ = at_first_use(
    __name__,
    {
        "CallbackList": "base",
        "EarlyStopping": "early_stopping",
        "EvalsLog": "base",
        "EvaluationMonitor": "monitor",
        "LearningRateScheduler": "schedule",
        "Plan": "base",
        "ProgressBar": "monitor",
        "TrainingCallback": "base",
        "TrainingCheckPoint": "checkpoint",
        "TrainingModel": "base",
        "reset_parameter": "schedule",
    },
)

__all__ = [
    "CallbackList", "EarlyStopping", "EvalsLog", "EvaluationMonitor", "LearningRateScheduler",
    "Plan", "ProgressBar", "TrainingCallback", "TrainingCheckPoint", "TrainingModel",
    "reset_parameter",
]  # fmt: skip
