"""Sums of pairs per feature and bin, by the trainer's own kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant, choose
from pyopencl_gbdt.dtypes import LEVEL, NODE, QUANTA, ROW, SCALE, SUM, c_type
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.primitives.checks import (
    ceil_div,
    check_array,
    check_dtype,
    check_length,
    own_device,
    run,
)
from pyopencl_gbdt.primitives.histogram_kernel import (
    ANY_CODES,
    HistogramKernel,
    can_hold,
    choose_histogram,
)
from pyopencl_gbdt.primitives.packed_codes import empty_codes


@dataclass(frozen=True)
class _EqualBins:
    """Layout of features that all have the same number of codes."""

    feature_offset: npt.NDArray[np.uint32]
    fullest: npt.NDArray[np.uint32]


class OneNode:
    """A page of codes, and the launches that compute one node's histogram from it.

    ``n_bins``: bins of every feature; none is for missing values.

    Attributes
    ----------
    page : PackedCodes
        Without ``by_feature``; the caller sets the codes.
    variant : Variant
        The variant that was built.
    clears : bool
        Whether the caller must clear the sums before a level.

    Raises
    ------
    ParameterError
        If ``variant`` is unknown, or the device lacks what it needs.
    """

    def __init__(
        self, device: Device, n_rows: int, n_features: int, n_bins: int, variant: str | Variant
    ) -> None:
        self.device, self.n_rows = device, n_rows
        self.n_features, self.n_bins = max(1, n_features), n_bins
        choose("histogram", device.caps, variant.name if isinstance(variant, Variant) else variant)
        self._kernel = self._build(self._chooser(variant))
        self.page, self.variant = self._kernel.page, self._kernel.variant
        self.clears = self.variant.atomic_sums
        self._allocate()

    def _chooser(self, variant: str | Variant) -> Callable[[], Variant]:
        """Return the function by which ``build_variant`` chooses the variant before each try."""
        caps = self.device.caps
        if isinstance(variant, Variant):
            given = variant if can_hold(variant, caps, self.n_bins) else None
            return lambda: given or choose("histogram", caps, ANY_CODES)
        return lambda: choose_histogram(caps, self.n_bins, variant)

    def _build(self, chosen: Callable[[], Variant]) -> HistogramKernel:
        """Build with the narrowest codes that the variant can use."""
        n_features = self.n_features
        offset = np.arange(n_features + 1, dtype=np.uint32) * np.uint32(self.n_bins)
        while True:
            dtype = self._packed_dtype(chosen())
            # the kernel leaves out each feature's fullest code; this one occurs in no row
            fullest = np.full(n_features, np.iinfo(dtype).max, np.uint32)
            page = empty_codes(self.device, self.n_rows, n_features, dtype, columns=False)
            kernel = HistogramKernel(self.device, page, _EqualBins(offset, fullest), chosen)
            if self._packed_dtype(kernel.variant) == dtype:
                return kernel

    def _packed_dtype(self, variant: Variant) -> np.dtype[np.uint8] | np.dtype[np.uint16]:
        """Return the smallest dtype that has a code for every bin, and a spare one.

        The CPU's variant needs no spare code, because it leaves out no code.
        """
        spare = variant.name != "cpu"
        return np.dtype(np.uint8) if self.n_bins + spare <= 256 else np.dtype(np.uint16)

    def _allocate(self) -> None:
        """Allocate the kernel's arrays other than the caller's, and its partial sums."""
        device, kernel = self.device, self._kernel
        # no more work-groups than tasks: each may have partial sums
        tasks = ceil_div(self.n_rows, self.variant.params["chunk"])
        self._groups = max(1, min(kernel.groups, tasks))
        groups = self._groups if kernel.partials else 0
        self._scale = device.zeros(1, SCALE)  # says that there are no high words
        self._unused = device.zeros((1, 2), QUANTA)
        cells = kernel.n_codes if groups else 1
        self._partial = device.empty((max(1, groups), 2, cells, 2), SUM)

    def level(
        self, pairs: DeviceArray, out: DeviceArray, rows: DeviceArray | None, count: int
    ) -> list[Launch]:
        """Return the launches of a level with one node.

        Without ``rows`` the level has depth 0, and its node has all rows in order. Otherwise it has
        depth 1, and its node has the ``count`` rows in the list.
        """
        depth = 0 if rows is None else 1
        tasks = ceil_div(count, self.variant.params["chunk"])
        levels, nodes = np.zeros(2, LEVEL), np.zeros(1, NODE)
        levels[depth] = (0, 1, 0, tasks)
        nodes["count"], nodes["depth"], nodes["in_order"] = count, depth, rows is None
        upload = self.device.upload
        return self._kernel.level(
            self.page,
            groups=self._groups,
            depth=depth,
            n_rows=self.n_rows,
            first_row=0,
            levels=upload(levels),
            nodes=upload(nodes),
            task_begin=upload([0, tasks], np.uint32),
            even_rows=self._unused.words(),
            odd_rows=self._unused.words() if rows is None else rows,
            quanta=pairs,
            high_words=self._unused,
            scale=self._scale,
            pool=out,
            partial=self._partial,
        )


CODE_DTYPES = (np.uint8, np.uint16)
MAX_BINS = 65535  # no row has the last 16-bit code
_MAX_ROWS = 2**31 - 1
_MAX_CELLS = 2**31 - 1  # kernels index gradient and Hessian sums together by uint32


class CodeHistogram:
    """Histograms of a matrix of codes, prepared once and bound to arrays.

    Training uses the same kernels in the same variants, and spends most of its time in them. A
    work-group adds to 32-bit sums in local memory and carries their overflow to 64-bit sums; see
    ``docs/architecture.md``. (Cf. Mitchell & Frank, "Accelerating the XGBoost algorithm using GPU
    computing", PeerJ Computer Science 3:e127, 2017, and Ke et al., "LightGBM", NIPS 2017.)

    Parameters
    ----------
    n_rows : int
        0..2**31 - 1.
    n_features : int
        ``n_features * n_bins`` is at most 2**31 - 1.
    dtype : dtype
        The type of the codes: uint8 or uint16.
    n_bins : int
        Bins of every feature, 2..65535. Fewer are faster: on a GPU, codes of up to 255 bins are
        bytes.
    variant : str or Variant, default "auto"
        A variant or its name; all give equal bits. If its accumulators are too few for ``n_bins``,
        one by ranges of bins is used instead.

    Raises
    ------
    DataError, ParameterError
        If dtype or a number is not among those above.
    MemoryPlanError
        If the packed codes or partial sums exceed the device.
    """

    def __init__(
        self,
        device: Device,
        n_rows: int,
        n_features: int,
        dtype: npt.DTypeLike,
        n_bins: int,
        *,
        variant: str | Variant = "auto",
    ) -> None:
        self.device = device
        self.n_rows = check_length("n_rows", n_rows, _MAX_ROWS)
        self.dtype = check_dtype("dtype", dtype, CODE_DTYPES)
        self.n_bins = _check_bins(n_bins)
        self.n_features = check_length("n_features", n_features, _MAX_CELLS // self.n_bins)
        self._node = OneNode(device, self.n_rows, self.n_features, self.n_bins, variant)
        self.variant = self._node.variant
        """The variant that was built."""
        self._chunk = self.variant.params["chunk"]
        self._program = device.build(
            "pack_codes",
            wg_size=self.variant.params["wg_size"],
            chunk=self._chunk,
            code=c_type(self.dtype),
            block=self._node.page.block_codes,
        )

    def bind(
        self,
        codes: DeviceArray,
        pairs: DeviceArray,
        out: DeviceArray,
        rows: DeviceArray | None = None,
    ) -> list[Launch]:
        """Bind ``pack`` and then ``sums``, which describe the parameters and errors."""
        return self.pack(codes) + self.sums(pairs, out, rows)

    def pack(self, codes: DeviceArray) -> list[Launch]:
        """Bind the launches that copy codes into the order in which histograms read them.

        Packed codes serve histograms of many lists of rows.

        Parameters
        ----------
        codes : DeviceArray of ``dtype``, shape (n_rows, n_features)
            Codes above ``n_bins - 1`` count as ``n_bins - 1``.

        Raises
        ------
        DataError
            If codes are of another device, dtype or shape.
        """
        _check("codes", codes, self.device, self.dtype, (self.n_rows, self.n_features))
        if codes.size == 0:
            return []
        page = self._node.page
        return [
            self._program.bind(
                "pack_codes", ceil_div(self.n_rows, self._chunk), codes=codes, blocks=page.codes,
                n_rows=self.n_rows, n_features=self.n_features, last=self.n_bins - 1,
                block_features=page.block_features, **page.block_strides(),
            )
        ]  # fmt: skip

    def sums(
        self, pairs: DeviceArray, out: DeviceArray, rows: DeviceArray | None = None
    ) -> list[Launch]:
        """Bind the launches that sum pairs by the codes that were packed last.

        Parameters
        ----------
        pairs : DeviceArray of int32, shape (n_rows, 2)
            For example gradients and Hessians in fixed point, of either sign.
        out : DeviceArray of int64, shape (n_features, n_bins, 2), written
            ``out[f, b]`` is the sum of the pairs of all rows whose code of feature f is b.
        rows : DeviceArray of uint32, 1-D, optional
            Rows to sum; a row that is listed twice counts twice. At most 2**31 - 1 rows, each below
            n_rows, which is not checked. Default: every row once.

        Raises
        ------
        DataError
            If an array is of another device, dtype or shape.
        """
        _check("pairs", pairs, self.device, QUANTA, (self.n_rows, 2))
        _check("out", out, self.device, SUM, (self.n_features, self.n_bins, 2))
        count = self.n_rows
        if rows is not None:
            check_array("rows", rows, self.device, [ROW])
            count = check_length("rows.size", rows.size, _MAX_ROWS)
            _check("rows", rows, self.device, ROW, (count,))
        if out.size == 0:
            return []
        n_codes = self.n_features * self.n_bins
        groups = ceil_div(n_codes, self._chunk)
        clear = [self._program.bind("clear_sums", groups, np.uint32(n_codes), out)]
        if count == 0 or self.n_rows == 0:
            return clear
        return (clear if self._node.clears else []) + self._node.level(pairs, out, rows, count)


def histogram(
    codes: DeviceArray,
    pairs: DeviceArray,
    n_bins: int,
    rows: DeviceArray | None = None,
    *,
    variant: str | Variant = "auto",
) -> DeviceArray:
    """Return the sums of pairs per feature and bin, exact.

    Parameters
    ----------
    codes : DeviceArray of uint8 or uint16, shape (n_rows, n_features), C order
        Bin of every row and feature; codes above ``n_bins - 1`` count as ``n_bins - 1``.
    pairs : DeviceArray of int32, shape (n_rows, 2)
        For example gradients and Hessians in fixed point, of either sign.
    n_bins : int
        2..65535.
    rows : DeviceArray of uint32, optional
        Rows to sum; a row that is listed twice counts twice. Each must be below n_rows, which is
        not checked. Default: every row once.
    variant : str or Variant, default "auto"
        As for ``CodeHistogram``. Use that class to pack codes once for many lists of rows.

    Returns
    -------
    DeviceArray of int64, shape (n_features, n_bins, 2)
        The host does not wait for it.

    Raises
    ------
    DataError
        If an array is not a device array, of another device, dtype or shape.
    ParameterError
        If ``n_bins`` or ``variant`` is not among those above.
    MemoryPlanError
        If the packed codes, or the sums, exceed the device.

    Examples
    --------
    >>> device = open_device()
    >>> codes = device.upload([[0, 1], [2, 1], [0, 0]], np.uint8)
    >>> pairs = device.upload([[5, 1], [-3, 1], [4, 1]], np.int32)
    >>> histogram(codes, pairs, 3).get()[0]
    array([[ 9,  2],
           [ 0,  0],
           [-3,  1]])
    """
    device = own_device("codes", codes)
    if len(codes.shape) != 2:
        raise DataError(
            f"codes: shape {codes.shape}; expected (n_rows, n_features); upload a matrix"
        )
    check_array("pairs", pairs, device, [QUANTA])
    if rows is not None:
        check_array("rows", rows, device, [ROW])
    n_rows, n_features = codes.shape
    prepared = CodeHistogram(device, n_rows, n_features, codes.dtype, n_bins, variant=variant)
    out = device.empty((n_features, prepared.n_bins, 2), SUM)
    run(prepared.bind(codes, pairs, out, rows))
    return out


def _check_bins(n: object) -> int:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 2 <= n <= MAX_BINS:
        raise ParameterError(f"n_bins={n!r}: expected an integer 2..{MAX_BINS}; use fewer bins")
    return int(n)


def _check(
    name: str, array: DeviceArray, device: Device, dtype: npt.DTypeLike, shape: tuple[int, ...]
) -> None:
    check_array(name, array, device, [dtype])
    if tuple(array.shape) != shape:
        raise DataError(f"{name}: shape {tuple(array.shape)}; expected {shape}; upload it so")
