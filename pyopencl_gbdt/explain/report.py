"""A model and rows as one self-contained HTML page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from mako.template import Template

from pyopencl_gbdt._version import __version__
from pyopencl_gbdt.arguments import check_whole
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.render import source_folder
from pyopencl_gbdt.device.timing import Stopwatch
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.explain.analysis import (
    Analysis,
    analysis_of,
    some_rows,
    strongest_columns,
)
from pyopencl_gbdt.explain.drawings import Curve, chart, tree_drawing
from pyopencl_gbdt.explain.results import Explanation, PartialDependence, explain, value_text
from pyopencl_gbdt.explain.rows import ExplainedRows
from pyopencl_gbdt.explain.scores import LabelledRows
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.best_round import BEST_ITERATION
from pyopencl_gbdt.model.pictures import shorten
from pyopencl_gbdt.prediction.contributions.path_factors import check_covers
from pyopencl_gbdt.prediction.description import facts_of
from pyopencl_gbdt.prediction.walk_rows import is_there

#: Levels of a column that are told.
_MOST_LEVELS = 3

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
    output : int
        Which output's margin the parts add up to.
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

    ``chosen``: numbers of rows; empty chooses the row with the largest loss, and those with the
    median and the highest prediction.
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


@dataclass(frozen=True)
class ColumnFacts:
    """A column of some rows.

    Attributes
    ----------
    name, kind, values : str
        Kind: ``numbers`` or ``4 levels``. Values: what it holds.
    missing : float
        Share of the rows without a value.
    """

    name: str
    kind: str
    missing: float
    values: str


def column_facts(rows: ExplainedRows, column: int) -> ColumnFacts:
    """Return the facts of a column."""
    values: Any = rows.column(column)
    levels = rows.model.categories.get(column)
    if levels is not None:
        counts = Counter(one for one in values.tolist() if one is not None)
        known = counts.most_common(_MOST_LEVELS)
        text = ", ".join(f"{shorten(str(one))} {n / rows.n_rows:.0%}" for one, n in known)
        text += ", ..." if len(counts) > _MOST_LEVELS else ""
        absent = 1.0 - sum(counts.values()) / rows.n_rows
        return ColumnFacts(rows.names[column], f"{levels.n_levels} levels", absent, text)
    there = values[~np.isnan(values)]
    text = "none"
    if there.size:
        low, median, high = np.quantile(there, [0.0, 0.5, 1.0])
        text = f"{low:.5g} to {high:.5g}, median {median:.5g}"
    return ColumnFacts(rows.names[column], "numbers", 1.0 - there.size / rows.n_rows, text)


_TEMPLATE = "explain.html.mako"
#: What the page shows at most.
_COLUMNS, _FEATURES, _CURVES, _SEGMENTS, _TREES, _DEPTH, _OUTPUTS = 40, 20, 4, 6, 2, 3, 8
_LONGEST_NAME = 60
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class _Bar:
    """A row of a list with bars: a name, a number as text, and the share of the longest bar."""

    name: str
    text: str
    share: float


class ExplanationPage:
    """The data of the HTML template; computed at construction.

    ``model_name``, ``data_name``: how the page calls the model and the rows.
    ``chosen``: rows to explain, counted from 0; empty takes three: the largest loss, the median and
    the highest prediction.
    """

    def __init__(
        self,
        labelled: LabelledRows,
        model_name: str,
        data_name: str,
        chosen: Sequence[int] = (),
    ) -> None:
        self.labelled, self.rows, self.model = labelled, labelled.rows, labelled.rows.model
        self.model_name, self.data_name, self.library = model_name, data_name, __version__
        _check_rows(chosen, self.rows.n_rows)
        self.seconds: dict[str, float] = {}
        self.device = self._device()
        self._time(f"prediction of {self.rows.n_rows} rows", lambda: labelled.margins)
        self.stages = self._time("metrics after rounds", lambda: list(labelled.stages()))
        self.analysis: Analysis = self._time(
            "metrics, partial dependence and segments",
            partial(analysis_of, labelled, _CURVES, _SEGMENTS),
        )
        self.explained: list[ExplainedRow] = self._time(
            "contributions", lambda: explained_rows(labelled, chosen) if self._has_covers() else []
        )

    def _has_covers(self) -> bool:
        """Tell whether contributions can be computed, which need the covers of nodes."""
        try:
            check_covers(self.model.ensemble)
        except ParameterError:
            return False
        return True

    def _device(self) -> str:
        device = self.rows.device
        if isinstance(device, str) and not is_there(device):
            return "NumPy on the host, as there is no device"
        return open_device(device).caps.label

    def _time(self, what: str, work: Callable[[], _Result]) -> _Result:
        watch = Stopwatch()
        found = work()
        self.seconds[what] = watch.lap()
        return found

    @staticmethod
    def short(name: str) -> str:
        """Return a name in few characters."""
        return shorten(name, _LONGEST_NAME)

    @property
    def facts(self) -> list[tuple[str, str]]:
        return facts_of(self.model)

    @property
    def columns(self) -> list[ColumnFacts]:
        """The columns in order, or the most important ones of many."""
        n_features = self.model.ensemble.n_features
        shown = list(range(n_features))
        if n_features > _COLUMNS:
            used = list(strongest_columns(self.rows))
            shown = [*used, *(c for c in shown[: 2 * _COLUMNS] if c not in used)][:_COLUMNS]
        return [column_facts(self.rows, column) for column in shown]

    @property
    def label_text(self) -> str:
        """What the labels are."""
        label = self.labelled.data.label
        if self.model.ensemble.objective.startswith(("multi:", "binary:")) and label.ndim == 1:
            values, counts = np.unique(label, return_counts=True)
            parts = [
                f"{value:g}: {n / label.size:.1%}" for value, n in zip(values, counts, strict=True)
            ]
            return "shares of the labels: " + ", ".join(parts[:_OUTPUTS])
        low, median, high = np.quantile(label, [0.0, 0.5, 1.0])
        return f"labels from {low:.5g} to {high:.5g}, median {median:.5g}"

    @property
    def curve(self) -> str:
        """The metric after every round, on these rows."""
        best = None
        if BEST_ITERATION in self.model.ensemble.attributes:
            best = float(self.model.best_iteration)
        points = [(float(number), score) for number, score in self.stages]
        name = self.labelled.metric
        return chart(f"{name} after each round", [Curve(name, points)], "round", best)

    @property
    def importances(self) -> list[_Bar]:
        pairs = list(self.analysis.importances.items())[:_FEATURES]
        longest = max((share for _, share in pairs), default=1.0) or 1.0
        return [_Bar(name, f"{share:.1%}", share / longest) for name, share in pairs]

    def dependence(self, one: PartialDependence) -> str:
        """Return the chart of a numeric column; empty for one with levels."""
        assert one.average is not None
        if one.grid[0].dtype == object:
            return ""
        grid = one.grid[0].astype(float).tolist()
        curves = [
            Curve(str(number), list(zip(grid, curve.tolist(), strict=True)))
            for number, curve in enumerate(one.average[:_OUTPUTS])
        ]
        return chart(f"mean prediction by {one.feature_names[0]}", curves, one.feature_names[0])

    def level_bars(self, one: PartialDependence) -> list[_Bar]:
        """Return a bar for each level, of the first output or of a single one."""
        assert one.average is not None
        values = one.average[-1 if len(one.average) == 1 else 0]
        low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
        whole = (high - low) or 1.0
        order = np.argsort(-values, kind="stable")[:_FEATURES]
        return [
            _Bar(value_text(one.grid[0][i]), f"{values[i]:.5g}", (float(values[i]) - low) / whole)
            for i in order.tolist()
        ]

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs; empty if there is one."""
        n_outputs = self.model.ensemble.n_outputs
        return [str(number) for number in range(min(n_outputs, _OUTPUTS))] if n_outputs > 1 else []

    @property
    def trees(self) -> list[tuple[int, str, str]]:
        """Numbers, pictures and notes of the first trees."""
        ensemble = self.model.ensemble
        return [
            (number, *tree_drawing(ensemble, number, _DEPTH))
            for number in range(min(_TREES, len(ensemble.trees)))
        ]


def html(report: ExplanationPage) -> str:
    """Return the page; it loads nothing and runs no script."""
    file = source_folder("templates") / _TEMPLATE
    template = Template(filename=str(file), default_filters=["h"], strict_undefined=True)
    return str(template.render(view=report))


def _check_rows(chosen: Sequence[Any], n_rows: int) -> None:
    for row in chosen:
        check_whole("rows", row, 0, n_rows - 1, move="choose rows of the data")
