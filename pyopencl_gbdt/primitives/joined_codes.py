"""Joint codes that stand for the codes of columns, which are not stored then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyopencl_gbdt.device import DeviceArray
from pyopencl_gbdt.dtypes import BLOCK_BYTES
from pyopencl_gbdt.primitives.packed_codes import BlockOrder


@dataclass(frozen=True)
class JoinedCodes:
    """The joint codes of consecutive rows on a device, stored once.

    Attributes
    ----------
    codes : uint8 DeviceArray
        In the shape that ``order`` gives, or of shape (n_places, n_rows).
    digits : uint32 DeviceArray, shape (n_features, 2)
        Where each feature's code is, see ``JointColumns.digit_table``.
    order : BlockOrder or None
        None is place by place.
    """

    codes: DeviceArray
    digits: DeviceArray
    order: BlockOrder | None

    #: Kernels name a feature by its number: ``digits`` tells where its code is.
    block_features = block_codes = 1
    #: The kernels' word for these codes.
    code_type = "joint"
    #: Bytes that tell a row's code.
    code_bytes = 1

    @property
    def row_bytes(self) -> int:
        """Bytes of a row's codes, padding included."""
        return self.codes.shape[0] if self.order is None else self.order.row_bytes

    @property
    def kind(self) -> str:
        """What is stored, for ``Model.variants``."""
        return "joint, by column" if self.order is None else "joint, by row"

    def column_arguments(self) -> dict[str, Any]:
        """Return the kernel arguments for reading codes; strides count codes.

        ``templates/parts/row_codes.cl.mako`` has what they mean.
        """
        found = {"codes": self.codes, "digits": self.digits}
        if self.order is None:
            columns = {"place_codes": 1, "row_stride": 1, "paired": 0}
            return {**found, **columns, "block_stride": self.codes.shape[1]}
        strides = self.order.strides(self.codes.shape[1])
        for name in ("row_stride", "block_stride"):
            strides[name] *= BLOCK_BYTES
        return {**found, **strides, "place_codes": BLOCK_BYTES}

    #: A row's codes and a feature's are read from the same arrays.
    row_arguments = column_arguments
