"""Format numbers for people."""

from __future__ import annotations

import math


def size(n_bytes: float) -> str:
    """Format bytes for people, in powers of 1000."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.3g} {unit}"
    return f"{n_bytes / 1e3:.3g} kB"


def duration(seconds: float) -> str:
    """Format seconds for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def short(number: float, digits: int = 3) -> str:
    """Format a number with so many significant digits, without an exponent."""
    if number == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(number)))
    return f"{number:,.{min(max(decimals, 0), 5)}f}"
