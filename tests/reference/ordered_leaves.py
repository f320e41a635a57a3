"""Twin of ``growth.ordered_leaves``: leaf values and margins of the models of ordered boosting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.numerics.portable_math import finite, scale_by
from pyopencl_gbdt.numerics.random_numbers import PrefixModels
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.reference.gain import (
    Rule,
    in_units,
    make_rule,
    real_weight,
    unit_weight,
    weight_in_units,
)
from tests.reference.gradients import Scale, choose_scale, quantize
from tests.reference.grow import leaf_values

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
_LARGEST = np.finfo(np.float32).max


def leaf_weight(g: int, h: int, rule: Rule) -> np.float32:
    """Return the weight of a leaf with these sums; of one without rows, 0 within the bounds."""
    if h > 0:
        unit = weight_in_units(np.array([g]), np.array([h]), rule)
    else:
        unit = unit_weight(in_units(np.array([0])), in_units(np.array([1])), rule)[0]
    weight: np.float32 = real_weight(unit, rule)[0]
    return weight


def moved_bounds(leaf: Any, scale: Scale, rule: Rule) -> tuple[np.float32, np.float32]:
    """Return the bounds of a leaf's weight in the units of a rule.

    ``scale`` is that of the tree's structure, in whose units the leaf has them.
    """
    power = (scale.sum_h - scale.sum_g) - rule.weight_power
    lower, upper = (
        bound if abs(bound) >= _LARGEST else finite(scale_by(np.array([bound]), power))[0]
        for bound in (leaf.lower, leaf.upper)
    )
    return lower, upper


def learns_from(models: PrefixModels) -> npt.NDArray[np.bool_]:
    """Return whether an entry's model learns from it; shape (n_entries,)."""
    place = np.arange(models.rows.size) - np.repeat(models.table[:, 0], models.table[:, 2])
    return np.asarray(place < np.repeat(models.table[:, 1], models.table[:, 2]))


@dataclass
class OrderedLeaves:
    """The models of prefixes, as trees are added to them.

    Attributes
    ----------
    params : Parameters
    objective : Objective
    data : Dataset
    scaled, powers : float32 array or None, (int, int)
        Weights from ``weights.normalise``.
    start : float32 array, shape (n_outputs, n_rows)
        Margins before the first tree.
    """

    params: Parameters
    objective: Objective
    data: Dataset
    scaled: F32 | None
    powers: Sequence[int]
    start: F32
    models: PrefixModels = field(init=False)
    margins: F32 = field(init=False)

    def __post_init__(self) -> None:
        p, n = self.params, self.data.n_rows
        self.models = PrefixModels.drawn(n, p.permutation_count, p.random_state, in_time=p.has_time)
        rows, learns = self.models.rows, learns_from(self.models)
        self.margins = self.start[:, rows]
        given = self.data.weight
        nothing = np.zeros((rows.size, 1), np.float32)
        self._entries = Dataset(
            nothing, self.data.label[rows], None if given is None else given[rows]
        )
        scaled = np.ones(n, np.float32) if self.scaled is None else self.scaled
        self._own_weight = None if self.scaled is None and learns.all() else scaled[rows] * learns

    def begin_round(self, number: int) -> F32:
        """Return the margins that the round's splits take their gradients of."""
        g, h = self.objective.gradients(self.margins, self._entries)
        self._gradients = finite(g), finite(h)
        orders = self.models.entry_of
        return np.asarray(self.margins[:, orders[number % len(orders)]])

    def finish(self, output: int, leaves: Sequence[Any], scale: Scale, drawn: F32 | None) -> None:
        """Set the leaves' values, and add the tree to the models.

        Parameters
        ----------
        output : int
        leaves : sequence of Node
        scale : Scale
            That of the tree's structure, in which leaves have their bounds.
        drawn : float32 array, shape (n_rows,), or None
            The rows' factors from sampling.
        """
        g, h = (part[output] for part in self._gradients)
        own = None if drawn is None else drawn[self.models.rows]
        there = choose_scale(g, h, self._own_weight, *self.powers, factors=own)
        quanta = quantize(g, h, self._own_weight, there, own)
        leaf_of = np.empty(self.data.n_rows, np.int64)
        for number, leaf in enumerate(leaves):
            leaf_of[leaf.rows] = number
        for begin, n_learnt, n in self.models.table.astype(np.int64).tolist():
            place = leaf_of[self.models.rows[begin : begin + n]]
            sums = np.zeros((len(leaves), 2), np.int64)
            np.add.at(sums, place[:n_learnt], quanta[begin : begin + n_learnt])
            values = [
                self._value(leaf, own, scale, there)
                for leaf, own in zip(leaves, sums.tolist(), strict=True)
            ]
            self.margins[output, begin : begin + n] += np.array(values, np.float32)[place]
        for leaf, value in zip(leaves, values, strict=True):  # those of all rows
            leaf.value = value

    def _value(self, leaf: Any, sums: list[int], scale: Scale, there: Scale) -> np.float32:
        p = self.params
        rule = make_rule(there, p.reg_lambda, p.reg_alpha, p.max_delta_step)
        lower, upper = moved_bounds(leaf, scale, rule)
        weight = leaf_weight(sums[0], sums[1], replace(rule, lower=lower, upper=upper))
        value: np.float32 = leaf_values(np.array([weight]), np.float32(p.learning_rate))[0]
        return value
