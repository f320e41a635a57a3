"""Rendered sources as they were, so that a change of a template shows what it changes.

After a wanted change write them anew, and read the difference before it is committed::

    PYOPENCL_GBDT_UPDATE_GOLDEN=1 python -m pytest tests/device/test_golden.py
    git diff tests/device/golden
"""

import difflib
import os
from pathlib import Path

import pytest

from pyopencl_gbdt.device.render import render, source_folder
from pyopencl_gbdt.objectives.distributions import GammaDistribution
from pyopencl_gbdt.objectives.survival import Aft
from tests.device.vocabulary import header

GOLDEN = Path(__file__).parent / "golden"
UPDATE = bool(os.environ.get("PYOPENCL_GBDT_UPDATE_GOLDEN"))

_LOCAL = {"chunk": 2048, "wg_size": 256, "cells": 5888, "split_blocks": False}
_STAGED = {"adds": False, "copied": False}
_GPU_BYTES = {"block": 16, "copies": 1, "unroll": True, "in_registers": True, **_STAGED}
_PASSES = {"block": 8, "copies": 4, "unroll": False, "in_registers": False}
_PASSES |= {"adds": True, "copied": True}
_BANKS = {"wg_size": 512, "chunk": 2048, "block": 16, **_STAGED}
_CPU = {"wg_size": 1, "chunk": 2048, "block": 16, "places": 4, "copied": False, "opened": False}
_NUMBERS = {"categories": False}
_BRANCHES = ("monotone", "masked", "counted", "drawn", "noisy", "smooth", "gathered")
_PLAIN = {**dict.fromkeys(_BRANCHES, False), **_NUMBERS}
_BOUNDED = {**_PLAIN, "monotone": True, "masked": True, "counted": True}
_SPLIT_CPU = {"wg_size": 1, "run": 256, "clipped": False, "opened": False}
_MOVED = {"chunk": 2048, **_NUMBERS}
_PARTED = {**_MOVED, "picked": 0, "ballots": False, "prefetch": 0, "pieces": 32}
_COUNTED = {"loss": "", "weighted": False, "n_exponents": 512, "ahead": False}
_WALKED = {
    **{**_MOVED, **_COUNTED, "code": "u8", "linear": False},
    **{"local_nodes": 0, "local_words": 0},
}

