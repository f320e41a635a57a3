"""A kernel has one entry in the variant table; tuning and fits read that entry."""

from __future__ import annotations

import pytest

from pyopencl_gbdt.device import choose, runnable
from pyopencl_gbdt.device.tuning import sizes, tunable
from pyopencl_gbdt.device.variant import Kernel, Sizes, Variant
from pyopencl_gbdt.device.variants import KERNELS, kernels
from pyopencl_gbdt.fit.variants import fit_kernels
from tests.device.fakes import make_caps

MADE_UP = Kernel(
    "made_up",
    (Variant("made_up", "portable", {"wg_size": 256, "depth": 3}, "a test"),),
    phase="rounds",
    tuned={"depth": Sizes(several=(2, 4), one=(8,))},
)


def test_a_kernel_is_registered_once(monkeypatch):
    before = kernels(), tunable(), fit_kernels()
    monkeypatch.setitem(KERNELS, "made_up", MADE_UP)
    (variant,) = runnable("made_up", make_caps())
    assert choose("made_up", make_caps()) is variant
    assert sizes(variant, "depth") == (2, 3, 4)
    for names, now in zip(before, (kernels(), tunable(), fit_kernels()), strict=True):
        assert now == [*names, "made_up"]


def test_only_its_own_variants_belong_to_a_kernel():
    with pytest.raises(ValueError, match="other: expected its own variants, got others"):
        Kernel("other", MADE_UP.variants)
    with pytest.raises(ValueError, match="other: expected its own variants"):
        Kernel("other", ())


def test_kernels_are_timed_with_kernels_of_the_table():
    for kernel in KERNELS.values():
        assert kernels().count(kernel.name) == 1
        assert set(kernel.timed_with) <= set(fit_kernels())
