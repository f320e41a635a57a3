"""Batches of rows: what users give, as a source that can be read from the start again and again.

a function that returns an iterator, a list, an object with __iter__     ours
an object with next(input_data) and reset()                              XGBoost's DataIter
a path, a pattern, a folder, or a list of paths                          see batch_files
an array, such as a numpy.memmap                                         cut into batches
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pyopencl_gbdt.data.batches.rows import BATCH_BYTES, BatchedRows, RowBatch
from pyopencl_gbdt.data.features import Features
from pyopencl_gbdt.errors import DataError, DataTypeError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import plural, show

if TYPE_CHECKING:
    from pyopencl_gbdt.data.files.reading import Reading
    from pyopencl_gbdt.data.files.text_batches import TextState

#: A function that reads all batches from the start.
BatchSource = Callable[[], Iterator[RowBatch]]
_NOT_GIVEN = ("where", "label_column", "ragged", "blurred")
_PARTS = tuple(field.name for field in fields(RowBatch) if field.name not in _NOT_GIVEN)
_EXPECTED = (
    "expected a function that returns an iterator of batches, a list of them, an object with "
    "__iter__, XGBoost's DataIter, an array, a path, a pattern or a list of paths"
)


def source_of(given: Any, reading: Reading) -> BatchSource:
    """Return a function that reads the batches from the start, without those that have no rows.

    Parameters
    ----------
    given : object
        As for ``Dataset.from_batches``.
    reading : Reading
        How files are laid out.

    Raises
    ------
    DataTypeError
        If it can be read only once, or is nothing that has batches.
    DataError
        If there is no such file.
    """
    return _Filled(_source_of(given, reading))


@dataclass(frozen=True)
class _Filled:
    """A source without the batches that have no rows."""

    source: BatchSource

    def __call__(self) -> Iterator[RowBatch]:
        for batch in self.source():
            if _has_rows(batch.X):
                yield batch
            del batch  # before the next one is read


def names_files(given: Any) -> bool:
    """Tell whether batches are files: a path, a folder, a pattern, or a list of them."""
    several = isinstance(given, (list, tuple)) and bool(given)
    return all(isinstance(one, (str, os.PathLike)) for one in (given if several else [given]))


def is_parsed(source: BatchSource) -> bool:
    """Tell whether a source parses text, which takes longer than all else."""
    inner = source.source if isinstance(source, _Filled) else source
    if not isinstance(inner, _FileSource):
        return False
    from pyopencl_gbdt.data.files.batches import TEXT, suffix_of

    return any(suffix_of(file) in TEXT for file in inner.files)


def no_rows(source: BatchSource) -> DataError:
    """Return the error for a source that has no rows; it names the files."""
    inner = source.source if isinstance(source, _Filled) else source
    if not isinstance(inner, _FileSource):
        return DataError("batches: there is none: expected one or more; give rows")
    share = "" if inner.reading.share is None else f" that share={inner.reading.share} deals"
    return DataError(
        f"{', '.join(inner.files[:5])}: no rows in the {plural(len(inner.files), 'file')}{share}: "
        "expected one or more; leave out files without rows"
    )


def _has_rows(X: Any) -> bool:
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape:
        return bool(shape[0])
    return not isinstance(X, (list, tuple)) or bool(X)


def _source_of(given: Any, reading: Reading) -> BatchSource:
    if names_files(given):
        from pyopencl_gbdt.data.files.batches import dealt, paths_of
        from pyopencl_gbdt.data.files.text_batches import TextState

        files = paths_of(given)
        own = files if reading.share is None else dealt(files, *reading.share)
        return _FileSource(own, reading, TextState(files[0]))
    if reading.share is not None:
        raise ParameterError(
            f"share={reading.share}: expected files, which can be dealt to processes; give each "
            "process its own batches"
        )
    for name in ("label_column", "qid_column"):
        if getattr(reading, name) is not None:
            raise ParameterError(
                f"{name}={show(getattr(reading, name))}: expected files, whose columns it names; "
                "give labels and queries in the batches, or of all rows"
            )
    if callable(getattr(given, "next", None)) and callable(getattr(given, "reset", None)):
        return partial(_of_data_iter, given)
    if isinstance(given, np.ndarray):
        return partial(_of_array, given, reading.batch_rows)
    if callable(given):
        return partial(_of_iterator, given)
    if hasattr(given, "columns"):
        raise DataTypeError(
            f"batches is a table of type {type(given).__name__}: {_EXPECTED}; give a list of tables"
        )
    if not hasattr(given, "__iter__") or isinstance(given, (str, bytes, Mapping)):
        raise DataTypeError(f"batches is of type {type(given).__name__}: {_EXPECTED}; give one")
    if iter(given) is given:
        raise DataTypeError(
            f"batches is a {type(given).__name__}, which can be read once: {_EXPECTED}, as data "
            "are read several times; give the function that makes it"
        )
    return partial(_of_iterator, given.__iter__)


def has_batches(given: Any) -> bool:
    """Tell whether an argument for rows is a source of batches, not an array or a table."""
    if names_files(given) or (callable(given) and not hasattr(given, "shape")):
        return True
    if isinstance(given, (list, tuple)):
        return False
    return all(callable(getattr(given, name, None)) for name in ("next", "reset"))


@dataclass(frozen=True)
class _FileSource:
    files: list[str]
    reading: Reading
    state: TextState

    def __call__(self) -> Iterator[RowBatch]:
        from pyopencl_gbdt.data.files.batches import read_files

        return read_files(self.files, self.reading, self.state)


def _of_array(array: np.ndarray[Any, Any], batch_rows: int) -> Iterator[RowBatch]:
    if array.ndim != 2:
        raise DataError(
            f"batches is an array of shape {array.shape}: expected two dimensions (rows, "
            "features); give an array with a row per example"
        )
    rows = batch_rows or max(1, BATCH_BYTES // max(1, 4 * array.shape[1]))
    for first in range(0, len(array), rows):
        yield RowBatch(array[first : first + rows], where=f"X[{first}:{first + rows}]")


def _of_iterator(begin: Callable[[], Any]) -> Iterator[RowBatch]:
    made = begin()
    if not hasattr(made, "__iter__"):
        raise DataTypeError(
            f"batches() returned a {type(made).__name__}: expected an iterator of batches; "
            "write it as a generator function"
        )
    for number, given in enumerate(made):
        yield batch_of(given, f"batch {number}")


def _of_data_iter(given: Any) -> Iterator[RowBatch]:
    """XGBoost's interface: ``next`` calls ``input_data``, and returns whether there was a batch."""
    taken: list[dict[str, Any]] = []

    def input_data(*positional: Any, **parts: Any) -> None:
        if positional:
            raise DataTypeError(
                f"next(input_data) of batches gave input_data {plural(len(positional), 'argument')}"
                " by position: expected names, as XGBoost does; write input_data(data=X, label=y)"
            )
        taken.append(parts)

    given.reset()
    for number in count():
        taken.clear()
        more = given.next(input_data)
        if not isinstance(more, (bool, int, np.integer, np.bool_)):
            raise DataTypeError(
                f"next(input_data) of batches returned {show(more)}: expected True or 1 after "
                "a batch and False or 0 at the end; return one of them"
            )
        if not more:
            return
        if len(taken) != 1:
            raise DataError(
                f"next(input_data) of batches returned {more!r} and called input_data "
                f"{len(taken)} times: expected one call for each batch; return False at the end"
            )
        yield batch_of(
            {"X" if name == "data" else name: part for name, part in taken.pop().items()},
            f"batch {number}",
        )


