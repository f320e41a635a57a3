"""The self-test passes on a device that computes right, and names what does not."""

import numpy as np
import pytest

from pyopencl_gbdt.device import choose, devices, open_device, runnable
from pyopencl_gbdt.doctor import primitive_cases, samples, selftest
from pyopencl_gbdt.doctor.primitive_cases import KnownResults
from pyopencl_gbdt.errors import GBDTError, KernelBuildError
from pyopencl_gbdt.messages import pip_install

SMALL = samples.SIMULATED_SIZES[0]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(samples, "SIZES", samples.SIMULATED_SIZES)


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
    for kernel in primitive_cases.RESULTS:
        assert f"{kernel}: {choose(kernel, device.caps).name}" in names
    assert len(set(names)) == len(names)


@pytest.mark.intel(vectorised=True)
def test_everything_passes_on_intels_runtime():
    """Its compiler once took a loop's differences for sums, in lines of interactions."""
    if not any(d.usable and d.caps and d.caps.platform.startswith("Intel") for d in devices()):
        pytest.skip(f"Intel's CPU runtime is not installed: {pip_install('intel-cpu')}")
    results = results_of(open_device("intel(r) opencl"))
    assert {r["case"]: r["problem"] for r in results if r["problem"]} == {}
    assert any(r["case"].startswith("contributions") for r in results)


def erring(right, times=1000):
    """Return a primitive or a training that errs in its last element so many times."""
    left = iter(range(times))

    def wrong(*arguments, **options):
        results = {what: array.copy() for what, array in right(*arguments, **options).items()}
        if next(left, None) is not None:
            results[next(iter(results))][..., -1:] += 1
        return results

    return wrong


@pytest.fixture
def only(monkeypatch):
    """Call it with the kernels that are compared, if not all are."""

    def be(*names):
        usual = selftest.cases
        monkeypatch.setattr(
            selftest, "cases", lambda d: [case for case in usual(d) if case.kernel in names]
        )

    return be


def test_primitives_that_err_are_named(device, monkeypatch, only):
    names = ("scan", "compact")
    for name in names:
        monkeypatch.setitem(primitive_cases.RESULTS, name, erring(primitive_cases.RESULTS[name]))
    only(*names, "reduce")
    lines = list(selftest.results(device))
    failed = [line for line in lines if line.get("problem")]
    assert sorted(line["case"].split(":")[0] for line in failed) == sorted(names)
    for line in failed:
        what, told = line["problem"].split(": digest ")
        assert what in ("sums", "values")
        assert " instead of " in told
    explained = {line["explained"]: line["detail"] for line in lines if "explained" in line}
    assert explained.keys() == {line["case"] for line in failed}
    assert lines.index(failed[-1]) < len(lines) - 2 * len(failed)  # further runs come last


@pytest.mark.thorough
def test_a_training_that_errs_is_named(device, monkeypatch):
    monkeypatch.setattr(selftest, "arrays_of", erring(selftest.arrays_of))
    (case, *_) = [c for c in selftest.cases(device) if c.kernel == "training binary:logistic"]
    assert case.run().startswith("splits: digest ")
    assert case.explain().startswith("splits: wrong in the same way when it ran again")


# -- what is told of a wrong result --------------------------------------------------------------
def known(device, monkeypatch, run, n_others):
    """Return a comparison of a made-up kernel with a made-up number of other variants."""
    right = {"sums": np.arange(4, dtype=np.float32)}
    digests = {"sums": primitive_cases.digest(right["sums"])}
    monkeypatch.setitem(primitive_cases.DIGESTS, "made up", digests)
    first = choose("scan", device.caps)
    made = KnownResults("made up", lambda variant: run(right, variant is first), first, device.caps)
    made.others = runnable("histogram", device.caps)[-n_others:] if n_others else []
    return made, [other.name for other in made.others]


