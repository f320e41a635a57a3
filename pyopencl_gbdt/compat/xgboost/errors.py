"""The exception that programs for XGBoost catch."""

from __future__ import annotations

from pyopencl_gbdt.errors import GBDTError

#: All errors that this library raises on purpose; those about parameters and data are ValueErrors.
XGBoostError = GBDTError
