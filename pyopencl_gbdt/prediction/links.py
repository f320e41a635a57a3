"""Margins on a device become predictions there."""

from __future__ import annotations

from pyopencl_gbdt.device import Device, DeviceArray, build_variant_program

#: Fewer margins are converted on the host: NumPy takes as long as a launch and a build's look-up.
#: PoCL, 2 cores: 30 ns a margin on the host.
FEW_MARGINS = 16_384
#: Of more classes, a share could be a subnormal number, which some devices flush.
MOST_CLASSES = 1024
#: Margins of all classes are on the device together; of more bytes, the host converts them.
MOST_BYTES = 256 * 1024 * 1024


def on_device(link: str, n_rows: int, n_outputs: int) -> bool:
    """Tell whether a device is to convert margins."""
    if n_rows * n_outputs < FEW_MARGINS:
        return False
    few = n_outputs <= MOST_CLASSES and 4 * n_rows * n_outputs <= MOST_BYTES
    return bool(link) and (few or link != "softmax")


def apply_link(device: Device, link: str, margins: DeviceArray) -> None:
    """Convert margins in place; the host does not wait.

    Parameters
    ----------
    device : Device
    link : str
        ``Objective.device_link``.
    margins : DeviceArray of float32, shape (n_rows,), or (n_classes, n_rows) for ``softmax``
    """
    classes = {"n_classes": margins.shape[0]} if link == "softmax" else {}
    n = margins.shape[1] if classes else margins.size
    _, program = build_variant_program(device, "links", "auto")
    program.launch(link, device.caps.row_groups(n), n=n, margins=margins, **classes)
