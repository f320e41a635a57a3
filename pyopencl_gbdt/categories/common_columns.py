"""The columns of a team's rows: their width, their names, and the levels of categories."""

from __future__ import annotations

from copy import copy
from functools import reduce
from typing import Any

import numpy as np

from pyopencl_gbdt.data.batches.passes import as_texts, union
from pyopencl_gbdt.data.categories.levels import Categories, Levels
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device.team.member import Team, check_same
from pyopencl_gbdt.device.team.messages import (
    ColumnCount,
    ColumnLevels,
    EvaluationRows,
    HasRows,
    InBatches,
    by_all,
)
from pyopencl_gbdt.errors import DataError, ParameterError

#: Parts of a data set that all members with rows have, or none.
_PARTS = ("weight", "base_margin", "group_offsets", "label_lower_bound")


def common_data(
    team: Team, data: Dataset | None, what: str = "the training data"
) -> Dataset | None:
    """Return a member's rows, coded by the levels that the rows of all members have.

    ``data``: None, or no rows, if the member has none.
    ``what``: the name of the rows in error messages.

    Raises
    ------
    DataError
        In all members, if one has other columns, or no member has rows.
    """
    data = _as_wide(team, data if data is not None and data.n_rows else None)
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
    if data is not None and data.categories:
        move += ", such as categorical_features"
    batches = None if data is None else data.batches
    check_same(team, facts, move, DataError, "" if batches is None else batches.first_batch)
    if not any(team.exchange(HasRows, data is not None)):
        text = f"{what}: no rank has rows: expected some; see what each rank reads"
        raise by_all(DataError(text))
    texts = batches.text_columns if batches is not None else frozenset()
    categories = _common_levels(team, {} if data is None else data.categories, texts, what)
    return data if data is None else data.coded_by(categories, what)


def _as_wide(team: Team, data: Dataset | None) -> Dataset | None:
    """Return rows with as many columns as others have, if lines of their text may be shorter."""
    widest = team.most(ColumnCount, 0 if data is None else data.n_features)
    batches = None if data is None else data.batches
    if data is None or batches is None or not batches.is_ragged or data.n_features == widest:
        return data
    return data.widened_to(widest)


def _common_levels(
    team: Team, own: Categories, text_columns: frozenset[int], what: str
) -> Categories:
    """Return the levels of all members' rows, as one data set of these rows would have them."""
    every = team.exchange(
        ColumnLevels, {column: (part, column in text_columns) for column, part in own.items()}
    )
    columns = sorted(set().union(*every))
    found: dict[int, Levels] = {}
    for column in columns:
        known = [(rank, *part[column]) for rank, part in enumerate(every) if column in part]
        parts = [(rank, part) for rank, part, _ in known]
        there = [(rank, part) for rank, part in parts if part.n_levels]
        if any(part.are_strings for _, part in there) and all(is_text for *_, is_text in known):
            there = [(rank, as_texts(part)) for rank, part in there]
        for rank, part in there:
            if part.are_strings != there[0][1].are_strings:
                text = (
                    f"{what}: column {column} holds {part.kind} on rank {rank}, "
                    f"{there[0][1].kind} on rank {there[0][0]}: expected one kind; convert the "
                    "column"
                )
                raise by_all(DataError(text))
        found[column] = reduce(union, (part for _, part in there or parts[:1]))
    return found


def joined(team: Team, data: Dataset | None, what: str, rank: int) -> Dataset | None:
    """Return all members' rows of an evaluation set on one rank; None on the others.

    Rows in batches are not sent, so only this rank may have such an evaluation set.

    Raises
    ------
    DataError
        In all members, if one has other columns.
    ParameterError
        In all members, if another rank has rows in batches, or several have rows.
    """
    kinds = team.exchange(InBatches, None if data is None else data.batches is not None)
    if any(kinds):
        if [number for number, kind in enumerate(kinds) if kind is not None] == [rank]:
            return data
        text = (
            f"{what} come in batches on rank {kinds.index(True)}: expected all rows of such a set "
            f"on rank {rank}, and None on the others, or arrays; give them so"
        )
        raise by_all(ParameterError(text))
    parts = team.exchange(EvaluationRows, common_data(team, data, what))
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
    found.forget()
    return found
