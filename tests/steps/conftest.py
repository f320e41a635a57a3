"""Every test that takes ``variant`` runs those of its module's ``KERNEL`` that the device can.

``wg`` runs over the module's ``WG_SIZES``; a CPU takes ``WG_SIZES_CPU``, where a module has them:
PoCL needs 10 s and more to build a kernel with many barriers for one work-group size.

``force`` makes the steps take a variant, with some of its parameters replaced.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.device import Variant, find, runnable, variants
from tests.conftest import TEST_DEVICE


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "variant" in metafunc.fixturenames:
        caps = find(TEST_DEVICE).caps
        found = runnable(metafunc.module.KERNEL, caps) if caps else []
        metafunc.parametrize("variant", found, ids=[v.name for v in found])
    if "wg" in metafunc.fixturenames and hasattr(metafunc.module, "WG_SIZES"):
        caps, module = find(TEST_DEVICE).caps, metafunc.module
        few = caps is not None and caps.kind == "cpu"
        sizes = getattr(module, "WG_SIZES_CPU", module.WG_SIZES) if few else module.WG_SIZES
        metafunc.parametrize("wg", sizes)


@pytest.fixture
def force(monkeypatch):
    """Return a function that takes a variant and parameters to replace."""

    def do(variant: Variant, **params: int) -> Variant:
        params = {**variant.params, **params}
        forced = replace(variant, params=params, chosen_on=frozenset({"gpu", "cpu", "accelerator"}))
        table = variants.KERNELS[forced.kernel]
        others = [other for other in table.variants if other.name != forced.name]
        changed = replace(table, variants=(forced, *others))
        monkeypatch.setitem(variants.KERNELS, forced.kernel, changed)
        return forced

    return do


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)
