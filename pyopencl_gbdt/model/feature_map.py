"""Feature maps: files that name the columns of a model, and say what kind of numbers they hold."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model.ensemble import Ensemble

INDICATOR, INTEGER = "i", "int"
KINDS = (INDICATOR, "q", INTEGER, "float")
"""Kinds of a column: 0 or absent; any number (``q``, ``float``); whole numbers."""

_EXPECTED = f"'id name kind', where kind is one of {', '.join(KINDS)}"


@dataclass(frozen=True)
class FeatureMap:
    """Names and kinds of the first columns.

    Attributes
    ----------
    names : tuple of str
    kinds : tuple of str
        For each name, an entry of ``KINDS``.
    """

    names: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str, source: str) -> FeatureMap:
        """Read XGBoost's form: a line ``id name kind`` for every column, ids from 0 in order.

        Parameters
        ----------
        text : str
            The content; blank lines are skipped.
        source : str
            The file's name, for error messages.

        Raises
        ------
        DataError
            If a line has another form; names the line.
        """
        names: list[str] = []
        kinds: list[str] = []
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            if not words:
                continue
            place = f"{source}, line {number}"
            if len(words) != 3 or words[2] not in KINDS:
                move = "join the words of a name by '-'" if len(words) > 3 else "correct the line"
                raise DataError(f"{place}: {show(line.strip())}: expected {_EXPECTED}; {move}")
            if words[0] != str(len(names)):
                raise DataError(
                    f"{place}: id {show(words[0])}: expected {len(names)}, ids from 0 in order; "
                    "list every column"
                )
            names.append(words[1])
            kinds.append(words[2])
        return cls(tuple(names), tuple(kinds))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> FeatureMap:
        """Read a UTF-8 file in the form of `parse`.

        Raises
        ------
        DataError
            If the file holds something else.
        OSError
            If it cannot be read.
        """
        source = os.fspath(path)
        try:
            text = Path(source).read_text("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{source}: not UTF-8 text: expected lines {_EXPECTED}; give a feature map"
            ) from error
        return cls.parse(text, source)

    @classmethod
    def of_model(cls, ensemble: Ensemble) -> FeatureMap:
        """Return the names that a model knows; empty if its columns have none."""
        names = tuple(ensemble.feature_names or ())
        return cls(names, ("q",) * len(names))

    def name(self, feature: int) -> str:
        """Return a column's name; ``f0``, ``f1``, ... for columns that the map lacks."""
        return self.names[feature] if feature < len(self.names) else f"f{feature}"

    def kind(self, feature: int) -> str:
        """Return a column's kind; ``q`` for columns that the map lacks."""
        return self.kinds[feature] if feature < len(self.kinds) else "q"
