"""Check for incomplete installations: loader, drivers, cards, permissions, containers, caches.

Every check reads a `Machine` and the listed devices, uses no device and returns findings.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from pyopencl_gbdt.doctor.findings import INSTALL, Finding, Listing, Severity, everywhere
from pyopencl_gbdt.doctor.machine import Machine

VENDORS_FOLDER = "/etc/OpenCL/vendors"
#: Part of a driver library's name -> its maker, a key of ``INSTALL``.
MAKERS = {
    "nvidia": "nvidia",
    "amdocl": "amd",
    "igdrcl": "intel",
    "rusticl": "mesa",
    "mesaopencl": "mesa",
    "pocl": "pocl",
    "intelocl": "intel-cpu",
}
_CARDS = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel"}
#: A 32-bit driver next to a 64-bit driver needs no repair.
_OTHER_WIDTH = "wrong ELF class"


def _maker(library: str) -> str:
    name = library.lower()
    return next((maker for part, maker in MAKERS.items() if part in name), "")


def icd_files(machine: Machine) -> list[Path]:
    """Return the ``.icd`` files that the system's loader reads; see ocl-icd's manual.

    ``OCL_ICD_VENDORS`` names a folder or one ``.icd`` file; a file name without a slash means a
    file in the standard folder.
    """
    standard = machine.environment.get("OPENCL_VENDOR_PATH") or VENDORS_FOLDER
    chosen = machine.environment.get("OCL_ICD_VENDORS") or standard
    if chosen.endswith(".icd"):
        file = chosen if "/" in chosen else f"{standard}/{chosen}"
        return [machine.path(file)] if machine.exists(file) else []
    if not Path(chosen).is_absolute():
        return []
    return [file for file in sorted(machine.path(chosen).glob("*.icd")) if not file.is_dir()]


def drivers(machine: Machine) -> dict[str, str]:
    """Return the library that each readable ``.icd`` file names, by the file's path."""
    named = {}
    for file in icd_files(machine):
        lines = machine.text(machine.shown(file)).splitlines()
        named[machine.shown(file)] = lines[0].strip() if lines else ""
    return named


def _broken(machine: Machine, library: str) -> str:
    if Path(library).is_absolute() and not machine.exists(library):
        return "there is no such file"
    problem = machine.load(library)
    return "" if _OTHER_WIDTH in problem else problem


