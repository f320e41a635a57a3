"""Rows for ``python -m bench external``: random codes in pages, without values."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, build_variant_program
from pyopencl_gbdt.device.timing import clock, repeated
from pyopencl_gbdt.pages.page import Page, QuantizedData
from pyopencl_gbdt.pages.stored import HostPages
from pyopencl_gbdt.primitives.packed_codes import BlockOrder, empty_codes

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


def block_order(device: Device, n_features: int) -> BlockOrder:
    coalesced = device.caps.coalesces_reads
    return BlockOrder.of(n_features, np.dtype(np.uint8), coalesced=coalesced)


def n_features_of(order: BlockOrder, number: int) -> int:
    """Return how many features a block has."""
    each = order.block_features
    return max(0, min(each, order.n_features - number * each))


def bus_rate(device: Device) -> float:
    """Return the bytes a second of copies to the device from page-locked memory."""
    transfers, host = device.transfers(), device.pinned(_COPY_BYTES)
    host[...] = 1
    arrays = [device.empty(_COPY_BYTES, np.uint8) for _ in range(2)]

    def copies() -> None:
        for array in arrays * 4:
            transfers.bring(array, host, ())
        transfers.finish()

    return 8 * _COPY_BYTES / repeated(copies, 4, prepare=transfers.finish).fastest


def resident_codes(device: Device, n_rows: int, pages: HostPages) -> QuantizedData:
    """Return the codes of all pages on a device, in one page, by row and by feature."""
    n_features = pages.layout.n_features
    codes = empty_codes(device, n_rows, n_features, np.dtype(np.uint8))
    order = codes.order
    runs, _, width = order.shape(n_rows)
    for index, (first, size) in enumerate(pages.bounds):
        page = pages.codes(index).reshape(order.shape(size))
        for run in range(runs):
            codes.codes.set(page[run], (run * n_rows + first) * width)
    variant, program = build_variant_program(device, "quantize", "auto", weighted=False, code="u8")
    if program.wg_size == 1:
        rows = [_by_row(order, pages.codes(index)) for index in range(len(pages.bounds))]
        codes.by_feature.set(np.concatenate(rows).T)
    else:
        groups = -(-n_rows // (variant.params["items"] * program.wg_size))
        program.launch(
            "transpose", (groups, order.n_used), n_rows=n_rows, n_features=n_features,
            block_features=order.block_features, by_feature=codes.by_feature,
            **codes.row_arguments,
        )  # fmt: skip
    device.finish()
    return QuantizedData([Page(codes, 0, n_rows)], pages.layout)


def _by_row(order: BlockOrder, codes: U8) -> U8:
    """Return a page's codes, shape (n_rows, n_features)."""
    parts = [block[:, : n_features_of(order, i)] for i, block in enumerate(order.blocks(codes))]
    return np.concatenate(parts, axis=1)


def xgboost_seconds(
    device: Device, rows: Rows, pages: HostPages, depth: int, n_rounds: int
) -> float:
    """Return XGBoost's seconds a round from its own external memory; codes are its values."""
    import xgboost as xgb

    gpu, order = device.caps.kind == "gpu", block_order(device, rows.n_features)

    class Batches(xgb.DataIter):  # type: ignore[misc]
        def __init__(self, folder: str) -> None:
            self.at = 0
            super().__init__(cache_prefix=f"{folder}/pages", on_host=gpu)

        def next(self, input_data: Any) -> bool:
            if self.at == len(pages.bounds):
                return False
            first, n_rows = pages.bounds[self.at]
            values = _by_row(order, pages.codes(self.at)).astype(np.float32)
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

        def rounds(numbers: Iterable[int]) -> None:
            for number in numbers:
                model.update(data, number)

        rounds(range(_WARM_UP))
        seconds = clock(rounds, range(_WARM_UP, _WARM_UP + n_rounds)) / n_rounds
    return seconds
