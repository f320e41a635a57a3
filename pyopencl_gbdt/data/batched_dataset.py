"""The part of ``Dataset`` that makes one of batches."""

from __future__ import annotations

from typing import Any, TypeVar

from pyopencl_gbdt.data.categorical_features import AUTO, categorical_argument
from pyopencl_gbdt.data.dataset_columns import DatasetColumns
from pyopencl_gbdt.data.from_batches import read_batches
from pyopencl_gbdt.data.narrow import check_missing

_Made = TypeVar("_Made", bound="BatchedDataset")


class BatchedDataset(DatasetColumns):
    """A data set that can be made of batches; see ``Dataset``."""

    missing: float

    @classmethod
    def from_batches(
        cls: type[_Made],
        batches: Any,
        label: Any = None,
        weight: Any = None,
        feature_names: Any = None,
        base_margin: Any = None,
        feature_weights: Any = None,
        *,
        qid: Any = None,
        missing: float | None = None,
        categorical_features: Any = AUTO,
        feature_types: Any = None,
        enable_categorical: bool | None = None,
        **files: Any,
    ) -> _Made:
        """Make a data set of rows that are read batch by batch, and are never in memory as a whole.

        All batches are read once here, for labels, weights and levels of categories; a training
        reads them again, several times. The model is that of all rows as one array, to the byte.

        Parameters
        ----------
        batches : object
            A function that returns an iterator, a list, an object with ``__iter__``, or XGBoost's
            ``DataIter``. A batch is ``(X, label)``, ``(X, label, weight)``, a dict with names of
            arguments of ``Dataset``, or X alone; X is anything that ``Dataset`` takes. Or an array,
            such as a ``numpy.memmap``. Or a path, a folder, a pattern such as ``"data/*.parquet"``,
            or a list of paths: npy, npz, CSV, TSV, libsvm, Parquet, Arrow IPC; see
            `docs/large-data.md`.
        label, weight, base_margin, qid : array-like or None
            Those of all rows, if the batches do not have them.
        feature_names, feature_weights, missing
            As in ``Dataset``.
        categorical_features, feature_types, enable_categorical
            As in ``Dataset``. Levels are those of all batches. ``"auto"`` is ``"from_dtype"``, but
            takes no column of CSV and TSV: there ``"from_dtype"`` takes columns with text in one
            of the first 1000 lines, and text in another column is an error.
        **files : object
            ``label_column`` (default 0, or None if ``label`` is given; without it, an error where
            another column is called label, target, y or class), ``qid_column``, ``header``,
            ``one_based`` and ``file_format`` as in ``read_table``; ``batch_rows``, the rows that
            are read at a time; ``share=(rank, size)``, which deals the files to processes: each
            gets neighbours in their order, of about as many bytes.

        Raises
        ------
        DataError
            If a batch cannot be used, or differs from the first; names the batch.
        ParameterError
            If a package is missing that reads such files; names the command that installs it.
        """
        check_missing(missing)
        asked = categorical_argument(categorical_features, feature_types, enable_categorical)
        given = {"label": label, "weight": weight, "base_margin": base_margin, "qid": qid}
        features, parts = read_batches(
            batches, given, files, missing=missing, categorical=asked, names=feature_names
        )
        make: Any = cls
        made: _Made = make(
            features, feature_names=feature_names, feature_weights=feature_weights, **parts
        )
        made.missing = check_missing(missing)
        return made
