"""Callbacks between rounds, with XGBoost's names and hooks."""

from __future__ import annotations

from pyopencl_gbdt.callbacks.base import CallbackList, EvalsLog, Plan, TrainingCallback
from pyopencl_gbdt.callbacks.checkpoint import TrainingCheckPoint
from pyopencl_gbdt.callbacks.early_stopping import EarlyStopping
from pyopencl_gbdt.callbacks.monitor import EvaluationMonitor
from pyopencl_gbdt.callbacks.progress import ProgressBar
from pyopencl_gbdt.callbacks.schedule import LearningRateScheduler, reset_parameter
from pyopencl_gbdt.callbacks.training_model import TrainingModel

__all__ = [
    "CallbackList", "EarlyStopping", "EvalsLog", "EvaluationMonitor", "LearningRateScheduler",
    "Plan", "ProgressBar", "TrainingCallback", "TrainingCheckPoint", "TrainingModel",
    "reset_parameter",
]  # fmt: skip
