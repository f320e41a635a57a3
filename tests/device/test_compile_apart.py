"""With untested drivers a helper process compiles: a crash or a hang becomes a message."""

import os
from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.device import build_variant_program, helper_process, open_device
from pyopencl_gbdt.device.drivers import first_use
from pyopencl_gbdt.device.drivers.fallback import with_fallbacks
from pyopencl_gbdt.device.opencl import build_ahead, compile_apart
from pyopencl_gbdt.device.opencl import device as opencl
from pyopencl_gbdt.device.render import render
from pyopencl_gbdt.device.signature import signatures
from pyopencl_gbdt.device.variants import REFUSED
from pyopencl_gbdt.errors import KernelBuildError, KernelFallbackWarning, ParameterError
from pyopencl_gbdt.primitives.scan import scan
from tests.conftest import TEST_DEVICE
from tests.device.fakes import make_caps

LINES = "import os, signal, time\nfor line in sys.stdin:\n"
DONE = "    print('done', flush=True)"
#: The helper's code: a compiler that dies of one template, and one that hangs at it.
CRASHES = f"{LINES}    if 'BAD' in line: os.kill(os.getpid(), signal.SIGSEGV)\n{DONE}"
HANGS = f"{LINES}    if 'BAD' in line: time.sleep(60)\n{DONE}"


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(tmp_path))
    monkeypatch.delenv(first_use.INSIDE, raising=False)
    monkeypatch.delenv(build_ahead.ENVIRONMENT, raising=False)
    monkeypatch.setattr(opencl, "_programs", {})
    monkeypatch.setattr(compile_apart, "_pools", {})
    yield tmp_path
    for pool in compile_apart._pools.values():
        for helper in pool.helpers:
            helper.close()
    REFUSED.clear()


@pytest.fixture
def stranger():
    """The test device, as if nobody had run the tests on its driver."""
    device = open_device(TEST_DEVICE)
    if device.caps.api != "opencl":
        pytest.skip("CUDA's compiler is a tested one")
    device.caps = replace(device.caps, tested_driver=False)
    return device


@pytest.fixture
def two_variants(stranger):
    """The same, if it has a variant of the scan for CPUs, and one for all devices."""
    if stranger.caps.kind != "cpu":
        pytest.skip("a GPU has one variant of the scan for any driver")
    return stranger


def test_what_the_helper_built_is_loaded_and_runs(stranger, monkeypatch, folder):
    monkeypatch.setattr(opencl, "build_source", lambda *a, **k: pytest.fail("compiled here"))
    values = np.arange(1000, dtype=np.int32)
    got = scan(stranger.upload(values), inclusive=True, variant="portable").get()
    np.testing.assert_array_equal(got, np.cumsum(values, dtype=np.int32))
    assert list(folder.glob("*.bin"))


def test_kernels_return_at_once_where_they_are_only_compiled():
    source = "KERNEL(64) one(const u32 n) {\n}\nKERNEL(1) two(\n    GLOBAL f32* RESTRICT x) {\n}"
    guard = " if (get_num_groups(2) == 2) return;"
    assert compile_apart.guarded(source).count("{" + guard) == 2


