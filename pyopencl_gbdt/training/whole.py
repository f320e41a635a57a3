"""What the members of a team have to know of all rows, though each has only a part of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import asdict
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt._version import __version__
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.device.team.messages import (
    ClassWeights,
    ExactLabelSums,
    Failure,
    KnownFacts,
    RowCount,
    RowValues,
    by_all,
)
from pyopencl_gbdt.errors import ParameterError, TeamError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model.ensemble import Score
from pyopencl_gbdt.numerics.exact_sums import exact_sum
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.softmax import SoftProb
from pyopencl_gbdt.parameters.parameters import Parameters

_Made = TypeVar("_Made")
#: Parameters that may differ between members.
_OWN = frozenset({"device", "verbosity", "work_group_size", "histogram"})


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


def check_version(team: Team) -> None:
    """Raise ``ParameterError`` in all members unless they have the same version of the library."""
    versions = {"the version of pyopencl_gbdt": __version__}
    check_same(team, versions, "install one version on all hosts", ParameterError)


def check_parameters(team: Team, params: Parameters, others: Mapping[str, Any]) -> None:
    """Raise an error in all members unless they have the same parameters.

    Parameters
    ----------
    others : mapping of str to object
        Further arguments, by name.

    Raises
    ------
    ParameterError
    """
    facts = {k: v for k, v in asdict(params).items() if k not in _OWN}
    check_same(team, {**facts, **others}, "give all ranks the same parameters", ParameterError)


def base_score(team: Team, objective: Objective, data: Dataset) -> Score:
    """Return the score before the first tree, as it is for the rows of all members.

    For losses that start at the mean label or at classes' shares, members exchange exact sums. For
    others every member gets all labels and weights, 8 bytes a row.

    Parameters
    ----------
    data : Dataset
        The member's own rows.
    """
    if objective.starts_at_mean:
        own = [exact_sum(target, data.weight) for target in data.targets()]
        count = Fraction(data.n_rows)
        count = count if data.weight is None else exact_sum(data.weight, None)
        every = team.exchange(ExactLabelSums, (own, count))
        rows = sum(theirs[1] for theirs in every)
        means = [Fraction(sum(theirs[0][i] for theirs in every)) / rows for i in range(len(own))]
        scores = tuple(objective.score_of_mean(mean) for mean in means)
        return scores if data.n_targets > 1 else scores[0]
    if isinstance(objective, SoftProb):
        parts = team.exchange(ClassWeights, objective.class_weights(data.label, data.weight))
        return objective.scores_of([sum(one, Fraction()) for one in zip(*parts, strict=True)])
    label = gathered(team, data.label)
    weight = None if data.weight is None else gathered(team, data.weight)
    return objective.starting_scores(label, weight)


def gathered(team: Team, part: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the rows of all members, in the order of ranks."""
    return np.concatenate(team.exchange(RowValues, part))


def whole_labels(team: Team, data: Dataset) -> Dataset:
    """Return all members' labels, weights and queries, as a data set whose values are all 0."""
    found = copy(data)
    for name in ("_label", "weight", "base_margin", "label_lower_bound", "label_upper_bound"):
        own = getattr(data, name)
        setattr(found, name, None if own is None else gathered(team, own))
    if data.group_offsets is not None:
        sizes = gathered(team, np.diff(data.group_offsets))
        found.group_offsets = np.append(0, np.cumsum(sizes))
    n_rows = sum(team.exchange(RowCount, data.n_rows))
    found._features = found._values = np.broadcast_to(np.float32(0), (n_rows, data.n_features))
    found._codes_apart = {}
    found.forget()
    return found
