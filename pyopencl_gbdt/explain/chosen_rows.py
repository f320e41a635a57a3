"""Single rows of labelled data, and what each column adds to their predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopencl_gbdt.explain.analysis import some_rows, value_text
from pyopencl_gbdt.explain.scores import LabelledRows

#: Contributions that are shown; the others are added up.
_MOST = 10


@dataclass(frozen=True)
class Part:
    """A step from the base to the margin.

    Attributes
    ----------
    name, value : str
        The column and its value; without a value it is the sum of several columns.
    amount, begin : float
        What it adds, and the sum before it.
    """

    name: str
    value: str
    amount: float
    begin: float

    @property
    def end(self) -> float:
        return self.begin + self.amount


@dataclass(frozen=True)
class ExplainedRow:
    """A row, its prediction, and what each column adds to the base.

    Attributes
    ----------
    row : int
        Counted from 0.
    why : str
        Why it was chosen.
    label, prediction : str
    output : int
        Which output's margin the parts add up to.
    base, margin : float
    parts : list of Part
        The largest one first.
    """

    row: int
    why: str
    label: str
    prediction: str
    output: int
    base: float
    margin: float
    parts: list[Part]

    @property
    def low(self) -> float:
        return min([self.base, *(part.end for part in self.parts)])

    @property
    def high(self) -> float:
        return max([self.base, *(part.end for part in self.parts)])


def explained_rows(labelled: LabelledRows, chosen: Sequence[int]) -> list[ExplainedRow]:
    """Return rows with their contributions.

    Parameters
    ----------
    labelled : LabelledRows
    chosen : sequence of int
        Numbers of rows; empty chooses the row with the largest loss, and those with the median and
        the highest prediction.
    """
    reasons = {int(row): "asked for" for row in chosen} or _chosen(labelled)
    numbers = np.array(list(reasons), np.int64)
    model, rows = labelled.rows.model, labelled.rows
    data = some_rows(rows, numbers)
    found = model.predict(data, pred_contribs=True, device=rows.device)
    found = found[:, None] if found.ndim == 2 else found
    predicted = model.predict(data, device=rows.device)
    return [
        _explained(labelled, row, reasons[row], found[place], predicted[place])
        for place, row in enumerate(numbers.tolist())
    ]


def _chosen(labelled: LabelledRows) -> dict[int, str]:
    """Return a few telling rows, and why each is one."""
    margins, losses = labelled.margins, labelled.losses()
    highest = margins if margins.ndim == 1 else margins.max(axis=1)
    order = np.argsort(highest, kind="stable")
    found = {} if losses is None else {int(np.argmax(losses)): "largest loss"}
    found.setdefault(int(order[order.size // 2]), "median prediction")
    found.setdefault(int(np.argmax(highest)), "highest prediction")
    return found


def _explained(
    labelled: LabelledRows, row: int, why: str, contributions: Any, prediction: Any
) -> ExplainedRow:
    rows = labelled.rows
    sums = contributions.sum(axis=1)
    output = int(np.argmax(sums))  # the most probable class
    own = contributions[output]
    base, columns = float(own[-1]), own[:-1]
    order = np.argsort(-np.abs(columns), kind="stable")
    order = order[columns[order] != 0]
    shown, rest = order[:_MOST].tolist(), order[_MOST:]
    parts, begin = [], base
    for column in shown:
        value = value_text(rows.column(column)[row])
        parts.append(Part(rows.names[column], value, float(columns[column]), begin))
        begin = parts[-1].end
    if rest.size:
        parts.append(Part(f"{rest.size} other columns", "", float(columns[rest].sum()), begin))
    label = np.atleast_1d(labelled.data.label[row])
    shares = np.atleast_1d(prediction)
    return ExplainedRow(
        row, why, _numbers(label), _numbers(shares), output, base, float(own.sum()), parts
    )


def _numbers(values: Any) -> str:
    return ", ".join(f"{value:.5g}" for value in values.tolist()[:8])