def test_right_results_say_nothing(device, monkeypatch):
    made, _ = known(device, monkeypatch, lambda right, first: right, 1)
    assert (made.compare(), made.explain()) == ("", "")


def test_what_is_right_the_second_time(device, monkeypatch):
    once = erring(lambda right, first: right, 1)
    made, _ = known(device, monkeypatch, once, 1)
    assert made.compare().startswith("sums: digest ")
    assert made.explain() == (
        f"sums: 1 of 4 differ, first at 3: {np.float32(4)!r} instead of {np.float32(3)!r}; "
        "right when it ran again"
    )


def test_what_another_variant_computes_right(device, monkeypatch):
    def run(right, first):
        return {"sums": right["sums"] + np.float32(first)}

    made, names = known(device, monkeypatch, run, 1)
    assert made.compare()
    assert made.explain() == (
        f"sums: 4 of 4 differ, first at 0: {np.float32(1)!r} instead of {np.float32(0)!r}; "
        f"wrong in the same way when it ran again; {names[-1]} is right"
    )


@pytest.mark.parametrize("n_others", [0, 1])
def test_what_is_wrong_everywhere(device, monkeypatch, n_others):
    count = iter(range(10))
    made, names = known(
        device,
        monkeypatch,
        lambda right, first: {"sums": right["sums"] - next(count) - 1},
        n_others,
    )
    assert made.compare()
    others = "".join(f", and wrong in {name}" for name in names)
    assert made.explain() == f"sums: wrong in another way when it ran again{others}"


def test_other_inputs_than_the_known_ones_are_no_fault_of_a_device(device, monkeypatch):
    right = samples.elements
    monkeypatch.setattr(samples, "elements", lambda n: right(n + 1))
    with pytest.raises(GBDTError, match=r"makes other inputs \(floats\) on this machine"):
        results_of(device)


def test_an_exception_is_a_result(device, monkeypatch, only):
    def refuse(*arguments, **options):
        raise KernelBuildError("no such instruction\n" + "x" * 10_000)

    monkeypatch.setattr(primitive_cases, "radix_sort", refuse)
    only("radix_sort", "scan")
    (failed,) = [r for r in results_of(device) if r["problem"]]
    assert failed["problem"].startswith("KernelBuildError: no such instruction")
    assert failed["raised"]
    assert len(failed["problem"]) <= 4000


def test_contraction_is_recognised(device, monkeypatch):
    right = selftest.expected_arithmetic

    def fused(a, b, c, d, k):
        results = right(a, b, c, d, k)
        exact = a.astype(np.float64) * c.astype(np.float64) + d.astype(np.float64)
        results[:, selftest.COLUMNS.index("a * c + d")] = exact.astype(np.float32)
        return results

    assert selftest.compare_arithmetic(device, SMALL) == ""
    monkeypatch.setattr(selftest, "expected_arithmetic", fused)
    problem = selftest.compare_arithmetic(device, SMALL)
    assert problem.startswith(f"of {SMALL} results differ: a * c + d in ")
    assert "fuses products with sums" in problem


def test_samples_show_contraction():
    a, _, c, d, _ = selftest.arithmetic_inputs(1000)
    exact = a.astype(np.float64) * c.astype(np.float64) + d.astype(np.float64)
    assert (exact.astype(np.float32) != a * c + d)[:250].mean() > 0.9


def test_first_difference():
    a = np.array([[0.0, 1.0], [np.nan, 2.0]], np.float32)
    assert primitive_cases.first_difference("x", a, a.copy()) == ""
    b = a.copy()
    b[0, 0] = -0.0
    assert primitive_cases.first_difference("x", b, a).startswith("x: 1 of 4 differ, first at 0: ")
    assert "float64" in primitive_cases.first_difference("x", a.astype(np.float64), a)
    assert "(4,)" in primitive_cases.first_difference("x", a.reshape(-1), a)
    assert primitive_cases.first_difference("x", a[:0], a[:0]) == ""
