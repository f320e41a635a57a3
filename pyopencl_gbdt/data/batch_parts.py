"""One batch of rows, and what comes with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyopencl_gbdt.data.blurred import Blurred

#: Bytes of a batch's float32 values, where the library chooses how many rows a batch has.
BATCH_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Some consecutive rows, as a user gave them.

    Attributes
    ----------
    X : (n_rows, n_features) array-like, DataFrame, sparse matrix, or Features
    label, weight, base_margin, qid, group, label_lower_bound, label_upper_bound : object or None
        Of these rows, as for ``Dataset``.
    feature_names, feature_types : sequence or None
        As for ``Dataset``.
    where : str
        The batch's name in error messages.
    label_column : str
        The column of the file that is the label, in words; empty if it is none.
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
