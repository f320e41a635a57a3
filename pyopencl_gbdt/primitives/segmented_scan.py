"""Segmented scans: prefix sums, maxima and minima that start again at every segment."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import DeviceArray, Launch, Variant
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.primitives.checks import (
    C_NAMES,
    FLAG_DTYPES,
    OFFSET_DTYPES,
    ceil_div,
    check_array,
    of_array,
    offsets_on_device,
    own_device,
    run,
)
from pyopencl_gbdt.primitives.scans import TiledScan

#: Bytes of head flags that a work-group clears, and number of offsets that it marks.
_HEADS_CHUNK = 4096


class SegmentedScan(TiledScan):
    """A segmented scan of ``n`` elements: prepare it once, then bind it to arrays.

    It scans pairs of a value and a head flag as ``Scan`` scans values, in the same order (Blelloch,
    "Prefix sums and their applications", CMU-CS-90-190, section 1.5). A set flag starts a new
    segment, and so does element 0.

    Parameters
    ----------
    device, n, dtype, inclusive, op, pairs, variant
        As for ``Scan``; so are the errors. In an exclusive scan, a segment's first element is the
        identity.

    Notes
    -----
    The tree that orders float32 sums begins at position 0 of the array, not at a segment's start.
    So the last bits of a segment's sums may depend on where it begins. The rest is as for ``Scan``.
    """

    _kernel, _prefix, _above = "segmented_scan", "segmented", 2  # carry: see the template

    def _empty(self, n: int) -> tuple[DeviceArray, ...]:
        return self.elements.empty(self.device, n), self.device.empty(n, np.uint8)

    def bind(self, values: DeviceArray, head_flags: DeviceArray, out: DeviceArray) -> list[Launch]:
        """Bind the kernels to arrays; returns and errors are as for ``Reduce.bind``.

        Parameters
        ----------
        values : DeviceArray of ``dtype``, n elements (or n pairs)
        head_flags : DeviceArray of uint8 or bool, n elements
            Not zero where a segment begins.
        out : DeviceArray of ``dtype``, n elements (or n pairs), written
            May be ``values``.
        """
        check_array("head_flags", head_flags, self.device, FLAG_DTYPES, self.n)
        return self._bind((values, head_flags), out)

    def bind_offsets(
        self, values: DeviceArray, offsets: DeviceArray, out: DeviceArray
    ) -> list[Launch]:
        """Bind the kernels to arrays, with segments given by offsets.

        This allocates a byte per element for the head flags. Returns and errors are as for
        ``bind``.

        Parameters
        ----------
        offsets : DeviceArray of uint32 or int64, n_segments + 1 elements
            Segment s is ``offsets[s]..offsets[s + 1] - 1``; it may be empty. Elements before the
            first offset are a segment of their own, and so are those from the last offset on.
        """
        check_array("offsets", offsets, self.device, OFFSET_DTYPES)
        words = ceil_div(self.n, 4)
        heads = DeviceArray(self.device, (self.n,), np.uint8, None)
        as_words = self.device.empty(words, np.uint32)
        heads.handle = as_words.handle
        launches = self.bind(values, heads, out)
        if self.n == 0:
            return []
        wg_size = self._program.wg_size
        items, offset = max(1, _HEADS_CHUNK // wg_size), C_NAMES[offsets.dtype]
        program = self.device.build("segment_heads", wg_size=wg_size, items=items, offset=offset)
        chunk = program.wg_size * items
        arguments = (offsets, np.uint64(offsets.size), np.uint64(self.n), heads)
        return [
            program.bind("clear_heads", ceil_div(words, chunk), as_words, np.uint64(words)),
            program.bind("mark_heads", ceil_div(offsets.size, chunk), *arguments),
            *launches,
        ]


def segmented_scan(
    values: DeviceArray,
    head_flags: DeviceArray | None = None,
    out: DeviceArray | None = None,
    *,
    offsets: DeviceArray | npt.ArrayLike | None = None,
    inclusive: bool = False,
    op: str = "sum",
    variant: str | Variant = "auto",
) -> DeviceArray:
    """Return prefix sums (or maxima, minima) that start again at every head.

    Parameters
    ----------
    values : DeviceArray of int32, uint32, int64 or float32
        As for ``reduce``.
    head_flags : DeviceArray of uint8 or bool, one for each element
        Not zero where a segment begins. Element 0 always begins one.
    out : DeviceArray like ``values``, written, optional
        Default: a new array. May be ``values``.
    offsets : DeviceArray of uint32 or int64, or array_like of integers, n_segments + 1 elements
        Instead of ``head_flags``: segment s is ``offsets[s]..offsets[s + 1] - 1``. Host values are
        checked, and must cover all elements. Elements before the first and from the last offset of
        a device array on are segments of their own.

    Returns
    -------
    DeviceArray
        ``out``; the host does not wait for it.

    Raises
    ------
    DataError
        As for ``reduce``; or if host offsets descend or do not cover all elements.
    ParameterError
        As for ``reduce``; or if both or neither of ``head_flags`` and ``offsets`` are given.

    Examples
    --------
    >>> values = device.upload(np.array([3, 1, 2, 2, 1], np.int32))
    >>> segmented_scan(values, offsets=[0, 3, 3, 5], inclusive=True).get()
    array([3, 4, 6, 2, 3], dtype=int32)
    """
    device = own_device("values", values)
    if (head_flags is None) == (offsets is None):
        given = "neither" if offsets is None else "both"
        raise ParameterError(
            f"head_flags and offsets: {given} given; expected one of them, which says where "
            "segments begin"
        )
    elements, n = of_array(values)
    if head_flags is not None:
        check_array("head_flags", head_flags, device, FLAG_DTYPES, n)
    ends = None if offsets is None else offsets_on_device(offsets, device, n, cover=True)
    prepared = SegmentedScan(
        *(device, n, elements.dtype),
        inclusive=inclusive,
        op=op,
        pairs=elements.pairs,
        variant=variant,
    )
    if out is None:
        out = device.empty(values.shape, values.dtype)
    if ends is not None:
        run(prepared.bind_offsets(values, ends, out))
    elif head_flags is not None:
        run(prepared.bind(values, head_flags, out))
    return out
