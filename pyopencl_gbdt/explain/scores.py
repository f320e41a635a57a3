"""How well a model predicts labelled rows: metrics, and the loss of each row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data import check_indicators, check_target, encode_known_labels
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.evaluation.evaluation import on_host
from pyopencl_gbdt.explain.rows import ExplainedRows, rows_of
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.metrics import DatasetMetric, Metric, get_metric, row_loss_of
from pyopencl_gbdt.objectives.quantiles import ExpectileError, QuantileError

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
#: Metrics that are told beside the default metric of a loss.
_BESIDE = {
    "rmse": ("mae",), "mae": ("rmse",), "logloss": ("error", "auc"), "error": ("auc",),
    "mlogloss": ("merror",), "merror": ("mlogloss",), "map": ("ndcg",),
}  # fmt: skip
#: Most rows whose metrics are computed after single rounds, and most such rounds.
_MOST_ROWS, _MOST_STAGES = 20_000, 60


@dataclass(frozen=True)
class LabelledRows:
    """Rows with labels, and a model that predicts them.

    Attributes
    ----------
    data : Dataset
        The same rows with labels, and weights and queries if there are any.
    """

    rows: ExplainedRows
    data: Dataset

    @cached_property
    def margins(self) -> F32:
        """What the model predicts before its link, shape (n_rows,) or (n_rows, n_outputs)."""
        return self.rows.model.predict(self.data, output_margin=True, device=self.rows.device)

    @property
    def metric(self) -> str:
        """The default metric of the model's loss."""
        return self.rows.model.objective.metric

    def scores(self) -> dict[str, float]:
        """Return the default metric of the loss, and others that fit it, by name."""
        names = (self.metric, *_BESIDE.get(self.metric, ()))
        return {name: self._score(name, self.margins, self.data) for name in names}

    def _score(self, name: str, margins: F32, data: Dataset) -> float:
        objective, function = self.rows.model.objective, self._function(name)
        if isinstance(function, DatasetMetric) and function.of_prediction:
            prediction = objective.to_prediction(np.ascontiguousarray(margins.T)).T
        else:
            prediction = objective.to_probability(np.ascontiguousarray(margins.T))
        return float(on_host(function, name, data, prediction))

    def _function(self, name: str) -> Metric:
        """Return a metric; a loss has the parameters of its own one."""
        own: Any = self.rows.model.objective
        if isinstance(own, QuantileError | ExpectileError) and own.n_outputs > 1:
            numbers: Any = {f"{own.metric}_alpha": tuple(own.alphas.tolist())}
            own = replace(own, **numbers)
        return get_metric(name, own)

    def stages(self) -> Iterator[tuple[int, float]]:
        """Yield rounds, counted from 0, and the default metric after them.

        If there are many rows or rounds, a part of them is taken; the last round always is.
        """
        model, data = self.rows.model, self.data
        if data.n_rows > _MOST_ROWS and data.group_offsets is None:
            data = data.slice(np.linspace(0, data.n_rows - 1, _MOST_ROWS).astype(np.int64))
        last = model.rounds_to_predict - 1
        shown = set(np.linspace(0, last, min(last + 1, _MOST_STAGES)).astype(int).tolist())
        staged = model.staged_predict(data, output_margin=True, device=self.rows.device)
        for number, margins in enumerate(staged):
            if number in shown:
                yield number, self._score(self.metric, margins, data)

    def losses(self) -> F64 | None:
        """Return the loss of each row, of which the default metric is the mean or its root.

        None if the metric is not a mean over rows, as ``ndcg``, or rows have several labels.
        """
        objective = self.rows.model.objective
        loss = row_loss_of(self._function(self.metric))
        several = self.rows.model.ensemble.n_outputs > 1
        several = several and not (loss and (loss.classes or loss.distributed))
        if loss is None or loss.bounds or several or self.data.label.ndim > 1:
            return None
        prediction = objective.to_probability(np.ascontiguousarray(self.margins.T))
        found = loss.twin(prediction, self.data.label, np.float32(1)).astype(np.float64)
        found *= loss.factor
        return found if loss.constant is None else found + loss.constant(self.data.label)

    def mean(self, losses: F64, chosen: npt.NDArray[np.bool_] | None = None) -> float:
        """Return the default metric of some rows by their losses."""
        loss, weight = row_loss_of(self._function(self.metric)), self.data.weight
        if chosen is not None:
            losses, weight = losses[chosen], None if weight is None else weight[chosen]
        mean = float(np.average(losses, weights=weight))
        return float(np.sqrt(mean)) if loss is not None and loss.root else mean


def labelled_rows(
    model: Any, X: Any, y: Any, *, weight: Any, qid: Any, missing: float | None, device: Any
) -> LabelledRows:
    """Check a model, rows and their labels.

    Raises
    ------
    DataError
        If the columns differ from those of training, or labels are missing or do not suit the
        model's loss.
    """
    rows = rows_of(model, X, missing=missing, device=device)
    if isinstance(X, Dataset) and y is None:
        if not X.has_label:
            raise DataError("X has no labels: expected a Dataset with labels, or y; give y")
        return LabelledRows(rows, X)
    if y is None:
        raise DataError("y is None: expected a label for each row; give y, or X as a Dataset")
    own: Any = rows.model.ensemble
    classes = getattr(model, "classes_", None)
    if classes is None:
        labels = check_target(y, rows.n_rows, objective=own.objective)
    elif np.ndim(y) > 1:
        labels = check_indicators(y, rows.n_rows)
    else:
        labels = encode_known_labels(y, classes, "y")
    features = replace(rows.features, names=own.feature_names)
    return LabelledRows(rows, Dataset(features, labels, weight, qid=qid))