def test_where_a_helper_is_used(monkeypatch):
    assert compile_apart.needed(make_caps())
    assert not compile_apart.needed(make_caps(tested_driver=True))
    for name, value in ((first_use.INSIDE, "1"), (build_ahead.ENVIRONMENT, "off")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert not compile_apart.needed(make_caps())


@pytest.mark.parametrize(
    ("code", "words"),
    [(CRASHES, "ends its process by signal 11"), (HANGS, "takes more than 6 s; set PYOPENCL")],
)
def test_a_compiler_that_fails_at_a_variant_gets_the_next_one(
    two_variants, monkeypatch, code, words
):
    """The first variant is marked in its source; the helper knows the mark."""
    monkeypatch.setattr(compile_apart, "_CODE", code)
    monkeypatch.setenv(compile_apart.ENVIRONMENT, "6" if code == HANGS else "60")
    usual = two_variants.programs.source

    def marked(template, dialect, **params):
        text = usual(template, dialect, **params)
        return f"/* BAD */ {text}" if params["wg_size"] == 1 else text

    monkeypatch.setattr(two_variants.programs, "source", marked)
    params = {"type": "i32", "op": "sum"}
    with pytest.warns(KernelFallbackWarning, match="scan: 'sequential' does not build"):
        chosen, program = build_variant_program(two_variants, "scan", "auto", **params)
    assert chosen.name == "portable"
    assert program.wg_size > 1
    # another process does not try it again
    REFUSED.clear()
    monkeypatch.setattr(helper_process, "start", lambda *a, **k: pytest.fail("tried again"))
    with pytest.raises(KernelBuildError, match=words):
        build_variant_program(two_variants, "scan", "sequential", **params)


def test_a_long_compilation_is_told_of(monkeypatch, capsys):
    monkeypatch.setattr(compile_apart, "_LONG_SECONDS", 0.2)
    monkeypatch.setattr(compile_apart, "_CODE", f"{LINES}    time.sleep(0.6)\n{DONE}")
    compile_apart.submit(make_caps(), "0" * 64, "", [], "histogram").result()
    said = capsys.readouterr().err
    assert said.startswith("compiling histogram for Baseline")
    assert "given up after 120 (PYOPENCL_GBDT_BUILD_SECONDS)" in said


def test_errors_of_the_source_are_the_callers(stranger, monkeypatch):
    monkeypatch.setattr(compile_apart, "_CODE", CRASHES)  # which does nothing with other lines
    source = render("copy", "opencl", wg_size=1).replace("out[begin", "no_such_name[begin")
    with pytest.raises(KernelBuildError, match="no_such_name"):
        stranger._compile("copy", source, 1, {})


def test_a_limit_that_is_no_number_is_refused(monkeypatch):
    monkeypatch.setenv(compile_apart.ENVIRONMENT, "soon")
    monkeypatch.setattr(compile_apart, "_CODE", CRASHES)
    with pytest.raises(ParameterError, match="PYOPENCL_GBDT_BUILD_SECONDS=soon: expected seconds"):
        compile_apart.submit(make_caps(), "1" * 64, "", [], "histogram").result()


# -- side by side --------------------------------------------------------------------------------
#: A compiler that waits until somebody writes a file.
WAITS = f"{LINES}    while not os.path.exists({{!r}}): time.sleep(0.01)\n{DONE}"
SUM = {"type": "i32", "op": "sum"}


def test_programs_of_a_fit_are_compiled_side_by_side(stranger, monkeypatch, folder):
    """The first one that is launched waits; the others go on."""
    monkeypatch.setattr(compile_apart, "usable_cores", lambda: 4)
    monkeypatch.setattr(compile_apart, "_CODE", WAITS.format(str(folder / "now")))
    stranger.builds_later = True
    built = [stranger.build("scan", wg_size=size, **SUM) for size in (32, 64, 128, 256)]
    pool = compile_apart._pools[os.getpid(), stranger.caps.device_id]
    assert len(pool._jobs) == 4  # nobody has waited for one
    (folder / "now").touch()
    assert [program.wg_size for program in built] == [32, 64, 128, 256]
    for program in built:
        program.make_kernel(next(iter(signatures(program.source))))
    assert len(pool.helpers) == 4
    assert stranger.build("scan", wg_size=32, **SUM).program is built[0].program  # at once


def test_a_kernel_that_does_not_compile_later_starts_the_fit_again(two_variants, monkeypatch):
    monkeypatch.setattr(compile_apart, "_CODE", CRASHES)
    usual = two_variants.programs.source
    monkeypatch.setattr(
        two_variants.programs,
        "source",
        lambda *a, **k: f"/* {'BAD' if k['wg_size'] == 1 else ''} */ {usual(*a, **k)}",
    )
    two_variants.builds_later = True

    def work():
        chosen, program = build_variant_program(two_variants, "scan", "auto", **SUM)
        program.make_kernel(next(iter(signatures(program.source))))
        return chosen.name

    with pytest.warns(KernelFallbackWarning, match="scan: 'sequential' does not run: kernel 'scan"):
        assert with_fallbacks(work) == "portable"


def test_a_kernel_that_needs_smaller_groups_starts_the_fit_again(stranger, monkeypatch):
    monkeypatch.setattr(compile_apart, "_CODE", CRASHES)
    stranger.builds_later = True
    usual = stranger._build_alone

    def limited(*arguments):
        program = usual(*arguments)
        program.program.most_work_items = 64
        program.wg_size = min(program.wg_size, 64)
        return program

    monkeypatch.setattr(stranger, "_build_alone", limited)

    def work():
        program = stranger.build("scan", wg_size=128, **SUM)
        program.make_kernel(next(iter(signatures(program.source))))
        return program.wg_size

    with pytest.warns(KernelFallbackWarning, match="'work-groups of 128' does not run"):
        assert with_fallbacks(work) == 64
