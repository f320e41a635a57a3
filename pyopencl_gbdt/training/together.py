"""Train one model on several devices of one process, each with some of the rows.

The devices may be of different makers and kinds: the model's bytes are those of one device.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.team import Threads, threads
from pyopencl_gbdt.errors import DeviceError, ParameterError
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.pages.levels import cut_features, layout_of
from pyopencl_gbdt.pages.page import Layout, QuantizedData
from pyopencl_gbdt.pages.paged import expected_columns
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.booster import Boosting
from pyopencl_gbdt.training.with_statistics import statistic_columns


@dataclass
class _Member:
    """One device's part of the work, run by a thread."""

    device: Device
    params: Parameters
    objective: Objective
    data: Dataset
    start: float
    layout: Layout
    team: Threads
    first_row: int
    all_rows: int
    n_pages: int
    trees: list[Tree] = field(default_factory=list)
    error: BaseException | None = None

    def run(self) -> None:
        try:
            values, most = self.data.values, self.params.max_bin
            quantizer = Quantizer(self.device, values, None, most, self.n_pages)
            codes = QuantizedData(quantizer.encode(self.layout), self.layout)
            share = Share(self.team, self.first_row, self.all_rows, codes)
            fit = Boosting(
                self.device, self.params, self.objective, self.data, self.start, share=share
            )
            self.trees = fit.run(self.params.n_estimators)
        except BaseException as error:  # the thread that waits raises it
            self.error = error
            self.team.leave()


def train_together(
    devices: Sequence[Device],
    params: Parameters,
    objective: Objective,
    data: Dataset,
    start: float,
    *,
    n_pages: int = 0,
) -> list[Tree]:
    """Return the trees that all devices grow together, each from an equal part of the rows.

    Parameters
    ----------
    devices : sequence of Device
        Each opened for this fit; a device may be opened twice.
    params : Parameters
    objective : Objective
        One whose gradients need no other rows than their own.
    data : Dataset
        All rows; the first device computes the cut points.
    start : float
        Margin before the first tree.
    n_pages : int
        Pages of codes on each device; 0 is the fewest that it can allocate.

    Raises
    ------
    ParameterError
        If the loss looks at several rows, there are fewer rows than devices, splits are searched
        along sorted columns, which one device has to hold, or categories become statistics.
    DeviceError
        If devices disagree on the trees, which means that a driver is at fault.
    """
    if expected_columns(data, params.search) is not None:
        given = "sparse data" if data.sparse is not None else f"tree_method={params.tree_method!r}"
        raise ParameterError(
            f"{given}: expected dense data and tree_method='hist' where several devices train "
            "together; train on one device"
        )
    if statistic_columns(params, data):
        raise ParameterError(
            f"cat_method={params.cat_method!r}: expected no statistics of categories where several "
            "devices train together; use cat_method='sets', or train on one device"
        )
    n, size = data.n_rows, len(devices)
    cut = cut_features(data)
    cuts = Quantizer(devices[0], data.values, data.weight, params.max_bin, cut=cut).cuts()
    layout = layout_of(cuts, data)
    bounds = pairwise([n * rank // size for rank in range(size + 1)])
    members = [
        _Member(
            device, params, objective, data.part(first, end), start, layout, team, first, n,
            n_pages,
        )
        for device, team, (first, end) in zip(devices, threads(size), bounds, strict=True)
    ]  # fmt: skip
    running = [threading.Thread(target=member.run, daemon=True) for member in members]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    errors = [member.error for member in members if member.error is not None]
    for error in sorted(errors, key=lambda e: isinstance(e, DeviceError)):
        raise error  # the first cause, rather than that others were left alone
    for member in members[1:]:
        if member.trees != members[0].trees:
            names = f"{devices[0].caps.label} and {member.device.caps.label}"
            raise DeviceError(
                f"{names} grew different trees from the same sums; a driver is at fault: update "
                "it, or train on one device"
            )
    return members[0].trees
