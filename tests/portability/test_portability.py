"""The portability matrix itself: that it forgets no kernel, and that it sees what is wrong."""

import inspect
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pyopencl_gbdt import primitives
from pyopencl_gbdt.device import Capabilities
from pyopencl_gbdt.device.limited_device import baseline
from pyopencl_gbdt.device.variants import kernels
from tests.device.plausible import LIBRARIES, templates
from tests.device.vocabulary import strip_comments
from tests.portability import __main__ as program
from tests.portability import (
    comgr,
    matrix,
    mutations,
    ocloc,
    offline,
    runtimes,
    tables,
    targets,
    usage,
    workload,
)
from tests.portability.null_device import FOR_CPUS, NullDevice, kernels_of, mismatch

pytestmark = pytest.mark.thorough
CHIPS = [*targets.AMD, *targets.INTEL, *targets.INTEL_NEW[2:], *targets.NVIDIA]
#: Sub-groups of 64, of 32 and of a size that the compiler chooses. ``python -m tests.portability``
#: asks the same of all chips.
UNLIKE = ("gfx906", "pvc", "sm_90")
LEAST = baseline(targets.AMD[0].caps)


class _Everything(dict):
    """What each chip is asked for, by its name."""

    def __missing__(self, chip):
        (target,) = (target for target in CHIPS if target.chip == chip)
        self[chip] = workload.everything(target.caps)
        return self[chip]


@pytest.fixture(scope="module")
def everything():
    return _Everything()


@pytest.mark.parametrize("chip", UNLIKE)
def test_arguments_fit_their_kernels(everything, chip):
    assert everything[chip].complaints == []


def test_no_kernel_is_forgotten(everything):
    device = everything["sm_90"]
    built = list(device.built.values())
    assert {b.template for b in built} == set(templates()) - LIBRARIES
    declared = {(b.template, kernel) for b in built for kernel in b.kernels}
    bound = {(b.template, kernel) for b in built for kernel in b.bound}
    assert {template for template, _ in declared - bound} <= workload.TOOLS


def test_a_chip_that_is_not_whole_gets_every_template_and_variant(everything):
    built = everything["gfx906"].built.values()
    few = matrix.longest(built)
    assert len(few) == len({(b.template, b.label) for b in built})
    most = {(b.template, b.label): len(b.source("opencl")) for b in few}
    assert most.keys() == {(b.template, b.label) for b in built}
    assert all(len(b.source("opencl")) <= most[b.template, b.label] for b in built)


def test_a_whole_chip_gets_every_kernel_and_every_value_of_a_parameter(everything):
    built = list(everything["gfx906"].built.values())

    def shown(some):
        of_gpus = [b for b in some if b.label != FOR_CPUS]
        values = {(b.template, *pair) for b in of_gpus for pair in b.params.items()}
        kernels = {(b.template, kernel) for b in some for kernel in b.kernels}
        return values | kernels | {(b.template, b.wg_size) for b in of_gpus}

    few = matrix.telling(built)
    assert shown(few) == shown(built)
    assert len(few) < 0.6 * len(built)
    for template in {b.template for b in built if b.label != FOR_CPUS}:
        lengths = [
            max(len(b.source("opencl")) for b in some if b.template == template)
            for some in (few, built)
        ]
        assert lengths[0] == lengths[1]


def test_trainings_of_the_baseline_are_those_with_programs_of_its_own(everything):
    """Few of its programs differ from those of other GPUs, which run with more trainings."""
    caps = replace(targets.AMD[1].caps, local_bytes=LEAST.local_bytes, registers=0)
    others = {b.source("opencl") for b in workload.everything(caps).built.values()}
    built = workload.everything(baseline(caps)).built.values()
    own = [b for b in built if b.source("opencl") not in others and b.label != FOR_CPUS]
    assert {b.template for b in own} == {"histogram_banks"}


def test_every_primitive_is_prepared():
    source = inspect.getsource(workload)
    called = {f for f in primitives.__all__ if re.search(rf"primitives\.{f}(\.\w+)?\(", source)}
    missing = [f for f in primitives.__all__ if f.islower() and f not in called]
    assert not missing
    folder = Path(inspect.getfile(primitives)).parent
    assert workload.PRIMITIVES.keys() == {k for k in kernels() if (folder / f"{k}.py").is_file()}


def test_both_widths_of_codes_and_all_variants_are_asked_for(everything):
    seen = [b.params for b in everything["sm_90"].built.values() if b.template == "histogram"]
    assert {p["block"] for p in seen} == {8, 16}
    assert {p["ranged"] for p in seen} == {False, True}
    assert any(b.template == "histogram_cpu" for b in everything["sm_90"].built.values())


