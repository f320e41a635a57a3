"""Prediction intervals and distributions of regressors.

Intervals come from split-conformal scores of rows that were not trained on.

A score tells how far a row's label lies from its prediction. An interval reaches as far as the
score of rank ceil((n + 1) * coverage) among the n sorted scores: Lei et al. 2018,
"Distribution-free predictive inference for regression"; for pairs of quantiles Romano, Patterson
and Candes 2019, "Conformalized quantile regression".
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device.selection import main_device
from pyopencl_gbdt.errors import ModelFormatError, ParameterError
from pyopencl_gbdt.estimators.spellings import explains_arguments
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.numerics.portable_math import as_margin
from pyopencl_gbdt.objectives.distributions import Distribution
from pyopencl_gbdt.objectives.quantiles import QuantileError
from pyopencl_gbdt.prediction.model import Model

F32 = npt.NDArray[np.float32]
#: The attribute of a model file that holds the sorted scores, a JSON list of numbers.
SCORES = "conformal_scores"
#: The most rows whose scores are kept; of more rows, as many evenly spaced ones.
MOST_SCORES = 10000


class Intervals:
    """The part of a regressor that predicts intervals, and distributions."""

    #: Sorted scores of rows that were not trained on; None if there were none.
    _scores_of_rows: F32 | None = None

    def _learn_intervals(self: Any, members: Sequence[tuple[Model, Dataset]]) -> None:
        """Keep the scores of rows that models were not trained on, if there are any."""
        found = [_few(rows, MOST_SCORES // len(members)) for _, rows in members]
        scores = [
            scores_of(model.predict(rows, device=main_device(self.device)), rows.label)
            for (model, _), rows in zip(members, found, strict=True)
            if rows.n_rows and not _why_none(model)
        ]
        self._scores_of_rows = np.sort(np.concatenate(scores)) if scores else None

    def calibrate(self: Any, X: Any, y: Any, *, base_margin: Any = None) -> Any:
        """Measure on rows that ``fit`` has not seen how wide intervals have to be.

        Parameters
        ----------
        X : (n_rows, n_features) array-like, DataFrame or sparse matrix
        y : (n_rows,) array-like
        base_margin : (n_rows,) array-like or None

        Returns
        -------
        self

        Raises
        ------
        NotFittedError, DataError
        ParameterError
            If the model has several targets, or its labels are not numbers to come near to.
        """
        model = self._model_for(X)
        _refuse_other(model, "calibrate")
        features = model.checked(X, missing=self.missing)
        self._learn_intervals([(model, Dataset(features, y, base_margin=base_margin))])
        return self

    @explains_arguments
    def predict_interval(
        self: Any, X: Any, coverage: float = 0.9, *, base_margin: Any = None
    ) -> F32:
        """Return an interval for each row, in which a label lies with a given probability.

        For a loss such as ``dist:normal`` the ends are quantiles of each row's distribution, which
        leave as much below as above. For other losses:

        The width comes from rows that were not trained on: those that early stopping held out, the
        last set of ``eval_set``, or the rows of ``calibrate``. It is the same for all rows, unless
        the loss is ``reg:quantileerror`` with several quantiles: then the interval of the smallest
        and largest one is widened or narrowed. With ``refit`` the width is that of the model
        before the refit. Weights do not count.

        Parameters
        ----------
        X : (n_rows, n_features) array-like, DataFrame or sparse matrix
        coverage : float, default 0.9
            Share of rows like those of the calibration whose labels lie within; above 0, below 1.
        base_margin : (n_rows,) array-like or None

        Returns
        -------
        float32 array, shape (n_rows, 2)
            Lower and upper ends.

        Raises
        ------
        ParameterError
            If there are no rows that were not trained on, or too few for the coverage.
        """
        model = self._fitted()
        if isinstance(model.objective, Distribution):
            margins = self._predict(X, output_margin=True, base_margin=base_margin)
            return _of_distribution(model.objective, margins, _share(coverage))
        _refuse_other(model, "predict_interval")
        scores = self._scores_of_rows
        if scores is None:
            raise ParameterError(
                "predict_interval: this model has no rows to calibrate by: expected rows that were "
                "not trained on; call calibrate(X, y), or fit with early_stopping=True or eval_set="
            )
        width = scores[_rank(coverage, scores.size) - 1]
        found = self._predict(X, base_margin=base_margin)
        low, high = (found, found) if found.ndim == 1 else (found.min(axis=1), found.max(axis=1))
        ends: F32 = np.sort(np.column_stack([low - width, high + width]).astype(np.float32), axis=1)
        return ends

    @explains_arguments
    def predict_distribution(
        self: Any,
        X: Any,
        *,
        base_margin: Any = None,
        iteration_range: tuple[int, int] | None = None,
    ) -> dict[str, F32]:
        """Return the parameters of each row's distribution, of a loss such as ``dist:normal``.

        Parameters
        ----------
        X, base_margin, iteration_range
            As for ``predict``; a row has two base margins.

        Returns
        -------
        dict of str to float32 array, shape (n_rows,)
            By names: ``mean`` and ``std`` of ``dist:normal``; ``mu`` and ``sigma`` of
            ``dist:lognormal``, those of the label's logarithm; ``mean`` and ``shape`` of
            ``dist:gamma``; ``mean`` and ``size`` of ``dist:negative_binomial``.

        Raises
        ------
        NotFittedError, DataError
        ParameterError
            If the model predicts no distribution.
        """
        found: dict[str, F32] = self._model_for(X).predict_distribution(
            X, base_margin=base_margin, iteration_range=iteration_range,
            missing=self.missing, device=main_device(self.device),
        )  # fmt: skip
        return found

    def _own_attributes(self) -> dict[str, str]:
        scores = self._scores_of_rows
        return {} if scores is None else {SCORES: json.dumps(scores.tolist())}

    def _take_attributes(self, ensemble: Ensemble, source: str) -> None:
        text = ensemble.attributes.pop(SCORES, None)
        self._scores_of_rows = None if text is None else _read(text, source)


def _few(rows: Dataset, most: int) -> Dataset:
    """Return at most so many rows, evenly spaced."""
    if rows.n_rows <= most:
        return rows
    return rows.slice(np.linspace(0, rows.n_rows - 1, most).astype(np.int64))


def scores_of(prediction: F32, label: F32) -> F32:
    """Return the sorted distances of labels from predictions, or from pairs of quantiles.

    Parameters
    ----------
    prediction : float32 array, shape (n_rows,) or (n_rows, n_quantiles)
    label : float32 array, shape (n_rows,)

    Returns
    -------
    float32 array, shape (n_rows,)
        Below 0 where a label lies within a pair.
    """
    if prediction.ndim == 1:
        return np.sort(np.abs(label - prediction))
    low, high = prediction.min(axis=1), prediction.max(axis=1)
    return np.sort(np.maximum(low - label, label - high))


def _of_distribution(objective: Distribution, margins: F32, share: Fraction) -> F32:
    """Return two quantiles of each row's distribution; a share of labels lies between them."""
    first, second = objective.to_probability(np.ascontiguousarray(margins.T)).astype(np.float64)
    levels = float((1 - share) / 2), float((1 + share) / 2)
    ends = [objective.quantile_of(first, second, level) for level in levels]
    return as_margin(np.column_stack(ends).astype(np.float32))


