"""Compare arrays bit by bit and name the first place where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model import Tree


def assert_same_bits(
    actual: npt.ArrayLike | None, expected: npt.ArrayLike | None, what: str = "array"
) -> None:
    """Fail unless two arrays have the same dtype, shape and bits.

    Parameters
    ----------
    actual, expected : array_like or None
        Floats are compared by their bits: -0.0 differs from +0.0, a NaN equals itself. None is an
        array that is not there, and equals itself alone.
    what : str
        Name used in the message.

    Raises
    ------
    AssertionError
        Names the first differing index, both values and how many places differ.
    """
    if actual is None or expected is None:
        assert actual is expected, f"{what}: {actual!r}, expected {expected!r}"
        return
    got, want = np.asarray(actual), np.asarray(expected)
    assert got.dtype == want.dtype, f"{what}: dtype {got.dtype}, expected {want.dtype}"
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    differs = _bytes(got) != _bytes(want)
    if not differs.any():
        return
    places = np.flatnonzero(differs.any(axis=1))
    first = np.unravel_index(places[0], got.shape)
    index = tuple(int(i) for i in first)
    raise AssertionError(
        f"{what}: {len(places)} of {got.size} places differ; first at {index}: "
        f"{got[first]!r} ({_hex(got[first])}), expected {want[first]!r} ({_hex(want[first])})"
    )


def assert_same_trees(trees: Sequence[Tree], others: Sequence[Tree]) -> None:
    """Fail unless trees are equal, bit by bit; name the first array that differs."""
    for number, (tree, other) in enumerate(zip(trees, others, strict=True)):
        for field in fields(tree):
            own = getattr(tree, field.name)
            if isinstance(own, np.ndarray):
                assert_same_bits(own, getattr(other, field.name), f"{field.name} of tree {number}")
        assert tree == other, f"tree {number}"


def _bytes(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """One row of bytes per element."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).reshape(flat.size, flat.dtype.itemsize)


def _hex(value: Any) -> str:
    return "0x" + np.asarray(value).tobytes()[::-1].hex()