def test_the_baseline_is_asked_for_nothing_more():
    device = workload.everything(LEAST)
    assert device.complaints == []
    for built in device.built.values():
        assert built.wg_size <= 256
        body = strip_comments(built.source("opencl")).split("#define atomic_add_global_i64")[1]
        body = body.split("\n", 1)[1]
        for word in ("double", "sub_group", "cl_khr"):
            assert word not in body, f"{built.name} uses {word}"


@pytest.mark.parametrize("mutation", mutations.MUTATIONS, ids=lambda mutation: mutation.name)
def test_what_a_mutation_breaks_is_there(mutation):
    assert (runtimes.ROOT / mutation.file).read_text(encoding="utf-8").count(mutation.old) >= 1
    assert mutation.old != mutation.new


def test_kernels_are_read_with_their_arguments():
    source = (
        "/* KERNEL(1) no(u32 a) */\nKERNEL(64) f(const u32 n,\n  GLOBAL i32* RESTRICT out) {}\n"
    )
    assert kernels_of(source) == {"f": ["const u32 n", "GLOBAL i32* RESTRICT out"]}


def test_wrong_arguments_are_seen():
    array = NullDevice(LEAST).empty(4, np.int32)
    declared = ["const u32 n", "GLOBAL const i32* RESTRICT values"]
    assert mismatch(declared, (np.uint32(1), array)) == ""
    assert "1 arguments for 2" in mismatch(declared, (np.uint32(1),))
    assert "int32" in mismatch(declared, (np.int32(1), array))
    assert "was given a int" in mismatch(declared, (1, array))
    assert "uint32" in mismatch(declared, (np.uint32(1), np.uint32(2)))
    wide = NullDevice(LEAST).empty(4, np.int64)
    assert "array of int64" in mismatch(declared, (np.uint32(1), wide))


def test_options_are_those_that_the_library_builds_with():
    from pyopencl_gbdt.device.opencl import device as opencl

    assert list(targets.OPENCL_OPTIONS) == opencl._OPTIONS
    cuda = pytest.importorskip("cupy") and pytest.importorskip("pyopencl_gbdt.device.cuda.device")
    assert targets.CUDA_OPTIONS == cuda._OPTIONS


def _usage(**changes):
    fine = usage.Usage("copy", 32, 0, 0, 1024, 32, 1.0)
    return replace(fine, **changes)


def test_gaps_are_named(everything):
    built = next(b for b in everything["sm_90"].built.values() if b.template == "copy")
    target = targets.AMD[0]
    assert matrix.gaps_of(built, [_usage()], target) == []
    (gap,) = matrix.gaps_of(built, [_usage(spilled=3)], target)
    assert "gfx906" in gap
    assert "copy" in gap
    assert "3 registers or bytes spilled" in gap
    wide = replace(target, most_spilled=3)
    assert matrix.gaps_of(built, [_usage(spilled=3)], wide) == []
    assert len(matrix.gaps_of(built, [_usage(spilled=4)], wide)) == 1
    cpus = replace(built, label=FOR_CPUS)
    assert matrix.gaps_of(cpus, [_usage(spilled=3)], target) == []
    (gap,) = matrix.gaps_of(built, [_usage(local_bytes=70_000)], target)
    assert "70000 bytes local memory of 65536" in gap
    (gap,) = matrix.gaps_of(built, [], target)
    assert "no word of kernel copy" in gap


def _here(row):
    """Skip a test whose compiler is not here; none is downloaded for it."""
    missing = offline.COMPILERS[row].missing()
    packages = {"amd-comgr": comgr.PACKAGES, "intel-gpu-new": ocloc.PACKAGES}.get(row)
    if not missing and packages is not None and not packages.path.is_dir():
        missing = f"python -m tests.portability {row}  (it downloads the compiler)"
    if missing:
        pytest.skip(missing)


@pytest.mark.parametrize("target", [t[0] for t in targets.ALL.values()], ids=lambda t: t.row)
def test_a_compiler_is_asked_and_heard(target, everything):
    _here(target.row)
    built = next(
        b
        for b in everything[target.chip].built.values()
        if b.template == "partition" and b.wg_size == 256
    )
    source = built.source("cuda" if target.maker == "nvidia" else "opencl")
    programs = [(source + "\nnonsense_t x;\n", 256), (source, built.wg_size)]
    wrong, made = offline.COMPILERS[target.row].compile_many(programs, target)
    assert isinstance(wrong, usage.CompileError)
    assert "nonsense" in str(wrong)
    assert made.seconds > 0
    assert {one.kernel for one in made.usages} == {"move"}
    least = 4 * (4096 + 256 + 256 + 2)  # and alignment
    assert all(least <= one.local_bytes < least + 64 for one in made.usages)
    for one in made.usages:
        assert one.spilled == 0
        assert 0 < one.occupancy <= 1
        assert one.registers > 4


