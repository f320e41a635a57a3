"""What a categorical column offers to the search of splits: sets of levels, statistics, or both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.cuts import MOST_LEVELS
from pyopencl_gbdt.parameters.values import ParameterValues

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset


@dataclass(frozen=True)
class Offer:
    """Ways in which nodes may split on a categorical column; the better split wins.

    Attributes
    ----------
    sets : bool
        By sets of levels, with the column's own number.
    statistics : bool
        By the target's statistics of levels, which are columns behind the user's.
    """

    sets: bool
    statistics: bool


SETS, STATISTICS = Offer(sets=True, statistics=False), Offer(sets=False, statistics=True)


def offers(params: ParameterValues, n_levels: Mapping[int, int]) -> dict[int, Offer]:
    """Return what each categorical column offers, by its number, ascending.

    ``n_levels``: levels of the categorical columns.

    Notes
    -----
    ``auto`` leaves all columns to sets where labels are not targets. ``both`` leaves columns of
    more levels than sets can have to statistics.
    """
    return {column: _offer(params, n_levels[column]) for column in sorted(n_levels)}


def _offer(params: ParameterValues, n_levels: int) -> Offer:
    method = params.cat_method
    if method == "both":
        return Offer(n_levels <= MOST_LEVELS, statistics=True)
    if method == "auto" and params.has_targets:
        return Offer(n_levels <= params.max_set_levels, n_levels >= params.least_statistic_levels)
    return STATISTICS if method == "statistics" else SETS


def offered(params: ParameterValues, data: Dataset) -> dict[int, Offer]:
    """Return what each categorical column of a data set offers, by its number."""
    return offers(params, {column: own.n_levels for column, own in data.categories.items()})


@dataclass(frozen=True)
class CategoryFacts:
    """A categorical column of the training data.

    Attributes
    ----------
    name : str
        Empty if the data have no names.
    offer : Offer
        Whether the column is split by sets of levels, by statistics, or by both.
    monotone : bool
        Whether the column has a monotone constraint.
    forced : bool
        Whether the column has a forced split.
    """

    number: int
    name: str
    n_levels: int
    offer: Offer = SETS
    monotone: bool = False
    forced: bool = False

    @property
    def shown(self) -> str:
        return f"column {self.name!r}" if self.name else f"column {self.number}"
