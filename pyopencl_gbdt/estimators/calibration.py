"""Calibrated probabilities of classifiers, by rows that were not trained on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data import check_indicators, encode_known_labels
from pyopencl_gbdt.errors import DataError, ModelFormatError, ParameterError
from pyopencl_gbdt.estimators.base import F32, probabilities_of
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.formats.base import CALIBRATION
from pyopencl_gbdt.numerics.calibration import (
    Curve,
    Sigmoid,
    Steps,
    fit_sigmoid,
    fit_steps,
    log_odds,
)
from pyopencl_gbdt.prediction.model import Model

_METHODS: dict[str, Callable[[F32, npt.NDArray[np.bool_]], Curve]] = {
    "sigmoid": fit_sigmoid,
    "isotonic": fit_steps,
}


class Calibration:
    """The part of a classifier that calibrates; the other parts fit and predict."""

    classes_: Any
    missing: float
    #: A curve for each output, from margins to probabilities; None: those of the loss.
    _curves: tuple[Curve, ...] | None = None

    def calibrate(
        self: Any, X: Any, y: Any, *, method: str = "sigmoid", base_margin: Any = None
    ) -> Any:
        """Fit on rows that ``fit`` has not seen how probable a label is at a margin.

        ``predict_proba`` and ``predict`` then use what was found, until the next ``fit``; margins,
        contributions and metrics of a training stay. With several classes each has a curve of its
        own, and the probabilities of a row are divided by their sum. Weights do not count.

        Parameters
        ----------
        X : (n_rows, n_features) array-like, DataFrame or sparse matrix
        y : (n_rows,) array-like, or (n_rows, n_labels)
            Labels as for ``fit``.
        method : {"sigmoid", "isotonic"}, default "sigmoid"
            ``"sigmoid"`` fits two numbers (Platt 1999), and suits few rows. ``"isotonic"`` fits
            steps that rise, and suits thousands of rows; it makes equal what was in a wrong order.
        base_margin : (n_rows,) or (n_rows, n_outputs) array-like or None

        Returns
        -------
        self

        Raises
        ------
        NotFittedError
        DataError
            If the columns differ from those of training, the labels are not those of ``fit``, a
            class has no rows, or the model has one class.
        ParameterError
            If there is no such method.
        """
        fit = _METHODS.get(method) if isinstance(method, str) else None
        if fit is None:
            raise ParameterError(
                f"method={show(method)}: expected 'sigmoid' or 'isotonic'; choose 'sigmoid' for "
                "fewer than about 1000 rows"
            )
        model = self._model_for(X)
        margins = self._predict(X, output_margin=True, base_margin=base_margin)
        several = self._is_multilabel()
        if several:
            hits = check_indicators(y, len(margins), "calibrate: y") == 1
            if hits.shape != margins.shape:
                raise DataError(
                    f"calibrate: y has {hits.shape[1]} columns: expected {margins.shape[1]}, one "
                    "for each label; give those of fit"
                )
        else:
            codes = encode_known_labels(y, self.classes_, "calibrate: y")
            if codes.size != len(margins):
                raise DataError(
                    f"calibrate: y has {codes.size} labels for {len(margins)} rows; give one a row"
                )
            self._check_classes(codes)
            hits = codes[:, None] == (np.arange(len(self.classes_)) if margins.ndim > 1 else [1])
        scores = _scores(model, margins, normal=not several)
        self._curves = tuple(fit(*pair) for pair in zip(scores.T, hits.T, strict=True))
        return self

    def _check_classes(self: Any, codes: F32) -> None:
        """Raise an error where a class has no rows, or there is one class alone."""
        known = self.classes_.tolist()
        if len(known) < 2:
            raise DataError(
                f"calibrate: the model has one class ({show(known[0])}): expected two or more; "
                "fit on rows of two classes"
            )
        absent = [label for code, label in enumerate(known) if code not in codes]
        if absent:
            raise DataError(
                f"calibrate: y has no row of class {show(absent[0])}: expected rows of all "
                f"{len(known)} classes of the model; give rows of each"
            )

    def _chances(self: Any, margins: F32) -> F32:
        """Return probabilities with a column for each class, or each label, of margins."""
        model, chances = self._fitted(), self._columns
        if self._curves is None:
            plain: F32 = chances(probabilities_of(model, margins))
            return plain
        several = self._is_multilabel()
        scores = _scores(model, margins, normal=not several)
        found = [curve.of(score) for curve, score in zip(self._curves, scores.T, strict=True)]
        if margins.ndim == 1:
            two: F32 = chances(found[0])
            return two
        if not several:
            total = found[0]
            for one in found[1:]:
                total = total + one
            found = [one / total for one in found]
        return np.column_stack(found)

    def _own_attributes(self) -> dict[str, str]:
        if self._curves is None:
            return {}
        return {CALIBRATION: json.dumps([_written(curve) for curve in self._curves])}

    def _take_attributes(self, ensemble: Ensemble, source: str) -> None:
        text = ensemble.attributes.pop(CALIBRATION, None)
        self._curves = None if text is None else _read(text, ensemble.n_outputs, source)


def _scores(model: Model, margins: F32, *, normal: bool) -> F32:
    """Return the input of curves, shape (n_rows, n_curves): margins, or logits of classes."""
    if margins.ndim == 1:
        return margins[:, None]
    return log_odds(probabilities_of(model, margins)) if normal else margins


def _written(curve: Curve) -> dict[str, Any]:
    if isinstance(curve, Sigmoid):
        return {"slope": curve.slope, "intercept": curve.intercept}
    return {"scores": curve.scores.tolist(), "shares": curve.shares.tolist()}


def _read(text: str, n_curves: int, source: str) -> tuple[Curve, ...]:
    try:
        found = tuple(_curve(one) for one in json.loads(text))
        if len(found) != n_curves:
            raise ValueError
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ModelFormatError(
            f"{source}: attribute {CALIBRATION}={text!r:.80}: expected a JSON list of "
            f"{n_curves} curve{'s' * (n_curves > 1)}, each of slope and intercept or of ascending "
            "scores and shares; remove the attribute, or write the model again"
        ) from None
    return found


def _curve(given: Mapping[str, Any]) -> Curve:
    """Return a curve that a file holds; raise ValueError, TypeError or KeyError if it is wrong."""
    if "slope" in given:
        numbers = np.array([given["slope"], given["intercept"]], np.float32)
        if not np.isfinite(numbers).all() or numbers.shape != (2,):
            raise ValueError
        return Sigmoid(float(numbers[0]), float(numbers[1]))
    scores, shares = (np.array(given[name], np.float32) for name in ("scores", "shares"))
    good = scores.ndim == 1 and scores.shape == shares.shape and scores.size > 0
    good = good and bool(np.isfinite(scores).all() and (np.diff(scores) > 0).all())
    if not good or not ((shares > 0) & (shares < 1)).all() or not (np.diff(shares) >= 0).all():
        raise ValueError
    return Steps(scores, shares)
