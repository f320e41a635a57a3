"""The variant table: its order, its baseline and what is chosen."""

from __future__ import annotations

import pytest

from pyopencl_gbdt.device import TABLE, choose, runnable
from pyopencl_gbdt.device.variants import LOCAL_HEADROOM, NEEDS, Variant, kernels
from pyopencl_gbdt.errors import ParameterError
from tests.device.fakes import make_caps

KERNELS = kernels()
KINDS = ("gpu", "cpu", "accelerator")


def rows(kernel):
    return [row for row in TABLE if row.kernel == kernel]


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_last_row_needs_the_baseline_alone(kernel):
    last = rows(kernel)[-1]
    assert last.chosen_on == set(KINDS)
    assert last.needs() == []
    assert last.params["wg_size"] <= 256
    assert last.params.get("codes", 0) * 8 <= 32 * 1024 - LOCAL_HEADROOM
    assert last.lacks(make_caps(int64_atomics=False)) == ""


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("int64_atomics", [False, True])
def test_every_device_gets_the_first_row_that_fits(kernel, kind, int64_atomics):
    caps = make_caps(kind=kind, int64_atomics=int64_atomics)
    fits = [row for row in rows(kernel) if kind in row.chosen_on and not row.lacks(caps)]
    assert choose(kernel, caps) is fits[0]
    assert choose(kernel, caps) in runnable(kernel, caps)


@pytest.mark.parametrize(
    ("kind", "int64_atomics", "expected"),
    [
        ("gpu", True, "local_atomic"),
        ("gpu", False, "local_atomic_partials"),
        ("accelerator", True, "local_atomic"),
        ("cpu", True, "cpu"),
        ("cpu", False, "cpu"),
    ],
)
def test_histogram_variants_by_kind(kind, int64_atomics, expected):
    assert choose("histogram", make_caps(kind=kind, int64_atomics=int64_atomics)).name == expected


def test_every_row_that_a_device_meets_is_runnable_whatever_its_kind():
    names = [row.name for row in runnable("histogram", make_caps(kind="cpu", int64_atomics=True))]
    assert names == [row.name for row in rows("histogram")]
    fewer = [row.name for row in runnable("histogram", make_caps(int64_atomics=False))]
    assert "local_atomic" not in fewer
    assert len(fewer) == len(names) - 1


def test_a_variant_by_name():
    caps = make_caps(kind="gpu", int64_atomics=True)
    for row in rows("histogram"):
        assert choose("histogram", caps, row.name) is row


def test_a_variant_that_is_not_there():
    with pytest.raises(ParameterError, match="histogram='fastest': expected 'auto' or one of"):
        choose("histogram", make_caps(), "fastest")


def test_a_variant_whose_needs_are_not_met():
    with pytest.raises(ParameterError, match="lacks 64-bit integer atomics; use 'auto'"):
        choose("histogram", make_caps(int64_atomics=False), "local_atomic")


@pytest.mark.parametrize("need", NEEDS)
def test_a_need_is_what_a_device_lacks(need):
    row = Variant("scan", "some", {}, "a test", **{need: True})
    assert row.needs() == [NEEDS[need]]
    assert row.lacks(make_caps(**{need: False})) == NEEDS[need]
    assert row.lacks(make_caps(**{need: True})) == ""


def test_rows_are_complete():
    assert len({(row.kernel, row.name) for row in TABLE}) == len(TABLE)
    for row in TABLE:
        size = row.params["wg_size"]
        assert size >= 1
        assert size & (size - 1) == 0, f"{row.kernel}: wg_size={size} is no power of two"
        assert row.measured, f"{row.kernel}, {row.name}: where does the choice come from?"
