"""Areas under curves: rows sorted by prediction on the device, areas as whole numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import DeviceArray, Launch, Program, Variant, build_variant
from pyopencl_gbdt.device.memory import MemoryPlan
from pyopencl_gbdt.metrics.rows import F32, N_WORDS, EvaluatedRows
from pyopencl_gbdt.primitives import RadixSort, Scan
from pyopencl_gbdt.primitives.radix_plan import scratch_bytes
from pyopencl_gbdt.reference.curve import PRECISION_BITS, signed_weights, weight_power
from pyopencl_gbdt.reference.mean_loss import N_LIMBS


class Curves:
    """``auc``, ``aucpr`` or both of a set, prepared once, for margins that change.

    Weights become whole numbers (``reference.curve.weight_power`` says how large the error is; none
    without weights), and the area under the ROC curve is a whole number too. A piece of the
    precision-recall curve has its mean precision as a float32. Both are the same number on every
    device. Rows are sorted once.

    Parameters
    ----------
    rows : EvaluatedRows
        Labels are 0 and 1.
    curves : sequence of {"auc", "aucpr"}
    """

    def __init__(self, rows: EvaluatedRows, curves: Sequence[str]) -> None:
        self.rows, self.curves = rows, list(curves)
        self.areas = Areas(rows.label, rows.weight)
        self.n_results = len(self.curves)
        self._programs = [] if self.areas.undefined else [self._build(name) for name in curves]

    def _build(self, curve: str) -> Program:
        make = partial(self._build_row, curve)
        return build_variant(self.rows.device, "curve", "auto", make)[1]

    def _build_row(self, curve: str, row: Variant) -> Program:
        rows = self.rows
        return rows.device.build(
            "curve",
            wg_size=rows.wg_size or row.params["wg_size"],
            link=rows.link,
            weighted=rows.weight is not None,
            curve=curve,
        )

    @property
    def _whole(self) -> np.dtype[Any]:
        return np.dtype(np.int32 if self.rows.weight is None else np.int64)

    def plan(self, plan: MemoryPlan, prefix: str) -> None:
        """Plan the arrays that ``launches`` will allocate; scans' small ones are left out."""
        n, whole = self.rows.n_rows, self._whole
        if self.areas.undefined:
            return
        plan.add(f"{prefix}.keys", n, np.float32)
        plan.add(f"{prefix}.wholes", n, whole)
        plan.add(f"{prefix}.pairs", (n if self.rows.weight is not None else 0, 2), np.int64)
        plan.add(f"{prefix}.sums", (self.rows.groups, N_LIMBS), np.int64)
        scratch = scratch_bytes(self.rows.device, n, 1, has_values=True, value_dtype=whole)
        plan.add(f"{prefix}.sort", scratch, np.uint8)

    def launches(self, results: DeviceArray, first: int) -> list[Launch]:
        """Return what computes the results' words from ``first`` on, a row a curve, bound."""
        if self.areas.undefined:
            return []
        rows, device = self.rows, self.rows.device
        n, groups, bind = np.uint32(rows.n_rows), rows.groups, self._programs[0].bind
        keys = device.empty(rows.n_rows, np.float32)
        cumulated = wholes = device.empty(rows.n_rows, self._whole)
        sort = RadixSort(device, rows.n_rows, np.float32, self._whole)
        power = np.int32(weight_power(rows.weight))
        inputs = (rows.margins, rows.labels, rows.weights)
        launches = [bind("curve_keys", groups, n, power, *inputs, keys, wholes)]
        launches += sort.bind(keys, wholes)
        if rows.weight is not None:
            cumulated = device.empty((rows.n_rows, 2), np.int64)
            launches.append(bind("curve_pairs", groups, n, wholes, cumulated))
        pairs = rows.weight is not None
        scan = Scan(device, rows.n_rows, self._whole, inclusive=True, pairs=pairs)
        launches += scan.bind(cumulated, cumulated)
        sums = device.empty((groups, N_LIMBS), np.int64)
        of_classes = np.int64(self.areas.positive), np.int64(self.areas.negative)
        for at, program in enumerate(self._programs):
            target = np.uint32(first + N_WORDS * at)
            launches += [
                program.bind("curve_area", groups, n, *of_classes, keys, cumulated, sums),
                program.bind("total_areas", 1, np.uint32(groups), target, sums, results),
            ]
        return launches

    def value(self, words: npt.NDArray[np.int64], at: int = 0) -> float:
        """Return the metric of the curve ``at``, a float64, from its words of the results."""
        return self.areas.value(self.curves[at], words)


class Areas:
    """What the host divides areas by.

    Attributes
    ----------
    positive, negative : int
        Whole weights of labels 1 and of labels 0.
    """

    def __init__(self, label: F32, weight: F32 | None) -> None:
        signed = signed_weights(label, weight)
        self.positive = int(signed[signed > 0].sum())
        self.negative = -int(signed[signed < 0].sum())

    @property
    def undefined(self) -> bool:
        """Whether a class is absent."""
        return not (self.positive and self.negative)

    def value(self, curve: str, words: npt.NDArray[np.int64]) -> float:
        """Return the metric from ``area_words``; NaN where a class is absent."""
        if self.undefined:
            return math.nan
        area = sum(int(words[at]) << 32 * at for at in range(N_LIMBS))
        if curve == "auc":
            return area / (2 * self.positive * self.negative)  # of Python's integers: one rounding
        return area / (self.positive << PRECISION_BITS)
