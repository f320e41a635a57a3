"""Keep of the tuned choices those with which whole fits and predictions are faster.

A kernel that is faster alone may make the kernels beside it slower, or lose on other sizes of data.
So the last word have whole fits, in turns with the variant table's choices::

    contest    a fit, a small fit, a fit with the parameters a kernel is for, a prediction
    turn       the table's choices, then the tuned ones
    wins       a shorter median, by 1 % or more, in a contest in which it takes part, and in no
               contest a longer one by more than that

First all choices stand together. Where they do not win, each stands alone, and those that win
alone stand together once more; if these do not win, nothing is kept.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyopencl_gbdt.device.tuning import Choice
from pyopencl_gbdt.device.variants import REFUSED
from pyopencl_gbdt.errors import GBDTError, KernelFallbackWarning

Choices = Mapping[str, Choice]
#: Turns of a contest; a difference below the share is taken for none.
TURNS = 7
_MARGIN = 0.01


@dataclass(frozen=True)
class Contest:
    """Work that is timed with the table's choices and with tuned ones.

    Attributes
    ----------
    name : str
        What is timed, for people.
    kernels : frozenset of str
        Kernels that take part.
    seconds : callable
        Does the work with some choices in place of the table's; returns how long it took.
    """

    name: str
    kernels: frozenset[str]
    seconds: Callable[[Choices], float]


@dataclass(frozen=True)
class Verdict:
    """How a set of choices fared in a contest.

    Attributes
    ----------
    contest : str
    kernels : tuple of str
        The kernels whose choices stood.
    table_seconds, tuned_seconds : float
        Medians.
    """

    contest: str
    kernels: tuple[str, ...]
    table_seconds: float
    tuned_seconds: float

    @property
    def wins(self) -> bool:
        return self.tuned_seconds < (1 - _MARGIN) * self.table_seconds

    @property
    def loses(self) -> bool:
        return self.tuned_seconds > (1 + _MARGIN) * self.table_seconds


def keep_winners(
    choices: Choices, contests: Sequence[Contest], turns: int = TURNS
) -> tuple[dict[str, Choice], list[Verdict]]:
    """Return the choices that make whole work faster and none slower, and all verdicts.

    Parameters
    ----------
    choices : dict of str to Choice
        By kernel.
    contests : sequence of Contest
    turns : int
    """
    verdicts: list[Verdict] = []

    def win(names: Iterable[str]) -> bool:
        some = {name: choices[name] for name in names}
        found = [
            _verdict(contest, some, turns) for contest in contests if contest.kernels & some.keys()
        ]
        verdicts.extend(found)
        return any(one.wins for one in found) and not any(one.loses for one in found)

    if not choices or win(choices):
        return dict(choices), verdicts
    alone = [name for name in choices if win([name])] if len(choices) > 1 else []
    if len(alone) > 1 and not win(alone):
        alone = []
    return {name: choices[name] for name in alone}, verdicts


def _verdict(contest: Contest, choices: Choices, turns: int) -> Verdict:
    table, tuned = [], []
    contest.seconds({})  # builds kernels
    refused = set(REFUSED)
    try:
        contest.seconds(choices)
        for _ in range(turns):
            table.append(contest.seconds({}))
            tuned.append(contest.seconds(choices))
    except (GBDTError, KernelFallbackWarning):  # what does not run loses
        REFUSED.clear()
        REFUSED.update(refused)
        return Verdict(contest.name, tuple(choices), 0.0, math.inf)
    both = (statistics.median(seconds) for seconds in (table, tuned))
    return Verdict(contest.name, tuple(choices), *both)


__all__ = ["TURNS", "Choices", "Contest", "Verdict", "keep_winners"]
