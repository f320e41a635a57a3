"""Cut points of rows that the devices of one process share, and codes of one device's part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.device.team.messages import ColumnCuts
from pyopencl_gbdt.pages.cuts import SHARES, CutRule, Cuts, cut_features, layout_of
from pyopencl_gbdt.pages.page import Layout, Page, QuantizedData
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.pages.sources import planned_codes
from pyopencl_gbdt.primitives.packed_codes import bytes_of_codes, code_dtype, empty_codes


def shared_layout(
    device: Device,
    team: Team,
    data: Dataset,
    max_bin: int,
    shares: Sequence[float],
    *,
    exact: bool = True,
    rule: CutRule = SHARES,
) -> Layout:
    """Return the layout of all rows' codes; every member cuts some of the columns.

    Parameters
    ----------
    team : Team
        Its members are threads of one process.
    shares : sequence of float
        Part of the columns for every member; their sum is 1.
    exact : bool
        Whether bins end at exact quantiles, see ``Quantizer``.
    """
    every = cut_features(data)
    ends = np.rint(np.cumsum(shares) * every.size).astype(np.int64)
    own = np.split(every, ends[:-1])[team.rank]
    codes = max(1, int(shares[team.rank] * data.n_rows))
    most = planned_codes(device, data.rows, max_bin, rule)
    taken = bytes_of_codes(device, codes, data.n_features, most)
    quantizer = Quantizer(
        device, data.rows, data.weight, max_bin, code_bytes=taken, cut=own, exact=exact, rule=rule
    )
    cuts = quantizer.cuts()
    data.end_reading()
    parts = team.exchange(ColumnCuts, (own, cuts))
    return layout_of(_merged(parts), data)


def _merged(parts: Sequence[tuple[npt.NDArray[np.uint32], Cuts]]) -> Cuts:
    """Join the cut points of different columns."""
    first = parts[0][1]
    arrays = {name: array.copy() for name, array in vars(first).items()}
    for columns, cuts in parts[1:]:
        for name, array in arrays.items():
            array[columns] = getattr(cuts, name)[columns]
    return Cuts(**arrays)


def encoded_part(
    data: Dataset, device: Device, layout: Layout, max_bin: int, n_pages: int = 0
) -> QuantizedData:
    """Return rows as codes on a device, given the layout of all rows; there may be no row.

    The data set keeps the result for the next call.
    """
    key = (device.process_key, id(layout), n_pages)  # the result keeps the layout alive
    if data.kept is not None and data.kept[0] == key and isinstance(data.kept[1], QuantizedData):
        return data.kept[1]
    data.forget()  # frees the former codes first
    if data.n_rows:
        most = max(max_bin, layout.most_codes)
        pages = Quantizer(device, data.rows, None, most, n_pages).encode(layout)
    else:
        codes = empty_codes(device, 0, layout.n_features, code_dtype(layout.most_codes))
        pages = [Page(codes, 0, 0)]
    made = QuantizedData(pages, layout)
    data.kept = (key, made)
    return made
