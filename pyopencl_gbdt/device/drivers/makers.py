"""Makers of GPUs: their names in a device string, and what drivers say of them."""

from __future__ import annotations

from pyopencl_gbdt.device.capabilities import Capabilities

#: What a device string may be -> the maker whose GPUs it means, through every interface.
NAMES = {
    "nvidia": "NVIDIA",
    "amd": "AMD",
    "radeon": "AMD",
    "rocm": "AMD",
    "hip": "AMD",
    "intel": "Intel",
    "arc": "Intel",
}
#: Debian's and Ubuntu's packages with the OpenCL drivers of each maker's GPUs.
PACKAGES = {
    "NVIDIA": "nvidia-opencl-icd",
    "AMD": "rocm-opencl-icd or mesa-opencl-icd",
    "Intel": "intel-opencl-icd",
}
#: Text in the vendor or the name of a device -> its maker.
_WORDS = {
    "nvidia": "NVIDIA",
    "amd": "AMD",
    "advanced micro devices": "AMD",
    "radeon": "AMD",
    "intel": "Intel",
}
#: The makers' numbers on the PCI bus.
_PCI_NUMBERS = {0x10DE: "NVIDIA", 0x1002: "AMD", 0x1022: "AMD", 0x8086: "Intel"}
#: Most 32-bit registers of a work-item, whatever the driver: CUDA C++ Programming Guide, "Technical
#: Specifications per Compute Capability"; LLVM's user guide for AMDGPU, "amdgpu_vgpr". Of
#: Intel's a work-item has 128, 64 or 32, as the compiler chooses: no number to count on.
_REGISTERS = {"NVIDIA": 255, "AMD": 256}


def maker(caps: Capabilities) -> str:
    """Return the maker of a device, a value of ``NAMES``; empty if it is another one.

    The vendor's text decides, then the vendor's number, then the device's name. Mesa's zink says
    ``Unknown`` and the number; its platform is called ``rusticl`` whatever the card.
    """
    return _named(caps.vendor) or _PCI_NUMBERS.get(caps.vendor_id, "") or _named(caps.name)


def registers(caps: Capabilities) -> int:
    """Return the most registers that a work-item of a GPU can have; 0 if nobody has found it."""
    return _REGISTERS.get(maker(caps), 0) if caps.kind == "gpu" else 0


def _named(text: str) -> str:
    return next((maker for word, maker in _WORDS.items() if word in text.lower()), "")
