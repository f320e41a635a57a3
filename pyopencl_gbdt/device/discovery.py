"""List the machine's devices, say why some cannot be used, and open the one a string selects."""

from __future__ import annotations

import importlib.util
import os
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pyopencl_gbdt.device import limited_device
from pyopencl_gbdt.device.base import Device
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.drivers import faults, first_use, forked, makers, measured_facts
from pyopencl_gbdt.device.drivers import folders as driver_folders
from pyopencl_gbdt.device.variants import TABLE, choose, kernels, summary, tuning
from pyopencl_gbdt.errors import DeviceError, NoDeviceError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import pip_install


@dataclass(frozen=True)
class DeviceInfo:
    """A device as ``devices()`` lists it.

    Attributes
    ----------
    device_id : str
        The string that selects it.
    caps : Capabilities or None
        None if the driver did not answer.
    problem : str
        Why it cannot be used; empty if it can.
    handle : object
        The driver's object that opens it; internal.
    notes : tuple of str
        Known faults of its driver, from ``device/drivers/faults.py``.
    """

    device_id: str
    caps: Capabilities | None
    problem: str
    handle: Any = None
    notes: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        return self.caps is not None and not self.problem

    def variants(self) -> dict[str, str]:
        """Return, for every kernel, the variant that the device would use."""
        if self.caps is None:
            return {}
        return {kernel: choose(kernel, self.caps).name for kernel in kernels()}

    def tuned(self) -> dict[str, tuning.Choice]:
        """Return what ``pyopencl-gbdt tune`` stored for the device, by kernel."""
        stored = None if self.caps is None else tuning.load(self.caps)
        return {} if stored is None else dict(stored.choices)

    def describe(self, *, verbose: bool = False) -> str:
        """Return the text that ``pyopencl-gbdt devices`` prints for the device.

        Parameters
        ----------
        verbose : bool, default False
            Name every kernel's variant, instead of a summary in one line.
        """
        if self.caps is None:
            return f"{self.device_id}  not usable: {self.problem}"
        state = "usable" if self.usable else f"not usable: {self.problem}"
        if self.caps.is_simulator:
            state += " (a simulator: slow, never chosen by 'auto')"
        lines = [f"{self.device_id}  {self.caps.name} ({self.caps.platform})  {state}"]
        lines += [f"    {line}" for line in self.caps.describe()]
        lines += [f"    note: {note}" for note in self.notes]
        measured = measured_facts.texts(self.caps)
        lines += [f"    measured: {'; '.join(measured)}"] if measured else []
        if verbose:
            chosen = ", ".join(f"{k}: {v}" for k, v in self.variants().items())
            lines.append(f"    kernels: {chosen}")
        else:
            lines.append(f"    {summary(self.variants(), self.caps)}")
        stored = tuning.load(self.caps)
        if stored is not None:
            said = stored.problem or ", ".join(tuning.describe(stored.choices, TABLE))
            lines.append(f"    tuned by {stored.path}: {said or 'the table holds'}")
        return "\n".join(lines)


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


ENVIRONMENT = "PYOPENCL_GBDT_DEVICE"

_NO_CUPY = f"CUDA: CuPy is not installed; {pip_install('cuda12')}"

#: CPU runtimes, best first. A launch with a wait takes 5-7 us on Intel's, 35-50 us on PoCL (2
#: cores).
_CPU_ORDER = ("intel", "portable computing language")
#: Capabilities of opened devices, which a fit looks up often: the same object is found faster.
_opened: dict[Capabilities, Capabilities] = {}


def _opencl() -> tuple[list[DeviceInfo], list[str]]:
    with driver_folders.chosen() as wrong:
        found, notes = _opencl_devices()
    platforms = [info.caps.platform for info in found if info.caps is not None]
    for name, note in wrong.items():
        if not any(name in platform for platform in platforms):
            notes.append(note)
    return found, notes


