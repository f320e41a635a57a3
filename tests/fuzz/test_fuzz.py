"""A seeded sample of the mutations, and the harness held against formats that break its rules."""

from __future__ import annotations

import pytest

from tests.fuzz import arrow_files, comparisons, tables
from tests.fuzz.broken import BAD
from tests.fuzz.formats import Format, all_formats
from tests.fuzz.harness import run


@pytest.mark.thorough
def test_tables() -> None:
    judge([*tables.FORMATS, *arrow_files.FORMATS, *comparisons.FORMATS])


def judge(formats: list[Format]) -> None:
    counts = {one.name: one.n_sampled for one in formats}
    outcomes = run(counts)
    assert [outcome.problems for outcome in outcomes.values()] == [[]] * len(counts)
    assert {name: outcome.n_read for name, outcome in outcomes.items()} == counts
    assert all(outcome.n_refused for outcome in outcomes.values())
    assert any(outcome.n_refused < outcome.n_read for outcome in outcomes.values())


@pytest.mark.thorough
def test_the_harness_sees_every_broken_rule() -> None:
    """Each bad format's first file breaks a rule; the next one is read all the same."""
    outcomes = run({one.name: 2 for one in BAD}, limit=1.0, module="tests.fuzz.broken")
    words = {
        "crash": "crash, exit code -6", "hang": "more than 1 s", "memory": "MB for a file of 6",
        "foreign": "foreign error: OverflowError", "nameless": "does not name the file",
    }  # fmt: skip
    for name, outcome in outcomes.items():
        assert outcome.n_read == 2
        assert len(outcome.problems) == 2 * (name in words)
        assert all(words[name] in problem for problem in outcome.problems)
    assert outcomes["named"].n_refused == 2
    assert outcomes["fine"].n_refused == 0


def test_a_mutation_is_the_same_each_time() -> None:
    formats = all_formats()
    assert {"csv", "tsv", "libsvm", "npz", "csv.gz"} <= set(formats)
    for one in formats.values():
        assert one.mutation(3, 1) == one.mutation(3, 1)
        assert len({one.mutation(number, 0) for number in range(10)}) > 5
