"""The part of ``Dataset`` that makes a data set from batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.narrow import check_missing
from pyopencl_gbdt.data.batches.rows import RowBatch
from pyopencl_gbdt.data.batches.sources import (
    BatchSource,
    is_parsed,
    names_files,
    no_rows,
    source_of,
)
from pyopencl_gbdt.data.categories.chosen import AUTO, categorical_argument
from pyopencl_gbdt.data.dataset_columns import DatasetColumns
from pyopencl_gbdt.data.features import Features
from pyopencl_gbdt.data.groups import check_ids, expand_weight, group_offsets
from pyopencl_gbdt.data.remarks import Remarks
from pyopencl_gbdt.data.targets import check_base_margin, check_target, check_vector
from pyopencl_gbdt.errors import DataError, ParameterError

F32 = npt.NDArray[np.float32]
#: Parts of a batch that have a number for each row.
_SIDES = ("label", "weight", "base_margin", "qid", "group", "label_lower_bound",
          "label_upper_bound")  # fmt: skip


class PerRowArrays:
    """What comes with the rows of all batches, part by part."""

    def __init__(self) -> None:
        self._parts: dict[str, list[Any]] = {name: [] for name in _SIDES}
        self._first = ""

    def add(self, batch: RowBatch, n_rows: int, number: int) -> None:
        """Check a batch's parts, and take them in.

        Raises
        ------
        DataError
            If a part has another length, or an earlier batch has other parts.
        """
        for name, parts in self._parts.items():
            given = getattr(batch, name)
            if (given is not None) != bool(parts) and number:
                has = "has" if given is not None else "has no"
                raise DataError(
                    f"{batch.where} {has} {name}, unlike {self._first}: expected the same parts "
                    "in all batches; add or leave out"
                )
        self._first = self._first or batch.where
        try:
            found = _checked(batch, n_rows)
        except DataError as error:
            raise DataError(f"{batch.where}: {error}") from error
        for name, part in found.items():
            if part is not None:
                self._parts[name].append(np.array(part))  # the source may reuse its memory

    def whole(self) -> dict[str, Any]:
        """Return each part of all rows, for ``Dataset``."""
        found = {}
        for name, parts in self._parts.items():
            if parts:
                found[name] = _joined(name, parts)
                parts.clear()
        return found


def _joined(name: str, parts: Sequence[Any]) -> Any:
    shapes = {part.shape[1:] for part in parts}
    if len(shapes) > 1:
        raise DataError(
            f"batches: {name} has a row of shape {parts[0].shape[1:]} in the first batch and of "
            f"{(shapes - {parts[0].shape[1:]}).pop()} in another: expected as many columns in all; "
            "convert one"
        )
    return np.concatenate(parts)


def _checked(batch: RowBatch, n_rows: int) -> dict[str, Any]:
    offsets = group_offsets(batch.qid, batch.group, n_rows)
    weight = batch.weight
    if weight is not None and offsets is not None:
        weight = expand_weight(weight, offsets, n_rows)
    found: dict[str, Any] = {
        "label": None if batch.label is None else check_target(batch.label, n_rows),
        "weight": None if weight is None else check_vector(weight, n_rows, "weight"),
        "base_margin": check_base_margin(batch.base_margin, n_rows),
        "qid": check_ids(batch.qid, n_rows),
        "group": None if batch.group is None or offsets is None else np.diff(offsets),
    }
    for name in ("label_lower_bound", "label_upper_bound"):
        given = getattr(batch, name)
        found[name] = None if given is None else check_vector(given, n_rows, name, infinity=True)
    return found


def first_pass(
    source: BatchSource, *, missing: float | None, categorical: Any, names: Any = None
) -> tuple[Features, dict[str, Any]]:
    """Read all batches once.

    Parameters
    ----------
    source : callable
        Reads all batches from the start.
    missing : float or None
        A number that means "missing".
    categorical : object
        Which columns are categorical, as for ``check_categorical``; None and ``"from_dtype"`` are
        decided by the first batch.
    names : sequence or None
        Names of the columns, instead of those of the batches.

    Returns
    -------
    features : Features
        Its values are ``BatchedRows``.
    sides : dict of str to array
        Labels, weights and so on, as arguments of ``Dataset``.

    Raises
    ------
    DataError
        If there is no batch, or one cannot be used or differs from the first.
    """
    from pyopencl_gbdt.data.batches.passes import CheckedBatches, KeptBatches, Look, Reader

    look, sides = Look(Reader(missing, categorical, names)), PerRowArrays()
    kept = KeptBatches() if is_parsed(source) else None
    for batch in source():
        features = look.add(batch)
        sides.add(batch, look.rows[-1], len(look.rows) - 1)
        if kept is not None:
            kept.add(batch, features)
        del batch, features  # before the next one is read
    if not look.rows:
        raise no_rows(source)
    rows = CheckedBatches(kept if kept is not None and kept.is_whole else source, look)
    remarks = Remarks(blurred=look.blurred)
    return Features(rows, look.names, rows.categories, remarks=remarks), sides.whole()


def read_batches(
    batches: Any,
    given: dict[str, Any],
    files: dict[str, Any],
    *,
    missing: float | None,
    categorical: Any,
    names: Any,
) -> tuple[Features, dict[str, Any]]:
    """Return features and arguments of ``Dataset`` for what ``Dataset.from_batches`` is given.

    Parameters
    ----------
    batches : object
    given : dict of str to object
        Labels, weights and so on of all rows; None where the batches have them.
    files : dict of str to object
        Fields of ``Reading``.
    """
    from pyopencl_gbdt.data.files.reading import FIRST, reading_of

    labelled = names_files(batches) and given["label"] is None
    options = {"label_column": FIRST if labelled else None, **files}
    own = {"categorical_features": categorical, "missing": check_missing(missing)}
    reading = reading_of({**own, **options})
    source = source_of(batches, reading)
    features, sides = first_pass(source, missing=missing, categorical=categorical, names=names)
    for name, part in given.items():
        if part is None:
            continue
        if name in sides or (name == "qid" and "group" in sides):
            raise ParameterError(
                f"{name} is given, and the batches have one: expected one of them; leave one out"
            )
        sides[name] = part
    return features, sides


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