def _share(coverage: object) -> Fraction:
    """Return a checked coverage, exactly."""
    number = isinstance(coverage, Real) and not isinstance(coverage, bool)
    if not number or not 0 < float(coverage) < 1:  # type: ignore[arg-type]
        raise ParameterError(
            f"coverage={show(coverage)}: expected a number above 0 and below 1; give 0.9, say"
        )
    return Fraction(repr(float(coverage)))  # type: ignore[arg-type]  # 0.9 is nine tenths


def _rank(coverage: object, n_scores: int) -> int:
    """Return the rank of the score that gives a coverage, from 1."""
    rank = math.ceil((n_scores + 1) * _share(coverage))
    if rank > n_scores:
        raise ParameterError(
            f"coverage={coverage}: expected at most {n_scores / (n_scores + 1):.4g} with "
            f"{n_scores} rows to calibrate by; lower it, or calibrate by more rows"
        )
    return rank


def _why_none(model: Model) -> str:
    """Return why a model has no intervals; empty if it has."""
    objective = model.objective
    if isinstance(objective, Distribution):
        return (
            f"objective={objective.name!r}: expected a loss without a distribution, whose "
            "intervals would be its own; call predict_interval alone"
        )
    several = model.ensemble.n_outputs > 1 and not isinstance(objective, QuantileError)
    if several:
        return f"the model has {model.ensemble.n_outputs} targets: expected one; fit each by itself"
    if objective.name.startswith(("survival:", "binary:", "multi:", "rank:")):
        return f"objective={objective.name!r}: expected a loss of numbers; use another objective"
    return ""


def _refuse_other(model: Model, method: str) -> None:
    if why := _why_none(model):
        raise ParameterError(f"{method}: {why}")


def _read(text: str, source: str) -> F32:
    try:
        found = np.array(json.loads(text), np.float32)
        good = found.ndim == 1 and found.size > 0 and bool((np.diff(found) >= 0).all())
    except (ValueError, TypeError, RecursionError):
        good = False
    if not good:
        raise ModelFormatError(
            f"{source}: attribute {SCORES}={text!r:.80}: expected a JSON list of ascending "
            "numbers; remove the attribute, or write the model again"
        )
    return found
