"""Libraries of tables that tests use where they are installed."""

from __future__ import annotations

from typing import Any

try:
    import polars
except ImportError:
    polars: Any = None  # type: ignore[no-redef]

__all__ = ["polars"]
