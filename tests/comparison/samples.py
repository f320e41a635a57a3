"""Comparisons that nobody measured."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from pyopencl_gbdt.comparison.schema import document

SHAPE = {
    "name": "small", "title": "small", "n_rows": 1000, "n_features": 20,
    "objective": "binary:logistic", "max_depth": 6, "max_bin": 256, "n_rounds": 10, "n_models": 1,
    "missing": 0.0, "floor_bytes": 1000, "data_bytes": 84000, "data_digest": "d" * 64,
    "problem": "",
}  # fmt: skip
KERNELS = [
    {"kernel": "histogram", "launches": 6.0, "ms": 0.5, "bytes": 1e6, "share_of_copy": 0.25},
    {"kernel": "upload", "launches": 0.1, "ms": 0.01, "bytes": None, "share_of_copy": None},
]


def make_device(device_id: str, **capabilities: Any) -> dict[str, Any]:
    caps = {
        "api": device_id.partition(":")[0], "name": f"Card {device_id}", "platform": "Nobody's",
        "driver": "1.0", "kind": "gpu", "compute_units": 8, "global_bytes": 10**9, **capabilities,
    }  # fmt: skip
    return {
        "device": device_id, "capabilities": caps, "copy_bytes_per_second": 1e11, "problem": "",
    }  # fmt: skip


def make_result(device_id: str, shape: str = "small", digest: str = "a", **changes: Any):
    return {
        "device": device_id, "shape": shape, "problem": "", "model_digest": digest * 64,
        "prediction_digest": "e" * 64, "repeats_agree": True, "variants": {"histogram": "cpu"},
        "first_fit_seconds": 2.5, "setup_seconds": 0.25, "round_ms": 1.5,
        "round_ms_runs": [1.4, 1.5, 1.6], "predicted_rows_per_second": 2e6, "peak_bytes": 5_000_000,
        "share_of_copy": 0.125, "kernels": copy.deepcopy(KERNELS), **changes,
    }  # fmt: skip


def make_failure(device_id: str, shape: str = "small", problem: str = "out of resources"):
    return {"device": device_id, "shape": shape, "problem": problem}


def make_machine(results: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """A machine with the devices and shapes of some results."""
    devices = dict.fromkeys(result["device"] for result in results)
    shapes = dict.fromkeys(result["shape"] for result in results)
    return {
        "name": "Some processor", "date": "2026-01-02 03:04 UTC", "library": "0.1.0",
        "versions": {"Python": "CPython 3.11", "system": "Linux"}, "threads": 2,
        "memory_bytes": 10**10, "finished": True,
        "options": {"repeats": 3, "seed": 0, "quick": False},
        "devices": [make_device(name) for name in devices],
        "shapes": [{**SHAPE, "name": name} for name in shapes],
        "results": results, **changes,
    }  # fmt: skip


def make_document(*results: dict[str, Any]) -> dict[str, Any]:
    return document([make_machine(list(results))])


def save(path: Path, written: Any) -> str:
    path.write_text(json.dumps(written), encoding="utf-8")
    return str(path)
