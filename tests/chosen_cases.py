"""Which cases of a test are ``thorough``, and which of those ``exhaustive``.

A module's ``THOROUGH`` marks those of a test's cases for whose parameters it is true, and the mark
``few(6)`` all but six. Of the ``thorough`` cases of a test marked ``more(10)``, all but ten are
``exhaustive``; each variant of a kernel keeps one.

Where a test has all combinations of several parameters, each value of each parameter has a case by
default. Each pair of values of two parameters has one among the ``thorough`` cases. The other
combinations are ``exhaustive``.

In folders whose tests run kernels, only one of the cases that are left runs by default; the others
are ``thorough``, too. Which one it is differs between tests.
"""

from __future__ import annotations

import heapq
import itertools
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

#: Folders in which a test's cases are all combinations of several parameters. A module elsewhere
#: says ``ONCE_EACH = True``.
_ONCE_EACH = {"primitives", "steps", "objectives"}
#: Folders in which a test runs one case by default.
_ONE_CASE = _ONCE_EACH | {
    "categories", "compat", "data", "device", "estimators", "evaluation", "explain", "growth",
    "metrics", "model", "pages", "prediction", "training",
}  # fmt: skip
#: The names and values of the parameters of each case of a test.
Values = dict[pytest.Item, list[tuple[str, str]]]


def _room(item: pytest.Item) -> str:
    """Return the folder of a test, or its file where that lies in none."""
    return item.path.relative_to(Path(__file__).parent).parts[0]


def _has_combinations(item: pytest.Item) -> bool:
    """Tell whether a test's cases are all combinations of its parameters."""
    return _room(item) in _ONCE_EACH or getattr(getattr(item, "module", None), "ONCE_EACH", False)


def _values(item: pytest.Item) -> list[tuple[str, str]]:
    """Return the names and values of a case's parameters."""
    params: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    return sorted((name, repr(value)) for name, value in params.items())


def _variant(item: pytest.Item) -> str | None:
    """Return a case's variant of a kernel, if it has one."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    return repr(params["variant"]) if "variant" in params else None


def _mark_repeats(values: Values) -> None:
    """Mark cases of which every parameter's value occurs in an earlier case."""
    known: set[tuple[str, str]] = set()
    for item, pairs in values.items():
        own = set(pairs)
        if len(own) > 1 and own <= known:
            item.add_marker("thorough")
        known |= own


def _mark_exhaustive(values: Values) -> None:
    """Mark thorough cases of which every pair of values occurs in another case.

    The next case that stays is one with the most pairs that none has so far.
    """
    pairs = {item: set(itertools.combinations(own, 2)) for item, own in values.items()}
    thorough = [item for item in values if item.get_closest_marker("thorough")]
    known = set().union(*(pairs[item] for item in values if item not in thorough))
    # No case's new pairs become more, so the first whose number still holds has the most. Equal
    # ones are in a mixed order, as neighbours have pairs in common.
    heap = [
        (-len(pairs[item] - known), zlib.crc32(item.nodeid.encode()), place)
        for place, item in enumerate(thorough)
        if pairs[item]
    ]
    heapq.heapify(heap)
    while heap:
        before, mixed, place = heapq.heappop(heap)
        item = thorough[place]
        new = -len(pairs[item] - known)
        if not new:
            item.add_marker("exhaustive")
        elif new > before:
            heapq.heappush(heap, (new, mixed, place))
        else:
            known |= pairs[item]


def _leave_few(cases: list[pytest.Item]) -> None:
    """Mark the cases of a test marked ``few`` but so many, spread evenly."""
    marker = cases[0].get_closest_marker("few")
    own = [item for item in cases if not item.get_closest_marker("thorough")]
    if marker is None or not own:
        return
    (most,) = marker.args
    kept = {len(own) * k // most for k in range(most)}
    for place, item in enumerate(own):
        if place not in kept:
            item.add_marker("thorough")


def _leave_more(cases: list[pytest.Item]) -> None:
    """Mark the thorough cases of a test marked ``more`` but so many, spread evenly.

    A case whose variant of a kernel no other case has is kept, too.
    """
    marker = cases[0].get_closest_marker("more")
    if marker is None:
        return
    more = [item for item in cases if item.get_closest_marker("thorough")]
    (most,) = marker.args
    kept = {len(more) * k // most for k in range(most)}
    left_out = [item for place, item in enumerate(more) if place not in kept]
    known = {_variant(item) for item in cases if item not in left_out} | {None}
    for item in left_out:
        if _variant(item) in known:
            item.add_marker("exhaustive")
        known.add(_variant(item))


def _leave_one(cases: list[pytest.Item]) -> None:
    """Mark the cases of a test that run by default but one; none of them is exhaustive."""
    own = [item for item in cases if not item.get_closest_marker("thorough")]
    kept = zlib.crc32(cases[0].nodeid.partition("[")[0].encode()) % max(1, len(own))
    for place, item in enumerate(own):
        if place != kept:
            item.add_marker("thorough")


def mark_cases(items: list[pytest.Item]) -> None:
    """Mark cases of tests."""
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        tests[item.nodeid.partition("[")[0]].append(item)
    for cases in tests.values():
        combined = _has_combinations(cases[0])
        values = {item: _values(item) for item in cases} if combined else {}
        if combined:
            _mark_repeats(values)
        name = getattr(cases[0], "originalname", "")
        rule = getattr(getattr(cases[0], "module", None), "THOROUGH", {}).get(name)
        for item in cases if rule is not None else []:
            if rule(**item.callspec.params):  # type: ignore[attr-defined]
                item.add_marker("thorough")
        _leave_few(cases)
        if combined:
            _mark_exhaustive(values)
        _leave_more(cases)
        if _room(cases[0]) in _ONE_CASE:
            _leave_one(cases)
