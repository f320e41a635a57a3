"""Which cases there are, and the order in which they are run."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tests.conformance.table import AXES, QUANTILES, Case, Value, refusal, refused_values

I64 = npt.NDArray[np.int64]
#: As many show every pair of values, of cases whose trees can be compared and of others.
MOST_CASES = 360


def _together(one: Value, other: Value) -> bool:
    """Tell whether a case may have both values."""
    names = {one.name, other.name}
    if names & {*one.apart, *other.apart}:
        return False
    if refusal({**one.params, **other.params, **one.ours, **other.ours}):
        return False
    # XGBoost weighs queries, not their rows
    if "qid" in (*one.needs, *other.needs) and names & {"whole", "fractions"}:
        return False
    # its exact search takes quantiles of other rows than its histograms, and learns less
    losses = {one.params.get("objective"), other.params.get("objective")}
    return not (losses & set(QUANTILES) and "exact" in names)


@functools.cache
def all_numbers() -> I64:
    """Return the numbers of every case's values, shape (n_cases, n_axes)."""
    axes, left_out = list(AXES.items()), refused_values()
    counts = [len(values) for _, values in axes]
    found = np.indices(counts).reshape(len(counts), -1).T
    for place, (axis, values) in enumerate(axes):
        kept = np.array([(axis, value.name) not in left_out for value in values])
        found = found[kept[found[:, place]]]
    for (a, (_, ones)), (b, (_, others)) in itertools.combinations(enumerate(axes), 2):
        kept = np.array([[_together(one, other) for other in others] for one in ones])
        found = found[kept[found[:, a], found[:, b]]]
    return found


def _case(numbers: I64) -> Case:
    return Case(tuple(values[i] for values, i in zip(AXES.values(), numbers.tolist(), strict=True)))


def choose(n: int, seed: int = 0) -> list[Case]:
    """Return at most ``n`` cases, every other one such whose trees can be compared.

    Of both sorts first those that show every value, then every pair, then others; random
    otherwise, by the seed. A smaller choice is the begin of a larger one.
    """
    return list(_first(n, seed))


@functools.cache
def _first(n: int, seed: int) -> tuple[Case, ...]:
    return tuple(itertools.islice(_ordered(seed), n))


def _ordered(seed: int) -> Iterator[Case]:
    numbers = np.random.default_rng(seed).permutation(all_numbers())
    chance = np.zeros(len(numbers), np.bool_)
    for place, values in enumerate(AXES.values()):
        chance |= np.array([not value.alike for value in values])[numbers[:, place]]
    alike = ~chance
    alike[alike] = [not _case(row).differs for row in numbers[alike]]
    sorts = [map(_case, _in_order(numbers[sort])) for sort in (alike, ~alike)]
    mixed = itertools.chain.from_iterable(itertools.zip_longest(*sorts))
    return (case for case in mixed if case is not None)


def _in_order(numbers: I64) -> Iterator[I64]:
    """Yield first what shows every value, then what shows every pair, then the others.

    The next one is that which shows most new ones; of equal ones, the first.
    """
    n_axes, base = numbers.shape[1], 1 + int(numbers.max())
    values = numbers + base * np.arange(n_axes)
    ones, others = np.triu_indices(n_axes, 1)
    pairs = values[:, ones] * base * n_axes + values[:, others]
    taken: list[int] = []
    for shown in (values, pairs):
        seen = np.zeros(1 + int(shown.max()), np.bool_)
        seen[shown[taken]] = True
        waiting = np.arange(len(numbers))
        while True:
            new = (~seen[shown[waiting]]).sum(axis=1)
            best = int(new.argmax())
            if not new[best]:
                break
            row = int(waiting[best])
            yield numbers[row]
            seen[shown[row]] = True
            taken.append(row)
            waiting = waiting[new > 0]
    yield from np.delete(numbers, taken, axis=0)
