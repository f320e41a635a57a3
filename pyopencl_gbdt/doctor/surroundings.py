"""Check the environment of the devices: containers, WSL, clusters, Python packages, systems."""

from __future__ import annotations

from pyopencl_gbdt.device import Capabilities
from pyopencl_gbdt.device.drivers import faults
from pyopencl_gbdt.doctor.findings import INSTALL, Finding, Listing, everywhere
from pyopencl_gbdt.doctor.machine import Machine
from pyopencl_gbdt.messages import pip_install

#: Variables that make a driver hide its cards if they are empty or -1.
HIDING = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
#: Package of a CPU runtime -> (name of its platform, extra that installs it).
RUNTIMES = {
    "pocl-binary-distribution": ("Portable Computing Language", "pocl"),
    "intel-opencl-rt": ("Intel(R) OpenCL", "intel-cpu"),
}
_CUPY = ("cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x")


def check_container(machine: Machine, listing: Listing) -> list[Finding]:
    """Find a container with an NVIDIA card but without the driver's compute libraries."""
    inside = machine.container and (
        machine.exists("/dev/nvidiactl") or machine.exists("/proc/driver/nvidia/version")
    )
    if not inside or listing.has_gpu("NVIDIA"):
        return []
    asked = machine.environment.get("NVIDIA_DRIVER_CAPABILITIES", "")
    problem = machine.load("libnvidia-opencl.so.1")
    if not problem:
        return []
    text = f"this {machine.container} has an NVIDIA card, but not libnvidia-opencl.so.1: {problem}"
    if asked and not {"all", "compute"} & set(asked.split(",")):
        text += f"; NVIDIA_DRIVER_CAPABILITIES={asked} lacks compute"
    command = "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility"
    if machine.container == "Apptainer":
        command = "apptainer exec --nv --bind /etc/OpenCL/vendors"
    return [Finding("nvidia-container", "error", text, everywhere(command))]


def check_wsl(machine: Machine, listing: Listing) -> list[Finding]:
    """Report what Windows Subsystem for Linux supports."""
    if not machine.is_wsl or listing.gpus:
        return []
    if not machine.exists("/dev/dxg"):
        text = "this is WSL without /dev/dxg: WSL 1, or Windows has no driver that shares its GPU"
        return [Finding("wsl", "warning", text, everywhere("wsl.exe --update"))]
    text = (
        "this is WSL 2: NVIDIA's driver brings CUDA into it but no OpenCL (microsoft/WSL#6951), "
        "Intel's compute runtime works in it; under Windows itself every driver has OpenCL"
    )
    return [Finding("wsl", "note", text, everywhere(pip_install("cuda12")))]


def check_hidden(machine: Machine, listing: Listing) -> list[Finding]:
    """Find variables that hide all cards, and batch jobs without a GPU."""
    findings = []
    for name in HIDING:
        value = machine.environment.get(name)
        if value is not None and value.strip() in ("", "-1"):
            text = f"{name}={value!r} hides every card from its driver"
            findings.append(Finding("cards-hidden", "warning", text, everywhere(f"unset {name}")))
    if "SLURM_JOB_ID" in machine.environment and not listing.gpus:
        text = "this batch job sees no GPU; ask the scheduler for one if you want it"
        findings.append(Finding("no-gpu-in-job", "note", text, everywhere("sbatch --gres=gpu:1")))
    return findings


def check_packages(machine: Machine, listing: Listing) -> list[Finding]:
    """Find runtime packages that are incomplete, or that the loader does not find."""
    findings = []
    packages = machine.packages
    for name, package in packages.items():
        if package.missing:
            text = f"the package {name} {package.version} lacks {', '.join(package.missing)}"
            command = f"pip install --force-reinstall --no-deps {name}"
            findings.append(Finding("package-incomplete", "error", text, everywhere(command)))
    if "intel-opencl-rt" in packages and "intel-cmplr-lib-rt" not in packages:
        text = (
            "intel-opencl-rt is installed without intel-cmplr-lib-rt, whose libraries it needs "
            "and does not ask for"
        )
        command = "pip install intel-cmplr-lib-rt"
        findings.append(Finding("intel-half-installed", "error", text, everywhere(command)))
    elif not listing.failure:
        for name, (platform, extra) in RUNTIMES.items():
            if name in packages and not packages[name].missing and not listing.has(platform):
                text = f"{name} is installed, but there is no platform {platform!r}"
                commands = INSTALL[extra]
                if machine.environment.get("OCL_ICD_VENDORS"):
                    text += "; OCL_ICD_VENDORS is set, and the loader searches only there"
                    commands = everywhere("unset OCL_ICD_VENDORS")
                findings.append(Finding("runtime-not-seen", "warning", text, commands))
    return findings


