"""Parts of LightGBM's text: lines of numbers, parameters, and levels of categorical columns."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.categories.levels import Levels
from pyopencl_gbdt.data.names import UNSAFE
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model.sets import packed
from pyopencl_gbdt.model.tree import Tree

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
U32 = npt.NDArray[np.uint32]
AGAIN = "the file is damaged, write it again"
_PARAMETER = re.compile(r"\[([a-z_0-9]{1,80}): (.*)\]")


class TextBlock:
    """The ``key=value`` lines of a file's head or of a tree."""

    def __init__(self, lines: Sequence[str], place: str) -> None:
        pairs = (line.partition("=") for line in lines)
        self.values = {key: value for key, _, value in pairs}
        self.place = place

    def fail(self, what: str, expected: str, move: str = AGAIN) -> NoReturn:
        raise ModelFormatError(f"{self.place}: {what}: expected {expected}; {move}")

    def text(self, key: str) -> str:
        if key not in self.values:
            self.fail(f"{key} is missing", "it in every model by LightGBM")
        return self.values[key]

    def number(self, key: str, low: int, high: int) -> int:
        """Return a whole number ``low`` .. ``high``."""
        text = self.text(key)
        if not re.fullmatch(r"[0-9]{1,10}", text) or not low <= int(text) <= high:
            self.fail(f"{key}={text!r:.40}", f"a whole number {low}..{high}")
        return int(text)

    def whole(self, key: str, length: int, low: int, high: int | I64) -> I64:
        """Return ``length`` whole numbers ``low`` .. ``high``."""
        found: I64 = self._numbers(key, length, int, np.int64)
        wrong = (found < low) | (found > high)
        if wrong.any():
            self.fail(f"{key} has {found[wrong][0]}", f"whole numbers from {low}, within the tree")
        return found

    def floats(self, key: str, length: int) -> F64:
        """Return ``length`` numbers; NaN is none."""
        found: F64 = self._numbers(key, length, float, np.float64)
        if np.isnan(found).any():
            self.fail(f"{key} has nan", "numbers")
        return found

    def _numbers(self, key: str, length: int, kind: Callable[[str], Any], dtype: Any) -> Any:
        words = self.text(key).split()
        if len(words) != length:
            self.fail(f"{key} has {len(words)} numbers", f"{length}")
        try:
            return np.fromiter(map(kind, words), dtype, length)
        except (ValueError, OverflowError):
            self.fail(f"{key}={self.text(key)!r:.60}", "numbers")


class TextTail:
    """What follows the trees: LightGBM's parameters, and the levels of a table's columns."""

    def __init__(self, lines: Sequence[str], source: str) -> None:
        found = (_PARAMETER.fullmatch(line) for line in lines)
        self.parameters = {one[1]: one[2] for one in found if one}
        self.source = source
        prefix = "pandas_categorical:"
        given = [line[len(prefix) :] for line in lines if line.startswith(prefix)]
        try:
            self.levels = json.loads(given[0]) if given else None
        except (ValueError, RecursionError):
            self.fail("an array of arrays, or null")
        if self.levels is not None and (
            type(self.levels) is not list or any(type(one) is not list for one in self.levels)
        ):
            self.fail("an array of arrays, or null")

    def fail(self, expected: str) -> NoReturn:
        raise ModelFormatError(f"{self.source}: pandas_categorical: expected {expected}; {AGAIN}")

    def parameter(self, name: str, usual: float) -> float:
        try:
            value = float(self.parameters.get(name, usual))
        except ValueError:
            return usual
        return value if 0 < abs(value) < 1e30 else usual


class CategoryColumns:
    """The categorical columns of a file, and codes for their levels.

    LightGBM's sets have the numbers of an array's column, or positions in the list of levels that a
    table's column had. Here a level's code is its place among the sorted levels. So a short set may
    become a long one; ``most_words`` bounds all together.
    """

    def __init__(self, head: TextBlock, infos: list[str], tail: TextTail, most_words: int) -> None:
        self._head, self._tail, self._words_left = head, tail, most_words
        given = tail.parameters.get("categorical_feature", "")
        listed = re.fullmatch(r"[0-9]{1,9}(,[0-9]{1,9})*", given)
        self.columns = (
            sorted({int(one) for one in given.split(",") if int(one) < len(infos)})
            if listed
            else [i for i, info in enumerate(infos) if re.fullmatch(r"-?[0-9]+(:-?[0-9]+)*", info)]
        )
        self._infos = infos
        self._found: dict[int, Levels] = {}
        self._place: dict[int, I64] = {}  # by column: the code of each of LightGBM's numbers
        if tail.levels:
            if len(tail.levels) != len(self.columns):
                tail.fail(f"{len(self.columns)} arrays, one for each categorical column")
            for column, levels in zip(self.columns, tail.levels, strict=True):
                self._take_list(column, levels)
            return
        for column in self.columns:
            words = infos[column].split(":") if infos[column] != "none" else []
            if all(re.fullmatch(r"-?[0-9]{1,10}", word) for word in words):
                levels = sorted({int(word) for word in words if not word.startswith("-")})
                self._found[column] = Levels(np.array(levels, np.int64))

    def _take_list(self, column: int, levels: list[Any]) -> None:
        kinds = set(map(type, levels))
        if kinds == {float} and all(one.is_integer() and abs(one) < 2**53 for one in levels):
            levels, kinds = [int(one) for one in levels], {int}
        whole = kinds == {int} and all(-(2**63) <= one < 2**63 for one in levels)
        text = kinds == {str} and not any(UNSAFE.search(one) for one in levels)
        if levels and not whole and not text:
            self._tail.fail("levels of a column that are all strings, or all whole numbers")
        order = sorted(range(len(levels)), key=levels.__getitem__)
        values = np.empty(len(levels), object if text else np.int64)
        values[:] = [levels[i] for i in order]
        self._found[column] = Levels(values)
        self._place[column] = np.argsort(np.array(order, np.int64))

    def words(self, block: TextBlock, column: int, bits: npt.NDArray[np.bool_]) -> U32:
        """Return the words of a set, from the numbers that LightGBM has for its levels."""
        if column not in self._found:
            block.fail(f"column {column} is split by a set", "a categorical column")
        numbers = np.flatnonzero(bits)
        levels = self._found[column]
        if column in self._place:
            if numbers.size and numbers[-1] >= levels.n_levels:
                block.fail(f"a set has level {numbers[-1]}", f"levels below {levels.n_levels}")
            codes = self._place[column][numbers]
        else:
            known = np.isin(numbers, levels.values, assume_unique=True)
            if not known.all():
                block.fail(f"a set has level {numbers[~known][0]}", "levels of feature_infos")
            codes = np.searchsorted(levels.values, numbers)
        self._words_left -= int(codes.max(initial=0)) // 32 + 1
        if self._words_left < 0:
            block.fail(
                "the sets have too many levels for the size of the file",
                "sets of levels that are numbered from 0",
                "train with fewer levels",
            )
        own = np.zeros(int(codes.max(initial=0)) + 1, np.bool_)
        own[codes] = True
        return packed(own)

    def levels(self, trees: Sequence[Tree]) -> Mapping[int, Levels]:
        """Return the levels of the columns, which no tree may split by a threshold."""
        for index, tree in enumerate(trees):
            numeric = ~tree.is_leaf & (tree.split_kind == 0)
            both = np.isin(tree.feature[numeric], list(self._found))
            if both.any():
                self._head.fail(
                    f"tree {index} splits column {tree.feature[numeric][both][0]}, which is "
                    "categorical, by a threshold",
                    "a set",
                )
        return self._found
