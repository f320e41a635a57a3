"""Gradients of losses that bring kernels of their own, by themselves."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.gradients.sources import source_of
from pyopencl_gbdt.growth.policy import policy_of
from pyopencl_gbdt.pages.page import Page
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.steps.builders import make_layout, make_page


def device_gradients(device, objective, margins, data, wg_size=0):
    """Return what a loss's kernels make of margins, float32 (n_rows,) each, in two equal rounds."""
    params = Parameters.from_dict({"work_group_size": wg_size})
    ws = Workspace(
        device=device,
        params=params,
        policy=policy_of(params),
        layout=make_layout([2], [False]),
        page_list=[Page(make_page(device, np.zeros((data.n_rows, 1), np.uint8)), 0, data.n_rows)],
        n_rows=data.n_rows,
        weighted=False,
        weight_bits=0,
        weight_shift=0,
        given=True,
    )
    ws.own_arrays()
    source = source_of(objective, ws, data)
    ws.allocate()
    launches = source.launches()
    found = []
    for number in range(2):
        ws["margins"].set(margins)
        source.before_round(number)
        for launch in launches:
            launch()
        found.append((ws["given_g"].get()[0], ws["given_h"].get()[0]))
    np.testing.assert_array_equal(found[0], found[1])
    return found[0]
