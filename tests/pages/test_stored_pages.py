"""Pages outside the device have the codes of resident pages."""

import numpy as np
import pytest

from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.pages.cuts import make_layout
from pyopencl_gbdt.pages.page import page_bounds
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.pages.stored import PagesInMemory, StoredPages, encoded_pages, page_shape
from tests.conftest import TEST_DEVICE
from tests.layouts.rows import N, X


@pytest.mark.parametrize("max_bin", [16, 400])
def test_host_pages_have_the_codes_of_resident_ones(max_bin):
    device = open_device(TEST_DEVICE)
    resident = Quantizer(device, X, None, max_bin, n_pages=3).run()
    dtype = resident.pages[0].codes.codes.dtype
    bounds = page_bounds(N, 16, 1 << 30, 3)
    quantizer = Quantizer(device, X, None, max_bin)
    object.__setattr__(quantizer.plan, "piece_rows", 97)  # pieces have rows of several pages
    stored = encoded_pages(quantizer, make_layout(quantizer.cuts()), bounds)
    assert isinstance(stored, StoredPages)
    assert isinstance(stored, PagesInMemory)
    assert [(page.first_row, page.n_rows) for page in resident.pages] == stored.bounds
    for index, page in enumerate(resident.pages):
        shape, dtype = page_shape(stored.layout, page.n_rows, coalesced=device.caps.coalesces_reads)
        into = np.zeros(np.prod(shape) * dtype.itemsize, np.uint8)
        stored.load(index, into)
        np.testing.assert_array_equal(into.view(dtype).reshape(shape), page.codes.codes.get())
    stored.close()
    with pytest.raises(DataError, match="were closed"):
        stored.load(0, into)
