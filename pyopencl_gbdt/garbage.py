"""Keep Python from looking for garbage where much is made and nothing dropped."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collector() -> Iterator[None]:
    """Keep Python's garbage collector from looking for cycles in a block that makes none.

    With the millions of lists of a large model, it takes as long as parsing.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
