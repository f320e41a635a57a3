"""The self-test passes on a device that computes right, and names what does not."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt.device import choose, runnable
from pyopencl_gbdt.doctor import arithmetic, selftest
from pyopencl_gbdt.errors import KernelBuildError

SMALL = 200


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(selftest, "SIZES", (SMALL, 40))


def results_of(device):
    return [line for line in selftest.results(device) if "case" in line]


@pytest.mark.thorough
def test_everything_passes_and_what_is_needed_comes_first(device):
    results = results_of(device)
    assert [r["case"] for r in results if r["problem"]] == []
    chosen = [r["chosen"] for r in results]
    assert chosen == sorted(chosen, reverse=True)
    names = [r["case"] for r in results]
    for variant in runnable("histogram", device.caps):
        assert f"training binary:logistic: {variant.name}" in names
    assert f"training multi:softprob: {choose('histogram', device.caps).name}" in names
    for kernel in ("scan", "segmented_scan", "segmented_reduce", "radix_sort", "compact"):
        assert f"{kernel}: {choose(kernel, device.caps).name}" in names
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "names",
    [
        ("scan", "segmented_reduce", "compact"),
        pytest.param(
            ("segmented_scan", "radix_sort", "stable_partition"), marks=pytest.mark.thorough
        ),
    ],
)
def test_primitives_that_err_are_named(device, monkeypatch, names):
    """A twin that errs stands for the device that errs."""

    def erring(right):
        def wrong(values, *arguments, **options):
            result = right(values, *arguments, **options)
            (result[0] if isinstance(result, tuple) else result)[-1:] += 1
            return result

        return wrong

    for name in names:
        module = getattr(selftest, f"{name}_twin")
        monkeypatch.setattr(module, name, erring(getattr(module, name)))
    failed = [r for r in results_of(device) if r["problem"]]
    assert sorted(r["case"].split(":")[0] for r in failed) == sorted(names)
    for result in failed:
        assert "differ, first at" in result["problem"]
        assert " instead of " in result["problem"]


def test_a_training_that_errs_is_named(device, monkeypatch):
    right = selftest.to_xgboost_json
    calls = iter(range(100))
    monkeypatch.setattr(selftest, "to_xgboost_json", lambda e: right(e) + str(next(calls)))
    failed = {r["case"].split(" ")[0] for r in results_of(device) if r["problem"]}
    assert failed == {"training"}


def test_an_exception_is_a_result(device, monkeypatch):
    def refuse(*arguments, **options):
        raise KernelBuildError("no such instruction\n" + "x" * 10_000)

    monkeypatch.setattr(selftest, "radix_sort", refuse)
    (failed,) = [r for r in results_of(device) if r["problem"]]
    assert failed["problem"].startswith("KernelBuildError: no such instruction")
    assert len(failed["problem"]) <= 4000


def test_contraction_is_recognised(device, monkeypatch):
    right = arithmetic.expected

    def fused(a, b, c, d, k):
        results = right(a, b, c, d, k)
        exact = a.astype(np.float64) * c.astype(np.float64) + d.astype(np.float64)
        results[:, arithmetic.COLUMNS.index("a * c + d")] = exact.astype(np.float32)
        return results

    assert arithmetic.probe(device, SMALL) == ""
    monkeypatch.setattr(arithmetic, "expected", fused)
    problem = arithmetic.probe(device, SMALL)
    assert problem.startswith(f"of {SMALL} results differ: a * c + d in ")
    assert "fuses products with sums" in problem


def test_samples_show_contraction():
    a, _, c, d, _ = arithmetic.samples(1000)
    exact = a.astype(np.float64) * c.astype(np.float64) + d.astype(np.float64)
    assert (exact.astype(np.float32) != a * c + d)[:250].mean() > 0.9


def test_first_difference():
    a = np.array([[0.0, 1.0], [np.nan, 2.0]], np.float32)
    assert selftest.first_difference("x", a, a.copy()) == ""
    b = a.copy()
    b[0, 0] = -0.0
    assert selftest.first_difference("x", b, a).startswith("x: 1 of 4 differ, first at 0: ")
    assert "float64" in selftest.first_difference("x", a.astype(np.float64), a)
    assert "(4,)" in selftest.first_difference("x", a.reshape(-1), a)
    assert selftest.first_difference("x", a[:0], a[:0]) == ""