#: Small templates, once for one work-item a group and once for many; and the kernels of a tree that
#: take longest to run or to read, with few and with all of their branches.
SOURCES = {
    "histogram-unrolled": (
        "histogram",
        {**_LOCAL, **_GPU_BYTES, "ranged": False},
    ),
    "histogram-passes": (
        "histogram",
        {**_LOCAL, **_PASSES, "ranged": True, "split_blocks": True},
    ),
    "histogram_cpu-all_rows": (
        "histogram_cpu",
        {**_CPU, "prefetch": 24, "sampled": False, "pairs": 8192, "adds": False, "words": True},
    ),
    "histogram_cpu-sampled": (
        "histogram_cpu",
        {**_CPU, "prefetch": 0, "sampled": True, "pairs": 0, "adds": True, "words": False},
    ),
    "histogram_banks-two_bytes": (
        "histogram_banks",
        {
            **{"wg_size": 64, "codes": 32, "chunk": 64, "block": 8, **_STAGED},
            **{"pair": False, "joint": False, "dot": False},
        },
    ),
    "histogram_banks-joint": (
        "histogram_banks",
        {**_BANKS, "codes": 128, "pair": True, "joint": True, "dot": True},
    ),
    "histogram_banks-pair": (
        "histogram_banks",
        {
            **{**_BANKS, "codes": 256, "adds": True, "copied": True},
            **{"pair": True, "joint": False, "dot": False},
        },
    ),
    "histogram_private-four_copies": (
        "histogram_private",
        {**_BANKS, "wg_size": 256, "codes": 256, "copies": 4},
    ),
    "aft-logistic": (
        "aft",
        {"wg_size": 64, "gradient_between": Aft("logistic", 0.5).kernel_between},
    ),
    "row_outputs-gamma": (
        "row_outputs",
        {"wg_size": 64, "n_outputs": 2, "gradient_of_row": GammaDistribution().row_kernel},
    ),
    "split-plain": ("split", {"wg_size": 64, "many": False, **_PLAIN}),
    "split-many": ("split", {"wg_size": 64, "many": True, **_PLAIN}),
    "split-bounded": ("split", {"wg_size": 64, "many": False, **_BOUNDED}),
    "split-gathered": ("split", {"wg_size": 64, "many": False, **_BOUNDED, "gathered": True}),
    "split_cpu-plain": (
        "split_cpu",
        {**_SPLIT_CPU, **_PLAIN, "shrunk": False, "sparse": False, "doubles": True},
    ),
    "split_cpu-bounded": (
        "split_cpu",
        {**_SPLIT_CPU, **_BOUNDED, "shrunk": True, "sparse": True, "doubles": False},
    ),
    "partition-sequential": ("partition", {**_PARTED, "wg_size": 1, "code": "u8", "prefetch": 48}),
    "partition-portable": ("partition", {**_PARTED, "wg_size": 256, "code": "u16", "picked": 1}),
    "partition-ballots": (
        "partition",
        {**_PARTED, "wg_size": 64, "chunk": 256, "code": "u8", "ballots": True},
    ),
    "update_margins-by_rows": (
        "update_margins",
        {"wg_size": 1, "walk": False, **_WALKED, "prefetch": 48},
    ),
    "update_margins-walk": (
        "update_margins",
        {"wg_size": 256, "walk": True, **_WALKED, "prefetch": 0},
    ),
    "update_margins-local": (
        "update_margins",
        {
            **{"wg_size": 256, "walk": True, **_WALKED, "prefetch": 0},
            **{"local_nodes": 128, "local_words": 8},
        },
    ),
    "update_margins-ahead": (
        "update_margins",
        {
            **{"wg_size": 256, "walk": True, **_WALKED, "prefetch": 0, "local_nodes": 128},
            **{"local_words": 8, "loss": "g = margin - label; h = 1.0f;", "ahead": True},
        },
    ),
    "linear_leaves-portable": ("linear_leaves", {"wg_size": 256, "most": 6, "chunk": 2048}),
    "contributions-stack": (
        "contributions",
        {"wg_size": 1, "rows": 16, "points": 3, "levels": 0, "interactions": False, **_NUMBERS},
    ),
    "contributions-nested": (
        "contributions",
        {"wg_size": 128, "rows": 1, "points": 3, "levels": 2, "interactions": True, **_NUMBERS},
    ),
    "contribution_tables-portable": (
        "contribution_tables",
        {"wg_size": 128, "rows": 1, **_NUMBERS},
    ),
    "predict-blocks": ("predict", {"wg_size": 1, "items": 64, "rows": 128, **_NUMBERS}),
    "predict-portable": ("predict", {"wg_size": 256, "items": 1, "rows": 0, **_NUMBERS}),
    "predict_sparse-portable": ("predict_sparse", {"wg_size": 64, "items": 1}),
    "predict_vectors-portable": ("predict_vectors", {"wg_size": 256, "rows": 1, **_NUMBERS}),
    "vector_split-portable": (
        "vector_split",
        {
            **{"wg_size": 128, "run": 2, "masked": False, "shrunk": False, "monotone": False},
            **{"counted": False, "ranked": False, **_NUMBERS},
        },
    ),
    "walk_cells-sequential": ("walk_cells", {"wg_size": 1, "rows": 64, "categories": True}),
    "walk_cells-portable": ("walk_cells", {"wg_size": 64, "rows": 1, **_NUMBERS}),
    "proximities-portable": ("proximities", {"wg_size": 128, "rows": 8, "columns": 1}),
    "scan-sequential": ("scan", {"wg_size": 1, "type": "i64", "op": "max"}),
    "scan-portable": ("scan", {"wg_size": 256, "type": "u32", "op": "sum"}),
    "compact-portable": ("compact", {"wg_size": 256, "items": 8, "type": "u32"}),
}


def differences(name, rendered, kept):
    return "".join(
        difflib.unified_diff(
            kept.splitlines(keepends=True), rendered.splitlines(keepends=True),
            f"golden/{name}", "rendered",
        )
    )  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_rendered_sources_are_as_they_were(name):
    template, params = SOURCES[name]
    body = render(template, "opencl", **params).removeprefix(header("dialect_opencl"))
    assert render(template, "cuda", **params).endswith(body), "the dialects' bodies differ"
    for shared in source_folder("cl_kernels").glob("*.h"):
        body = body.replace(header(shared.stem), "")
    file = GOLDEN / f"{name}.c"
    if UPDATE:
        file.write_text(body, encoding="utf-8")
    kept = file.read_text(encoding="utf-8")
    assert kept == body, differences(file.name, body, kept)


def test_no_golden_file_is_left_over():
    assert {file.stem for file in GOLDEN.glob("*.c")} == SOURCES.keys()


def test_a_difference_is_shown():
    text = differences("update_margins.c", "a\nc\n", "a\nb\n")
    assert "-b\n+c\n" in text
