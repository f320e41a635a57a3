"""What of a card's report is collected from drivers that do well, crash, hang or are slow."""

import pytest

from pyopencl_gbdt.cards import collect
from pyopencl_gbdt.cards.collect import Card, Collector
from pyopencl_gbdt.cards.trainings import FIRST, TIMED, TRAININGS, WAYS, Step, safer
from pyopencl_gbdt.doctor.watch import SelfTest
from tests.cards.workers import worker
from tests.doctor.machines import listed


@pytest.fixture
def gather(monkeypatch):
    """Collect a card from a worker; return it, what was said, and how often it was saved."""

    def self_test(device, seconds, show, keep):
        run = SelfTest(device, [{"case": "scan", "chosen": True, "problem": "", "seconds": 0.1}])
        keep(run)
        return run

    monkeypatch.setattr(collect, "run_self_test", self_test)
    monkeypatch.setattr(collect, "remember", lambda run: None)

    def be(command, *, seen=True, minutes=None):
        monkeypatch.setattr(collect, "_WORKER", command)
        device = listed()
        device.capabilities["tested_driver"] = seen
        card, said, saved = Card(device, minutes), [], []
        Collector(card, lambda: saved.append(1), lambda step: None, said.append).run()
        return card, said, len(saved)

    return be


def names(card, way=""):
    return [step["name"] for step in card.steps if step["way"] == way]


def test_all_steps_the_most_telling_first(gather):
    card, said, saved = gather(worker())
    assert names(card) == [*TRAININGS, *TIMED]
    assert names(card)[0] == FIRST
    assert [result["shape"] for result in card.machine["results"]] == list(TIMED)
    assert len(card.machine["devices"]) == 1
    assert saved > len(card.steps)  # after each
    assert (card.failed, card.ended, said) == ([], "", [])
    assert card.seconds == 120


def test_a_card_that_was_never_seen_tries_safer_ways(gather):
    card, _, _ = gather(worker({f"{FIRST}|unoptimised kernels": "crash"}), seen=False)
    assert [step["way"] for step in card.steps if step["way"]] == [way for way in WAYS if way]
    bad = [step["way"] for step in card.steps if step["problem"]]
    assert bad == ["unoptimised kernels"]
    assert card.failed == []


def test_behind_a_crash_the_next_step_goes_on(gather):
    card, _, _ = gather(worker({"exact": "crash", "cox": "differ", "sparse": "raise"}))
    assert names(card) == [*TRAININGS, *TIMED]
    assert card.failed == ["exact", "sparse", "cox"]
    crash = next(step for step in card.steps if step["name"] == "exact")
    assert crash["problem"].startswith("ends the process by signal 11: lost in")
    for way in list(WAYS)[1:]:  # they come before the shapes, for what failed
        assert names(card, way)[: len(card.failed)] == card.failed
    assert [step["way"] for step in card.steps][-len(TIMED) :] == [""] * len(TIMED)


@pytest.mark.thorough
def test_a_driver_that_hangs_leaves_the_rest_of_the_time(gather):
    card, _, _ = gather(worker({"aft": "hang"}), minutes=0.06)  # 1.8 s without an answer
    hung = next(step for step in card.steps if step["name"] == "aft")
    assert hung["problem"].startswith("takes more than")
    assert "many bins" in names(card)


@pytest.mark.thorough
def test_time_that_is_over_is_no_failure(gather, monkeypatch):
    monkeypatch.setattr(collect.Card, "seconds", 1.5)
    card, _, _ = gather(worker({"approx": "hang"}))
    assert card.ended.startswith("the time was over at: ")
    assert not [step for step in card.steps if "time" in step["problem"]]


def test_a_slow_compiler_is_told_and_gets_its_time(gather):
    card, said, _ = gather(worker(build=18.0))  # 2 s a kernel
    assert card.seconds == 2 * card.expected_seconds > 120
    (text,) = said
    assert "built in 2.0 s" in text
    assert "about 4 minutes" in text
    assert "--minutes" in text
    assert Card(card.device, 5.0, steps=card.steps).seconds == 300


def test_a_first_training_that_fails_leaves_the_usual_time(gather):
    card, said, _ = gather(worker({FIRST: "crash"}))
    assert card.build_seconds is None
    assert card.failed == [FIRST]
    assert said == []
    assert set(names(card, "work-groups of 64")) == {FIRST}


def test_safer_ways_fit_the_interface():
    ways = [steps[0].way for steps in safer(["exact"], "cuda")]
    assert ways == ["work-groups of 64", "kernels of the least capable GPU"]
    assert safer([], "opencl")[0] == [Step(FIRST, "work-groups of 64")]


@pytest.mark.thorough
def test_a_first_training_that_takes_all_the_time_is_no_failure(gather):
    card, _, _ = gather(worker({FIRST: "hang"}), minutes=0.04)
    assert card.ended == f"the time was over at: training {FIRST}"
    assert (card.steps, card.self_test) == ([], None)