def _opencl_devices() -> tuple[list[DeviceInfo], list[str]]:
    try:
        import pyopencl as cl

        from pyopencl_gbdt.device.opencl import facts as opencl_facts
        from pyopencl_gbdt.device.opencl import pocl as pocl_target
    except ImportError as error:
        if error.name == "pyopencl":
            return [], ["OpenCL: pyopencl is not installed; pip install pyopencl"]
        # a pyopencl without a bundled loader, and no loader installed
        return [], [f"OpenCL: pyopencl does not load: {error} (install ocl-icd-libopencl1)"]
    found: list[DeviceInfo] = []
    notes: list[str] = []
    try:
        platforms = sorted(cl.get_platforms(), key=opencl_facts.is_simulator)
    except Exception as error:  # a loader without platforms raises, and so may a broken platform
        return [], [f"OpenCL: {opencl_facts.message(error)}"]
    for p, platform in enumerate(platforms):
        try:
            devices = platform.get_devices()
            if not devices:
                notes += opencl_facts.why_no_device(platform.name)
        except Exception as error:  # one failing driver must not hide the others
            notes.append(f"OpenCL platform {p}: {opencl_facts.message(error)}")
            continue
        for d, device in enumerate(devices):
            device_id = f"opencl:{p}:{d}"
            try:
                pocl_target.mend(device)
                caps, problem = opencl_facts.known_facts(device, device_id)
            except Exception as error:
                found.append(DeviceInfo(device_id, None, opencl_facts.message(error)))
                continue
            caps, fault, warnings = faults.apply(caps)
            problem = problem or fault or measured_facts.problem(caps)
            caps = limited_device.applied(measured_facts.applied(caps))
            found.append(DeviceInfo(device_id, caps, problem, device, tuple(warnings)))
    return found, notes


def _cuda() -> tuple[list[DeviceInfo], list[str]]:
    if importlib.util.find_spec("cupy") is None:
        return [], [_NO_CUPY]
    try:
        from pyopencl_gbdt.device.cuda import device as cuda

        listed = cuda.list_capabilities()
    except Exception as error:  # CuPy can be imported without a driver and raises here
        return [], [f"CUDA: {str(error).strip() or type(error).__name__}"]
    return [DeviceInfo(caps.device_id, limited_device.applied(caps), "") for caps in listed], []


def survey(interface: str = "") -> tuple[list[DeviceInfo], list[str]]:
    """Return every device, and notes on interfaces and platforms that could not be listed.

    Parameters
    ----------
    interface : {"", "opencl", "cuda"}
        Of which devices are listed; ``""`` is both.
    """
    forked.check()
    forked.remember()
    found: list[DeviceInfo] = []
    notes: list[str] = []
    for name, listed in (("opencl", _opencl), ("cuda", _cuda)):
        if interface in ("", name):
            some, said = listed()
            found, notes = found + some, notes + said
    return found, notes


def devices() -> list[DeviceInfo]:
    """List every OpenCL and CUDA device of this machine.

    Returns
    -------
    list of DeviceInfo
        Usable and unusable ones; ``problem`` says why one is unusable.
    """
    return survey()[0]


def _rank(info: DeviceInfo) -> tuple[int, ...]:
    """Order devices from best to worst: real before simulated, GPU, OpenCL, discrete, large."""
    caps = info.caps
    assert caps is not None
    order = len(_CPU_ORDER)
    if caps.kind == "cpu":
        platform = caps.platform.lower()
        order = next((i for i, name in enumerate(_CPU_ORDER) if name in platform), order)
    return (
        caps.is_simulator,
        {"gpu": 0, "accelerator": 1, "cpu": 2}[caps.kind],
        caps.api != "opencl",
        caps.unified_memory,
        order,
        -caps.compute_units,
    )


def _matches(spec: str, info: DeviceInfo) -> bool:
    caps = info.caps
    if caps is None:
        return info.device_id == spec
    real = not caps.is_simulator
    if spec in ("auto", "gpu", "cpu", "opencl", "cuda"):
        return real and spec in ("auto", caps.kind, caps.api)
    if spec in makers.NAMES:
        return real and caps.kind == "gpu" and makers.maker(caps) == makers.NAMES[spec]
    if spec.startswith(("opencl:", "cuda:")):
        return caps.device_id == spec
    return spec in f"{caps.platform} {caps.name}".lower()


def _precedes_cuda(wanted: str, best: DeviceInfo) -> bool:
    """Tell whether no card of CUDA's can be a better choice than the best of OpenCL's devices."""
    assert best.caps is not None
    of_opencl = wanted == "cpu" or wanted.partition(":")[0] == "opencl"
    return of_opencl or (best.caps.kind == "gpu" and not best.caps.is_simulator)


