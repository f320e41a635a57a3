"""A position in a parsed JSON document: typed access, with errors that name the position."""

from __future__ import annotations

import re
import reprlib
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.names import UNSAFE
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.lazy_dataclasses import dataclass

_NAME = re.compile(r"[A-Za-z0-9_.+-]{1,80}")
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_DEFAULT_MOVE = "the file is damaged, write the model again"


@dataclass(frozen=True)
class Cursor:
    """One unchecked value of a document of JSON or UBJSON.

    Attributes
    ----------
    value : object
        What ``json.loads`` or ``parse_ubjson`` returned at this position; the latter has NumPy
        arrays of numbers beside lists.
    place : str
        For example ``learner.gradient_booster.model.trees[3]``; empty for the whole document.
    """

    value: object
    place: str
    source: str

    def fail(self, expected: str, move: str = _DEFAULT_MOVE) -> NoReturn:
        """Raise a ``ModelFormatError`` about this value."""
        found = f"{self.place or 'the document'}={reprlib.repr(self.value)}"
        raise ModelFormatError(f"{self.source}: {found}: expected {expected}; {move}")

    def fields(self) -> dict[str, object]:
        """Return this value as a dict, or raise if it is not a JSON object."""
        if not isinstance(self.value, dict):
            self.fail("an object {...}")
        return self.value

    def has(self, key: str) -> bool:
        """Tell whether this object has a member of this name."""
        return key in self.fields()

    def member(self, key: str) -> Cursor:
        """Return a member, or raise if it is missing."""
        shown = key if _NAME.fullmatch(key) else f"[{reprlib.repr(key)}]"
        place = f"{self.place}.{shown}" if self.place else shown
        members = self.fields()
        if key not in members:
            raise ModelFormatError(
                f"{self.source}: {place} is missing: expected in every such model; {_DEFAULT_MOVE}"
            )
        return Cursor(members[key], place, self.source)

    def entry(self, index: int) -> Cursor:
        """Return an entry of this array; the caller has checked the index."""
        return Cursor(self.array()[index], f"{self.place}[{index}]", self.source)

    def array(self, length: int | None = None, why: str = "") -> list[object]:
        """Return this value as a list; raise unless it is an array, of ``length`` if given."""
        if not isinstance(self.value, (list, np.ndarray)):
            self.fail("an array [...]")
        if length is not None and len(self.value) != length:
            raise ModelFormatError(
                f"{self.source}: {self.place} has {len(self.value)} entries: expected {length}, "
                f"{why}; {_DEFAULT_MOVE}"
            )
        return self.value if isinstance(self.value, list) else self.value.tolist()

    def text(self) -> str:
        """Return this value as a string that can be written again, or raise."""
        if not isinstance(self.value, str):
            self.fail("a string")
        self.check_characters(self.value, "string")
        return self.value

    def check_characters(self, text: str, what: str) -> None:
        """Raise about this value if ``text`` has characters that XGBoost's reader changes."""
        if UNSAFE.search(text):
            self.fail(
                f"a {what} without control characters and lone surrogates, which no model can be "
                "written with",
                "change it, or remove it",
            )

    def texts(self) -> list[str]:
        """Return this value as a list of strings, or raise."""
        return [self.entry(index).text() for index in range(len(self.array()))]

    def parameter(self, low: int, high: int) -> int:
        """Return the integer low..high that this string spells, as XGBoost stores parameters."""
        text = self.text()
        if not _INTEGER.fullmatch(text) or not low <= int(text) <= high:
            self.fail(f'a string that holds an integer, "{low}".."{high}"')
        return int(text)

    def integers(self, low: int, high: int, length: int | None = None, why: str = "") -> list[int]:
        """Return this value as a list of integers low..high, or raise."""
        numbers: list[Any] = self.array(length, why)
        if not {int}.issuperset(map(type, numbers)) or (
            numbers and not low <= min(numbers) <= max(numbers) <= high
        ):
            for index, number in enumerate(numbers):
                if type(number) is not int or not low <= number <= high:
                    self.entry(index).fail(f"an integer {low}..{high}")
        return list(numbers)

    def floats(self, length: int, why: str) -> npt.NDArray[np.float32]:
        """Return this array of numbers as float32; raise if it is not one.

        Numbers too large for float32 become infinite; a caller that needs finite ones must check.
        """
        numbers: list[float] = []
        for index, number in enumerate(self.array(length, why)):
            if type(number) is float:
                numbers.append(number)
            elif type(number) is int and abs(number) < 2**128:
                numbers.append(float(number))
            else:
                self.entry(index).fail("a number that float32 can hold")
        with np.errstate(over="ignore"):
            return np.array(numbers, np.float64).astype(np.float32)
