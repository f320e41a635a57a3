"""What all members of a team do, or none, and know alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.device.team.messages import (
    Failure,
    KnownFacts,
    by_all,
)
from pyopencl_gbdt.errors import TeamError
from pyopencl_gbdt.messages import show

_Made = TypeVar("_Made")


def all_or_none(team: Team, work: Callable[[], _Made]) -> _Made:
    """Do something in every member; if it fails in one, raise an error in all.

    Raises
    ------
    TeamError
        If another member has failed, with its rank and its error; a member that failed raises its
        own error.
    """
    error: Exception | None = None
    try:
        made = work()
    except Exception as own:
        error = own
    text = None if error is None else f"{type(error).__name__}: {error}"
    said = team.exchange(Failure, text)
    if error is not None:
        raise by_all(error)
    for rank, text in enumerate(said):
        if text is not None:
            raise by_all(TeamError(f"rank {rank}: {text}"))
    return made


def check_same(
    team: Team, facts: Mapping[str, Any], move: str, error: type[Exception], where: str = ""
) -> None:
    """Raise an error in all members unless they know the same facts.

    Parameters
    ----------
    facts : mapping of str to object
        Facts of this member; None where it cannot know them.
    move : str
        What to do about other facts.
    error : type
        The class of the error.
    where : str
        What this member read, for the error; empty if that is not known.
    """
    known: tuple[str, Mapping[str, Any]] | None = None
    for rank, (theirs, place) in enumerate(team.exchange(KnownFacts, (dict(facts), where))):
        if not theirs:
            continue
        own = f"rank {rank}" + (f" ({place})" if place else "")
        if known is None:
            known = own, theirs
        for name in sorted(theirs.keys() | known[1].keys()):
            one, other = theirs.get(name), known[1].get(name)
            if one != other:
                raise by_all(
                    error(
                        f"{name} is {show(one)} on {own}, {show(other)} on {known[0]}: "
                        f"expected the same on all ranks; {move}"
                    )
                )