@pytest.mark.parametrize("row", ["amd", "amd-comgr"])
def test_a_function_that_is_nowhere_is_missed(row):
    _here(row)
    source = "int nowhere(int);\n__kernel void k(__global int* a) { a[0] = nowhere(a[1]); }\n"
    (found,) = offline.COMPILERS[row].compile_many([(source, 64)], targets.ALL[row][0])
    assert isinstance(found, usage.CompileError)
    assert "undefined" in str(found)
    assert "nowhere" in str(found)


@pytest.mark.parametrize("row", ["intel-gpu", "intel-gpu-new"])
def test_intels_compiler_names_what_fails_in_a_batch(row):
    _here(row)
    good = "__kernel void k(__global int* a) { a[get_global_id(0)] = 3; }\n"
    programs = [(good, 64), ("nonsense_t x;\n", 64), (good.replace("k(", "other("), 64)]
    compiled = offline.COMPILERS[row].compile_many(programs, targets.ALL[row][0])
    first, second, third = compiled
    assert [one.kernel for one in (*first.usages, *third.usages)] == ["k", "other"]
    assert isinstance(second, usage.CompileError)
    assert "nonsense_t" in str(second)


def test_occupancy_by_registers_and_local_memory():
    target = targets.NVIDIA[2]

    def share(**facts):
        return usage.occupancy(target, 256, **{"width": 32, "local_bytes": 0, **facts})

    assert share(registers=32) == 1.0
    assert share(registers=64) == 0.5
    assert share(registers=32, local_bytes=41 * 1024) == 0.5


SETTING = runtimes.Setting("oclgrind", "x", "oclgrind", sub_group=16, local_bytes=32768, races=True)
RACE = """
Read-write data race at global memory address 0x130
\tKernel: find

\tFirst entity:  Global(0,1,0) Local(0,0,0) Group(0,1,0)
\tAt line 471 (column 53) of input.cl:
\t  g = a[1];

\tSecond entity: Global(0,0,0) Local(0,0,0) Group(0,0,0)
\tAt line 473 (column 35) of input.cl:
\t  a[1] = g;
"""
GOOD = '{"checks": 5, "failures": [], "sub_group": 16, "local_bytes": 32768}'


@pytest.mark.parametrize(
    ("printed", "log", "complaint"),
    [
        (GOOD, "", ""),
        (GOOD, RACE + "\n" + RACE, "2 x Read-write data race in find: g = a[1];  |  a[1] = g;"),
        (GOOD.replace("16", "8"), "", "asked for sub-groups of 16"),
        (GOOD.replace("32768", "65536"), "", "local memory of 65536"),
        (GOOD.replace("[]", '["scan: 1 of 2 places differ"]'), "", "places differ"),
        ("", "", "ended with 3"),
    ],
)
def test_a_run_is_judged(printed, log, complaint):
    outcome = runtimes.Outcome("oclgrind", "x")
    done = subprocess.CompletedProcess([], 3, stdout=f"noise\n{printed}\n", stderr="Aborted")
    runtimes.judge(outcome, SETTING, done, log)
    assert outcome.state == ("FAILED" if complaint else "ok")
    assert complaint in " ".join(outcome.failures)


def _compiler(missing=""):
    return offline.Compiler(lambda: missing, lambda: "A compiler, version 3", None)


@pytest.mark.parametrize(("words", "code"), [([], 0), (["--strict"], 1)])
def test_what_is_not_installed_is_skipped_unless_strict(words, code, monkeypatch, capsys):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setitem(offline.COMPILERS, "nvidia", _compiler("install nvidia"))
    assert program.main(["nvidia", *words]) == code
    printed = capsys.readouterr().out
    assert "skipped" in printed
    assert "install nvidia" in printed


def test_an_unknown_row_is_refused(capsys):
    with pytest.raises(SystemExit):
        program.main(["riva128"])
    assert "riva128" in capsys.readouterr().err


def test_an_unknown_chip_is_refused(capsys):
    with pytest.raises(SystemExit):
        program.main(["amd", "--chips", "gfx942", "gfx7"])
    assert "unknown chips ['gfx7']" in capsys.readouterr().err


