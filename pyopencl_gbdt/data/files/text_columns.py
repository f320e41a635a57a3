"""Categorical columns of delimited text: texts become numbers while lines are parsed."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.blurred import Blurred
from pyopencl_gbdt.data.categories.chosen import AUTO, check_categorical
from pyopencl_gbdt.data.categories.columns import Column, as_objects
from pyopencl_gbdt.data.categories.levels import MOST_FLOAT_CODES, Categories
from pyopencl_gbdt.data.features import Features, encoded
from pyopencl_gbdt.data.files.contents import lines_of
from pyopencl_gbdt.data.files.csv_header import MISSING, TextLayout, kind_of, split
from pyopencl_gbdt.data.remarks import Remarks
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import Source

N_SEARCHED = 1000
"""How many lines ``"from_dtype"`` searches for text."""


class TextColumns:
    """The distinct texts of a file's categorical columns, in the order in which they come.

    Parameters
    ----------
    columns : iterable of int
        Columns of the file, those of label and queries included.
    """

    def __init__(self, columns: Iterable[int]) -> None:
        self._place_of: dict[int, dict[str, int]] = {column: {} for column in columns}

    def __contains__(self, column: object) -> bool:
        return column in self._place_of

    def numbers(self, column: int, fields: Iterable[str]) -> list[float]:
        """Return the numbers of fields' texts; NaN where one means a missing value."""
        own, nan = self._place_of[column], math.nan
        texts = [field.strip() for field in fields]
        return [
            nan
            if text in MISSING or (len(text) == 3 and text.lower() == "nan")
            else own.setdefault(text, len(own))
            for text in texts
        ]

    def column(self, column: int, numbers: NDArray[np.float32]) -> Column:
        """Return a column, given the numbers of its rows."""
        places = np.where(np.isnan(numbers), np.float32(-1), numbers).astype(np.int64)
        return Column(as_objects(list(self._place_of[column])), places, is_text=True)

    def check(self, layout: TextLayout) -> None:
        """Raise ``DataError`` if a column has more texts than float32 numbers exactly."""
        for column, own in self._place_of.items():
            if len(own) > MOST_FLOAT_CODES:
                raise DataError(
                    f"{layout.path}: column {column} has {len(own)} levels: expected "
                    f"{MOST_FLOAT_CODES} at most in a file; read it into a table, and give that to "
                    "Dataset"
                )


def feature_columns(layout: TextLayout) -> list[int]:
    """Return the columns of a file that are features."""
    apart = (layout.label, layout.qid)
    return [column for column in range(layout.n_columns) if column not in apart]


def text_columns(
    layout: TextLayout, categorical: Any, levels: Categories | None
) -> TextColumns | None:
    """Return the columns of a file that are categorical; None if there are none.

    Parameters
    ----------
    layout : TextLayout
    categorical : object
        As for `check_categorical`; ``"from_dtype"`` stands for columns with text in one of the
        first lines, ``"auto"`` for none.
    levels : mapping of int to Levels, or None
        The levels of training: exactly these features are categorical.
    """
    columns = feature_columns(layout)
    if levels is not None:
        chosen = [feature for feature in levels if feature < len(columns)]
        return TextColumns(columns[feature] for feature in chosen) if chosen else None
    names = None if layout.names is None else [layout.names[column] for column in columns]
    searched = isinstance(categorical, str) and categorical != AUTO
    by_text = _with_text(layout, columns) if searched else []
    chosen = check_categorical(categorical, len(columns), names, by_text)
    return TextColumns(columns[feature] for feature in chosen) if chosen else None


def _with_text(layout: TextLayout, columns: Sequence[int]) -> list[int]:
    found: set[int] = set()
    for line in islice(lines_of(layout.data, layout.start), N_SEARCHED):
        try:
            fields = split(line, layout.delimiter)
        except csv.Error:  # a quoted field of several lines
            continue
        found |= {
            feature
            for feature, column in enumerate(columns)
            if column < len(fields) and kind_of(fields[column].strip()) == "text"
        }
    return sorted(found)


def with_levels(
    X: NDArray[np.float32],
    names: list[str] | None,
    layout: TextLayout,
    levels: Categories | None,
    blurred: Blurred,
) -> Features:
    """Return the features of a file, whose categorical columns hold the numbers of their texts."""
    texts = layout.texts
    if not isinstance(texts, TextColumns):
        return Features(X, names, remarks=Remarks(blurred=blurred))
    columns = (
        (feature, texts.column(column, X[:, feature]))
        for feature, column in enumerate(feature_columns(layout))
        if column in texts
    )
    texts.check(layout)
    categories, coded, apart, unknown = encoded(columns, Source(str(layout.path), names), levels)
    for feature, codes in coded.items():
        X[:, feature] = codes
    return Features(X, names, categories, apart, Remarks(unknown, blurred))
