"""The variant table: its order, its baseline and what is chosen."""

import pytest

from pyopencl_gbdt.device import TABLE, choose, runnable
from pyopencl_gbdt.device.variants import NEEDS, Variant, kernels
from pyopencl_gbdt.device.variants.choosing import FORMER
from pyopencl_gbdt.errors import ParameterError
from tests.device.fakes import make_caps

KERNELS = kernels()
KINDS = ("gpu", "cpu", "accelerator")


def variants_of(kernel):
    return [variant for variant in TABLE if variant.kernel == kernel]


def test_the_last_row_needs_the_baseline_alone():
    for kernel in KERNELS:
        last = variants_of(kernel)[-1]
        assert last.chosen_on == set(KINDS), kernel
        assert last.needs() == [], kernel
        assert last.params["wg_size"] <= 256, kernel
        assert last.lacks(make_caps(int64_atomics=False)) == "", kernel


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("int64_atomics", [False, True])
def test_every_device_gets_the_first_variant_that_fits(kind, int64_atomics):
    caps = make_caps(kind=kind, int64_atomics=int64_atomics)
    for kernel in KERNELS:
        fits = [
            variant
            for variant in variants_of(kernel)
            if kind in variant.chosen_on and not variant.lacks(caps)
        ]
        assert choose(kernel, caps) is fits[0], kernel
        assert choose(kernel, caps) in runnable(kernel, caps), kernel


def test_a_variant_that_no_device_chooses_says_what_is_measured_and_whom_it_would_suit():
    unchosen = [variant for variant in TABLE if not variant.chosen_on]
    assert [variant.name for variant in unchosen] == ["private"]
    assert all("H200: " in v.measured and "; for GPUs " in v.measured for v in unchosen)


@pytest.mark.parametrize(
    ("kind", "int64_atomics", "expected"),
    [
        ("gpu", True, "own_banks"),
        ("gpu", False, "own_banks"),
        ("accelerator", True, "own_banks"),
        ("cpu", True, "cpu"),
        ("cpu", False, "cpu"),
    ],
)
def test_histogram_variants_by_kind(kind, int64_atomics, expected):
    assert choose("histogram", make_caps(kind=kind, int64_atomics=int64_atomics)).name == expected


def test_every_variant_that_a_device_can_run_is_runnable_whatever_its_kind():
    names = [
        variant.name for variant in runnable("histogram", make_caps(kind="cpu", int64_atomics=True))
    ]
    assert names == [variant.name for variant in variants_of("histogram")]
    fewer = runnable("radix_sort", make_caps(lookback=False))
    assert [variant.name for variant in fewer] == ["sequential", "portable"]


def test_a_variant_by_name():
    caps = make_caps(kind="gpu", int64_atomics=True)
    for variant in variants_of("histogram"):
        assert choose("histogram", caps, variant.name) is variant


@pytest.mark.parametrize(("kernel", "name"), FORMER)
def test_a_name_that_is_gone_warns(kernel, name):
    wanted = FORMER[kernel, name]
    with pytest.warns(FutureWarning, match=f"this variant is gone, and '{wanted}' is used"):
        assert choose(kernel, make_caps(kind="gpu", int64_atomics=True), name).name == wanted


def test_a_variant_that_is_not_there():
    with pytest.raises(ParameterError, match="histogram='fastest': expected 'auto' or one of"):
        choose("histogram", make_caps(), "fastest")


def test_a_variant_whose_needs_are_not_met():
    with pytest.raises(ParameterError, match=r"lacks NVIDIA's votes .*; use 'auto'"):
        choose("partition", make_caps(warp_words=False), "ballots")


@pytest.mark.parametrize("need", NEEDS)
def test_a_need_is_what_a_device_lacks(need):
    variant = Variant("scan", "some", {}, "a test", **{need: True})
    assert variant.needs() == [NEEDS[need]]
    assert variant.lacks(make_caps(**{need: False})) == NEEDS[need]
    assert variant.lacks(make_caps(**{need: True})) == ""


@pytest.mark.parametrize(
    ("registers", "name"), [(0, "portable"), (128, "portable"), (255, "nested"), (512, "nested")]
)
def test_loops_are_nested_where_a_work_item_has_the_registers(registers, name):
    caps = make_caps(registers=registers)
    assert choose("contributions", caps).name == name
    assert (variants_of("contributions")[0].lacks(caps) == "") == (name == "nested")


def test_rows_are_complete():
    assert len({(variant.kernel, variant.name) for variant in TABLE}) == len(TABLE)
    for variant in TABLE:
        size = variant.params["wg_size"]
        assert size >= 1
        assert size & (size - 1) == 0, f"{variant.kernel}: wg_size={size} is no power of two"
        assert variant.measured, (
            f"{variant.kernel}, {variant.name}: where does the choice come from?"
        )
