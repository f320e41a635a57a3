"""Whole numbers that float32 cannot tell apart: the search for them, beside a slow one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyopencl_gbdt.data import blurred
from pyopencl_gbdt.data.blurred import Blurred

LARGE = 2**24


def searched(*blocks: Any, column: int = 0) -> dict[int, str]:
    """Return what is found in blocks of a column."""
    found = Blurred()
    for block in map(np.asarray, blocks):
        found.add(column, block, block.astype(np.float32))
    return found.pairs


def slowly(values: np.ndarray) -> dict[int, str]:
    """Return what is to be found in a column, value by value."""
    seen: dict[np.float32, int] = {}
    for value in values:
        narrow = np.float32(value)
        if not abs(narrow) >= LARGE:
            continue
        if value.dtype.kind == "f" and (value != np.rint(value) or abs(value) >= 2**53):
            return {}
        first = seen.setdefault(narrow, int(value))
        if first != int(value):
            return {0: f"{first} and {int(value)}"}
    return {}


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.float64])
@pytest.mark.parametrize("most", [2**25, 2**40, 2**52, 2**62])
def test_beside_the_slow_search(dtype: Any, most: int) -> None:
    rng = np.random.default_rng(most)
    for spread in (3, 40, 2**24, 2**36):
        near = rng.integers(max(0, most - spread), most, 50)
        values = np.where(rng.random(50) < 0.2, rng.integers(0, LARGE, 50), near).astype(dtype)
        if dtype != np.uint64:
            values *= rng.choice(np.array([-1, 1], dtype), 50)
        wanted = slowly(values)
        assert searched(values) == wanted
        assert searched(*np.array_split(values, 7)) == wanted


def test_a_number_that_is_not_whole_ends_the_search_of_its_column() -> None:
    ids = LARGE + np.arange(4.0)
    assert searched([LARGE + 0.25], ids) == {}
    assert searched([0.25, np.nan], ids) == {0: f"{LARGE} and {LARGE + 1}"}
    assert searched(ids, [LARGE + 0.25]) == {0: f"{LARGE} and {LARGE + 1}"}
    assert searched([1e30], ids) == {}


@pytest.mark.parametrize("whole", [2**62 + np.arange(4), np.arange(4, dtype=np.uint64) + 2**63])
def test_integers_that_float64_cannot_tell_apart(whole: Any) -> None:
    whole = whole.astype(np.uint64 if whole[0] >= 2**63 else np.int64)
    assert searched(whole) == {0: f"{whole[0]} and {whole[1]}"}
    least = np.array([-(2**63), 1 - 2**63])
    assert searched(least) == {0: f"{least[0]} and {least[1]}"}


def test_narrow_dtypes_have_nothing_to_lose() -> None:
    for dtype in (np.float32, np.float16, np.int16, bool):
        assert searched(np.arange(4).astype(dtype)) == {}


def test_entries_of_several_columns() -> None:
    columns, given = np.array([3, 2**31 - 2, 3, 5, 2**31 - 2, 5]), LARGE + np.arange(6.0)
    given[:] = [LARGE, LARGE, LARGE + 1, LARGE + 0.5, LARGE + 1, LARGE + 1]
    found = Blurred()
    found.add(columns, given, given.astype(np.float32))
    assert found.pairs == dict.fromkeys((3, 2**31 - 2), f"{LARGE} and {LARGE + 1}")
    found.add(5, LARGE + np.arange(2), np.full(2, LARGE, np.float32))
    assert 5 not in found.pairs


def test_spelled_integers() -> None:
    given = np.array([5, 2.0**60, 2.0**60])
    for texts, wanted in (
        ([2**60, 2**60 + 1], {1: f"{2**60} and {2**60 + 1}"}),
        ([2**60, 2**60], {}), ([2**60, None], {}), ([2**64, 2**64 + 1], {}), ([], {}),
    ):  # fmt: skip
        found = Blurred()
        found.add(1, given, given.astype(np.float32), texts)
        assert found.pairs == wanted
        assert found.is_open(1) == (texts == [2**60, 2**60])


def test_searches_of_parts_are_joined() -> None:
    parts = [Blurred(), Blurred(), Blurred()]
    values = [LARGE, LARGE + 3], [LARGE + 1], [LARGE + 8]
    for one, given in zip(parts, map(np.array, values), strict=True):
        one.add(2, given, given.astype(np.float32))
        assert not one.pairs
    parts[0].merge(parts[2])
    assert not parts[0].pairs
    parts[0].merge(parts[1])
    assert parts[0].pairs == {2: f"{LARGE} and {LARGE + 1}"}
    # a later part that ends its column's search still tells what it saw before
    early, late = Blurred(), Blurred()
    early.add(2, np.array([LARGE]), np.array([LARGE], np.float32))
    for column, given in ((2, LARGE + 1.0), (2, LARGE + 0.5), (3, LARGE + 9.0)):
        late.add(column, np.array([given]), np.array([given], np.float32))
    early.merge(late)
    assert early.pairs == {2: f"{LARGE} and {LARGE + 1}"}
    other = Blurred()
    other.add(2, np.array([LARGE, LARGE + 0.5]), np.array([LARGE, LARGE], np.float32))
    late = Blurred()
    late.add(2, np.array([LARGE + 1]), np.array([LARGE], np.float32))
    for later in (late, parts[0]):
        other.merge(later)
        assert not other.pairs


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_blocks_of_a_matrix_by_threads(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All columns of a block at once, on any number of threads: as each column by itself."""
    rng = np.random.default_rng(3)
    given = (LARGE + 4 * rng.integers(0, 500, (4000, 5))).astype(dtype)
    given[3000, 2] += 1
    given[2000, 4] += 1 if dtype == np.int64 else 0.5
    alone = [searched(given[:, i], column=i).get(i) for i in range(5)]
    assert [one is not None for one in alone] == [False, False, True, False, dtype == np.int64]
    for n_threads in (1, 3):
        monkeypatch.setattr(blurred, "n_threads", lambda n=n_threads: n)
        found = Blurred()

        def sift(start: int, found: Blurred = found) -> Any:
            rows = slice(start, start + 100)
            return found.sift(np.arange(5), given[rows], given[rows].astype(np.float32))

        found.add_blocks(sift, range(0, 4000, 100))
        assert [found.pairs.get(i) for i in range(5)] == alone


def test_numbers_that_are_remembered_are_not_sorted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A column of a few large numbers, such as amounts, costs a look at each."""
    found, few = Blurred(), LARGE + 8 * np.arange(1000)
    found.add(0, few, few.astype(np.float32))
    monkeypatch.setattr(blurred.np, "argsort", lambda *_, **__: pytest.fail("sorted again"))
    many = np.tile(few, 50)
    sifted = found.sift(0, many, many.astype(np.float32))
    assert sifted is not None
    assert sifted.keys.size < many.size // 100  # two numbers may share a slot
    found.take(sifted)


def test_memory_is_bounded_and_a_sample_finds_what_is_frequent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blurred, "MOST_KEPT", 100)
    found = Blurred()
    apart = 2 * LARGE + 4 * np.arange(4000)
    for part in np.array_split(apart, 10):
        found.add(0, part, part.astype(np.float32))
        assert 0 < found._seen.keys.size <= 100
    assert not found.pairs
    found.add(0, apart + 1, (apart + 1).astype(np.float32))
    first, second = map(int, found.pairs[0].split(" and "))
    assert second == first + 1
    assert found._seen.keys.size == 0  # the search has ended
