"""What the error says where no device fits a string: what was found, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from pyopencl_gbdt.device import makers
from pyopencl_gbdt.device.device_info import DeviceInfo
from pyopencl_gbdt.messages import pip_install

ALLOWED = (
    "'auto', 'gpu', 'gpu:<n>', 'cpu', 'opencl', 'opencl:<platform>:<device>', 'cuda', 'cuda:<n>', "
    "'nvidia', 'amd' or 'intel' for GPUs of a maker, or a part of a platform's or device's name"
)


def explain(asked: str, wanted: str, found: Sequence[DeviceInfo], notes: Sequence[str]) -> str:
    """Return the error's text.

    Parameters
    ----------
    asked : str
        What was asked for and where, such as ``device='gpu'``.
    wanted : str
        The string in small letters.
    found : sequence of DeviceInfo
        All devices.
    notes : sequence of str
        Interfaces and platforms that could not be listed, and why.
    """
    lines = [f"{asked}: no usable device fits; expected {ALLOWED}."]
    if wanted in makers.NAMES:
        lines = [
            f"{asked}: there is no usable GPU of {makers.NAMES[wanted]}; {wanted!r} selects the "
            "maker's GPUs through OpenCL or CUDA, and no processor."
        ]
    lines.append("Found:" if found else "Found: no device.")
    for info in found:
        name, platform, state = "?", "?", ""
        if info.caps is not None:
            kind = "simulator" if info.caps.is_simulator else info.caps.kind.upper()
            name, platform, state = info.caps.name, info.caps.platform, f"usable {kind}"
        lines.append(f"  {info.device_id}  {name} ({platform})  {info.problem or state}")
    lines += [f"  {note}" for note in notes]
    return "\n".join([*lines, _remedy(wanted, found)])


def _remedy(wanted: str, found: Sequence[DeviceInfo]) -> str:
    if wanted.startswith("cuda"):
        return f"Next: install an NVIDIA driver and CuPy (or [cuda13]): {pip_install('cuda12')}"
    if wanted == "gpu" or wanted in makers.NAMES:
        packages = makers.PACKAGES
        of = [packages[makers.NAMES[wanted]]] if wanted in makers.NAMES else packages.values()
        return (
            f"Next: install the GPU's OpenCL driver (Debian and Ubuntu: {' or '.join(of)}), see "
            "`pyopencl-gbdt doctor`, or use device='cpu'."
        )
    if any(i.usable and i.caps and not i.caps.is_simulator for i in found):
        return "Next: use one of the devices above, or device='auto'."
    return f"Next: install PoCL, which runs on any x86-64 Linux: {pip_install('cpu')}"
