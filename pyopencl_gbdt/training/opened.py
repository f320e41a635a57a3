"""Run a task on the device, or the devices, that its parameters name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.limited_device import limit_memory
from pyopencl_gbdt.device.run_ahead import settled
from pyopencl_gbdt.device.selection import find_several, names_several
from pyopencl_gbdt.logger import tell
from pyopencl_gbdt.training.division import divided
from pyopencl_gbdt.training.fitting import Fit, Task
from pyopencl_gbdt.training.together import leading
from pyopencl_gbdt.training.tree_method import as_histograms, check_exact
from pyopencl_gbdt.training.with_statistics import prepared_on


@contextlib.contextmanager
def opened_fit(task: Task, *, profile: bool = False) -> Iterator[Fit]:
    """Open what ``task.params.device`` names, and yield a fit that callbacks can drive.

    If the block ends early, for example by Ctrl-C, all devices are waited for and all threads end.
    """
    name = task.params.device
    if names_several(name):
        parts = divided(find_several(name), task)
        if parts.note and task.params.verbosity:
            tell(parts.note)
        if len(parts.devices) > 1:
            for one in parts.devices:
                limit_memory(one, task.params.device_memory)
            with leading(parts.devices, task, parts.bounds) as together:
                together.parts = parts.described()
                yield together
            return
        name = parts.devices[0].caps.device_id
    device = open_device(name, profile=profile)
    limit_memory(device, task.params.device_memory)
    device.warm_up()
    with settled(device):
        asked = task.params
        if task.data.batches is not None:
            task = replace(task, params=as_histograms(asked))
        fit = Fit(device, prepared_on(device, task))
        try:
            if task.data.batches is not None:
                check_exact(asked, fit.boosting.ws.features.layout.feature_bins)
            yield fit
        finally:
            fit.close()
