"""Training from pages that take turns on the device: what it needs, and how its pages are made."""

from __future__ import annotations

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.fit.turns import Turns
from pyopencl_gbdt.gradients.sources import takes_pages
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.pages.budget import page_bytes
from pyopencl_gbdt.pages.levels import cut_features, layout_of, most_levels
from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.pages.stored import HostPages, encoded_pages
from pyopencl_gbdt.parameters.parameters import Parameters

#: Rows of which one page's codes are planned while values are cut into bins.
_PIECE_ROWS = 1 << 20


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


def cut_layout(data: Dataset, device: Device, max_bin: int) -> Layout:
    """Return the layout of a data set's codes; the values stay where they are."""
    return layout_of(_quantizer(data, device, max_bin, weighted=True).cuts(), data)


def host_pages(
    data: Dataset, device: Device, max_bin: int, layout: Layout, turns: Turns
) -> HostPages:
    """Return a data set's codes in pages that lie in the host's memory."""
    quantizer = _quantizer(data, device, max_bin, weighted=False)
    return encoded_pages(quantizer, layout, turns.bounds)


def _quantizer(data: Dataset, device: Device, max_bin: int, *, weighted: bool) -> Quantizer:
    values, weight = data.features_for(device), data.weight if weighted else None
    levels = most_levels(data)
    rows, most = min(data.n_rows, _PIECE_ROWS), max(max_bin, levels)
    planned = page_bytes(device, rows, data.n_features, most)
    return Quantizer(
        device, values, weight, max_bin, tiled_bytes=planned, most_levels=levels,
        cut=cut_features(data),
    )  # fmt: skip
