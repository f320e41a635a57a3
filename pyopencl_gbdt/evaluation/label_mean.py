"""The mean label, from which the base score follows, as an exact sum on the device."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device, DeviceArray, Launch, build_variant_program
from pyopencl_gbdt.evaluation.metric_kind import F32, N_WORDS
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.numerics.exact_sums import INFINITE, N_LIMBS, sum_of
from pyopencl_gbdt.objectives import Objective


def starting_score(parts: FitParts, objective: Objective, data: Dataset) -> float:
    """Return the base score of a loss that ``starts_at_mean``.

    ``parts``: holds the labels and weights.
    ``data``: with one target.

    Returns
    -------
    float
        The same bits as ``objective.starting_score``.
    """
    arena, rows = parts.arena, parts.rows
    weight, mean = data.weight, None
    if rows.schedule is not None:  # the device has the labels of a few pages
        return objective.starting_score(data.label, weight)
    if weight is None or _scaled_exactly(weight, rows.weight_shift):
        wg_size = parts.nodes.params.work_group_size
        label_mean = LabelMean(
            arena.device, data.n_rows, weighted=weight is not None, wg_size=wg_size
        )
        labels = arena["labels"]
        mean = label_mean.value(labels, arena.arrays.get("weights", labels), rows.weight_bits)
    if mean is None:
        return objective.starting_score(data.label, weight)
    return objective.score_of_mean(mean)


def _scaled_exactly(weight: F32, shift: int) -> bool:
    """Tell whether ``normalise`` left all weights unclipped."""
    least = float(np.min(weight, where=weight > 0, initial=np.float32(np.inf)))
    return least >= 2.0 ** (shift - 100) and float(weight.max()) <= 2.0 ** (shift + 30)


class LabelMean:
    """The (weighted) mean of labels on a device, as a float64 with the same bits as on the host.

    ``wg_size``: work-items per work-group; 0 is the variant's default.
    """

    def __init__(self, device: Device, n_rows: int, *, weighted: bool, wg_size: int = 0) -> None:
        self.device, self._wg_size = device, wg_size
        self._n_rows, self.weighted = n_rows, weighted

    def value(self, labels: DeviceArray, weights: DeviceArray, bits: int = 0) -> float | None:
        """Return the mean; waits for the device.

        Parameters
        ----------
        labels, weights : DeviceArray of float32, n_rows elements
            Finite labels; weights >= 0, none subnormal. A dummy if there are no weights.
        bits : int
            All weights lie below ``2**bits``.

        Returns
        -------
        float or None
            None if bits that the device drops could change the rounding of the mean.
        """
        results = self.device.zeros((2, N_WORDS), np.int64)
        for launch in self._sum(labels, weights, results, 0, weighted=self.weighted):
            launch()
        if self.weighted:
            for launch in self._sum(weights, weights, results, N_WORDS, weighted=False):
                launch()
        n, words = self._n_rows, results.get()
        if words[:, N_LIMBS].max() >= INFINITE:
            return None
        total, whole = (sum_of(own, int(own[N_LIMBS])) for own in words)
        # Dropped: bits of a product below its last limb, or a whole product with a subnormal label.
        error = n * max(Fraction(2) ** (int(words[0, N_LIMBS]) - 348), Fraction(2) ** (bits - 126))
        lost = n * Fraction(2) ** (int(words[1, N_LIMBS]) - 348)
        by = (whole, whole + lost) if self.weighted else (Fraction(n),)
        found = {float(a / b) for a, b in product((total - error, total + error), by)}
        return found.pop() if len(found) == 1 else None

    def _sum(
        self,
        values: DeviceArray,
        weights: DeviceArray,
        results: DeviceArray,
        first: int,
        *,
        weighted: bool,
    ) -> list[Launch]:
        """Return the launch that sums values into words ``first .. first + 4`` of the results."""
        bind = build_variant_program(
            self.device, "mean_loss", "auto", wg_size=self._wg_size, link="p = margin;",
            row_loss="loss = y;", weighted=weighted,
        )[1].bind  # fmt: skip
        groups = self.device.caps.row_groups(self._n_rows)
        largest = self.device.empty(groups, np.uint32)
        sums = self.device.empty((groups, N_LIMBS), np.int64)
        inputs = {
            "n_rows": self._n_rows, "n_outputs": 1, "unit": 1, "margins": values,
            "labels": values, "weights": weights, "largest": largest,
        }  # fmt: skip
        return [
            bind("largest_loss", groups, **inputs),
            bind("sum_losses", groups, **inputs, first=first, sums=sums, results=results),
            bind("total_losses", 1, groups, first, sums, results),
        ]
