"""Codes of features whose values depend on an order of the rows: each round trains on one order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, build_variant_program
from pyopencl_gbdt.device.arena import MemoryPlan
from pyopencl_gbdt.device.paper import PaperDevice
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import c_type
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.cuts import CUTS
from pyopencl_gbdt.pages.page import Layout, Page, QuantizedData, even_layout
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.primitives.checks import run
from pyopencl_gbdt.primitives.packed_codes import PackedCodes, code_dtype

F32 = npt.NDArray[np.float32]


class Orders:
    """Values of a data set's last features in several orders of the rows.

    Parameters
    ----------
    values : sequence of float32 array or DeviceArray, shape (n_rows, n_given)
        One for each order. NaN in one is NaN in all. The data set itself has those of order 0.
    n_empty : int
        Features behind these whose values are missing until ``OrderCodes.encode`` gives them some.

    Attributes
    ----------
    n_orders, n_rows, n_features : int
    """

    def __init__(self, values: Sequence[F32 | DeviceArray], n_empty: int = 0) -> None:
        self.values, self.n_empty, self.n_orders = list(values), n_empty, len(values)
        self.n_rows = int(values[0].shape[0])
        self.n_features = int(values[0].shape[1]) + n_empty

    def of_round(self, number: int) -> F32:
        """Return the given values that a round trains on; the orders take turns."""
        own = self.values[number % self.n_orders]
        return own.get() if isinstance(own, DeviceArray) else own

    def plan(self, memory: MemoryPlan, max_bin: int) -> None:
        """Add their codes to what a device will hold."""
        shape = self.n_orders, self.n_features, self.n_rows
        memory.add("codes of orders", shape, code_dtype(max_bin + 1))

    def encode_on_paper(self, paper: PaperDevice, max_bin: int) -> None:
        """Allocate what encoding an order takes for a while, where ``OrderCodes`` does."""
        values, n_bins = self.values[0], min(max_bin, self.n_rows)
        own = even_layout(self.n_features - self.n_empty, n_bins)
        if isinstance(values, DeviceArray):
            values = DeviceArray(paper, values.shape, values.dtype, None)
        Quantizer(paper, values, None, own.most_codes).encode(own)

    def release(self) -> None:
        """Forget the values."""
        self.values = []


class OrderCodes:
    """Writes the codes of an order into the pages of a fit.

    ``data``: pages of dense codes; their layout cuts the features of every order.
    """

    def __init__(self, device: Device, data: QuantizedData, orders: Orders) -> None:
        layout, n = data.layout, orders.n_features
        self.first = layout.n_features - n
        own = _features(layout, self.first, layout.n_features - orders.n_empty)
        dtype = code_dtype(own.most_codes)
        _, program = build_variant_program(
            device, "order_codes", "auto", code=_code_type(data), own=c_type(dtype)
        )
        self._device, self._program, self._pages = device, program, data.pages
        self._cuts = device.upload(CUTS)
        self._launches: list[list[Launch]] = [[] for _ in range(orders.n_orders)]
        self._round, self._held = 0, -1
        sets = [device.empty((orders.n_orders, n, page.n_rows), dtype) for page in data.pages]
        self._sets = sets
        for order, values in enumerate(orders.values):
            self._encode_given(order, values, own)
        nothing = device.upload(np.full(orders.n_rows, np.nan, np.float32))
        for order, empty in product(range(orders.n_orders), range(orders.n_empty)):
            self.encode(order, n - orders.n_empty + empty, nothing, 0)
        for page, kept in zip(data.pages, sets, strict=True):
            assert isinstance(page, Page)
            assert isinstance(page.codes, PackedCodes)
            for order, launches in enumerate(self._launches):
                launches.append(
                    program.bind(
                        "replace_codes", device.caps.row_groups(page.n_rows), n_rows=page.n_rows,
                        n_features=n, first_feature=self.first, order=order,
                        block_features=page.codes.order.block_features, orders=kept,
                        by_feature=page.codes.by_feature, **page.codes.row_arguments,
                    )
                )  # fmt: skip

    def _encode_given(self, order: int, values: F32 | DeviceArray, own: Layout) -> None:
        """Write the codes of the given features in an order; what that takes is freed."""
        quantizer = Quantizer(self._device, values, None, own.most_codes, len(self._sets))
        for kept, made in zip(self._sets, quantizer.encode(own), strict=True):
            assert isinstance(made.codes, PackedCodes)
            place = order * kept.shape[1] * made.n_rows
            self._device.copy(made.codes.by_feature, kept, place)

    def encode(self, order: int, feature: int, shares: DeviceArray, begin: int) -> None:
        """Replace the codes of one feature in an order; the arguments are those of ``encoding``."""
        run(self.encoding(order, feature, shares, begin, once=True))
        self.changed()

    def encoding(
        self, order: int, feature: int, shares: DeviceArray, begin: int, *, once: bool = False
    ) -> list[Launch]:
        """Return the launches that replace one feature's codes in an order.

        Parameters
        ----------
        feature : int
            Counted from the first ordered one.
        shares : DeviceArray of float32
            The values of all rows are ``shares[begin : begin + n_rows]``; NaN is missing.
        once : bool
            Whether the launches will run only once.
        """
        bind = self._program.prepare if once else self._program.bind
        return [
            bind(
                "encode_shares", self._device.caps.row_groups(page.n_rows),
                first_row=page.first_row, n_rows=page.n_rows, begin=np.uint64(begin),
                first_code=np.uint64((order * kept.shape[1] + feature) * page.n_rows),
                n_cuts=CUTS.size, cuts=self._cuts, shares=shares, codes=kept,
            )
            for page, kept in zip(self._pages, self._sets, strict=True)
        ]  # fmt: skip

    @property
    def byte_codes(self) -> DeviceArray | None:
        """The codes of all orders, uint8 (n_orders, n_features, n_rows), if one page has such."""
        one = self._sets[0] if len(self._sets) == 1 else None
        return one if one is not None and one.dtype == np.uint8 else None

    def changed(self) -> None:
        """Note that launches of ``encoding`` have run, so that pages get all codes anew."""
        self._held = -1

    def take(self, round_number: int) -> None:
        """Write the codes of a round's order; the orders take turns."""
        self._round = round_number
        self._write(round_number)

    def turn(self) -> Action:
        """Return an action that calls `take_next`."""
        return _NextOrder(self)

    def take_next(self) -> None:
        """Write the codes of the order that the next round takes."""
        self._write(self._round + 1)

    def _write(self, number: int) -> None:
        order = number % len(self._launches)
        if order != self._held:
            run(self._launches[order])
        self._held = order


@dataclass(frozen=True)
class _NextOrder:
    """Writes other codes in every round; so it is no ``Launch``, which does the same each time."""

    orders: OrderCodes
    name: str = "codes of the next order"

    def __call__(self) -> None:
        self.orders.take_next()


def _code_type(data: QuantizedData) -> str:
    page = data.pages[0]
    assert isinstance(page, Page)
    return page.codes.code_type if isinstance(page.codes, PackedCodes) else ""


def _features(layout: Layout, first: int, end: int) -> Layout:
    """Return the layout of the features ``first`` to ``end - 1`` alone."""
    offset = layout.feature_offset[first : end + 1].astype(np.int64)
    return Layout(
        layout.feature_bins[first:end],
        (offset - offset[0]).astype(np.uint32),
        layout.thresholds[offset[0] : offset[-1]],
        layout.fullest[first:end],
    )
