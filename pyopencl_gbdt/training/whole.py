"""What the members of a team have to know of all rows, though each has only a part of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import asdict
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt._version import __version__
from pyopencl_gbdt.data.categories import Categories, Levels
from pyopencl_gbdt.data.category_columns import as_objects
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device.team import Team
from pyopencl_gbdt.errors import DataError, ParameterError, TeamError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model.ensemble import Score
from pyopencl_gbdt.numerics.exact_sums import exact_sum
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.softmax import SoftProb
from pyopencl_gbdt.parameters.parameters import Parameters

_Made = TypeVar("_Made")
_Error = TypeVar("_Error", bound=BaseException)
#: The attribute of an error that all members of a team raise.
_BY_ALL = "raised_by_all_members"
#: Parameters that may differ between members.
_OWN = frozenset({"device", "verbosity", "work_group_size", "histogram"})
#: Parts of a data set that all members with rows have, or none.
_PARTS = ("weight", "base_margin", "group_offsets", "label_lower_bound")


def by_all(error: _Error, *, raised: bool = True) -> _Error:
    """Mark an error that all members of a team raise, so that nobody waits for another."""
    setattr(error, _BY_ALL, raised)
    return error


def is_by_all(error: BaseException) -> bool:
    """Tell whether all members of a team raise an error."""
    return getattr(error, _BY_ALL, False)


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
    said = team.exchange(None if error is None else f"{type(error).__name__}: {error}")
    if error is not None:
        raise by_all(error)
    for rank, text in enumerate(said):
        if text is not None:
            raise by_all(TeamError(f"rank {rank}: {text}"))
    return made


def check_same(team: Team, facts: Mapping[str, Any], move: str, error: type[Exception]) -> None:
    """Raise an error in all members unless they know the same facts.

    Parameters
    ----------
    facts : mapping of str to object
        Facts of this member; None where it cannot know them.
    move : str
        What to do about other facts.
    error : type
        The class of the error.
    """
    known: tuple[int, Mapping[str, Any]] | None = None
    for rank, theirs in enumerate(team.exchange(dict(facts))):
        if not theirs:
            continue
        if known is None:
            known = rank, theirs
        for name in sorted(theirs.keys() | known[1].keys()):
            one, other = theirs.get(name), known[1].get(name)
            if one != other:
                raise by_all(
                    error(
                        f"{name} is {show(one)} on rank {rank}, {show(other)} on rank {known[0]}: "
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


def common_data(
    team: Team, data: Dataset | None, what: str = "the training data"
) -> Dataset | None:
    """Return a member's rows, coded by the levels that the rows of all members have.

    Parameters
    ----------
    team : Team
    data : Dataset or None
        None, or no rows, if the member has none.
    what : str
        The name of the rows in error messages.

    Raises
    ------
    DataError
        In all members, if one has other columns, or no member has rows.
    """
    data = data if data is not None and data.n_rows else None
    facts: dict[str, Any] = {}
    if data is not None:
        facts = {
            "the number of features": data.n_features,
            "the list of feature names": data.feature_names,
            "the list of categorical columns": sorted(data.categories),
            "the number of labels of a row": data.n_targets if data.has_label else 0,
            "the type of the matrix": "sparse" if data.is_sparse else "dense",
            "the list of parts": [name for name in _PARTS if getattr(data, name) is not None],
            "the number of base margins": None if data.base_margin is None else (
                data.base_margin.reshape(data.n_rows, -1).shape[1]
            ),
            "the list of feature weights": None if data.feature_weights is None else (
                data.feature_weights.tolist()
            ),
        }  # fmt: skip
    move = f"give the parts of {what} the same columns and arguments"
    check_same(team, facts, move, DataError)
    if not any(team.exchange(data is not None)):
        text = f"{what}: no rank has rows: expected some; see what each rank reads"
        raise by_all(DataError(text))
    categories = _common_levels(team, {} if data is None else data.categories, what)
    return data if data is None else data.coded_by(categories, what)


def _common_levels(team: Team, own: Categories, what: str) -> Categories:
    """Return the levels of all members' rows, as one data set of these rows would have them."""
    every = team.exchange(dict(own))
    columns = sorted(set().union(*every))
    found: dict[int, Levels] = {}
    for column in columns:
        parts = [(rank, part[column]) for rank, part in enumerate(every) if column in part]
        there = [(rank, part) for rank, part in parts if part.n_levels]
        for rank, part in there:
            if part.are_strings != there[0][1].are_strings:
                text = (
                    f"{what}: column {column} holds {part.kind} on rank {rank}, "
                    f"{there[0][1].kind} on rank {there[0][0]}: expected one kind; convert the "
                    "column"
                )
                raise by_all(DataError(text))
        found[column] = _union([part for _, part in there]) if there else parts[0][1]
    return found


