"""Keep of the tuned choices those with which whole fits and predictions are faster.

A kernel that is faster alone may make the kernels beside it slower, or lose on other sizes of data.
So the last word have whole fits, in turns with the variant table's choices::

    contest    a fit of each kind, a small fit, a fit by steps, a prediction
    turn       the table's choices, then tuned ones
    wins       a shorter median, by 1 % or more
    loses      a longer median, by more than 1 %

Every choice first stands alone, in all contests of its own: one that loses anywhere is dropped, so
no good choice carries a bad one. What is left stands together, also in the contests of fits that
run its kernels beside others, and has to win somewhere and lose nowhere. If it does not, those that
won alone stand together; if they do not do either, the best one of them; then nothing is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyopencl_gbdt.device.timing import in_turns
from pyopencl_gbdt.device.variants.choosing import same_refusals
from pyopencl_gbdt.device.variants.tuning import Choice
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
        Kernels that the contest is for.
    seconds : callable
        Does the work with some choices in place of the table's; returns how long it took.
    beside : frozenset of str
        Kernels that run, too, but have contests of their own.
    """

    name: str
    kernels: frozenset[str]
    seconds: Callable[[Choices], float]
    beside: frozenset[str] = frozenset()


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
    def ratio(self) -> float:
        """Time with the tuned choices, as a share of that with the table's."""
        return self.tuned_seconds / self.table_seconds if self.table_seconds else math.inf

    @property
    def wins(self) -> bool:
        return self.ratio < 1 - _MARGIN

    @property
    def loses(self) -> bool:
        return self.ratio > 1 + _MARGIN


def keep_winners(
    choices: Choices,
    contests: Sequence[Contest],
    turns: int = TURNS,
    ended: Callable[[], bool] = lambda: False,
) -> tuple[dict[str, Choice], list[Verdict]]:
    """Return the choices that make whole work faster and none slower, and all verdicts.

    Parameters
    ----------
    choices : dict of str to Choice
        By kernel.
    contests : sequence of Contest
    turns : int
    ended : callable
        Tells whether the time is over: choices that were not checked by then are dropped.
    """
    verdicts: list[Verdict] = []

    def stand(names: Sequence[str], *, alone: bool = False) -> list[Verdict]:
        some = {name: choices[name] for name in names}
        found = []
        for contest in contests:
            theirs = contest.kernels if alone else contest.kernels | contest.beside
            if theirs & some.keys():
                found.append(_verdict(contest, some, turns))
        verdicts.extend(found)
        return found

    alone = {name: stand([name], alone=True) for name in choices if not ended()}
    timed = {name: found for name, found in alone.items() if found}
    unharmful = [name for name, found in timed.items() if not any(one.loses for one in found)]
    winners = [name for name in unharmful if any(one.wins for one in timed[name])]
    best = sorted(winners, key=lambda name: min(one.ratio for one in timed[name]))[:1]
    for names in dict.fromkeys(map(tuple, (unharmful, winners, best))):
        if names and not ended() and _wins(stand(names)):
            return {name: choices[name] for name in names}, verdicts
    return {}, verdicts


def _wins(found: Sequence[Verdict]) -> bool:
    return any(one.wins for one in found) and not any(one.loses for one in found)


def _verdict(contest: Contest, choices: Choices, turns: int) -> Verdict:
    contest.seconds({})  # builds kernels
    try:
        with same_refusals():
            table, tuned = in_turns(
                [lambda: contest.seconds({}), lambda: contest.seconds(choices)], turns
            )
    except (GBDTError, KernelFallbackWarning):  # what does not run loses
        return Verdict(contest.name, tuple(choices), 0.0, math.inf)
    return Verdict(contest.name, tuple(choices), table.median, tuned.median)


__all__ = ["TURNS", "Choices", "Contest", "Verdict", "keep_winners"]
