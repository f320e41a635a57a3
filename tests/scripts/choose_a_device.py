"""Choose a device by name; ask for a card that is not there."""

import numpy as np

from pyopencl_gbdt import GBDTRegressor, devices
from pyopencl_gbdt.errors import DeviceError

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
kinds = [one.caps.kind for one in devices() if one.caps is not None]
assert kinds, "no device at all"
assert GBDTRegressor(n_estimators=2, device="cpu").fit(X, X[:, 0]).predict(X).shape == (200,)
if "gpu" not in kinds:
    for name in ("amd", "intel", "nvidia", "gpu"):  # a processor of that maker does not count
        try:
            GBDTRegressor(n_estimators=2, device=name).fit(X, X[:, 0])
        except DeviceError as error:
            print(error)
            assert name in str(error).lower()
        else:
            raise AssertionError(f"device={name!r} trained on a processor")