def _union(parts: Sequence[Levels]) -> Levels:
    if parts[0].are_strings:
        return Levels(as_objects(sorted(set().union(*(part.values.tolist() for part in parts)))))
    return Levels(np.unique(np.concatenate([part.values for part in parts])))


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
        every = team.exchange((own, count))
        rows = sum(theirs[1] for theirs in every)
        means = [Fraction(sum(theirs[0][i] for theirs in every)) / rows for i in range(len(own))]
        scores = tuple(objective.score_of_mean(mean) for mean in means)
        return scores if data.n_targets > 1 else scores[0]
    if isinstance(objective, SoftProb):
        parts = team.exchange(objective.class_weights(data.label, data.weight))
        return objective.scores_of([sum(one, Fraction()) for one in zip(*parts, strict=True)])
    label = gathered(team, data.label)
    weight = None if data.weight is None else gathered(team, data.weight)
    return objective.starting_scores(label, weight)


def gathered(team: Team, part: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the rows of all members, in the order of ranks."""
    return np.concatenate(team.exchange(part))


def whole_labels(team: Team, data: Dataset) -> Dataset:
    """Return all members' labels, weights and queries, as a data set whose values are all 0."""
    found = copy(data)
    for name in ("_label", "weight", "base_margin", "label_lower_bound", "label_upper_bound"):
        own = getattr(data, name)
        setattr(found, name, None if own is None else gathered(team, own))
    if data.group_offsets is not None:
        sizes = gathered(team, np.diff(data.group_offsets))
        found.group_offsets = np.append(0, np.cumsum(sizes))
    n_rows = sum(team.exchange(data.n_rows))
    found._features = found._values = np.broadcast_to(np.float32(0), (n_rows, data.n_features))
    found._codes_apart = {}
    found.forget()
    return found


def joined(team: Team, data: Dataset | None, what: str, rank: int) -> Dataset | None:
    """Return all members' rows of an evaluation set on one rank; None on the others.

    Rows in batches stay where they are, so that rank alone may have them.

    Raises
    ------
    DataError
        In all members, if one has other columns.
    ParameterError
        In all members, if another rank has rows in batches, or several have rows.
    """
    kinds = team.exchange(None if data is None else data.batches is not None)
    if any(kinds):
        if [number for number, kind in enumerate(kinds) if kind is not None] == [rank]:
            return data
        text = (
            f"{what} come in batches on rank {kinds.index(True)}: expected all rows of such a set "
            f"on rank {rank}, and None on the others, or arrays; give them so"
        )
        raise by_all(ParameterError(text))
    parts = team.exchange(common_data(team, data, what))
    parts = [part for part in parts if part is not None]
    if team.rank != rank:
        return None
    found: Dataset = copy(parts[0])
    for name in ("_label", "weight", "base_margin", "label_lower_bound", "label_upper_bound"):
        own = [getattr(part, name) for part in parts]
        setattr(found, name, None if own[0] is None else np.concatenate(own))
    if found.group_offsets is not None:
        sizes = np.concatenate([np.diff(part.group_offsets) for part in parts])
        found.group_offsets = np.append(0, np.cumsum(sizes))
    found._features = found._values = np.concatenate([part.values for part in parts])
    apart = {column for part in parts for column in part._codes_apart}
    found._codes_apart = {
        column: np.concatenate([part.level_codes(column) for part in parts]) for column in apart
    }
    found.forget()
    return found
