"""What a run of the matrix leaves out, others of the run show."""

import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace

import pytest

from pyopencl_gbdt.device.capabilities import HOST_CORES
from pyopencl_gbdt.device.limited_device import PRETENCES
from tests.device.plausible import few
from tests.portability import __main__ as matrix
from tests.portability import cover, exercise, runtimes, targets, timed, trainings
from tests.portability.many_tasks import of_several_units, small_tasks
from tests.portability.null_device import NullDevice

pytestmark = pytest.mark.thorough
GPU = targets.AMD[0].caps
CAPS = {
    "gpu": GPU,
    "cpu": of_several_units(replace(GPU, kind="cpu", compute_units=2, **HOST_CORES)),
}
FACTS = {"a": {1, 2, 3}, "b": {1, 2}, "c": {3, 4}, "d": {2}}


@pytest.mark.parametrize(
    ("dearest_first", "kept", "wanted"),
    [("abcd", "", ["b", "c"]), ("dcba", "", ["a", "c"]), ("abcd", "a", ["a", "c"])],
)
def test_the_dearest_are_left_out_unless_they_are_kept(dearest_first, kept, wanted):
    assert cover.cover(FACTS, list(dearest_first), kept) == wanted


@pytest.mark.parametrize(
    ("size", "device", "names"),
    [
        ("tiny", "gpu", trainings.NAMES),
        ("tiny", "cpu", trainings.NAMES),
        ("full", "gpu", trainings.HALF),
    ],
)
def test_fewer_trainings_bind_every_kernel_with_every_option(size, device, names):
    caps = CAPS[device]
    with small_tasks() if device == "cpu" else nullcontext():
        every = trainings.trainings(size, caps, names)
        few = trainings.fewest(size, caps, every)
        bound = {one: cover.bound(trainings.on_paper(size, one, caps)) for one in every}
    assert set().union(*map(bound.get, few)) == set().union(*bound.values())
    assert len(few) <= 0.75 * len(every)


def test_groups_of_few_work_items_show_options_and_usual_ones_each_template():
    every = trainings.trainings("tiny", GPU)
    narrow = trainings.narrow(every)
    few = trainings.fewest("tiny", GPU, every, cover.accesses, narrow)
    paper = {one: trainings.on_paper("tiny", one, GPU) for one in {*every, *few}}
    wanted, found = (
        set().union(*(cover.accesses(paper[one]) for one in some)) for some in (every, few)
    )
    assert wanted <= found
    chosen = {built.wg_size for one in few if one.wg_size for built in paper[one]}
    assert {64, 256} <= chosen  # some templates have one size
    assert len(set(few) & set(narrow)) > len(few) / 2
    assert len(few) <= 0.75 * len(every)


def test_the_arithmetic_of_a_loss_is_no_access():
    device = NullDevice(GPU)
    params = {name: value for name, value in few("gradients")[0].items() if name != "wg_size"}
    for loss in ("g = margin;\n    h = 1.0f;", "g = label;"):
        program = device.build("gradients", wg_size=64, **{**params, "loss": loss})
        program.built.bound |= set(program.built.kernels)
    found = [cover.accesses([one]) for one in device.built.values()]
    assert len(found) == 2
    assert found[0] == found[1]
    assert found[0] < cover.bound(device.built.values())


def test_one_training_of_a_kind_binds_every_kernel_with_barriers():
    every = trainings.of_kinds(GPU)
    few = trainings.fewest("full", GPU, every, cover.with_barriers)

    def bound(some):
        return {
            kernel
            for one in some
            for kernel in cover.with_barriers(trainings.on_paper("full", one, GPU))
        }

    assert bound(few) == bound(every)
    assert len(few) < len(every)


def test_trainings_that_add_to_sums_in_memory_bind_every_program_of_the_baseline_alone():
    def programs(chosen, caps):
        return {
            (built.template, built.wg_size, *sorted(map(str, built.params.items())))
            for one in chosen
            for built in trainings.on_paper("tiny", one, caps)
            if built.bound
        }

    caps = PRETENCES["baseline"](GPU)
    every = trainings.of_kinds(caps)
    some = trainings.fewest("tiny", caps, every, cover.with_sums_in_memory)
    alone = programs(every, caps) - programs(trainings.trainings("tiny", GPU), GPU)
    assert {template for template, *_ in alone} <= {
        template for template, *_ in programs(some, caps) & alone
    }
    assert 2 <= len(some) < len(every)


