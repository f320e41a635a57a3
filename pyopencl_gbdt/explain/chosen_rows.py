"""Single rows of labelled data, and what each column adds to their predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyopencl_gbdt.explain.analysis import some_rows
from pyopencl_gbdt.explain.results import Explanation, explain, value_text
from pyopencl_gbdt.explain.scores import LabelledRows
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: Contributions that are shown; the others are added up.
_MOST = 10


@dataclass(frozen=True)
class ContributionStep:
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
    parts : list of ContributionStep
        The largest one first.
    """

    row: int
    why: str
    label: str
    prediction: str
    output: int
    base: float
    margin: float
    parts: list[ContributionStep]

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
    found = explain(model, data, device=rows.device)
    predicted = model.predict(data, device=rows.device)
    return [
        _explained(labelled, found, place, row, reasons[row], predicted[place])
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
    labelled: LabelledRows, found: Explanation, place: int, row: int, why: str, prediction: Any
) -> ExplainedRow:
    values, bases = np.atleast_2d(found.values[place]), np.atleast_1d(found.base[place])
    margins = bases + values.sum(axis=1)
    output = int(np.argmax(margins))  # the most probable class
    base, columns = float(bases[output]), values[output]
    order = np.argsort(-np.abs(columns), kind="stable")
    order = order[columns[order] != 0]
    shown, rest = order[:_MOST].tolist(), order[_MOST:]
    parts, begin = [], base
    for column in shown:
        value, name = value_text(found.data[place, column]), found.feature_names[column]
        parts.append(ContributionStep(name, value, float(columns[column]), begin))
        begin = parts[-1].end
    if rest.size:
        parts.append(
            ContributionStep(f"{rest.size} other columns", "", float(columns[rest].sum()), begin)
        )
    label = np.atleast_1d(labelled.data.label[row])
    shares = np.atleast_1d(prediction)
    return ExplainedRow(
        row, why, _numbers(label), _numbers(shares), output, base, float(margins[output]), parts
    )


def _numbers(values: Any) -> str:
    return ", ".join(f"{value:.5g}" for value in values.tolist()[:8])
