"""Estimators of scikit-learn's kind that take Dask's collections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import dask
import distributed
import numpy as np
import numpy.typing as npt
from dask import array

from pyopencl_gbdt.arguments import check_verbose
from pyopencl_gbdt.dask.training import mapped, train, width_of
from pyopencl_gbdt.data import encode_labels
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.estimators.base import Base
from pyopencl_gbdt.estimators.evaluation_sets import one_each, pairs_of
from pyopencl_gbdt.estimators.gradient_boosting import GBDTClassifier, GBDTRegressor
from pyopencl_gbdt.estimators.ranking import GBDTRanker
from pyopencl_gbdt.estimators.spellings import explains_arguments
from pyopencl_gbdt.objectives.custom import scikit_learn_metrics

_Own = TypeVar("_Own", bound="OnDask")


class OnDask(Base):
    """What the estimators share: ``fit`` trains on a cluster, and partitions are predicted there.

    Rows in memory are predicted here, as by the estimators without Dask.
    """

    _client: distributed.Client | None = None
    _own_facts: ClassVar[dict[str, Any]] = {"on_dask": True}

    @property
    def client(self) -> distributed.Client | None:
        """The client of the cluster that trains; None is the current one.

        It is not a parameter: copies, clones and pickles of the estimator have none.
        """
        return self._client

    @client.setter
    def client(self, client: distributed.Client | None) -> None:
        if client is not None and not isinstance(client, distributed.Client):
            raise ParameterError(
                f"client is of type {type(client).__name__}: expected a distributed.Client, or "
                "None for the current one; give one"
            )
        self._client = client

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the client, which belongs to this process."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_client"}

    @explains_arguments
    def fit(  # type: ignore[override]
        self: _Own,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        base_margin: Any = None,
        qid: Any = None,
        eval_set: Sequence[tuple[Any, Any]] | tuple[Any, Any] | None = None,
        sample_weight_eval_set: Sequence[Any] | None = None,
        eval_qid: Sequence[Any] | None = None,
        client: distributed.Client | None = None,
        workers: Sequence[str] | None = None,
        timeout: float | None = None,
        verbose: bool | int | None = False,
    ) -> _Own:
        """Train on the workers of a Dask cluster.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame, shape (n_rows, n_features)
        y : dask.array.Array or dask.dataframe.Series, shape (n_rows,)
            A classifier takes labels that NumPy can sort.
        sample_weight, base_margin, qid : Dask collection or None
            With the partitions of X. A ranker needs ``qid``.
        eval_set : list of (X, y), one (X, y), or None
            Sets whose metrics are computed after every round, on one worker.
        sample_weight_eval_set, eval_qid : list of Dask collection, one of them, or None
            The same for every set. With one set, its collection will do.
        client : distributed.Client or None
            None is the attribute ``client``.
        workers, timeout
            As for ``pyopencl_gbdt.dask.train``.
        verbose : bool, int or None, default False
            Print metrics, on the first worker.

        Returns
        -------
        self

        Raises
        ------
        DataError, ParameterError, DeviceError, TeamError
            The estimator is unchanged.
        """
        self._check_own()
        client = self.client if client is None else client
        try:
            label = self._encoded(y, client, first=True)
            own: list[dict[str, Any]] = []
            pairs = pairs_of(eval_set)
            weights = one_each("sample_weight_eval_set", sample_weight_eval_set, len(pairs))
            queries = one_each("eval_qid", eval_qid, len(pairs))
            for (rows, labels), weight, ids in zip(pairs, weights, queries, strict=True):
                same = rows is X and labels is y
                known = label if same else self._encoded(labels, client)
                own.append({"X": rows, "label": known, "weight": weight, "qid": ids})
            model = train(
                client,
                self._training_parameters(),
                X,
                label,
                weight=sample_weight,
                base_margin=base_margin,
                qid=qid,
                evals=[(rows, f"validation_{number}") for number, rows in enumerate(own)],
                feature_weights=self.feature_weights,
                missing=self.missing,
                categorical_features=self.categorical_features,
                workers=workers,
                timeout=timeout,
                eval_metric=scikit_learn_metrics(self.eval_metric),
                early_stopping_rounds=self.early_stopping_rounds,
                callbacks=() if self.callbacks is None else self.callbacks,
                verbose=check_verbose(verbose),
            )
            self._take(model, model.feature_names)
        finally:
            self._forget_labels()
        return self

    def _encoded(self, y: Any, client: distributed.Client | None, *, first: bool = False) -> Any:
        """Return labels as numbers; ``first`` are those of the training rows."""
        return y

    def _mapped(
        self, own: Any, X: Any, shape: tuple[int, ...], dtype: Any, options: Mapping[str, Any]
    ) -> Any:
        """Call a method for every partition, or for rows in memory."""
        self._fitted()
        if not dask.is_dask_collection(X):
            return own(X, **options)
        return mapped(_call, X, shape, dtype, estimator=self, name=own.__name__, options=options)

    def predict(self, X: Any, **options: Any) -> Any:
        """Return predictions: of a Dask collection, as a lazy Dask array of shape (n_rows, ..).

        The arguments are those of the estimators without Dask.
        """
        shape, dtype = width_of(self._fitted()), np.dtype(np.float32)
        if hasattr(self, "classes_") and not options.get("output_margin"):
            shape, dtype = (), self.classes_.dtype
        return self._mapped(super().predict, X, shape, dtype, options)

    def apply(self, X: Any, **options: Any) -> Any:
        """Return leaf ids, shape (n_rows, n_trees): a lazy Dask array for a collection."""
        width = self._fitted().n_trees_used(options.get("iteration_range"))
        return self._mapped(super().apply, X, (width,), np.int32, options)


class DaskGBDTRegressor(OnDask, GBDTRegressor):
    """``GBDTRegressor`` on Dask; its parameters are the same."""


class DaskGBDTRanker(OnDask, GBDTRanker):
    """``GBDTRanker`` on Dask; its parameters are the same, and ``fit`` takes ``qid``."""


class DaskGBDTClassifier(OnDask, GBDTClassifier):
    """``GBDTClassifier`` on Dask; its parameters are the same.

    The classes are those of all partitions. There are no multilabel targets and no
    ``class_weight``.
    """

    def _encoded(self, y: Any, client: distributed.Client | None, *, first: bool = False) -> Any:
        if not dask.is_dask_collection(y) or y.ndim != 1:
            raise DataError(
                f"y is of type {type(y).__name__}: expected a Dask array or Series with a label a "
                "row; make one by dask.array.from_array"
            )
        if first:
            parts = [dask.delayed(_distinct)(part) for part in np.ravel(y.to_delayed())]
            client = distributed.default_client() if client is None else client
            found = client.gather(client.compute(parts))
            self._new_classes, _ = encode_labels(np.concatenate(found))
            self._new_multilabel = False
        options = {"classes": self._new_classes, "meta": np.zeros(0, np.float32)}
        if isinstance(y, array.Array):
            return y.map_blocks(_codes, **options)
        return y.map_partitions(_codes, **options)

    def predict_proba(self, X: Any, **options: Any) -> Any:
        """Return probabilities, shape (n_rows, n_classes): a lazy Dask array for a collection."""
        width = len(self.classes_) if hasattr(self, "classes_") else 1
        return self._mapped(super().predict_proba, X, (width,), np.float32, options)

    def predict_log_proba(self, X: Any, **options: Any) -> Any:
        """Return logarithms of probabilities, as ``predict_proba`` returns these."""
        width = len(self.classes_) if hasattr(self, "classes_") else 1
        return self._mapped(super().predict_log_proba, X, (width,), np.float64, options)

    def decision_function(self, X: Any, **options: Any) -> Any:
        """Return margins: of a Dask collection, as a lazy Dask array."""
        return self.predict(X, output_margin=True, **options)


def _call(rows: Any, estimator: Any, name: str, options: Mapping[str, Any]) -> Any:
    return getattr(estimator, name)(rows, **options)


def _distinct(part: Any) -> npt.NDArray[Any]:
    return np.unique(_labels(part))


def _labels(part: Any) -> npt.NDArray[Any]:
    """Return labels as an array; strings as NumPy's, whatever the table has them as."""
    labels = np.asarray(part)
    return np.array(labels.tolist()) if labels.dtype.kind == "O" else labels


def _codes(part: Any, classes: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    labels = _labels(part)
    codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    unknown = classes[codes] != labels
    if unknown.any():
        raise DataError(
            f"y has the label {labels[unknown][0]!r}, which no training row has: expected one of "
            "the classes of training; leave the row out"
        )
    return codes.astype(np.float32)
