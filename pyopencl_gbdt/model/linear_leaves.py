"""Terms of linear leaves: a leaf adds a linear function of some of a row's features.

    leaf            0          1     2           sizes         2        0     1
    intercept       0.5        0     1.5         features      3, 7           3
    adds            0.5 + 2 x3 - x7      its value      ..     coefficients  2, -1          ..

A row that misses one of the leaf's features gets the leaf's value in place of it, as in LightGBM
(`src/io/tree.cpp`; Shi et al. 2019, "Gradient boosting with piece-wise linear regression trees").
The function is computed in float32, from left to right: the intercept, then each product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.lazy_dataclasses import dataclass

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class LinearTerms:
    """The linear functions of some leaves, one after the other.

    Attributes
    ----------
    sizes : int32 array, shape (n_leaves,)
        How many features each leaf's function has; 0: the leaf is a number.
    intercepts : float32 array, shape (n_leaves,)
        0 in leaves that are numbers.
    features : int32 array, shape (n_terms,)
    coefficients : float32 array, shape (n_terms,)

    Raises
    ------
    ModelFormatError
        If the sizes do not add up, a feature is below 0, or a number is not finite.
    """

    sizes: I32
    intercepts: F32
    features: I32
    coefficients: F32

    def __post_init__(self) -> None:
        for field in fields(self):
            dtype = np.float32 if field.name in ("intercepts", "coefficients") else np.int32
            with np.errstate(over="ignore"):
                array = np.array(getattr(self, field.name), dtype)
            array.setflags(write=False)
            object.__setattr__(self, field.name, array)
            if not np.isfinite(array).all():
                _fail(f"finite numbers in {field.name}")
        if self.sizes.min(initial=0) < 0 or self.sizes.sum(dtype=np.int64) != self.features.size:
            _fail(f"sizes of 0 or more that add up to {self.features.size}")
        if self.intercepts.size != self.sizes.size:
            _fail(f"{self.sizes.size} intercepts, one for each leaf")
        if self.coefficients.size != self.features.size or self.features.min(initial=0) < 0:
            _fail("a coefficient and a feature, 0 or more, for each term")
        if self.intercepts[self.sizes == 0].any():
            _fail("intercepts of 0 in leaves that are numbers")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearTerms):
            return NotImplemented
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return all(np.array_equal(one, another) for one, another in pairs)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    @property
    def begin(self) -> npt.NDArray[np.int64]:
        """First term of each leaf, then the number of terms."""
        return np.concatenate([[0], np.cumsum(self.sizes, dtype=np.int64)])

    def part(self, first: int, end: int) -> LinearTerms:
        """Return the functions of the leaves ``first`` .. ``end - 1``."""
        begin = self.begin
        terms = slice(begin[first], begin[end])
        return LinearTerms(
            self.sizes[first:end], self.intercepts[first:end], self.features[terms],
            self.coefficients[terms],
        )  # fmt: skip

    def of(self, leaf: int) -> tuple[np.float32, list[tuple[int, np.float32]]]:
        """Return a leaf's intercept, and its features with their coefficients; none of a number."""
        first = int(self.sizes[:leaf].sum(dtype=np.int64))
        terms = slice(first, first + int(self.sizes[leaf]))
        features = self.features[terms].tolist()
        return self.intercepts[leaf], list(zip(features, self.coefficients[terms], strict=True))

    def scaled(self, factor: np.float32) -> LinearTerms:
        """Return the functions multiplied by a factor, in float32."""
        intercepts, coefficients = self.intercepts * factor, self.coefficients * factor
        return LinearTerms(self.sizes, intercepts, self.features, coefficients)

    def reordered(self, leaves: npt.NDArray[Any]) -> LinearTerms:
        """Return the functions of leaves in another order."""
        parts = [self.part(leaf, leaf + 1) for leaf in leaves.tolist()]
        return joined_terms(parts)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name, as files hold them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def no_terms(n_leaves: int) -> LinearTerms:
    """Return the terms of leaves whose values are numbers: none."""
    none = np.zeros(0, np.float32)
    sizes, intercepts = np.zeros(n_leaves, np.int32), np.zeros(n_leaves, np.float32)
    return LinearTerms(sizes, intercepts, none.astype(np.int32), none)


def joined_terms(parts: Sequence[LinearTerms]) -> LinearTerms:
    """Return the functions of several lists of leaves as one."""
    names = [field.name for field in fields(LinearTerms)]
    return LinearTerms(
        *(np.concatenate([np.zeros(0), *(getattr(p, name) for p in parts)]) for name in names)
    )


def _fail(expected: str) -> None:
    raise ModelFormatError(f"linear leaves: expected {expected}; write the model again")
