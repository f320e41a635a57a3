"""Rows that are read batch by batch, and never lie in memory as a whole; one batch of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.blurred import Blurred
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]


class Rows(ABC):
    """A checked float32 matrix whose rows can be read again and again, batch by batch.

    Attributes
    ----------
    shape : (int, int)
        Rows and features.
    """

    shape: tuple[int, ...]

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def pieces(self) -> Iterator[tuple[int, F32]]:
        """Read all batches from the start; yield each one's first row, and its values.

        The caller may keep an array only until it asks for the next one.
        """

    def blocks(self, rows: int) -> Iterator[tuple[int, F32]]:
        """Yield the batches as ``pieces`` does, cut into pieces of at most so many rows."""
        for first, values in self.pieces():
            for start in range(0, len(values), rows):
                yield first + start, values[start : start + rows]
            del values


class WholeRows(Rows):
    """Rows that lie in memory as a whole: one batch.

    Parameters
    ----------
    values : float32 array, shape (n_rows, n_features) or (n_rows,)
    """

    def __init__(self, values: F32) -> None:
        self.values, self.shape = values, values.shape

    def pieces(self) -> Iterator[tuple[int, F32]]:
        yield 0, self.values


class BatchedRows(Rows):
    """Rows whose batches are read from a source, which are never in memory as a whole.

    Attributes
    ----------
    most_rows : int
        Rows of the largest batch.
    n_missing : int
        Missing values of all rows.
    first_batch : str
        The name of the first batch in error messages, such as a file's; empty if it is not known.
    label_column : str
        The column of the first file that is the label, in words; empty if there is none.
    is_ragged : bool
        Whether rows may have further columns, which hold no values, as libsvm text has.
    text_columns : frozenset of int
        Categorical columns that come from text, where whole numbers may be strings.
    """

    shape: tuple[int, int]
    most_rows: int
    n_missing: int
    first_batch: str = ""
    label_column: str = ""
    is_ragged: bool = False
    text_columns: frozenset[int] = frozenset()

    @abstractmethod
    def parts(self) -> Iterator[tuple[int, Any]]:
        """Read all batches from the start; yield each one's first row, and its ``Features``.

        Their values are float32, shape (n, n_features), C order. The caller may keep an array only
        until it asks for the next one.

        Raises
        ------
        DataError
            If the source yields other batches than at first.
        """

    def pieces(self) -> Iterator[tuple[int, F32]]:
        for first, features in self.parts():
            assert isinstance(features.values, np.ndarray)
            yield first, features.values
            del features

    @abstractmethod
    def level_counts(self, feature: int) -> I64:
        """Return the rows of each level of a categorical column, shape (n_levels + 1,).

        The last number is that of rows where the value is missing, or no level.
        """

    @abstractmethod
    def coded_by(self, categories: Mapping[int, Any]) -> BatchedRows:
        """Return the same rows with the codes of other levels."""

    def widened(self, n_features: int) -> BatchedRows:
        """Return the same rows with so many columns, if they are ragged; new ones are missing."""
        raise not_whole(self)

    def end_reading(self) -> None:
        """Say that no rows are needed for now; waits until all who share the source say so."""


def as_rows(values: F32 | Rows) -> Rows:
    """Return an array as one batch; rows are unchanged."""
    return values if isinstance(values, Rows) else WholeRows(values)


def not_whole(values: BatchedRows) -> DataError:
    """Return the error for rows in batches, where they are needed as a whole."""
    return DataError(
        f"X comes in batches, {values.shape[0]} x {values.shape[1]}: expected rows that lie in "
        "memory as a whole here; give Dataset an array, or leave out what asks for it"
    )


#: Bytes of a batch's float32 values, where the library chooses how many rows a batch has.
BATCH_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Some consecutive rows, as a user gave them.

    Attributes
    ----------
    X : (n_rows, n_features) array-like, DataFrame, sparse matrix, or Features
    label, weight, base_margin, qid, group, label_lower_bound, label_upper_bound : object or None
        Labels and so on of these rows, as for ``Dataset``.
    feature_names, feature_types : sequence or None
        As for ``Dataset``.
    where : str
        The batch's name in error messages.
    label_column : str
        The column of the file that is the label, in words; empty if no column is.
    ragged : bool
        Whether the batch may have fewer columns than others, such as lines of libsvm text. The
        other columns have no values.
    blurred : Blurred or None
        The search for whole numbers that float32 cannot tell apart, if X came from text.
    """

    X: Any
    label: Any = None
    weight: Any = None
    base_margin: Any = None
    qid: Any = None
    group: Any = None
    label_lower_bound: Any = None
    label_upper_bound: Any = None
    feature_names: Any = None
    feature_types: Any = None
    where: str = "X"
    label_column: str = ""
    ragged: bool = False
    blurred: Blurred | None = None
