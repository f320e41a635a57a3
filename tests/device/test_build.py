"""Building kernels: real work-group limits, errors that help, launches."""

import importlib

import numpy as np
import pytest

from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.program import numbered
from pyopencl_gbdt.errors import DeviceError, KernelBuildError
from tests.device.fakes import FakeDevice

rendering = importlib.import_module("pyopencl_gbdt.device.render")


@pytest.fixture
def template(tmp_path, monkeypatch):
    """Call it with the text of a template; returns its name."""
    caches = ("template_files", "_lookup", "template_text", "declared", "_render")
    headers = rendering.source_folder("cl_kernels")

    def clear():
        for name in caches:
            getattr(rendering, name).cache_clear()

    def write(text, name="sample"):
        (tmp_path / f"{name}.cl.mako").write_text(text)
        clear()
        return name

    monkeypatch.setattr(
        rendering, "source_folder", {"templates": tmp_path, "cl_kernels": headers}.__getitem__
    )
    yield write
    clear()


@pytest.mark.parametrize(
    ("wanted", "device_limit", "kernel_limit", "expected", "built"),
    [
        (256, 256, 1 << 30, 256, [256]),
        (512, 256, 1 << 30, 256, [256]),  # the device's limit is known beforehand
        (256, 1024, 64, 64, [256, 64]),  # the built kernel says what it can
        (256, 1024, 100, 64, [256, 64]),  # to a power of two: trees of sums halve
        (256, 1024, 255, 128, [256, 128]),
        (512, 384, 1 << 30, 256, [256]),
        (1, 1024, 1, 1, [1]),
        (256, 1024, 0, 1, [256, 1]),
    ],
)
def test_the_work_group_is_what_the_built_kernel_allows(
    wanted, device_limit, kernel_limit, expected, built
):
    device = FakeDevice(max(1, kernel_limit), max_work_group=device_limit)
    program = device.build("any", wg_size=wanted)
    assert program.wg_size == expected
    assert device.built == built


def test_a_real_kernel_says_its_limit(device, monkeypatch):
    """A built OpenCL program is asked, and what it says is obeyed."""
    if device.caps.api != "opencl":
        pytest.skip("CUDA's launch bounds make the compiler keep the limit")
    import pyopencl as cl

    opened = open_device(device.caps.device_id)
    sizes = []

    class Kernel:
        def __init__(self, limit):
            self.limit = limit

        def get_work_group_info(self, what, where):
            assert what == cl.kernel_work_group_info.WORK_GROUP_SIZE
            assert where == opened.cl_device
            return self.limit

    class Program:
        def __init__(self, size):
            self.size = size

        def all_kernels(self):
            return [Kernel(1024), Kernel(32 if self.size > 32 else self.size)]

    def compiled(template, source, wg_size, params):
        sizes.append(wg_size)
        return Program(wg_size)

    monkeypatch.setattr(opened, "_compile", compiled)
    monkeypatch.setattr("pyopencl_gbdt.device.opencl.device._programs", {})
    program = opened.build("predict", wg_size=64, items=1, rows=0, categories=False)
    assert sizes == [64, 32]
    assert program.wg_size == 32
    assert "KERNEL(32)" in program.source


def test_a_build_error_says_everything(device, template):
    name = template(
        '<%page args="wg_size, items"/>\nKERNEL(${wg_size}) broken(GLOBAL u32* p) {\n'
        "    p[0] = no_such_name + ${items};\n}\n"
    )
    with pytest.raises(KernelBuildError) as caught:
        device.build(name, wg_size=8, items=77)
    text = str(caught.value)
    assert "'sample'" in text
    assert device.caps.label in text
    assert device.caps.driver in text
    assert "wg_size=8" in text
    assert "'items': 77" in text
    assert text.count("no_such_name") >= 2  # the compiler's log, and the source
    (line,) = [line for line in text.splitlines() if "no_such_name + 77" in line][-1:]
    number = int(line.split()[0])
    source = rendering.render(name, device.caps.api, wg_size=8, items=77)
    assert source.splitlines()[number - 1] in line
    assert isinstance(caught.value, DeviceError)
    assert isinstance(caught.value.__cause__, Exception)


def test_a_parameter_error_comes_before_the_compiler(device):
    with pytest.raises(TypeError, match="chunks"):
        device.build("update_margins", wg_size=1, chunks=2048)


FILL = """<%page args="wg_size"/>
KERNEL(${wg_size}) fill(const u32 n, const u32 value, GLOBAL u32* RESTRICT out) {
    const u64 i = (u64)GROUP_ID_Y * N_GROUPS * ${wg_size} + GLOBAL_ID;
    if (i < n) out[i] = value + GROUP_ID_Y;
}
"""


@pytest.mark.parametrize(
    ("groups", "filled"), [(0, 0), (1, 4), (3, 12), ((2, 1), 8), ((2, 2), 16), ((0, 5), 0)]
)
def test_launches_cover_their_groups(device, template, groups, filled):
    program = device.build(template(FILL), wg_size=4)
    out = device.zeros(20, np.uint32)
    before = device.n_launches
    program.launch("fill", groups, np.uint32(20), np.uint32(5), out)
    got = out.get()
    assert np.count_nonzero(got) == filled
    assert device.n_launches - before == (1 if filled else 0)
    if groups == (2, 2):
        assert got[:16].tolist() == [5] * 8 + [6] * 8


def test_a_launch_is_bound_once_and_run_often(device, template):
    program = device.build(template(FILL), wg_size=4)
    first, second = (device.zeros(4, np.uint32) for _ in range(2))
    launches = [
        program.bind("fill", 1, np.uint32(4), np.uint32(value), out)
        for value, out in ((1, first), (2, second))
    ]
    for _ in range(3):
        for launch in launches:
            launch()
    assert first.get().tolist() == [1] * 4
    assert second.get().tolist() == [2] * 4
    assert launches[0].name == "fill"


def test_bound_arguments_stay_alive(device, template):
    program = device.build(template(FILL), wg_size=4)
    out = device.zeros(4, np.uint32)
    launch = program.bind("fill", 1, np.uint32(4), np.uint32(3), out)
    taken = device.allocated_bytes
    handle = out
    del out
    assert device.allocated_bytes == taken
    launch()
    assert handle.get().tolist() == [3] * 4


def test_any_built_in_function_may_be_called(device, template):
    """The kernels call few of them, and PoCL reads the declarations of those alone."""
    if device.caps.api != "opencl":
        pytest.skip("OpenCL's built-in functions")
    text = FILL.replace("value + GROUP_ID_Y;", "(u32)fmax((float)value, 2.5f);")
    out = device.zeros(4, np.uint32)
    device.build(template(text), wg_size=4).launch("fill", 1, np.uint32(4), np.uint32(7), out)
    assert out.get().tolist() == [7] * 4


def test_a_users_own_code_is_built_with_all_declarations(device):
    """Of a function with few of its types, C would take another one without a word."""
    if device.caps.api != "opencl":
        pytest.skip("OpenCL's built-in functions")
    code = "g = (float)popcount(0xF0000000F0000000UL) - label; h = 1.0f;"
    program = device.build("custom", wg_size=1, statements=code)
    n, bad = 3, device.zeros(2, np.uint32)
    margins, gradients, hessians = (device.zeros(n, np.float32) for _ in range(3))
    program.launch(
        *("custom_gradients", 1, np.uint32(n), np.uint32(0), margins),
        *(device.upload(np.zeros(n, np.float32)), gradients, hessians, bad),
    )
    assert gradients.get().tolist() == [8] * n


def test_numbered_source():
    assert numbered("a\nb") == "   1 a\n   2 b"
