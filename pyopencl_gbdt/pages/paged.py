"""How a data set becomes pages: the one place that decides."""

from __future__ import annotations

from typing import Literal

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.pages.column_bins import sorted_on_device
from pyopencl_gbdt.pages.columns import (
    ColumnSizes,
    check_entries,
    entries_of,
    present_values,
    uploaded_columns,
)
from pyopencl_gbdt.pages.page import QuantizedData, SortedColumns
from pyopencl_gbdt.pages.quantize import quantized

#: How splits are found; ``parameters.table`` has the same names.
Method = Literal["hist", "exact", "approx"]


def expected_columns(data: Dataset, method: Method) -> ColumnSizes | None:
    """Return what sorted columns take at most, before they are made; None is pages of codes."""
    if data.sparse is not None:
        return ColumnSizes(data.sparse.n_entries)
    return None if method == "hist" else ColumnSizes(data.n_rows * data.n_features)


def sizes_of(codes: QuantizedData) -> ColumnSizes | None:
    """Return the sizes of sorted columns; None if the pages hold codes."""
    page = codes.pages[0]
    if not isinstance(page, SortedColumns):
        return None
    return ColumnSizes(page.n_entries, page.missing)


def paged(
    data: Dataset, device: Device, method: Method, max_bin: int, n_pages: int = 0
) -> QuantizedData:
    """Return a data set as pages on a device; the data set keeps the result for the next call.

    Dense data become codes, or sorted columns for exact search. Sparse data become sorted columns.

    Parameters
    ----------
    data : Dataset
    device : Device
    method : {"hist", "exact", "approx"}
    max_bin : int
        Most bins of a feature, for ``hist``.
    n_pages : int
        Pages of codes; 0 is the fewest that the device can allocate.

    Raises
    ------
    MemoryPlanError
        If the pages, or the arrays to compute them, do not fit the device.
    """
    if method == "hist" and data.sparse is None:
        return quantized(data, device, max_bin, n_pages)
    most = max_bin if method == "hist" else None
    key = (device.process_key, "columns", most)
    if data.kept is not None and data.kept[0] == key and isinstance(data.kept[1], QuantizedData):
        return data.kept[1]
    data.forget()  # frees the former pages first
    columns = present_values(data.values) if data.sparse is None else entries_of(data.sparse)
    check_entries(columns.rows.size)
    every_row_counts = data.weight is None or bool(data.weight.all())
    if most is None and every_row_counts and columns.rows.size:
        page, layout = sorted_on_device(device, columns)
    else:
        page, layout = uploaded_columns(device, columns, data.weight, most)
    made = QuantizedData([page], layout)
    data.kept = (key, made)
    return made
