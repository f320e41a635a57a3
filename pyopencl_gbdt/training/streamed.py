"""Training from pages that take turns on the device: how its pages are made."""

from __future__ import annotations

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.fit.turns import Turns
from pyopencl_gbdt.gradients.sources import takes_pages
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.pages.budget import page_bytes
from pyopencl_gbdt.pages.disk_pages import DiskPages
from pyopencl_gbdt.pages.levels import cut_features, layout_of, most_levels
from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.pages.stored import PagesOnPaper, PageStore, StoredPages, encoded_pages
from pyopencl_gbdt.parameters.facts import FitFacts, LossFacts
from pyopencl_gbdt.parameters.parameters import Parameters


def stays_resident(
    params: Parameters, objective: Objective, data: Dataset, *, statistics: bool
) -> bool:
    """Tell whether all rows of a fit have to stay on the device; ``statistics``: of categories."""
    loss = LossFacts(takes_pages=takes_pages(objective))
    return statistics or FitFacts(params, loss, sparse=data.sparse is not None).stays_resident


def cut_layout(data: Dataset, device: Device, params: Parameters) -> Layout:
    """Return the layout of a data set's codes; the values stay where they are."""
    return layout_of(_quantizer(data, device, params, 1, weighted=True).cuts(), data)


def stored_pages(
    data: Dataset, device: Device, params: Parameters, layout: Layout, turns: Turns
) -> StoredPages:
    """Return a data set's codes in pages that lie in the host's memory, or in ``cache_dir``."""
    quantizer = _quantizer(data, device, params, turns.most_rows, weighted=False)
    folders = params.cache_folders
    store: PageStore | None = None
    if folders and not device.holds_memory:
        store = PagesOnPaper(layout, turns.bounds)
    elif folders:
        store = DiskPages(layout, turns.bounds, folders, device.caps)
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
