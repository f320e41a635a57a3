"""The CUDA dialect compiles; needs NVIDIA's run-time compiler, but no card."""

import pytest

from pyopencl_gbdt.device.render import render
from tests.device import nvrtc
from tests.device.plausible import few, templates

#: As ``device/cuda/device.py`` builds; its import needs CuPy.
OPTIONS = ("-fmad=false", "-ftz=false", "--std=c++14")


@pytest.fixture(scope="module")
def compiler():
    library = nvrtc.library()
    if library is None:
        pytest.skip("needs NVRTC: pip install nvidia-cuda-nvrtc")
    return library


@pytest.mark.parametrize("template", templates())
def test_every_template_compiles_as_cuda(compiler, template):
    for params in few(template):
        source = render(template, "cuda", **params)
        worked, log = nvrtc.compile_cuda(compiler, source, OPTIONS)
        assert worked, f"{template} {params}:\n{log}"


def test_what_is_no_cuda_does_not_compile(compiler):
    worked, log = nvrtc.compile_cuda(compiler, "__global__ void f() { no_such_name(); }", OPTIONS)
    assert not worked
    assert "no_such_name" in log


def test_the_options_are_those_of_the_library():
    pytest.importorskip("cupy", reason="needs CuPy", exc_type=ImportError)
    from pyopencl_gbdt.device.cuda import device as cuda

    assert cuda._OPTIONS == OPTIONS
