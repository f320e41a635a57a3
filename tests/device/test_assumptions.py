"""What kernels assume of a chip: neither the width of waves nor doubles, unless a variant asks."""

import re

import pytest

from pyopencl_gbdt.device import TABLE, choose
from pyopencl_gbdt.device.drivers import faults as known_faults
from pyopencl_gbdt.device.opencl import facts as opencl_facts
from pyopencl_gbdt.device.render import render, source_folder, template_files, template_text
from pyopencl_gbdt.device.variants import kernels
from tests.device.fakes import Platform, opencl_device
from tests.device.plausible import few, templates
from tests.device.vocabulary import header, strip_comments

#: Words that depend on how many work-items execute together.
WIDTH = re.compile(r"\bWARP_\w+|\bwarpSize\b|\w*sub_group\w*|__shfl\w*|__builtin_amdgcn\w*")
#: Parameters of templates that ask for them; only variants with ``warp_words`` set these.
ASK = ("ballots", "match")


def body(template, params):
    source = render(template, "opencl", **params)
    return strip_comments(source.removeprefix(header("dialect_opencl")))


def test_the_width_of_waves_stands_in_two_files_alone():
    files = {name for name in template_files() if WIDTH.search(template_text(name))}
    assert files == {"partition_ballots", "radix_ranks"}
    headers = {file.stem for file in source_folder("cl_kernels").glob("*.h")}
    with_width = {name for name in headers if WIDTH.search(header(name))}
    assert with_width == {"dialect_opencl", "dialect_cuda"}


@pytest.mark.parametrize("template", ["partition", "radix_onesweep"])
def test_both_are_left_out_unless_a_variant_asks_for_them(template):
    used = {bool(any(params.get(ask) for ask in ASK)): params for params in few(template)}
    assert used.keys() == {False, True}
    for params in few(template):
        if not any(params.get(ask) for ask in ASK):
            assert not WIDTH.search(body(template, params))


def test_only_variants_for_known_warps_ask_for_them():
    """The search, the joint codes, the launches and small fits of NVIDIA's GPUs read no votes."""
    asking = {(v.kernel, v.name) for v in TABLE if v.warp_words}
    reading = {(v.kernel, v.name) for v in TABLE if v.params.get("match") or v.name == "ballots"}
    others = {("split", "warps"), ("joint_blocks", "by_blocks")}
    others |= {("last_group", "joined"), ("arguments", "packed"), ("small_fits", "few_a_group")}
    assert asking == reading | others
    assert len(reading) == 2


def test_doubles_only_where_a_parameter_says_so():
    for template in templates():
        for params in few(template):
            if not params.get("doubles") and params.get("key") != "f64":
                found = re.search(r"\bf64\b|\bdouble\b", body(template, params))
                assert not found, (template, params)


# -- chips of other makers ------------------------------------------------------------------------
APPLE = Platform("Apple", [])
MOBILE = Platform("QUALCOMM Snapdragon(TM)", [])


def caps_of(platform, **facts):
    return known_faults.apply(
        opencl_facts.capabilities(opencl_device(platform, **facts), "opencl:0:0")
    )


def test_apples_gpu_is_served():
    """OpenCL 1.2, no 64-bit atomics, 32 KiB of local memory."""
    facts = {"version": "OpenCL 1.2 ", "name": "Apple M1", "vendor": "Apple"}
    caps, problem, _ = caps_of(APPLE, **facts)
    assert opencl_facts.why_unusable(opencl_device(APPLE, **facts)) == problem == ""
    assert not any((caps.int64_atomics, caps.lookback, caps.warp_words, caps.fp64))
    assert not caps.tested_driver  # so it is measured, and compiled in a helper process
    for kernel in kernels():
        assert choose(kernel, caps).lacks(caps) == ""


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"profile": "EMBEDDED_PROFILE", "extensions": ""}, "cles_khr_int64"),
        ({"version": "OpenCL 1.1 "}, "OpenCL 1.2 is needed"),
        ({"compiler_available": False}, "no compiler"),
    ],
)
def test_a_mobile_chip_is_refused_by_a_fact(facts, words):
    assert words in opencl_facts.why_unusable(opencl_device(MOBILE, **facts))


def test_a_mobile_chip_that_has_all_is_compiled_for_in_a_helper_process():
    facts = {"name": "QUALCOMM Adreno(TM)", "vendor": "QUALCOMM", "version": "OpenCL 2.0 Adreno"}
    caps, problem, _ = caps_of(MOBILE, **facts)
    assert problem == ""
    assert not caps.tested_driver
