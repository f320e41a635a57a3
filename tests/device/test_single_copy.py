import numpy as np
import pytest

from pyopencl_gbdt.device.opencl.pocl import POCL
from pyopencl_gbdt.device.opencl.source import with_single_copies
from pyopencl_gbdt.device.render import header, render
from pyopencl_gbdt.device.signature import signatures
from tests.device.plausible import few, templates

KERNEL = """
KERNEL(1) count(const u32 n, GLOBAL const u32* RESTRICT keys, GLOBAL u32* RESTRICT out) {
    LOCAL_ARRAY(u32, counts, 256); /* { in a comment */
    for (u32 i = LOCAL_ID; i < 256; i++) counts[i] = 0;
    for (u32 again = 0; again < 100; again++)
        for (u32 i = GROUP_ID * n; i < (GROUP_ID + 1) * n; i++) counts[keys[i]]++;
    const u32 more = N_GROUPS + N_GROUPS_Y + GROUP_ID_Y;
    for (u32 i = 0; i < 256; i++) out[GROUP_ID * 256 + i] = counts[i] + more;
}
BRIEF
KERNEL(1) brief(GLOBAL u32* x) { x[0] = (u32)GLOBAL_ID; }
KERNEL(16) several(GLOBAL u32* x) { x[LOCAL_ID] = 1; }
"""


def test_a_kernel_only_calls_its_statements():
    text = with_single_copies(KERNEL)
    start = text.index("KERNEL(1) count")
    kernel = text[start : text.index("}", start)]
    assert "LOCAL_ARRAY(u32, counts, 256);" in kernel
    assert "count_statements(n, keys, out, counts, GROUP_ID," in kernel
    assert "for (" not in kernel
    assert "LOCAL u32* RESTRICT counts" in text[:start]


def test_brief_kernels_and_those_of_several_work_items_stay():
    text = with_single_copies(KERNEL)
    kept = "BRIEF\nKERNEL(1) brief(GLOBAL u32* x) { IF_AHEAD_RETURN x[0] = (u32)GLOBAL_ID; }"
    assert kept in text
    assert "KERNEL(16) several(GLOBAL u32* x) { x[LOCAL_ID] = 1; }" in text


@pytest.mark.few(6)
@pytest.mark.parametrize("template", templates())
def test_every_template_keeps_its_signatures(template):
    for params in few(template):
        source = render(template, "opencl", **params)
        assert signatures(with_single_copies(source)) == signatures(source)


def test_each_work_group_has_its_own_local_array(device, monkeypatch):
    """A compiler that knew where the array lies would let all threads share one."""
    if device.caps.platform != POCL:
        pytest.skip("only PoCL's sources are rewritten")
    source = header("dialect_opencl.h") + KERNEL.replace("KERNEL(16)", "KERNEL(1)")
    monkeypatch.setattr(device.programs, "source", lambda *_, **__: source)
    program = device.build("any", wg_size=1)
    groups, n = 64, 2000
    keys = np.random.default_rng(0).integers(0, 256, groups * n).astype(np.uint32)
    out = device.empty((groups, 256), np.uint32)
    program.launch("count", groups, n=n, keys=device.upload(keys), out=out)
    expected = [np.bincount(part, minlength=256) * 100 for part in keys.reshape(groups, n)]
    np.testing.assert_array_equal(out.get(), np.array(expected) + groups + 1)