def batch_of(given: Any, where: str) -> RowBatch:
    """Return what a user's iterator yields as a batch.

    Parameters
    ----------
    given : object
        ``(X, label)``, ``(X, label, weight)``, a dict with names of ``Dataset``'s arguments, a
        ``Dataset``, or rows alone.
    """
    if isinstance(given, RowBatch):
        return given
    if isinstance(given, Mapping):
        for name in given:
            if name not in _PARTS:
                raise DataError(
                    f"{where} has a part {show(name)}: expected {', '.join(_PARTS)}; give others "
                    "to Dataset.from_batches"
                )
        if "X" not in given:
            raise DataError(f"{where} has no X: expected rows under that name; add them")
        return RowBatch(**given, where=where)
    if isinstance(given, tuple):
        if not 1 <= len(given) <= 3:
            raise DataError(
                f"{where} is a tuple of {len(given)}: expected (X, label) or (X, label, weight); "
                "give a dict where a batch has more parts"
            )
        X, label, weight = (*given, None, None)[:3]
        return RowBatch(X, label, weight, where=where)
    if hasattr(given, "checked") and hasattr(given, "group_offsets"):  # a Dataset
        return _of_dataset(given, where)
    return RowBatch(given, where=where)


def _of_dataset(given: Any, where: str) -> RowBatch:
    if isinstance(given.features, BatchedRows):
        raise DataError(f"{where} is itself in batches: expected rows; give its source")
    offsets = given.group_offsets
    return RowBatch(
        cast(Features, given.checked),
        given.label if given.has_label else None,
        given.weight,
        given.base_margin,
        group=None if offsets is None else np.diff(offsets),
        label_lower_bound=given.label_lower_bound,
        label_upper_bound=given.label_upper_bound,
        where=where,
    )


__all__ = ["BatchSource", "RowBatch", "batch_of", "has_batches", "source_of"]
