"""Quantise feature values on a device: find cut points, then encode the values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.batches.rows import BatchedRows
from pyopencl_gbdt.device import Device, DeviceArray, Launch, Program, build_variant_program
from pyopencl_gbdt.device.program import rows_a_launch
from pyopencl_gbdt.device.room import shared
from pyopencl_gbdt.device.run_ahead import Pace
from pyopencl_gbdt.dtypes import SUM, VALUE
from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.pages.budget import SetUp, check_codes, found_words, plan_set_up
from pyopencl_gbdt.pages.cuts import SHARES, CutRule, Cuts, make_layout, search_tables
from pyopencl_gbdt.pages.page import Layout, Page, QuantizedData, most_page_bytes, page_bounds
from pyopencl_gbdt.pages.small_columns import Codes, cut_small, put_codes
from pyopencl_gbdt.pages.sources import Values, ValueSource, in_launches, planned_codes, source_of
from pyopencl_gbdt.pages.together import cut_together
from pyopencl_gbdt.primitives.checks import run
from pyopencl_gbdt.primitives.packed_codes import BlockOrder, PackedCodes, code_dtype, empty_codes

if TYPE_CHECKING:
    from pyopencl_gbdt.device.paper import PaperDevice
    from pyopencl_gbdt.pages.joiner import Joiner

#: Bytes that a step of the search for a value's code reads.
_STEP_BYTES = 4
F32 = npt.NDArray[np.float32]
U32 = npt.NDArray[np.uint32]


def joins_none(layout: Layout) -> None:
    """Leave each column its own codes."""


class FullBins:
    """What the kernels of cut points find on paper: every column has as many bins as it can.

    ``n_bins``: bins of every column to cut; None is ``max_bin``, or as many as rows.
    ``n_missing``: missing values of every column.
    """

    def __init__(self, n_bins: U32 | None = None, n_missing: int = 0) -> None:
        self._n_bins, self._n_missing, self._first = n_bins, n_missing, 0

    def tell(self, paper: PaperDevice) -> None:
        """Answer to these kernels on a device."""
        paper.answers["quantize", "columns"] = self._columns
        paper.answers["quantize", "cuts"] = self._cuts

    def _columns(self, arguments: Mapping[str, Any]) -> None:
        self._first = arguments["first_feature"]

    def _cuts(self, arguments: Mapping[str, Any]) -> None:
        n_rows, max_bin, found = (arguments[name] for name in ("n_rows", "max_bin", "found"))
        edges = np.arange(max_bin + 1, dtype=np.float32).view(np.uint32)
        head = np.array([min(max_bin, n_rows), n_rows - self._n_missing, 0], np.uint32)
        found.handle = np.tile(np.concatenate([head, edges[:-1], edges[1:]]), (found.shape[0], 1))
        if self._n_bins is not None:
            own = self._n_bins[self._first :][: found.shape[0]]
            found.handle[: own.size, 0] = own


class Quantizer:
    """Quantises a float32 matrix on a device.

    Parameters
    ----------
    values : float32 array, DeviceArray or Rows, shape (n_rows, n_features), C order
        NaN is missing. A ``DeviceArray`` is read without a copy; batches are read ``n_passes``
        times.
    weight : float32 array, shape (n_rows,), or None
    max_bin : int
        Most bins for values of a feature, 2..65535.
    n_pages : int
        Pages of codes; 0 is the fewest that the device can allocate.
    code_bytes : int
        Expected bytes of the codes, with those of a piece that is encoded by itself: of tiled ones,
        which ``pages.tiles`` makes of the values, or of joint ones. 0 is a code of every value.
    most_levels : int
        Most levels of a categorical feature; each will be a bin, whatever ``max_bin`` is.
    cut : uint32 array or None
        Features to cut into bins, ascending; None is all. ``cuts`` leaves the others without bins,
        for ``levels.layout_of`` to fill in.
    exact : bool
        False: values are read once for cut points, which then depend on the pieces.

    Attributes
    ----------
    sparse : bool
        False: ``pages.tiles`` reads rows of values.

    Raises
    ------
    MemoryPlanError
        If the codes or one column do not fit the device.
    """

    sparse = False

    def __init__(
        self,
        device: Device,
        values: Values,
        weight: F32 | None,
        max_bin: int,
        n_pages: int = 0,
        code_bytes: int = 0,
        most_levels: int = 0,
        cut: U32 | None = None,
        *,
        exact: bool = True,
        rule: CutRule = SHARES,
    ) -> None:
        self.device, self.weight, self.max_bin = device, weight, max_bin
        codes = planned_codes(device, values, max_bin, rule)
        self.n_pages, self.most_bins = n_pages, max(codes, most_levels)
        self.n_rows, self.n_features = int(values.shape[0]), int(values.shape[1])
        self.weighted, self._waits = weight is not None, True  # the values may change afterwards
        self.cut = np.arange(self.n_features, dtype=np.uint32) if cut is None else cut
        sizes = self.n_rows, self.n_features, self.most_bins
        ways: dict[str, Any] = {
            "weighted": self.weighted, "resident": isinstance(values, DeviceArray),
            "code_bytes": code_bytes, "in_batches": isinstance(values, BatchedRows),
            "exact": exact,
        }  # fmt: skip
        key = plan_set_up, device.caps.global_bytes, sizes, *ways.values()
        known = shared(device)
        if key not in known:
            known[key] = plan_set_up(device, *sizes, **ways)
        self.plan: SetUp = known[key]
        self.values, self.exact, self.rule, self._expects_few = values, exact, rule, code_bytes > 0
        self._programs: dict[str, tuple[Program, int]] = {}
        self._check_memory()
        self.weights = device.empty(1, np.float32) if weight is None else device.upload(weight)

    @cached_property
    def source(self) -> ValueSource:
        """Where the values are read."""
        return source_of(self.device, self.values, self.plan.piece_rows)

    @property
    def n_passes(self) -> int:
        """How often all values are read: once for each block of columns, and once to be encoded."""
        return 1 + (-(-self.cut.size // self.plan.block) if self.exact else 1)

    def run(
        self,
        layout_of: Callable[[Cuts], Layout] = make_layout,
        joiner_of: Callable[[Layout], Joiner | None] = joins_none,
    ) -> QuantizedData:
        """Return the codes and their layout.

        Parameters
        ----------
        layout_of : callable
            Returns the layout of codes.
        joiner_of : callable
            Returns what joins codes that share places; None: each column keeps its own ones.
        """
        cuts, codes = cut_small(self) or (self.cuts(), None)
        layout = layout_of(cuts)
        joiner = joiner_of(layout)
        if joiner is not None:
            return QuantizedData([self.encode_joined(layout, joiner)], layout)
        if self._expects_few:
            check_codes(self.device, self.n_rows, self.n_features, layout.most_codes)
        return QuantizedData(self.encode(layout, codes), layout)

    def _check_memory(self) -> None:
        caps = self.device.caps
        there = caps.global_bytes - self.device.allocated_bytes
        dtype = code_dtype(min(self.most_bins, self.n_rows))
        order = BlockOrder.of(self.n_features, dtype, coalesced=caps.coalesces_reads)
        piece = max(4 * self.n_rows * self.exact, order.row_bytes)
        if self.plan.n_bytes > there or piece > caps.max_alloc_bytes:
            raise MemoryPlanError(
                f"quantising {self.n_rows} x {self.n_features} values needs {self.plan.n_bytes} "
                f"bytes, at least {piece} of them in one piece, on {caps.label}, which has "
                f"{there} left and allocates {caps.max_alloc_bytes} at most; use fewer rows or "
                "features, or max_bin <= 256"
            )

    # -- pieces of the input ---------------------------------------------------------------
    def pieces_of_values(
        self, columns: range | None = None
    ) -> Iterator[tuple[int, int, DeviceArray]]:
        """Yield first row, number of rows, and values on the device, of each launch's piece.

        ``columns`` are those that will be read: a piece has these, or all.
        """
        row_bytes = _STEP_BYTES * self.n_features * max(1, self.most_bins.bit_length())
        most = rows_a_launch(self.device.caps, row_bytes)
        return in_launches(self.device, self.source, most, columns)

    def pieces(self) -> Iterator[tuple[int, int, dict[str, DeviceArray]]]:
        """Yield first row, number of rows, and the kernels' argument, of each piece of values."""
        for first, n_rows, piece in self.pieces_of_values():
            yield first, n_rows, {"values": piece}

    def program(self, code: str = "u8") -> tuple[Program, int]:
        """Return the program, and the number of elements that a work-item encodes."""
        if code not in self._programs:
            variant, program = build_variant_program(
                self.device, "quantize", "auto", weighted=self.weighted, code=code
            )
            self._programs[code] = program, variant.params["items"]
        return self._programs[code]

    # -- cuts ------------------------------------------------------------------------------
    def cuts(self) -> Cuts:
        """Sort the columns of ``cut``, and cut them into bins of equally many rows, or weight."""
        if not self.exact:
            from pyopencl_gbdt.pages.summary_cuts import summary_cuts

            blocks, shape = self.source.host_blocks(), (self.n_rows, self.n_features)
            return summary_cuts(
                self.device, blocks, self.weight, shape, self.cut, self.max_bin, self.rule
            )
        if (found_together := cut_together(self)) is not None:
            cuts, self.source = found_together
            self._waits = self.device.borrows  # else the values on the device are nobody's else
            return cuts
        from pyopencl_gbdt.primitives.radix_sort import RadixSort

        device, n, block = self.device, self.n_rows, self.plan.block
        keys = device.empty((block, n), VALUE, "sorted values")
        few = (self.plan.batch, n) if self.weighted else (1, 1)
        ids, running = device.empty(few, np.uint32), device.empty(few, SUM)
        found = device.empty((block, found_words(self.max_bin)), np.uint32, "cut points")
        value_dtype = np.uint32 if self.weighted else None
        sort = RadixSort(device, n, np.float32, value_dtype, columns=self.plan.batch)
        numbering, summing = self._running_weight(ids, running)
        program, _ = self.program()
        counted = n if self.weight is None else int(np.count_nonzero(self.weight))
        features = device.upload(self.cut if self.cut.size else np.zeros(1, np.uint32))
        parts = [np.zeros((0, found_words(self.max_bin)), np.uint32)]
        pace = Pace(device)
        for first in range(0, self.cut.size, block):
            columns = min(block, self.cut.size - first)
            read = range(int(self.cut[first]), int(self.cut[first + columns - 1]) + 1)
            for start, rows, piece in self.pieces_of_values(read):
                width = piece.shape[1]
                program.launch(
                    "columns", self.device.caps.row_groups(rows), n_rows=rows,
                    n_features=width, begin_feature=0 if width == self.n_features else read.start,
                    first_feature=first, n_columns=columns, start=start, all_rows=n,
                    features=features, values=piece, weights=self.weights, keys=keys,
                )  # fmt: skip
            for begin in range(0, columns, self.plan.batch):
                batch = min(self.plan.batch, columns - begin)
                run(numbering)
                moved = ids if self.weighted else None
                run(sort.bind(keys, moved, first=begin, columns=batch, once=True))
                run(summing)
                if self.weighted or begin + batch == columns:
                    first_cut = begin if self.weighted else 0
                    some = begin + batch - first_cut
                    program.launch(
                        "cuts", -(-some // program.wg_size), n_rows=n, n_counted=counted,
                        n_columns=some, max_bin=self.max_bin, first_column=first_cut,
                        ranked=int(self.rule.ranked), sorted=keys, running=running, found=found,
                    )  # fmt: skip
                if begin + batch < columns:  # else the host reads what was found
                    pace.round_enqueued()
            parts.append(found.get()[:columns])
        found_of_all = np.zeros((self.n_features, found_words(self.max_bin)), np.uint32)
        found_of_all[self.cut] = np.concatenate(parts)
        return self.read(found_of_all, counted)

    def _running_weight(
        self, ids: DeviceArray, running: DeviceArray
    ) -> tuple[list[Launch], list[Launch]]:
        """Return launches for the running sums of weights in a batch of sorted columns.

        The first list numbers the rows before the sort. The second list sums integer weights in the
        order of the sorted rows, over all columns of the batch as if they were one.
        """
        if self.weight is None:
            return [], []
        from pyopencl_gbdt.primitives.scan import Scan

        n, batch = self.n_rows, self.plan.batch
        top = int(np.frexp(self.weight)[1].max())
        # exact for integer weights, and their sum stays below 2^61
        power = 61 - top - n.bit_length()
        groups = (self.device.caps.row_groups(n), batch)
        program, _ = self.program()
        number = program.bind("number", groups, n, ids)
        gather = program.bind("gather", groups, n, power, ids, self.weights, running)
        scan = Scan(self.device, batch * n, np.int64, inclusive=True)
        return [number], [gather, *scan.bind(running, running)]

    def read(self, found: U32, counted: int) -> Cuts:
        """Return the cut points from the arrays that the kernel `cuts` wrote."""
        n_bins, present, fullest = found[:, :3].T
        sides = np.ascontiguousarray(found[:, 3:]).view(np.float32)
        missing = present < counted
        if counted < self.n_rows:  # kernels treat rows with weight 0 as missing
            missing |= self._missing_where_no_weight()
        below, above = sides[:, : self.max_bin], sides[:, self.max_bin :]
        return Cuts(below, above, n_bins.copy(), missing, fullest.copy())

    def _missing_where_no_weight(self) -> npt.NDArray[np.bool_]:
        missing = np.zeros(self.n_features, np.bool_)
        assert self.weight is not None
        for first, values in self.source.host_blocks():
            out = self.weight[first : first + len(values)] == 0
            missing |= np.isnan(values[out]).any(axis=0)
        return missing

    # -- codes -----------------------------------------------------------------------------
    def encode(self, layout: Layout, by_feature: Codes | None = None) -> list[Page]:
        """Return the codes of all values, in pages; kernels find them if ``by_feature`` is None."""
        device = self.device
        dtype = code_dtype(layout.most_codes)
        order = BlockOrder.of(self.n_features, dtype, coalesced=device.caps.coalesces_reads)
        most = most_page_bytes(device.caps, order.row_bytes)
        bounds = page_bounds(self.n_rows, order.row_bytes, most, self.n_pages)
        pages: list[Page] = []
        for first, n_rows in bounds:
            codes = empty_codes(device, n_rows, self.n_features, dtype)
            pages.append(Page(codes, first, n_rows))
            if by_feature is not None:
                put_codes(codes, by_feature[:, first : first + n_rows])
        if by_feature is not None:
            return pages
        tables = device.upload(search_tables(layout))
        for start, rows, piece in self.pieces_of_values():
            for page in pages:
                self.encode_piece(page, start, rows, piece, tables)
        for page in pages:
            self.transpose(page)
        if self._waits:
            device.finish()
        return pages

    def encode_joined(self, layout: Layout, joiner: Joiner) -> Page:
        """Return the joint codes of all values; only a piece of rows has its columns' own codes."""
        from pyopencl_gbdt.pages.joiner import piece_rows

        device, most = self.device, piece_rows(self.n_rows, self.n_features)
        device.free_unused()  # what columns were cut with
        tables = device.upload(search_tables(layout))
        page = joiner.page(device, self.n_rows)
        codes = empty_codes(device, most, self.n_features, code_dtype(layout.most_codes))
        for start, rows, values in self.pieces_of_values():
            for first in range(start, start + rows, most):
                few = min(most, start + rows - first)
                piece = Page(codes.first_rows(few), first, few)
                self.encode_piece(piece, start, rows, values, tables)
                self.transpose(piece)
                joiner.join(piece, page)
        device.finish()
        return page

    def encode_piece(
        self, page: Page, start: int, rows: int, piece: DeviceArray, tables: DeviceArray
    ) -> None:
        """Encode the rows of a piece of values that lie in a page."""
        begin, end = max(start, page.first_row), min(start + rows, page.first_row + page.n_rows)
        if begin >= end:
            return
        codes = page.codes
        assert isinstance(codes, PackedCodes)
        program, items = self.program(codes.code_type)
        order = codes.order
        per_row = order.n_blocks * order.block_codes
        alone = program.wg_size == 1  # then a work-item encodes rows, else single codes
        both = {"all_rows": page.n_rows, "by_feature": codes.by_feature} if alone else {}
        n_items = (end - begin) * (1 if alone else per_row)
        program.launch(
            "encode", -(-n_items // (items * program.wg_size)), n_rows=end - begin,
            n_features=self.n_features, row_codes=per_row, block_features=order.block_features,
            values=piece, tables=tables, skipped=begin - start, first_row=begin - page.first_row,
            **codes.row_arguments, **both,
        )  # fmt: skip

    def transpose(self, page: Page) -> None:
        """Copy a page's codes by row to codes by feature, where ``encode`` does not write both."""
        codes = page.codes
        assert isinstance(codes, PackedCodes)
        order, (program, items) = codes.order, self.program(codes.code_type)
        if program.wg_size == 1:
            return
        program.launch(
            "transpose", (-(-page.n_rows // (items * program.wg_size)), order.n_used),
            n_rows=page.n_rows, n_features=self.n_features, block_features=order.block_features,
            by_feature=codes.by_feature, **codes.row_arguments,
        )  # fmt: skip
