"""Find incomplete installations, test whether devices compute correctly, and report both.

A broken driver may crash or hang the process that calls it. So a worker, a separate process with a
time limit, lists and tests the devices; this process only reads files.

    machine ──► checks ──► findings ─┐
    worker  ──► listing, results ────┴─► report
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyopencl_gbdt.doctor.findings import Finding, Listing
    from pyopencl_gbdt.doctor.machine import Machine


def examine(machine: Machine, listing: Listing) -> list[Finding]:
    """Run all checks.

    ``listing``: the devices that `watch.list_devices` found on it.

    Returns
    -------
    list of Finding
        Errors first, then warnings and notes.
    """
    from pyopencl_gbdt.device import cache
    from pyopencl_gbdt.device.drivers import folders as driver_folders
    from pyopencl_gbdt.doctor import checks, surroundings

    found = [f for check in checks.CHECKS for f in check(machine, listing)]
    found += [f for check in surroundings.CHECKS for f in check(machine, listing)]
    used = cache.cache_folder()
    usual = cache.usual_folder() or used
    problem = cache.why_unusable(usual)
    instead = None if used == usual or cache.why_unusable(used) else used.absolute()
    found += checks.check_cache(machine, usual.absolute(), instead, problem)
    found += checks.check_pocl_folder(machine, *driver_folders.choose_pocl_folder())
    return sorted(found, key=lambda finding: ("error", "warning", "note").index(finding.severity))
