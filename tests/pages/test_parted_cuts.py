"""Cut points of rows in parts are those of one device that has all rows."""

import numpy as np
import pytest

from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.team.threads import threads
from pyopencl_gbdt.pages.cuts import CUT_RULES
from pyopencl_gbdt.pages.parted_cuts import parted_cuts
from pyopencl_gbdt.pages.quantize import Quantizer
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.steps.test_quantize import columns, weights
from tests.teams import at_once

#: Rows; weights; most bins; where parts begin and end.
CASES = {
    "one part": (3000, None, 256, []),
    "two": (3000, "whole", 64, [1300]),
    "three, one empty": (3000, "spread", 255, [1000, 1000]),
    "seven": (4000, None, 64, [1, 70, 1500, 1501, 3000, 3999]),
    "many bins": (20_000, "fractions", 1000, [9_000, 17_000]),
    "one bin for each value": (900, None, 65535, [100, 500]),
    "two bins": (70_000, None, 2, [30_000]),
    "no rows in the first": (500, "subnormal", 16, [0, 250]),
}
LONG = {"two bins", "two", "seven", "many bins"}
THOROUGH = {
    "test_parts_have_the_cuts_of_all_rows": lambda case, rule: case in LONG,
}


def in_parts(values, weight, max_bin, ends, **options):
    parts = np.split(values, ends)
    weighted = [None] * len(parts) if weight is None else np.split(weight, ends)

    def work(member):
        own = weighted[member.rank]
        own = own if own is None or own.size else None  # what a member without rows may know
        try:
            return parted_cuts(member, parts[member.rank], own, max_bin, **options)
        except BaseException:
            member.leave()
            raise

    return at_once(work, threads(len(parts)))


def assert_same(found, wanted, what):
    for name in ("n_bins", "missing", "fullest"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), f"{name} {what}")
    used = np.arange(wanted.below.shape[1]) < wanted.n_bins[:, None]
    for name in ("below", "above"):
        ours, theirs = (np.where(used, getattr(c, name), 0) for c in (found, wanted))
        assert_same_bits(ours.astype(np.float32), theirs.astype(np.float32), f"{name} {what}")


@pytest.mark.few(2)
@pytest.mark.more(5)
@pytest.mark.parametrize("rule", CUT_RULES)
@pytest.mark.parametrize("case", CASES)
def test_parts_have_the_cuts_of_all_rows(case, rule, monkeypatch):
    rows, kind, max_bin, ends = CASES[case]
    rule = CUT_RULES[rule]
    rng = np.random.default_rng(rows)
    values = columns(rng, rows)
    weight = None if kind is None else weights(rng, rows, kind)
    wanted = Quantizer(open_device(TEST_DEVICE), values, weight, max_bin, rule=rule).cuts()
    for few in (1 << 16, 500):  # most columns have fewer values than the usual limit
        monkeypatch.setattr("pyopencl_gbdt.pages.parted_cuts.FEW_VALUES", few)
        for found in in_parts(values, weight, max_bin, ends, rule=rule):
            assert_same(found, wanted, f"{case}, {few}, {rule.name}")
