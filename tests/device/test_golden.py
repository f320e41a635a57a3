"""Rendered sources as they were, so that a change of a template shows what it changes.

After a wanted change write them anew, and read the difference before it is committed::

    PYOPENCL_GBDT_UPDATE_GOLDEN=1 python -m pytest tests/device/test_golden.py
    git diff tests/device/golden
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest

from pyopencl_gbdt.device.render import render, source_folder
from tests.device.vocabulary import header

GOLDEN = Path(__file__).parent / "golden"
UPDATE = bool(os.environ.get("PYOPENCL_GBDT_UPDATE_GOLDEN"))

#: Small templates, once for one work-item a group and once for many.
SOURCES = {
    "update_margins-by_rows": (
        "update_margins",
        {"wg_size": 1, "walk": False, "chunk": 2048, "code": "u8"},
    ),
    "update_margins-walk": (
        "update_margins",
        {"wg_size": 256, "walk": True, "chunk": 2048, "code": "u8"},
    ),
    "predict-blocks": ("predict", {"wg_size": 1, "items": 64, "rows": 128}),
    "predict-portable": ("predict", {"wg_size": 256, "items": 1, "rows": 0}),
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
