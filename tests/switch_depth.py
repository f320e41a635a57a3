"""Choose how many levels of an exact search are interleaved, as a tuned device would."""

from __future__ import annotations

from contextlib import AbstractContextManager

from pyopencl_gbdt.device import Capabilities
from pyopencl_gbdt.device.variants import choose
from pyopencl_gbdt.device.variants.tuning import Choice, using


def switch_depth(
    caps: Capabilities, depth: int, chunk: int | None = None
) -> AbstractContextManager[None]:
    """Return a context in which entries move below this depth; ``chunk`` entries are a stretch."""
    own = choose("interleaved", caps)
    sizes = {"depth": depth} if chunk is None else {"depth": depth, "chunk": chunk}
    return using({"interleaved": Choice(own.name, {**own.params, **sizes})})