def check_cuda(machine: Machine, listing: Listing) -> list[Finding]:
    """Find CuPy without a driver or compiler, or installed twice."""
    packages = machine.packages
    installed = [name for name in _CUPY if name in packages]
    if not installed:
        return []
    if len(installed) > 1:
        text = f"{' and '.join(installed)} are installed; they overwrite each other's files"
        command = f"pip uninstall {' '.join(installed)} && pip install {installed[-1]}"
        return [Finding("cupy-twice", "error", text, everywhere(command))]
    if not listing.has("CUDA"):
        problem = machine.load("libcuda.so.1") if machine.system == "Linux" else ""
        if problem:
            text = f"{installed[0]} is installed, but there is no NVIDIA driver: {problem}"
            return [Finding("cupy-without-driver", "warning", text, INSTALL["nvidia"])]
    compiler = {"cupy-cuda12x": "nvidia-cuda-nvrtc-cu12", "cupy-cuda13x": "nvidia-cuda-nvrtc"}
    needed = compiler.get(installed[0], "")
    if needed and needed not in packages and machine.load("libnvrtc.so"):
        text = f"{installed[0]} compiles kernels by NVRTC, which is neither in pip nor on the path"
        return [Finding("cupy-without-nvrtc", "warning", text, everywhere(f"pip install {needed}"))]
    return []


def check_listing(machine: Machine, listing: Listing) -> list[Finding]:
    """Report problems of listing the devices."""
    findings = []
    if listing.failure:
        text = (
            f"listing the devices {listing.failure}: a driver is broken. Move the files of "
            "/etc/OpenCL/vendors away one by one to see which"
        )
        findings.append(Finding("listing-fails", "error", text))
    for note in listing.notes:
        if "does not load" in note:
            findings.append(Finding("no-loader", "error", note, _loader(machine)))
        elif note.startswith("OpenCL platform"):
            text = f"{note}; its other devices, and other platforms, can be used"
            findings.append(Finding("platform-fails", "error", text))
    for device in listing.devices:
        if device.problem:
            text = f"{device.device_id} {device.name} cannot be used: {device.problem}"
            findings.append(Finding("device-unusable", "warning", text))
    if listing.problem and listing.usable:  # no device fits the user's request
        findings.append(Finding("device-not-found", "error", listing.problem))
    elif not listing.failure and not listing.usable:
        findings.append(_no_device(machine))
    return findings


def check_faults(machine: Machine, listing: Listing) -> list[Finding]:
    """Report drivers with known faults."""
    findings = []
    for device in listing.usable:
        _, problem, notes = faults.apply(Capabilities(**device.capabilities))
        for text in filter(None, [problem, *notes]):
            findings.append(Finding("driver-fault", "warning", f"{device.device_id}: {text}"))
    return findings


def _loader(machine: Machine) -> dict[str, str]:
    return INSTALL["loader"] if machine.system == "Linux" else everywhere("pip install pyopencl")


def _no_device(machine: Machine) -> Finding:
    """Advise on installing a device: PoCL's wheel is only for x86-64 Linux."""
    text = "no device can be used; "
    if machine.system == "Linux":
        text += "a runtime for processors is the quickest remedy"
        return Finding("no-device", "error", text, INSTALL["pocl"])
    if machine.system == "Darwin":
        text += "conda-forge has a runtime for processors, beside Apple's own"
        command = "conda install -c conda-forge pyopencl pocl"
        return Finding("no-device", "error", text, everywhere(command))
    text += (
        "install the graphics driver from the card's maker (AMD, Intel, NVIDIA): it has OpenCL; "
        "or Intel's runtime for processors"
    )
    return Finding("no-device", "error", text, INSTALL["intel-cpu"])


#: Checks that also need the list of devices.
CHECKS = (
    check_listing,
    check_faults,
    check_container,
    check_wsl,
    check_hidden,
    check_packages,
    check_cuda,
)
