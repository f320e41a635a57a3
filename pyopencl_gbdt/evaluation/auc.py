"""Areas under curves: the device sorts rows by prediction and sums areas as integers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import DeviceArray, Launch, Program
from pyopencl_gbdt.evaluation.metric_kind import N_WORDS, EvaluatedRows, MetricKind
from pyopencl_gbdt.metrics import Metric, curve_of
from pyopencl_gbdt.metrics.curves import Areas, ClassAreas
from pyopencl_gbdt.numerics.exact_sums import N_LIMBS, weight_power
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.classification import SoftProb
from pyopencl_gbdt.primitives import RadixSort, Scan


class Curves:
    """``auc``, ``aucpr`` or both of an evaluation set; prepared once, computed every round.

    Weights become integers (without weights, exactly; see ``curve_units.weight_power`` for the
    error), so the area under the ROC curve is an integer. Under the precision-recall curve, the
    mean precision of each piece is a float32. Both have the same bits on every device. Rows
    are sorted once; with several classes, once for each class against the others.

    Parameters
    ----------
    rows : EvaluatedRows
        Labels are 0 and 1, or class numbers.
    curves : sequence of {"auc", "aucpr"}
    """

    def __init__(self, rows: EvaluatedRows, curves: Sequence[str]) -> None:
        self.rows, self.curves = rows, list(curves)
        self.n_results = len(self.curves) * max(1, rows.n_classes)
        self._programs: list[Program] = []
        if not rows.device.holds_memory or not self.areas.undefined:
            facts = {"weighted": rows.weight is not None, "classes": rows.n_classes > 0}
            self._programs = [rows.program("auc", curve=name, **facts) for name in curves]
            self._ask()

    @cached_property
    def areas(self) -> Areas | ClassAreas:
        """What converts sums to each metric."""
        rows = self.rows
        if rows.n_classes:
            return ClassAreas(rows.label, rows.weight, rows.n_classes)
        return Areas(rows.label, rows.weight)

    def _ask(self) -> None:
        """Ask for the arrays that rows are sorted and summed in."""
        rows, device, array, n = self.rows, self.rows.device, self.rows.array, self.rows.n_rows
        pairs = rows.weight is not None
        self._sort = RadixSort(device, n, np.float32, self._whole)
        self._scan = Scan(device, n, self._whole, inclusive=True, pairs=pairs)
        self._keys = array("keys", n, np.float32)
        self._cumulated = self._wholes = array("wholes", n, self._whole)
        if pairs:
            self._cumulated = array("pairs", (n, 2), np.int64)
        self._sums = array("sums", (rows.groups, N_LIMBS), np.int64)
        names = ("largest shares", "shares") if rows.n_classes else ()
        self._of_classes = [array(name, n, np.float32) for name in names]

    @property
    def _whole(self) -> np.dtype[Any]:
        return np.dtype(np.int32 if self.rows.weight is None else np.int64)

    def launches(self, results: DeviceArray, first: int) -> list[Launch]:
        """Return bound launches that write one row of results per curve, from row ``first`` on."""
        if self.areas.undefined:
            return []
        rows, keys, wholes, sums = self.rows, self._keys, self._wholes, self._sums
        n, groups, bind = rows.n_rows, rows.groups, self._programs[0].bind
        cumulated, sort = self._cumulated, self._sort.bind(keys, wholes)
        inputs = {
            "n_rows": n, "power": weight_power(rows.weight), "margins": rows.margins,
            "labels": rows.labels, "weights": rows.weights, "keys": keys, "wholes": wholes,
        }  # fmt: skip
        ordered = []
        if rows.weight is not None:
            ordered.append(bind("curve_pairs", groups, n, wholes, cumulated))
        ordered += self._scan.bind(cumulated, cumulated)
        launches, shares = self._shares()
        for k, areas in enumerate(self.areas.each):
            of_class = {"k": k, "most": shares[0], "shares": shares[1]} if shares else {}
            launches += [bind("curve_keys", groups, **inputs, **of_class)]
            launches += [*sort, *ordered]
            of_classes = {"all_p": areas.positive, "all_q": areas.negative}
            for at, program in enumerate(self._programs):
                row = at * len(self.areas.each) + k
                target = first + N_WORDS * row
                launches += [
                    program.bind(
                        "curve_area", groups, n_rows=n, keys=keys, cumulated=cumulated, sums=sums,
                        **of_classes,
                    ),
                    program.bind("total_areas", 1, groups, target, sums, results),
                ]  # fmt: skip
        return launches

    def _shares(self) -> tuple[list[Launch], list[DeviceArray]]:
        """Return launches that turn margins of classes into probabilities, and their arrays."""
        rows = self.rows
        if not rows.n_classes:
            return [], []
        shares = self._of_classes
        sizes = rows.n_rows, rows.n_classes
        bind = self._programs[0].bind
        return [bind("class_shares", rows.groups, *sizes, rows.margins, *shares)], shares

    def values(self, words: npt.NDArray[np.int64]) -> list[float]:
        """Return each curve's metric, a float64, from its row of results."""
        of_curves = np.split(words, len(self.curves))
        return [self.areas.value(*pair) for pair in zip(self.curves, of_curves, strict=True)]


class CurveKind(MetricKind):
    """``auc`` and ``aucpr``: a set's rows are sorted once for both."""

    def takes(self, metric: Metric) -> bool:
        return bool(curve_of(metric))

    def suits(self, metric: Metric, objective: Objective, rows: Dataset) -> bool:
        if isinstance(objective, SoftProb):
            return True
        return bool(((rows.label == 0) | (rows.label == 1)).all())

    def exact_on_host(self, metric: Metric) -> bool:
        return curve_of(metric) == "auc"  # a quotient of whole numbers

    def prepare(
        self, data: Dataset, rows: EvaluatedRows, metrics: Mapping[str, Metric]
    ) -> Iterator[tuple[Curves, list[str]]]:
        curves = [curve_of(metric) for metric in metrics.values()]
        yield Curves(rows.of("curves"), curves), list(metrics)
