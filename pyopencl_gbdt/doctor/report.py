"""The report that users send, as text and as JSON, without personal names."""

from __future__ import annotations

import getpass
import importlib.metadata
import os
import platform
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyopencl_gbdt._version import __version__
from pyopencl_gbdt.device import Capabilities
from pyopencl_gbdt.device.drivers import faults
from pyopencl_gbdt.doctor.findings import Finding, Listing
from pyopencl_gbdt.doctor.machine import Machine
from pyopencl_gbdt.doctor.watch import SelfTest
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: Version of the JSON; raised when a key changes its meaning.
FORMAT_VERSION = 1
BEGIN, END = "----- begin of report -----", "----- end of report -----"
#: Environment variables that affect which devices exist or how kernels are built.
_VARIABLES = re.compile(
    r"PYOPENCL_|OCL_ICD_|OPENCL_|CUDA_(VISIBLE|DEVICE|CACHE|HOME|PATH)|NVIDIA_(DRIVER|VISIBLE)"
    r"|ROCR_|HIP_|HSA_|GPU_DEVICE_|RUSTICL_|POCL_|CL_CONFIG_|OCLGRIND_"
)
_OTHER_PACKAGES = ("numpy", "scipy", "mako", "scikit-learn")
_SHORT_NAME = 3  # letters; shorter names occur inside other words
_PROBLEM_LINES = 3


@dataclass(frozen=True)
class Scrubber:
    """Removes names of people and machines from texts."""

    home: str
    user: str
    host: str

    @classmethod
    def here(cls) -> Scrubber:
        """Return a scrubber with the names of this machine and its user."""
        try:
            home, user = str(Path.home()), getpass.getuser()
        except (RuntimeError, OSError, KeyError):  # a container's user may have no entry
            home, user = os.environ.get("HOME", ""), os.environ.get("USER", "")
        return cls(home, user, socket.gethostname())

    def text(self, text: str) -> str:
        """Return a text with the names replaced by ``~``, ``<user>`` and ``<host>``."""
        if len(self.home) >= _SHORT_NAME:
            text = text.replace(self.home, "~")
        hosts = {self.host, self.host.partition(".")[0]}
        for names, label in ((sorted(hosts, key=len)[::-1], "<host>"), ([self.user], "<user>")):
            for name in names:
                if len(name) >= _SHORT_NAME and name not in ("root", "localhost"):
                    pattern = rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])"
                    text = re.sub(pattern, label, text)
        text = re.sub(r"\b(GPU|MIG)-[0-9a-fA-F-]{8,}", r"\1-<number>", text)  # serial numbers
        return re.sub(r"(/home/|/Users/|[\\/]Users[\\/])[^/\\\s:'\"]+", r"\1<user>", text)

    def clean(self, value: Any) -> Any:
        """Return lists and dicts with every string scrubbed, except keys."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.clean(item) for item in value]
        return value


def versions(machine: Machine) -> dict[str, str]:
    """Return the versions of the system and of the packages involved, by name."""
    found = {
        "pyopencl_gbdt": __version__,
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{machine.system} {platform.release()} {platform.machine()}",
    }
    pretty = re.search(r'^PRETTY_NAME="?([^"\n]*)', machine.text("/etc/os-release"), re.MULTILINE)
    if pretty:
        found["distribution"] = pretty.group(1)
    kind = " ".join(filter(None, ["WSL" if machine.is_wsl else "", machine.container]))
    if kind:
        found["inside"] = kind
    for name, package in machine.packages.items():
        found[name] = package.version
    for name in _OTHER_PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def as_json(
    machine: Machine,
    listing: Listing,
    findings: Sequence[Finding],
    runs: Sequence[SelfTest],
    scrubber: Scrubber,
) -> dict[str, Any]:
    """Return the whole report, scrubbed.

    Returns
    -------
    dict
        ``format_version``; ``versions``; ``cards``, the makers of cards on the bus; ``variables``;
        ``devices``, with all capabilities and variants; ``answered_faults``, by device, those of
        its driver that kernels or limits avoid; ``notes``; ``findings``; ``self_test``, by device,
        with the result of every comparison and the facts that were measured.
    """
    variables = {k: v for k, v in sorted(machine.environment.items()) if _VARIABLES.match(k)}
    report = {
        "format_version": FORMAT_VERSION,
        "versions": versions(machine),
        "cards": machine.cards,
        "variables": variables,
        "chosen": listing.chosen,
        "problem": listing.problem,
        "listing_failure": listing.failure,
        "notes": listing.notes,
        "devices": [asdict(device) for device in listing.devices],
        "answered_faults": {
            device.device_id: faults.answered(Capabilities(**device.capabilities))
            for device in listing.usable
        },
        "findings": [asdict(finding) for finding in findings],
        "self_test": self_tests(runs),
    }
    cleaned: dict[str, Any] = scrubber.clean(report)
    return cleaned


def self_tests(runs: Sequence[SelfTest]) -> list[dict[str, Any]]:
    """Return the results of self-tests as they stand in the report."""
    return [
        {
            "device": run.device.device_id,
            "passed": run.passed,
            "ended": run.ended,
            "seconds": round(run.seconds, 1),
            "facts": run.facts,
            "cases": run.cases,
        }
        for run in runs
    ]


def as_text(report: Mapping[str, Any], runs: Sequence[SelfTest], scrubber: Scrubber) -> str:
    """Return the text to paste into a bug report, from the result of `as_json`."""
    lines = [BEGIN]
    lines += [f"{name}: {version}" for name, version in report["versions"].items()]
    lines += [f"{name}={value}" for name, value in report["variables"].items()]
    lines.append(f"cards: {', '.join(report['cards']) or 'none seen'}")
    for device in report["devices"]:
        caps = device["capabilities"]
        lines.append(
            f"device {device['device_id']}: {caps.get('name', '?')} ({caps.get('platform', '?')})"
            + (f", not usable: {device['problem']}" if device["problem"] else "")
        )
        if caps:
            lines.append(
                f"  {caps['kind']}, driver {caps['driver']}, {caps['compute_units']} units, "
                f"work-groups {caps['max_work_group']}, {caps['local_bytes']} B local, "
                f"{caps['global_bytes'] >> 20} MiB, int64 atomics {caps['int64_atomics']}, "
                f"fp64 {caps['fp64']}"
            )
        known = report["answered_faults"].get(device["device_id"], [])
        lines += [f"  known, and answered: {text}" for text in known]
    lines += [f"note: {note}" for note in report["notes"]]
    lines += [f"{f['severity']} {f['code']}: {f['text']}" for f in report["findings"]]
    for run in runs:
        lines.append(f"self-test {run.device.device_id} {scrubber.text(run.verdict)}")
        lines += [f"  measured: {text}" for text in run.texts]
        for case in run.failed:
            problem = scrubber.text(case["problem"]).splitlines()[:_PROBLEM_LINES]
            lines.append(f"  {case['case']}: " + "\n    ".join(problem))
    return "\n".join([*lines, END])