def check_vendors(machine: Machine, listing: Listing) -> list[Finding]:
    """Find an invalid ``OCL_ICD_VENDORS``, and ICD files whose library is missing."""
    if machine.system != "Linux":
        return []
    findings = []
    set_ones = [n for n in ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH") if machine.environment.get(n)]
    if set_ones and not icd_files(machine):
        name = set_ones[0]
        findings.append(
            Finding(
                "vendors-nowhere", "error",
                f"{name}={machine.environment[name]}: there is no .icd file, and while the "
                f"variable is set the loader does not look into {VENDORS_FOLDER}",
                everywhere(f"unset {name}"),
            )
        )  # fmt: skip
    for file, library in drivers(machine).items():
        if not library:
            readable = machine.may_use(machine.path(file)) or os.access(machine.path(file), os.R_OK)
            findings.append(
                Finding(
                    "icd-empty", "error",
                    f"{file} " + ("names no library" if readable else "cannot be read by you"),
                    everywhere(f"sudo rm {file}" if readable else f"sudo chmod a+r {file}"),
                )
            )  # fmt: skip
            continue
        problem = _broken(machine, library)
        if problem:
            maker = _maker(library)
            findings.append(
                Finding(
                    "icd-library-missing", "error",
                    f"{file} names {library}, which does not load: {problem}. Install the driver "
                    f"it belongs to again, or remove the file",
                    INSTALL.get(maker, everywhere(f"sudo rm {file}")),
                )
            )  # fmt: skip
    return findings


def check_cards(machine: Machine, listing: Listing) -> list[Finding]:
    """Find cards on the bus for which no driver is registered."""
    if machine.system != "Linux" or machine.is_wsl:
        return []
    makers = {_maker(library) for library in drivers(machine).values()}
    findings = []
    for card in machine.cards:
        served = {card} | ({"mesa"} if card != "nvidia" else set())
        if makers & served or listing.has_gpu(_CARDS[card], "opencl"):
            continue
        text = f"there is an {_CARDS[card]} card, but no OpenCL driver for it in {VENDORS_FOLDER}"
        commands = INSTALL[card]
        if card == "nvidia" and machine.container:
            if machine.load("libnvidia-opencl.so.1"):
                continue  # the container lacks the driver, see `surroundings.check_container`
            text += "; its library is here, the container only lacks the .icd file"
            commands = everywhere(
                f"mkdir -p {VENDORS_FOLDER} && "
                f"echo libnvidia-opencl.so.1 > {VENDORS_FOLDER}/nvidia.icd"
            )
        if "OCL_ICD_FILENAMES" in machine.environment:
            text += "; OCL_ICD_FILENAMES is not read by ocl-icd, the loader in pyopencl's wheels"
        severity: Severity = "error"
        if listing.has_gpu(_CARDS[card]):
            text, severity = f"{text}; CUDA can still use it", "note"
        findings.append(Finding("card-without-icd", severity, text, commands))
    return findings


def check_mesa(machine: Machine, listing: Listing) -> list[Finding]:
    """Find Mesa's rusticl, which offers no card until a variable enables the card's driver."""
    rusticl = [file for file, library in drivers(machine).items() if "rusticl" in library.lower()]
    if not rusticl or machine.environment.get("RUSTICL_ENABLE") or listing.has("rusticl"):
        return []
    enable = [
        name for card, name in (("amd", "radeonsi"), ("intel", "iris")) if card in machine.cards
    ]
    if not enable:
        return []
    return [
        Finding(
            "rusticl-not-enabled", "note",
            f"{rusticl[0]} registers Mesa's rusticl, which offers a card only where RUSTICL_ENABLE "
            "names its driver",
            everywhere(f"export RUSTICL_ENABLE={','.join(enable)}"),
        )
    ]  # fmt: skip


def _group(machine: Machine, number: int) -> str:
    for line in machine.text("/etc/group").splitlines():
        fields = line.split(":")
        if len(fields) > 2 and fields[2] == str(number):
            return fields[0]
    return str(number)


def check_permissions(machine: Machine, listing: Listing) -> list[Finding]:
    """Find device files of cards that are absent, or that this user may not open."""
    if machine.system != "Linux" or machine.is_wsl:
        return []
    files = machine.found("dev/dri/renderD*") + machine.found("dev/kfd")
    files += machine.found("dev/nvidia[0-9]*") + machine.found("dev/nvidiactl")
    closed = [file for file in files if not machine.may_use(file)]
    findings = []
    if closed:
        groups = sorted({_group(machine, file.stat().st_gid) for file in closed} - {"root"})
        names = ", ".join(machine.shown(file) for file in closed)
        if machine.container:
            command = "docker run " + " ".join(f"--group-add {name}" for name in groups or ["0"])
        elif groups:
            command = f"sudo usermod -aG {','.join(groups)} $USER  # then log in again"
        else:
            command = f"sudo chmod a+rw {' '.join(names.split(', '))}"
        findings.append(
            Finding(
                "no-permission", "error",
                f"you may not read and write {names}, which the card's driver opens",
                everywhere(command),
            )
        )  # fmt: skip
    cards = [card for card in machine.cards if not listing.has_gpu(_CARDS[card])]
    if "amd" in cards and not machine.exists("/dev/kfd"):
        findings.append(_absent(machine, "/dev/kfd", "AMD", "ROCm's driver computes through it"))
    if {"amd", "intel"} & set(cards) and not machine.found("dev/dri/renderD*"):
        maker = "AMD" if "amd" in cards else "Intel"
        findings.append(_absent(machine, "/dev/dri", maker, "every driver of the card opens it"))
    return findings


def _absent(machine: Machine, path: str, maker: str, why: str) -> Finding:
    if machine.container:
        command = f"docker run --device {path}"
        reason = "the container was started without it"
    else:
        command = "sudo modprobe " + ("amdgpu" if maker == "AMD" else "i915")
        reason = "the kernel's driver of the card is not loaded"
    text = f"there is an {maker} card but no {path} ({why}): {reason}"
    return Finding("no-device-file", "error", text, everywhere(command))


def check_cache(
    machine: Machine, folder: Path, used: Path | None = None, problem: str = ""
) -> list[Finding]:
    """Find a cache folder that cannot be written, or that other users can write.

    Parameters
    ----------
    folder : Path
        The default folder of built kernels, as a path on the machine.
    used : Path or None
        The folder used instead; None if there is none.
    problem : str
        Why nothing can be stored in ``folder``, from an attempt; empty if it works.
    """
    place = machine.path(folder)
    nearest = next(path for path in (place, *place.parents) if path.exists())
    owner = nearest.stat()
    shown = machine.shown(nearest)
    command = "export PYOPENCL_GBDT_CACHE=$(mktemp -d)"
    if not stat.S_ISDIR(owner.st_mode):
        text, command = f"{shown} is a file where the cache folder has to be", f"rm {shown}"
    elif nearest == place and machine.user_id >= 0 and owner.st_uid not in (machine.user_id, 0):
        text = f"{shown} belongs to another user, who could change built kernels: it is not used"
    elif nearest == place and machine.user_id >= 0 and owner.st_mode & 0o022:
        text = f"{shown} can be written by other users, who could change built kernels: "
        text, command = f"{text}it is not used", f"chmod go-w {shown}"
    elif not machine.may_use(nearest):
        text = f"{shown} cannot be written"
    elif problem:
        text = f"{problem}: built kernels cannot be stored there"
    else:
        return []
    if used is None:
        text = f"{text}; every process builds its kernels anew"
        return [Finding("cache-folder", "warning", text, everywhere(command))]
    text = f"{text}; built kernels are kept in {machine.shown(machine.path(used))} instead"
    return [Finding("cache-folder", "note", text, everywhere(command))]


def check_pocl_folder(machine: Machine, used: str, problem: str) -> list[Finding]:
    """Find a PoCL without a folder for kernels; without one it offers no device.

    ``used``: the folder that this library passes to PoCL; empty if PoCL's default works.
    ``problem``: why PoCL offers no device; empty if it does.
    """
    if "pocl-binary-distribution" not in machine.packages:
        return []
    if problem:
        command = everywhere("export POCL_CACHE_DIR=$(mktemp -d)")
        return [Finding("pocl-folder", "error", problem.removeprefix("OpenCL: "), command)]
    if used:
        text = (
            "PoCL cannot use its default folder for kernels: it is read-only, its disk is full, or "
            f"others can write it; this library lets PoCL use {used}, other programs fail"
        )
        return [Finding("pocl-folder", "note", text)]
    return []


#: Checks of drivers and cards; they report nothing that a working device disproves.
CHECKS: tuple[Callable[[Machine, Listing], list[Finding]], ...] = (
    check_vendors,
    check_cards,
    check_mesa,
    check_permissions,
)