def test_what_is_scanned_for_a_width_has_all_kernels_with_barriers():
    """Nothing but the type and the operation differs, which change no barrier."""
    caps = replace(GPU, lookback=True)

    def bound(scanned):
        device = NullDevice(caps)
        for _ in exercise.primitive_checks(device, "tiny", scanned):
            pass
        built = [one for one in device.built.values() if one.template.startswith(SCANS)]
        assert {one.template for one in built} >= {*SCANS, "scan_lookback"}
        return cover.with_barriers(built)

    assert bound(exercise.SCANNED[:1]) == bound(exercise.SCANNED)


SCANS = ("scan", "segmented_scan", "segmented_reduce")


def test_for_a_width_only_programs_of_one_work_item_are_left_out():
    def programs(alone):
        device = NullDevice(GPU)
        for _ in exercise.primitive_checks(device, "tiny", exercise.SCANNED[:1], alone=alone):
            pass
        return device.built

    every, few = programs(True), programs(False)
    assert every.keys() - few.keys() == {key for key, one in every.items() if one.wg_size == 1}
    assert few.keys() < every.keys()


@pytest.mark.parametrize("device", ["gpu", "cpu"])
def test_fewer_models_predict_by_every_kernel(device):
    def bound(names):
        paper = NullDevice(CAPS[device])
        for name in names:
            for _ in exercise.prediction_checks(paper, "tiny", name):
                pass
        return cover.bound(paper.built.values())

    few = exercise.predicted(CAPS[device], "tiny", whole=False)
    assert bound(few) == bound(exercise.PREDICTED)
    assert set(few) <= set(exercise.PREDICTED)
    assert exercise.predicted(CAPS[device], "tiny", whole=True) == exercise.PREDICTED


def test_programs_without_barriers_do_not_depend_on_a_width():
    device = NullDevice(GPU)
    for template in ("copy", "stable_partition"):
        params = {"type": "i32", "items": 1, "offset": "u32"} if template != "copy" else {}
        program = device.build(template, wg_size=64, **params)
        program.built.bound |= set(program.built.kernels)
    found = cover.with_barriers(device.built.values())
    assert {template for template, _, _ in found} == {"stable_partition"}


@pytest.mark.parametrize("whole", [False, True])
def test_a_setting_runs_whole_where_it_is_asked_to(whole, monkeypatch):
    asked = []

    def completed(words, *_):
        asked.append(("--whole" in words, "--as-written" in words))
        printed = '{"checks": 5, "failures": [], "sub_group": 0, "local_bytes": 1}'
        return subprocess.CompletedProcess(words, 0, printed, "")

    monkeypatch.setattr(timed, "completed", completed)
    monkeypatch.setattr(runtimes, "missing", lambda _: "")
    for optimised in (True, False):
        setting = runtimes.Setting("pocl", "x", "pocl", optimised=optimised)
        assert runtimes.run_setting(setting, whole=whole).state == "ok"
    assert asked == [(whole, False), (whole, True)]


def test_sub_groups_of_64_run_with_whole_alone():
    widths = [
        {own.sub_group for own in matrix.settings_of("intel-cpu", whole)} for whole in (False, True)
    ]
    assert widths == [{0, 8, 32}, {0, 8, 32, 64}]


def test_the_seconds_of_commands_are_the_processors():
    before = timed.spent()
    work = "sum(range(20_000_000)); import time; time.sleep(0.5); print('made')"
    done = timed.completed([sys.executable, "-c", work])
    assert (done.returncode, done.stdout.strip()) == (0, "made")
    assert timed.spent() > before
    with pytest.raises(subprocess.TimeoutExpired):
        timed.completed([sys.executable, "-c", "import time; time.sleep(60)"], most_seconds=0.3)
