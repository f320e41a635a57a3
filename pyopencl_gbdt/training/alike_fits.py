"""Fits whose launches differ in nothing but where their arrays lie.

The folds of a data set are such fits if they have equally many rows, and as many bins of each
feature. Their arrays lie in a room of several jobs, each at the same place in its fit's part. So
the launches of the first fit tell those of the others, which need not be bound.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyopencl_gbdt.device import DeviceArray
from pyopencl_gbdt.device.joined_launches import Steps
from pyopencl_gbdt.training.fit import Fit
from pyopencl_gbdt.training.running_task import RunningTask


def steps_between(tasks: Sequence[RunningTask]) -> Steps | None:
    """Return the bytes from the arrays of a fit to those of the next; None if fits differ."""
    first, *others = tasks
    if first.device.room is None or not all(_are_alike(first, other) for other in others):
        return None
    room = first.device.room.room
    found = dict[int, tuple[DeviceArray, int]]()
    for number, step in enumerate(room.steps):
        whole = room.whole(number)
        if whole is not None:
            found[id(whole)] = whole, step
    words = [task.fit.parts.arena["needs_high"].place for task in tasks]  # these may lie elsewhere
    (whole, begin), (_, then) = words[:2]
    if any(own is not whole for own, _ in words):
        return None
    if [place for _, place in words] != [begin + n * (then - begin) for n in range(len(words))]:
        return None
    found[id(whole)] = whole, then - begin
    return found


def _are_alike(one: RunningTask, other: RunningTask) -> bool:
    rooms = one.device.room, other.device.room
    return (
        rooms[1] is not None
        and rooms[0].room is rooms[1].room
        and rooms[0].taken == rooms[1].taken
        and type(one.task.objective) is type(other.task.objective)
        and one.task.objective.parameters == other.task.objective.parameters
        and _launch_alike(one.fit, other.fit)
    )


def _launch_alike(one: Fit, other: Fit) -> bool:
    """Tell whether all numbers that launches take, and their work-groups, are the same."""
    if one.kernels.source is not None or one.statistics.orders is not None:
        return False
    if not other.kernels.binds_later:
        return False
    features = one.parts.features
    plain = not features.has_categories and not features.limits.forced
    return plain and bool(_sizes(one) == _sizes(other)) and _bins(one) == _bins(other)


def _sizes(fit: Fit) -> tuple[object, ...]:
    arena, rows, nodes, features, ways = fit.parts
    weights = rows.weighted, rows.weight_bits, rows.weight_shift
    kinds = features.columns, features.tiled, [list(group) for group in features.exclusive]
    trees = nodes.n_trees, nodes.first_round, fit.kernels.recipe
    planned = list(arena.plan.arrays.items())
    return ways.facts, planned, weights, rows.has_high, kinds, trees, len(fit.evaluation)


def _bins(fit: Fit) -> tuple[bytes, bytes]:
    layout = fit.parts.features.layout
    return layout.feature_bins.tobytes(), layout.feature_offset.tobytes()