def every_gpu(kind: str = "gpu", found: Sequence[DeviceInfo] | None = None) -> list[DeviceInfo]:
    """Return every usable GPU once, the best first.

    Parameters
    ----------
    kind : {"gpu", "cuda"}
        ``"gpu"``: of a card that OpenCL and CUDA list, OpenCL's; ``"cuda"``: CUDA's cards.
    found : sequence of DeviceInfo or None
        All devices; None lists them.

    Raises
    ------
    DeviceError
        If there is none.
    """
    found = survey()[0] if found is None else found
    usable = sorted((i for i in found if i.usable and _matches(kind, i)), key=_rank)
    names = Counter(i.caps.name for i in usable if i.caps and i.caps.api == "opencl")
    kept: list[DeviceInfo] = []
    for info in usable:  # OpenCL's come first
        assert info.caps is not None
        if info.caps.api == "cuda" and names[info.caps.name] > 0:
            names[info.caps.name] -= 1
        else:
            kept.append(info)
    if not kept:
        raise DeviceError(
            f"device='{kind}:all': no usable device fits; name devices of `pyopencl-gbdt devices`"
        )
    return kept


def find(spec: str = "auto") -> DeviceInfo:
    """Return the device that a string selects.

    Parameters
    ----------
    spec : str, default "auto"
        ``"auto"`` (the best GPU, else a CPU, never a simulator; the environment variable
        ``PYOPENCL_GBDT_DEVICE`` replaces it), ``"gpu"``, ``"cpu"``, ``"opencl"``,
        ``"opencl:<platform>:<device>"`` (simulators have the last numbers), ``"cuda"``,
        ``"cuda:<n>"``, ``"gpu:<n>"`` (the n-th GPU from 0, the best first), a name of
        ``makers.NAMES`` (the best GPU of that maker) or a part of a platform's or device's name.

    Raises
    ------
    NoDeviceError
        If no usable device matches. The message lists the devices found and says what to do.
    """
    if not isinstance(spec, str):
        raise DeviceError(f"device={spec!r}: expected a string, {ALLOWED}")
    wanted = spec.strip().lower()
    asked = f"device={spec!r}"
    if not wanted:
        raise DeviceError(f"{asked}: expected {ALLOWED}; give 'auto'")
    if wanted == "auto" and os.environ.get(ENVIRONMENT, "").strip():
        wanted = os.environ[ENVIRONMENT].strip().lower()
        asked = f"device={wanted!r} ({ENVIRONMENT})"
    found: list[DeviceInfo] = []
    notes: list[str] = []
    usable: list[DeviceInfo] = []
    of_cuda = wanted.partition(":")[0] == "cuda"
    for interface in ("cuda", "opencl") if of_cuda else ("opencl", "cuda"):
        some, said = survey(interface)
        found, notes = [*found, *some], [*notes, *said]
        usable = sorted((i for i in found if i.usable and _matches(wanted, i)), key=_rank)
        if usable and (of_cuda or _precedes_cuda(wanted, usable[0])):
            return usable[0]  # listing CUDA's cards imports CuPy, which takes longer than a fit
    numbered = re.fullmatch(r"gpu:(\d{1,4})", wanted)
    if numbered and any(info.usable and _matches("gpu", info) for info in found):
        usable = every_gpu("gpu", found)[int(numbered[1]) :]
    if usable:
        return usable[0]
    raise NoDeviceError(explain(asked, wanted, found, notes))


def open_device(spec: str | Device = "auto", *, profile: bool = False) -> Device:
    """Open a device with a queue of its own.

    Parameters
    ----------
    spec : str or Device
        As for ``find``. An opened device is returned unchanged.
    profile : bool, default False
        Whether to time every kernel and copy; see ``Device.profiler``.

    Raises
    ------
    DeviceError
        If no device matches, the driver fails to open it, or ``profile`` is set for a device that
        was opened without it.
    """
    if isinstance(spec, Device):
        if profile and spec.profiler is None:
            raise DeviceError(
                f"profile=True: {spec.caps.label} was opened without it; open it by "
                f"open_device({spec.caps.device_id!r}, profile=True)"
            )
        return spec
    info = find(spec)
    if info.caps is not None and first_use.examine(info.caps):
        info = find(spec)  # its capabilities may be corrected now
    assert info.caps is not None
    return opened(_opened.setdefault(info.caps, info.caps), info.handle, profile=profile)


def opened(caps: Capabilities, handle: Any, *, profile: bool = False) -> Device:
    """Open a device that was looked up, with a queue of its own."""
    if caps.api == "cuda":
        from pyopencl_gbdt.device.cuda.device import CudaDevice

        return CudaDevice(caps, profile=profile)
    from pyopencl_gbdt.device.opencl.device import OpenCLDevice

    return OpenCLDevice(handle, caps, profile=profile)
