"""Which variant of every kernel a fit uses, and the sizes that follow from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pyopencl_gbdt.device import Program, Variant, build_variant
from pyopencl_gbdt.device.variants import LOCAL_HEADROOM, choose, fallbacks
from pyopencl_gbdt.dtypes import BLOCK_BYTES, code_dtype, row_codes
from pyopencl_gbdt.fit_shape import FitShape

#: Work-groups of a histogram launch, over those that a device runs at a time.
_WAVES = 4
#: Splits that a work-item of a lone work-group compares at most.
FEW_CANDIDATES = 64
#: Local accumulators of a code: 32 bits for the gradient, 32 for the Hessian.
_BYTES_PER_CODE = 8
#: Kernels of the variant table that a fit launches.
FIT_KERNELS = ("gradients", "histogram", "split", "partition", "plan", "leaf")


@dataclass
class FitVariants(FitShape):
    """The variants of a fit's kernels, by device, data and parameters."""

    def variant(self, kernel: str) -> Variant:
        """Return the row of the variant table that this fit uses for a kernel.

        A histogram whose local accumulators hold fewer codes than a feature has is built in
        ``bin_range_passes``.
        """
        caps, name = self.device.caps, self.params.histogram
        if kernel == "leaf" and self.n_parallel > 1:
            return choose(kernel, caps, "walk")  # by rows, two trees would meet at a margin
        if kernel != "histogram":
            return choose(kernel, caps)
        rows = fallbacks(kernel, caps) if name == "auto" else [choose(kernel, caps, name)]
        fits = (row for row in rows if self._can_hold(row))
        return next(fits, None) or choose(kernel, caps, "bin_range_passes")

    def build(self, kernel: str, make: Callable[[Variant], Program]) -> Program:
        """Build a kernel's variant, or the next one where the driver fails to.

        Has to come before the memory is planned, which depends on the variants.

        Raises
        ------
        KernelBuildError
            If no variant builds, or the one that does not was asked for by name.
        """
        named = kernel == "histogram" and self.params.histogram != "auto"
        variant = self.variant(kernel) if named else partial(self.variant, kernel)
        return build_variant(self.device, kernel, variant, make)[1]

    def _can_hold(self, row: Variant) -> bool:
        """Tell whether a variant of the histogram takes the feature with most codes."""
        split_by_codes = row.name in ("cpu", "bin_range_passes")
        return split_by_codes or self.layout.most_codes <= self._local_codes(row)

    def _local_codes(self, row: Variant) -> int:
        each = _BYTES_PER_CODE * (2 if row.name == "private" else 1)  # of 64 bits there
        fits = (self.device.caps.local_bytes - LOCAL_HEADROOM) // each
        return min(fits, row.params["codes"])

    @property
    def histogram_capacity(self) -> int:
        """Codes that a work-group of the histogram holds at a time."""
        row = self.variant("histogram")
        if row.name == "cpu":  # in global memory
            return row.params["codes"]
        return self._local_codes(row)

    def wg_size(self, row: Variant) -> int:
        """Return the work-group size to build a variant for."""
        return self.params.work_group_size or row.params["wg_size"]

    def few_candidates(self, depth: int) -> bool:
        """Tell whether one work-group compares all splits of a level sooner than a launch does."""
        wg_size = min(self.wg_size(self.variant("plan")), self.device.caps.max_work_group)
        return self.layout.n_features * -(-self.level_capacity(depth) // wg_size) <= FEW_CANDIDATES

    @property
    def most_row_tasks(self) -> int:
        """Most tasks of a partition pass: whole chunks, and one more for every node's rest."""
        chunk = self.variant("partition").params["chunk"]
        return self.n_trees * self.n_rows // chunk + self.search_capacity

    @property
    def histogram_groups(self) -> int:
        """Work-groups that share the histogram tasks of a level, for each range of codes.

        Many ranges keep the device busy with few groups each; more would find nothing to do.
        """
        row = self.variant("histogram")
        groups = self.device.caps.compute_units * row.params["groups_per_unit"]
        if row.name == "cpu":
            return groups
        dtype = code_dtype(self.layout.most_codes)
        blocks = row_codes(self.layout.n_features, dtype) * dtype.itemsize // BLOCK_BYTES
        return min(groups, -(-_WAVES * groups // blocks))

    @property
    def lists_drawn(self) -> bool:
        """Whether roots have a list of the rows that were drawn; the others are in none.

        That is where rows find their leaves without lists.
        """
        return self.params.samples_rows and self.variant("leaf").name == "walk"

    @property
    def cells_to_clear(self) -> int:
        """Sums in a node's histogram that are to be 0 before it is built; 0: it does so itself."""
        return 2 * self.layout.n_codes if self.variant("histogram").int64_atomics else 0

    def variants(self) -> dict[str, str]:
        """Return the variant of every kernel of this fit."""
        return {kernel: self.variant(kernel).name for kernel in FIT_KERNELS}
