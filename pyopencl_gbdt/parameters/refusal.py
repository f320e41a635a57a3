"""A row of a table of what is refused, and how its error is raised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pyopencl_gbdt.errors import GBDTError, ParameterError

Facts = TypeVar("Facts")


@dataclass(frozen=True)
class Refusal(Generic[Facts]):
    """A combination that is refused.

    Attributes
    ----------
    name : str
        What is refused, for readers of the table; unique.
    when : callable
        Tells of facts, such as ``FitFacts``, whether they are refused.
    message : str
        What was given and what is expected; ``{names}`` in it are those of parameters and facts.
    way_out : str
        What to do instead.
    error : type
        The class of the error.
    """

    name: str
    when: Callable[[Facts], bool]
    message: str
    way_out: str
    error: type[GBDTError] = ParameterError

    def text(self, facts: Facts) -> str:
        """Return the error's text for a training."""
        return f"{self.message.format_map(_Words(facts))}; {self.way_out}"


class _Words:
    """Parameters and facts by their names, for ``str.format_map``."""

    def __init__(self, facts: Any) -> None:
        self._facts = facts

    def __getitem__(self, name: str) -> Any:
        values = getattr(self._facts, "parameters", None)
        return getattr(values if hasattr(values, name) else self._facts, name)


def refusal_of(facts: Facts, rows: Sequence[Refusal[Facts]]) -> Refusal[Facts] | None:
    """Return the first row that refuses a training; None if no row does."""
    return next((row for row in rows if row.when(facts)), None)


def refuse(facts: Facts, rows: Sequence[Refusal[Facts]]) -> None:
    """Raise the error of the first row that refuses a training.

    Raises
    ------
    ParameterError, DataError
        With the row's name as ``refusal``.
    """
    row = refusal_of(facts, rows)
    if row is not None:
        error = row.error(row.text(facts))
        error.refusal = row.name
        raise error
