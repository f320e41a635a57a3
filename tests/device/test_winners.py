"""What ``tune`` keeps at the end: only choices with which whole work is faster, by a fake clock."""

import itertools
from dataclasses import replace

import pytest

from pyopencl_gbdt.device.variants.search import Contest, keep_winners
from pyopencl_gbdt.device.variants.tuning import Choice

SPLIT, HISTOGRAM, PREDICT = (Choice(name, {}) for name in ("a", "b", "c"))
ALL = {"split": SPLIT, "histogram": HISTOGRAM, "predict": PREDICT}


def contest(name, effects, together=0.0):
    """Work of 100 ms; each chosen kernel adds its effect, several together another one.

    Every third time something else runs on the machine.
    """
    other = itertools.cycle([0.0, 0.0, 40.0])

    def seconds(choices):
        mine = [effects[kernel] for kernel in choices if kernel in effects]
        return 100.0 + sum(mine) + (together if len(mine) > 1 else 0) + next(other)

    return Contest(name, frozenset(effects), seconds)


@pytest.mark.parametrize(
    ("contests", "kept"),
    [
        ([contest("fit", {"split": -5, "histogram": -5})], {"split", "histogram"}),
        ([contest("fit", {"split": -20, "histogram": 5})], {"split"}),  # together they would win
        ([contest("fit", {"split": -9, "histogram": 0.5})], {"split", "histogram"}),
        ([contest("fit", {"split": -5, "histogram": -9}, together=30)], {"histogram"}),
        ([contest("fit", {"split": 0.5, "histogram": -0.5})], set()),  # within the noise
        (
            [contest("fit", {"split": -5, "histogram": -9}), contest("small fit", {"split": 4})],
            {"histogram"},
        ),
        (
            [contest("fit", {"split": 9}), contest("prediction", {"predict": -9})],
            {"predict"},
        ),
    ],
)
def test_only_winners_are_kept(contests, kept):
    known = {name for one in contests for name in one.kernels}
    choices = {name: choice for name, choice in ALL.items() if name in known}
    found, verdicts = keep_winners(choices, contests, turns=5)
    assert set(found) == kept
    assert all(found[name] is ALL[name] for name in found)
    assert {verdict.contest for verdict in verdicts} == {one.name for one in contests}


def test_choices_that_no_contest_times_are_dropped():
    assert keep_winners({"split": SPLIT}, [contest("fit", {"predict": -9})]) == ({}, [])
    found, _ = keep_winners(ALL, [contest("fit", {"predict": -9})], turns=5)
    assert set(found) == {"predict"}


def test_fits_that_run_kernels_beside_others_have_a_word_on_what_is_kept():
    other = replace(contest("other", {"split": 20}), kernels=frozenset(), beside={"split"})
    fit = contest("fit", {"split": -5, "histogram": -4})
    found, verdicts = keep_winners({**ALL}, [fit, other], turns=5)
    assert found == {}  # both lose the other fit, so does the best one, `split`
    assert [v.kernels for v in verdicts if v.contest == "other"] == [
        ("split", "histogram"),
        ("split",),
    ]


def test_when_time_is_over_nothing_more_is_checked():
    over = iter([False, True, True, True])
    found, verdicts = keep_winners(
        ALL, [contest("fit", {"split": -5, "histogram": -5})], ended=lambda: next(over)
    )
    assert found == {}
    assert [verdict.kernels for verdict in verdicts] == [("split",)]


def test_nothing_to_check_takes_no_time():
    def never(choices):
        raise AssertionError(choices)

    assert keep_winners({}, [Contest("fit", frozenset(["split"]), never)]) == ({}, [])
