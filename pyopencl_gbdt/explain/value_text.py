"""Values of columns as text."""

from __future__ import annotations

from typing import Any

import numpy as np


def value_text(value: Any) -> str:
    """Return a column's value as text: a number in few digits, or a level."""
    is_number = isinstance(value, (float, np.floating))
    if value is None or (is_number and np.isnan(value)):
        return "missing"
    return f"{value:.5g}" if is_number else str(value)
