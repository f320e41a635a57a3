"""How much a first fit has to build: it must not creep up unseen."""

import gc
import re

import numpy as np
import pyopencl as cl
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device.opencl.device import OpenCLDevice
from pyopencl_gbdt.device.opencl.pocl import POCL
from pyopencl_gbdt.device.opencl.program import OpenCLProgram
from pyopencl_gbdt.device.render import header
from tests.conftest import TEST_DEVICE


@pytest.fixture
def work(monkeypatch):
    """Sources that were built, and kernels that were launched, of whatever runs."""
    built, launched = {}, set()
    usual_build, usual_kernel = OpenCLDevice._build, OpenCLProgram.make_kernel

    def build(self, template, wg_size, params):
        program = usual_build(self, template, wg_size, params)
        built[program.source] = template
        return program

    def make_kernel(self, name):
        launched.add((self.source, name))
        return usual_kernel(self, name)

    monkeypatch.setattr(OpenCLDevice, "_build", build)
    monkeypatch.setattr(OpenCLProgram, "make_kernel", make_kernel)
    return built, launched


@pytest.fixture
def on_pocl(device):
    if device.caps.platform != POCL:
        pytest.skip("counts what PoCL's variants build")


def fit(**params):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5)).astype(np.float32)
    data = Dataset(X[:400], (X[:400, 0] > 0).astype(np.float32))
    test = Dataset(X[400:], (X[400:, 0] > 0).astype(np.float32))
    train(
        {"objective": "binary:logistic", "device": TEST_DEVICE, **params}, data, 2,
        evals=[(test, "test")], eval_metric="auc",
    )  # fmt: skip


def test_a_small_fit_builds_few_programs_and_kernels(on_pocl, work):
    fit()
    built, launched = work
    assert sorted(built.values()) == [
        "finalize", "gradients", "predict", "update_margins", "whole_trees",
    ]  # fmt: skip
    assert len(launched) <= 8


@pytest.mark.usefixtures("step_by_step")
def test_steps_of_a_level_build_few_programs_and_kernels(on_pocl, work):
    fit()
    built, launched = work
    of_steps = {"best", "histogram_cpu", "level", "partition", "split_cpu"}
    assert of_steps < set(built.values())
    assert len(built) == 9
    assert len(launched) <= 14


def test_a_second_fit_makes_no_kernel_objects(on_pocl, monkeypatch):
    fit()
    gc.collect()  # what an earlier fit bound
    made, usual = [], cl.Kernel
    monkeypatch.setattr(cl, "Kernel", lambda *args: made.append(args) or usual(*args))
    fit()
    assert made == []


def test_few_kernels_are_built_that_nothing_launches(on_pocl, work):
    """PoCL's front end optimises all kernels of a program, launched or not."""
    fit()
    built, launched = work
    every = {(text, name) for text in built for name in re.findall(r"KERNEL\(\d+\) (\w+)", text)}
    assert launched <= every
    assert {name for _, name in every - launched} <= {
        "set_leaf_rate",  # of a schedule
    }  # fmt: skip


@pytest.mark.thorough
def test_no_program_of_a_gpu_is_built_that_nothing_launches(on_pocl, work, monkeypatch):
    """Some drivers compile a program for ten seconds."""
    monkeypatch.setenv("PYOPENCL_GBDT_PRETEND", "baseline")
    fit(max_depth=3)
    built, launched = work
    assert {built[text] for text in built.keys() - {text for text, _ in launched}} == set()


def test_brief_kernels_are_not_optimised_where_a_group_has_one_item(on_pocl, device, monkeypatch):
    """Only those: PoCL handles barriers of several work-items while it optimises."""
    seen = []
    usual = cl.Program

    def program(context, text):
        seen.append(text)
        return usual(context, text)

    monkeypatch.setattr("pyopencl_gbdt.device.opencl.source.cl.Program", program)
    for wg_size in (1, 16):
        source = f"BRIEF\nKERNEL({wg_size}) brief_{wg_size}(GLOBAL u32* x) {{ x[0] = 1; }}\n"
        monkeypatch.setattr(
            device.programs,
            "source",
            lambda *_, text=source, **__: header("dialect_opencl.h") + text,
        )
        device.build("any", wg_size=wg_size)
    assert ["define COMPILE_FAST" in text for text in seen] == [True, False]
