"""A program that is built and run at once, for processes that should import little else."""

import numpy as np

from pyopencl_gbdt.dtypes import WALK


def build_and_run(device):
    """Build `leaf`'s neighbour with the shortest kernel and see that it works."""
    program = device.build("predict", wg_size=1, items=1, rows=0, categories=False)
    margins = device.upload(np.array([1.0], np.float32))
    program.launch(
        "predict", 1, n_rows=1, first_row=0, n_features=1, first_output=0, first_tree=0, n_trees=1,
        longest=1, values=device.zeros(1, np.float32), nodes=device.zeros(1, WALK),
        tree_begin=device.zeros(1, np.uint32), margins=margins,
    )  # fmt: skip
    return margins.get().tolist() == [1.0]
