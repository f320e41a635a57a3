"""Memory of a training's statistics of categories, from sizes that are known beforehand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pyopencl_gbdt.categories.statistic_values import Places, fits_on
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.cuts import N_BINS
from pyopencl_gbdt.parameters.category_offers import Offer
from pyopencl_gbdt.parameters.parameters import Parameters

#: Bytes of the host's objects in a fit, beside its arrays; ``tracemalloc``.
HOST_BYTES = 200_000
#: Bytes of a row while the border between two labels, or borders between many, are found; while the
#: levels of a column are read; and of a bin while columns are cut. ``tracemalloc``.
_TWO_LABELS_BYTES, _BORDERS_BYTES, _LEVELS_BYTES, _CUTS_BYTES = 11, 19, 16, 48
#: Most combinations that have features at a time, and that get them at a time.
MOST_SLOTS, MOST_NEW = 16, 8
#: Most features of combinations: classes have one each.
MOST_FEATURES = 64


def n_slots(n_means: int) -> int:
    """Return how many combinations have features at a time, each with so many means."""
    return min(MOST_SLOTS, max(1, MOST_FEATURES // max(1, n_means)))


@dataclass(frozen=True)
class StatisticSizes:
    """What statistics of categories add to a training.

    Attributes
    ----------
    n_columns : int
        The user's columns.
    n_levels : dict of int to int
        Levels of each column that has statistics.
    replaced : set of int
        Those of them that are not split by sets, too.
    n_sets : int
        Number of categorical columns that are split by sets.
    n_targets, n_priors, n_orders : int
        At most so many targets; labels may have fewer borders.
    target_bytes : int
        Bytes of a row while its targets are found.
    n_outputs : int
        Margins of a row.
    combines : bool
        Whether combinations of columns are looked for.
    """

    n_rows: int
    n_columns: int
    n_levels: Mapping[int, int]
    replaced: set[int]
    n_sets: int
    n_targets: int
    n_priors: int
    n_orders: int
    target_bytes: int
    n_outputs: int
    max_bin: int
    combines: bool

    @classmethod
    def of(
        cls,
        params: Parameters,
        n_rows: int,
        n_columns: int,
        n_labels: int,
        n_levels: Mapping[int, int],
        own: Mapping[int, Offer],
    ) -> StatisticSizes:
        """Return the sizes for categorical columns, with their levels and what they offer."""
        counted = {column: n_levels[column] for column, one in own.items() if one.statistics}
        replaced = {column for column in counted if not own[column].sets}
        two = params.objective.startswith("binary:")
        borders = 1 if two else params.target_border_count
        border_bytes = _TWO_LABELS_BYTES if two else _BORDERS_BYTES
        priors = params.ctr_priors
        return cls(
            n_rows, n_columns, counted, replaced, len(own) - len(replaced),
            n_targets=n_labels * (params.num_class or borders),
            n_priors=len(priors) if isinstance(priors, tuple) else 1,
            n_orders=params.n_orders,
            target_bytes=2 * params.num_class * n_labels + 1 if params.num_class else border_bytes,
            n_outputs=n_labels * max(1, params.num_class),
            max_bin=params.max_bin,
            combines=params.max_ctr_complexity > 1 and not params.interaction_constraints,
        )  # fmt: skip

    @property
    def n_statistics(self) -> int:
        """Features that are statistics of a column: means for targets and priors, and a count."""
        return len(self.n_levels) * (self.n_targets * self.n_priors + 1)

    @property
    def n_empty(self) -> int:
        """Features behind them, for combinations."""
        n_means = self.n_targets * self.n_priors
        return n_slots(n_means) * n_means if self.combines else 0

    @property
    def n_features(self) -> int:
        """All features of the training."""
        return self.n_columns + self.n_statistics + self.n_empty

    def lie_on(self, device: Device) -> bool:
        """Tell whether the values of all features lie on the device until they are encoded."""
        place = Places(self.n_columns, self.n_statistics, self.n_empty)
        return fits_on(device, self.n_rows, place, self.n_orders)

    def host_bytes(self, device: Device) -> int:
        """Return the peak of the host's arrays.

        That is in one of five steps, measured with ``tracemalloc``, as NumPy's arrays ask no arena.
        If the device has no room for them, the values of all features, and statistics in every
        order, are there, too.
        """
        n, n_planes, levels = self.n_rows, self.n_targets + 1, self.n_levels.values()
        tables = 8 * n_planes * sum(levels)
        kept = HOST_BYTES + tables
        bins = self.n_features * min(n, self.max_bin)
        read = _LEVELS_BYTES * n if self.n_sets else 0
        steps = (
            n * self.target_bytes,
            n * (3 * n_planes - 1),  # and their copies, those of counted rows alone
            n * n_planes + tables + 4 * n_planes * max(levels),  # counts, then tables
            kept + max(read, _CUTS_BYTES * bins),  # columns are cut, and levels counted
            kept + max(read if self.combines else 0, 4 * n * self.n_outputs) + 4 * bins,  # rounds
        )
        values = 0 if self.lie_on(device) else self.n_features + self.n_orders * self.n_statistics
        return 4 * n * values + max(steps)

    def bins(self, n_bins: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
        """Return the most bins of every feature, if numbers have ``n_bins``."""
        found = np.full(self.n_features, n_bins, np.uint32)
        found[list(self.replaced)] = 1  # these are empty
        n_means = self.n_targets * self.n_priors
        for place, levels in enumerate(self.n_levels.values()):
            count = self.n_columns + (place + 1) * (n_means + 1) - 1
            found[count] = max(1, min(n_bins, levels))
        found[self.n_features - self.n_empty :] = N_BINS + 1  # with a code of missing values
        return found