def test_a_row_has_two_unlike_chips_unless_others_are_named():
    usual = program._chips_of("amd", [], every=False)
    assert [(t.chip, t.whole) for t in usual] == [("gfx906", True), ("gfx1201", False)]
    named = program._chips_of("amd", ["gfx942", "sm_90"], every=False)
    assert [t.chip for t in named] == ["gfx942"]
    assert program._chips_of("amd", [], every=True) == list(targets.ALL["amd"])


BUILT = SimpleNamespace(template="scan", wg_size=256, params={}, label="")


def test_only_the_pages_of_the_rows_are_written(tmp_path, monkeypatch):
    compiled = [matrix.Compiled(BUILT, [_usage(kernel="tiles", registers=44)], seconds=0.5)]
    monkeypatch.setattr(program, "PAGES", tmp_path)
    monkeypatch.setitem(offline.COMPILERS, "nvidia", _compiler())
    monkeypatch.setattr(program, "compile_all", lambda *_, **how: matrix.Chip(compiled, []))
    monkeypatch.setattr(tables, "_commit", lambda: "1a2b3c4d")
    assert program.main(["nvidia", "--write-docs"]) == 0
    assert [page.name for page in tmp_path.iterdir()] == ["nvidia.md"]
    page = (tmp_path / "nvidia.md").read_text(encoding="utf-8")
    assert page.startswith(
        f"# NVIDIA: registers per work-item / occupancy in warps\n\n{tables.WRITTEN}\n"
    )
    assert "\n## A compiler, version 3\n\nKernels of commit `1a2b3c4d`.\n" in page
    assert "| sm_90 | H100, H200 | 1 | 1 | 0 | 0 | 0 | 0 | 0.50 | 0.5 |" in page
    assert "| scan | tiles | 256 | 1024 | 44 / 100 %" in page


def test_a_row_renews_its_part_of_a_page_alone(monkeypatch):
    for row in ("amd", "amd-comgr"):
        monkeypatch.setitem(offline.COMPILERS, row, _compiler())

    def compiled(registers):
        return {"gfx906": [matrix.Compiled(BUILT, [_usage(registers=registers)])]}

    first = tables.renewed_page("amd", "", {"amd-comgr": compiled(11)})
    both = tables.renewed_page("amd", first, {"amd": compiled(22)})
    again = tables.renewed_page("amd", both, {"amd-comgr": compiled(33)})
    assert "| 11 / 100 %" in first
    assert both.index("| 22 / 100 %") < both.index("| 11 / 100 %")
    assert again == both.replace("| 11 / 100 %", "| 33 / 100 %")


@pytest.mark.parametrize("printed", [FileNotFoundError("git"), ""])
def test_a_checkout_that_is_no_clone_names_no_commit(printed, monkeypatch):
    def run(words, **options):
        if isinstance(printed, Exception):
            raise printed
        return SimpleNamespace(stdout=printed)

    monkeypatch.setitem(offline.COMPILERS, "nvidia", _compiler())
    monkeypatch.setattr(tables.subprocess, "run", run)
    results = {"nvidia": {"sm_90": [matrix.Compiled(BUILT, [_usage()])]}}
    assert "commit" not in tables.renewed_page("nvidia", "", results)


def test_compilers_that_are_downloaded_run_by_name_alone(monkeypatch, capsys):
    monkeypatch.delenv("CI", raising=False)  # what is left out would be a failure
    for row in targets.ALL:
        monkeypatch.setitem(offline.COMPILERS, row, _compiler(f"install {row}"))
    monkeypatch.setattr(program, "SETTINGS", ())
    assert program.main([]) == 0
    assert "install amd\n" in (printed := capsys.readouterr().out)
    assert "amd-comgr" not in printed
    assert program.main(["amd-comgr"]) == 0
    assert "install amd-comgr\n" in capsys.readouterr().out


def test_a_table_shows_the_worst_of_a_kernels_dtypes():
    many = [matrix.Compiled(BUILT, [_usage(kernel="tiles", registers=n)]) for n in (20, 44)]
    many.append(matrix.Compiled(BUILT, [_usage(kernel="tiles", occupancy=0.25, spilled=2)]))
    assert tables._by_kernel(many).keys() == {("scan", "tiles", 256)}
    cell = tables._worst(tables._by_kernel(many)["scan", "tiles", 256], "amd")
    assert cell == "44 / 25 % **2 spilled**"


def test_targets_are_gpus():
    for target in CHIPS:
        assert isinstance(target.caps, Capabilities)
        assert target.caps.kind == "gpu"
