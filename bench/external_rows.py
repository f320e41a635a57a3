"""Rows for ``python -m bench external``: random codes in pages, without values."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, build_variant_program
from pyopencl_gbdt.fit.turns import evenly
from pyopencl_gbdt.pages.page import Layout, Page, QuantizedData
from pyopencl_gbdt.pages.stored import HostPages, page_bytes, page_shape
from pyopencl_gbdt.primitives.packed_codes import (
    blocks_apart,
    empty_codes,
    features_of_a_block,
)

U8 = npt.NDArray[np.uint8]
_BINS = 256
_COPY_BYTES = 64 * 1024 * 1024
_WARM_UP = 2


@dataclass
class Rows:
    """What a fit asks of a data set, without values."""

    label: npt.NDArray[np.float32]
    n_features: int
    weight: None = None
    sparse: None = None
    feature_names: None = None
    feature_weights: None = None
    group_offsets: None = None
    n_targets: int = 1

    @property
    def n_rows(self) -> int:
        return int(self.label.size)

    def forget(self) -> None:
        """Free what a fit kept: nothing."""

    def end_reading(self) -> None:
        """Wait for nobody: the codes are made."""


def random_rows(
    device: Device, n_rows: int, n_features: int, n_pages: int
) -> tuple[Rows, HostPages]:
    """Return rows of random bytes as codes, whose labels follow two features."""
    bins = np.full(n_features, _BINS, np.uint32)
    offset = np.arange(n_features + 1, dtype=np.uint32) * _BINS
    thresholds = np.tile(np.arange(1, _BINS + 1, dtype=np.float32), n_features)
    layout = Layout(bins, offset, thresholds, np.zeros(n_features, np.uint32))
    side_by_side, rng = device.caps.side_by_side, np.random.default_rng(0)
    bounds, made = evenly(n_rows, n_pages), []
    label = np.empty(n_rows, np.float32)
    for first, size in bounds:
        host = device.pinned(page_bytes(layout, size, side_by_side=side_by_side))
        shape, _ = page_shape(layout, size, side_by_side=side_by_side)
        codes = host.reshape(shape)
        codes[...] = rng.integers(0, _BINS, shape, np.uint8)
        blocks = _by_block(codes, layout, side_by_side)
        each = features_of_a_block(n_features, 16, side_by_side=side_by_side)
        for number, block in enumerate(blocks):
            block[:, min(each, n_features - number * each) :] = 0  # padding
        signal = blocks[0][:, :2].astype(np.float32).sum(axis=1) + 64 * rng.random(size)
        label[first : first + size] = signal > _BINS
        made.append(host)
    return Rows(label, n_features), HostPages(layout, bounds, made)


def _by_block(codes: U8, layout: Layout, side_by_side: bool) -> U8:
    apart = blocks_apart(-(-layout.n_features // 16), side_by_side=side_by_side)
    return codes if apart else codes.transpose(1, 0, 2)


def bus_rate(device: Device) -> float:
    """Return the bytes a second of copies to the device from page-locked memory."""
    transfers, host = device.transfers(), device.pinned(_COPY_BYTES)
    host[...] = 1
    arrays = [device.empty(_COPY_BYTES, np.uint8) for _ in range(2)]
    best = 0.0
    for _ in range(4):
        transfers.finish()
        start = time.perf_counter()
        for _ in range(4):
            for array in arrays:
                transfers.bring(array, host, ())
        transfers.finish()
        best = max(best, 8 * _COPY_BYTES / (time.perf_counter() - start))
    return best


def resident_codes(device: Device, n_rows: int, pages: HostPages) -> QuantizedData:
    """Return the codes of all pages on a device, in one page, by row and by feature."""
    n_features = pages.layout.n_features
    codes = empty_codes(device, n_rows, n_features, np.dtype(np.uint8))
    for index, (first, _) in enumerate(pages.bounds):
        for number, block in enumerate(_blocks(device, pages, index)):
            if codes.by_block:
                codes.codes.set(block, (number * n_rows + first) * codes.block_codes)
        if not codes.by_block:
            codes.codes.set(pages.codes(index), first * codes.row_bytes)
    variant, program = build_variant_program(device, "quantize", "auto", weighted=False, code="u8")
    if program.wg_size == 1:
        rows = [_by_row(device, pages, index) for index in range(len(pages.bounds))]
        codes.by_feature.set(np.concatenate(rows).T)
    else:
        groups = -(-n_rows // (variant.params["items"] * program.wg_size))
        program.launch(
            "transpose", (groups, codes.n_blocks), n_rows=n_rows, n_features=n_features,
            block_features=codes.block_features, by_feature=codes.by_feature,
            **codes.row_arguments(),
        )  # fmt: skip
    device.finish()
    return QuantizedData([Page(codes, 0, n_rows)], pages.layout)


def _blocks(device: Device, pages: HostPages, index: int) -> U8:
    """Return a page's codes, shape (n_blocks, n_rows, codes of a block)."""
    side_by_side, n_rows = device.caps.side_by_side, pages.bounds[index][1]
    shape, _ = page_shape(pages.layout, n_rows, side_by_side=side_by_side)
    return _by_block(pages.codes(index).reshape(shape), pages.layout, side_by_side)


def _by_row(device: Device, pages: HostPages, index: int) -> U8:
    """Return a page's codes, shape (n_rows, n_features)."""
    blocks, n_features = _blocks(device, pages, index), pages.layout.n_features
    each = features_of_a_block(n_features, 16, side_by_side=device.caps.side_by_side)
    parts = [
        block[:, : min(each, n_features - each * number)] for number, block in enumerate(blocks)
    ]
    return np.concatenate(parts, axis=1)


def xgboost_seconds(
    device: Device, rows: Rows, pages: HostPages, depth: int, n_rounds: int
) -> float:
    """Return XGBoost's seconds a round from its own external memory; codes are its values."""
    import xgboost as xgb

    gpu = device.caps.kind == "gpu"

    class Batches(xgb.DataIter):  # type: ignore[misc]
        def __init__(self, folder: str) -> None:
            self.at = 0
            super().__init__(cache_prefix=f"{folder}/pages", on_host=gpu)

        def next(self, input_data: Any) -> bool:
            if self.at == len(pages.bounds):
                return False
            first, n_rows = pages.bounds[self.at]
            values = _by_row(device, pages, self.at).astype(np.float32)
            label = rows.label[first : first + n_rows]
            if gpu:
                import cupy

                values, label = cupy.asarray(values), cupy.asarray(label)
            input_data(data=values, label=label)
            self.at += 1
            return True

        def reset(self) -> None:
            self.at = 0

    with tempfile.TemporaryDirectory() as folder:
        data = xgb.ExtMemQuantileDMatrix(Batches(folder), max_bin=_BINS)
        params = {
            "objective": "binary:logistic", "max_depth": depth, "max_bin": _BINS, "base_score": 0.5,
            "tree_method": "hist", "device": "cuda" if gpu else "cpu",
        }  # fmt: skip
        model = xgb.Booster(params, [data])
        for number in range(_WARM_UP):
            model.update(data, number)
        start = time.perf_counter()
        for number in range(n_rounds):
            model.update(data, _WARM_UP + number)
        seconds = (time.perf_counter() - start) / n_rounds
        del data, model
    return seconds
