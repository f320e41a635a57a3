"""Trees of other libraries as ours: nodes that have any numbers, and thresholds.

Here a row goes left if ``x < t``, in float32. LightGBM asks ``x <= b`` in float64, and CatBoost
``x > b`` in float32. Between two neighbouring float32 there is none, so::

    x <= b   is   x < t,  where t is the first float32 above b

The decisions of all finite float32 are equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model.linear_leaves import LinearTerms
from pyopencl_gbdt.model.sets import joined
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, NO_NODE, NUMERIC_SPLIT, Tree

U32 = npt.NDArray[np.uint32]
_NO_WORDS = np.zeros(0, np.uint32)

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
LOWEST, HIGHEST = np.finfo(np.float32).min, np.finfo(np.float32).max


def first_above(border: npt.NDArray[Any]) -> tuple[F32, npt.NDArray[np.bool_]]:
    """Return the first float32 above each border, and where there is none that is finite.

    Where there is none, every number is at most the border: swap the children, and ask
    ``x < LOWEST``, which is true of no number.

    Parameters
    ----------
    border : float64 array
        No NaN.
    """
    limit = float(HIGHEST)
    near = np.clip(border, -limit, limit).astype(np.float32)
    with np.errstate(over="ignore"):
        threshold = np.where(near > border, near, np.nextafter(near, np.float32(np.inf)))
    threshold = np.where(border < -limit, LOWEST, threshold).astype(np.float32)
    none = np.asarray(border >= limit)
    return np.where(none, LOWEST, threshold).astype(np.float32), none


def last_below(threshold: F32) -> F64:
    """Return the last float32 below each threshold, as float64; -1e300 where there is none."""
    with np.errstate(over="ignore"):
        below = np.nextafter(threshold, np.float32(-np.inf)).astype(np.float64)
    return np.where(np.isinf(below), -1e300, below)


def tree_of(
    left: Sequence[int],
    right: Sequence[int],
    sets: Mapping[int, U32],
    place: str,
    linear: LinearTerms | None = None,
    **numbers: npt.NDArray[np.generic],
) -> Tree:
    """Return a tree of nodes in any order; node 0 is the root.

    Parameters
    ----------
    left, right : sequence of int
        Children of each node; ``NO_NODE`` in leaves.
    sets : mapping of int to uint32 array
        By node: the words of its set, see ``Tree``.
    linear : LinearTerms or None
        Functions of all nodes; those of inner nodes are numbers.
    **numbers : array, shape (n_nodes,)
        ``feature``, ``threshold``, ``default_left``, ``value``, ``weight``, ``gain`` and
        ``sum_hessian``. ``feature``, ``threshold``, ``default_left`` and ``gain`` do not matter in
        leaves, nor ``value`` in other nodes.

    Raises
    ------
    ModelFormatError
        If the nodes do not form a tree, or a number is not finite in float32.
    """
    order, above = _breadth_first(left, right, place)
    of_order = np.array(order)
    leaf = np.array([left[node] == NO_NODE for node in order])
    own_left = np.full(leaf.size, NO_NODE, np.int32)
    own_left[~leaf] = 1 + 2 * np.arange(np.count_nonzero(~leaf))

    def found(name: str, dtype: type[np.generic], ignored: npt.NDArray[np.bool_] | None) -> Any:
        values = numbers[name][of_order]
        if ignored is not None:
            values = np.where(ignored, 0, values)
        with np.errstate(over="ignore"):
            return values.astype(dtype)

    by_set = np.array([node in sets for node in order])
    words, begin = joined([sets.get(node, _NO_WORDS) for node in order])
    arrays: dict[str, npt.NDArray[Any]] = {
        "left": own_left,
        "right": np.where(leaf, NO_NODE, own_left + 1).astype(np.int32),
        "parent": np.array(above, np.int32),
        "feature": found("feature", np.int32, leaf),
        "threshold": found("threshold", np.float32, leaf | by_set),
        "default_left": found("default_left", np.bool_, leaf),
        "split_kind": np.where(by_set, CATEGORY_SPLIT, NUMERIC_SPLIT).astype(np.uint8),
        "value": found("value", np.float32, ~leaf)[:, None],
        "weight": found("weight", np.float32, None)[:, None],
        "gain": found("gain", np.float32, leaf),
        "sum_hessian": found("sum_hessian", np.float32, None),
    }
    for name in ("threshold", "value", "weight", "gain", "sum_hessian"):
        if not np.isfinite(arrays[name]).all():
            raise ModelFormatError(
                f"{place}: {name} is not finite in float32: expected numbers up to 3.4e38; "
                "the file is damaged, write it again"
            )
    if words.size:
        arrays |= {"sets": words, "set_begin": begin}
    own = None if linear is None else linear.reordered(of_order[leaf])
    return Tree.trusted(**arrays, linear=own if own is not None and own.features.size else None)


def one_leaf(
    value: npt.NDArray[np.generic],
    cover: npt.NDArray[np.generic],
    place: str = "",
    linear: LinearTerms | None = None,
) -> Tree:
    """Return a tree of one leaf; arrays of shape (1,)."""
    zero = np.zeros(1)
    return tree_of([NO_NODE], [NO_NODE], {}, place, linear, feature=zero, threshold=zero,
                   default_left=zero, value=value, weight=value, gain=zero,
                   sum_hessian=cover)  # fmt: skip


def _breadth_first(
    left: Sequence[int], right: Sequence[int], place: str
) -> tuple[list[int], list[int]]:
    """Return the nodes in breadth-first order, and the parent of each by its new number."""
    order, above = [0], [NO_NODE]
    seen = bytearray(len(left))
    seen[0] = 1
    for number, node in enumerate(order):  # the loop appends to the list
        if left[node] == NO_NODE:
            continue
        for child in (left[node], right[node]):
            if seen[child]:
                raise ModelFormatError(
                    f"{place}: two nodes have the same child: expected a tree; the file is "
                    "damaged, write it again"
                )
            seen[child] = 1
            order.append(child)
            above.append(number)
    if len(order) != len(left):
        raise ModelFormatError(
            f"{place}: {len(left) - len(order)} nodes are not below the root: expected a tree; the "
            "file is damaged, write it again"
        )
    return order, above
