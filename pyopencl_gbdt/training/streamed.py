"""Training from pages that take turns on the device: what it needs, and how its pages are made."""

from __future__ import annotations

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.fit.turns import Turns
from pyopencl_gbdt.gradients.sources import takes_pages
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.pages.budget import page_bytes
from pyopencl_gbdt.pages.disk_pages import DiskPages
from pyopencl_gbdt.pages.levels import cut_features, layout_of, most_levels
from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.pages.stored import StoredPages, encoded_pages
from pyopencl_gbdt.parameters.parameters import Parameters


def why_resident(
    params: Parameters, objective: Objective, data: Dataset, *, statistics: bool
) -> str:
    """Return why all rows of a fit have to stay on the device; empty if pages may take turns.

    Parameters
    ----------
    params : Parameters
    objective : Objective
    data : Dataset
    statistics : bool
        Whether categorical columns become statistics.
    """
    if params.search != "hist":
        return f"tree_method={params.tree_method!r} sorts all rows; use tree_method='hist'"
    if data.sparse is not None:
        return "X is sparse, and its columns are not cut into pages of rows; give a dense matrix"
    if params.boosting_type == "ordered":
        return "boosting_type='ordered' gathers rows in another order; use 'plain'"
    if statistics:
        return "cat_method='statistics' counts rows of all pages in every round; use 'sets'"
    if not takes_pages(objective):
        name = params.objective
        return f"objective={name!r} has kernels that look at all rows; use a loss of single rows"
    return ""


def check_turns(reason: str) -> None:
    """Refuse pages that take turns, if there is a reason.

    Raises
    ------
    ParameterError
    """
    if reason:
        raise ParameterError(
            f"page='streamed': expected a fit whose pages can take turns on the device, but "
            f"{reason}, or leave out page="
        )


def cut_layout(data: Dataset, device: Device, params: Parameters) -> Layout:
    """Return the layout of a data set's codes; the values stay where they are."""
    return layout_of(_quantizer(data, device, params, 1, weighted=True).cuts(), data)


def stored_pages(
    data: Dataset, device: Device, params: Parameters, layout: Layout, turns: Turns
) -> StoredPages:
    """Return a data set's codes in pages that lie in the host's memory, or in ``cache_dir``."""
    quantizer = _quantizer(data, device, params, turns.most_rows, weighted=False)
    folders, store = params.cache_folders, None
    if folders:
        side_by_side = device.caps.side_by_side
        store = DiskPages(layout, turns.bounds, folders, side_by_side=side_by_side)
    return encoded_pages(quantizer, layout, turns.bounds, store)


def _quantizer(
    data: Dataset, device: Device, params: Parameters, page_rows: int, *, weighted: bool
) -> Quantizer:
    """Return a quantizer that plans memory for the codes of so many rows at a time."""
    values, weight = data.features_for(device), data.weight if weighted else None
    levels = most_levels(data)
    planned = page_bytes(device, page_rows, data.n_features, max(params.max_bin, levels))
    return Quantizer(
        device, values, weight, params.max_bin, tiled_bytes=planned, most_levels=levels,
        cut=cut_features(data), exact=params.max_bin_exact,
    )  # fmt: skip
