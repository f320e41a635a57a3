"""``pyopencl-gbdt doctor``: find incomplete installations, test the devices, write a report."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.cli import card_report
from pyopencl_gbdt.cli.options import add_command, options_of, with_options
from pyopencl_gbdt.cli.output import StepLine, check_output, say, wrapped, write_text
from pyopencl_gbdt.errors import ParameterError

if TYPE_CHECKING:
    from pyopencl_gbdt.doctor.findings import Finding, Listed, Listing
    from pyopencl_gbdt.doctor.watch import SelfTest

#: Time limit in seconds of all self-tests together, and of a simulator's.
SECONDS, SIMULATOR_SECONDS = 120, 600


def add(commands: Any) -> None:
    """Add the subcommand."""
    text = f"""
find what is wrong with drivers, and test the devices

Look for incomplete drivers, permissions and containers, and name the command that repairs them;
compare the kernels of every device with NumPy, bit by bit; end with a report to send. The exit
code is 0 if a device can be used and passes.

--device STR    test only this device, also a simulator; default: all but simulators
--no-self-test  do not test the devices
--time-limit SECONDS
    for all self-tests together; default {SECONDS}, a simulator {SIMULATOR_SECONDS}
--time          time a new process that trains a small model, in parts, with empty and kept caches;
                test nothing
--json FILE     also write the report to a file
"""
    parser = add_command(commands, "doctor", text)
    card_report.add(parser)
    parser.set_defaults(run=partial(run, options_of(parser)))


def run(options: Mapping[str, argparse.Action], args: argparse.Namespace) -> int:
    """Check, test, report; return 0 if a usable device passes."""
    from pyopencl_gbdt.cards.report import Report
    from pyopencl_gbdt.doctor import examine, report
    from pyopencl_gbdt.doctor.machine import Machine
    from pyopencl_gbdt.doctor.watch import list_devices

    card_report.check(args)
    if args.json:
        check_output(args.json, "--json")
    if args.time_limit is not None and not 1 <= args.time_limit <= 86400:
        raise ParameterError(f"--time-limit {args.time_limit:g}: expected 1..86400 seconds")
    if args.time:
        return _time(args)
    machine = Machine.here()
    listing = list_devices(args.device or "auto")
    listing = replace(listing, problem=with_options(listing.problem, options))
    findings = examine(machine, listing)
    _show_devices(listing)
    _show_findings(findings, machine.family)
    if args.report is not None:
        devices = _to_test(listing, args.device)
        return card_report.run(args, Report(machine, listing, findings, args.by or ""), devices)
    runs = [] if args.no_self_test else _test(listing, args)
    scrubber = report.Scrubber.here()
    facts = report.as_json(machine, listing, findings, runs, scrubber)
    if args.json:
        write_text(args.json, json.dumps(facts, indent=2) + "\n")
        say(f"Saved    {args.json}")
    good = any(run.passed for run in runs) if runs else bool(args.no_self_test and listing.chosen)
    bad = (
        "no device can be used as it is." if args.device is None else "that device cannot be used."
    )
    say("Verdict  " + ("a device can be used." if good else bad))
    say()
    say("For a bug report, copy what follows; it names neither you nor your machine.")
    say(report.as_text(facts, runs, scrubber))
    return 0 if good else 1


def _time(args: argparse.Namespace) -> int:
    """Time cold starts on a device."""
    from pyopencl_gbdt.device import discovery
    from pyopencl_gbdt.doctor import cold_start

    info = discovery.find(args.device or "auto")
    shape = f"{cold_start.N_ROWS} x {cold_start.N_FEATURES}, {cold_start.N_ROUNDS} rounds"
    label = info.device_id if info.caps is None else info.caps.label
    say(wrapped(f"Cold starts on {label}: {shape}, depth {cold_start.MAX_DEPTH}"))
    found = cold_start.measure(info.device_id)
    for line in cold_start.table(found):
        say(line)
    if args.json:
        write_text(args.json, json.dumps(found, indent=2) + "\n")
        say(f"Saved    {args.json}")
    return 0


def _show_devices(listing: Listing) -> None:
    say("Devices")
    for device in listing.devices:
        state = device.problem and f"not usable: {device.problem}"
        if device.is_simulator:
            state = state or "a simulator"
        text = f"{device.device_id}  {device.name} ({device.platform})  {state or 'usable'}"
        say(wrapped(text, "  ", "    "))
    if not listing.devices:
        say("  none")
    say()


def _show_findings(findings: list[Finding], family: str) -> None:
    say("Findings")
    for finding in findings:
        first, *rest = f"{finding.severity} {finding.code}: {finding.text}".splitlines()
        say(wrapped(first, "  ", "    "))
        for line in rest:
            say(wrapped(line.strip(), "    ", "      "))
        for distribution, command in finding.repair(family):
            say(f"    repair{f' ({distribution})' if distribution else ''}: {command}")
    if not findings:
        say("  no problems found")
    say()


def _test(listing: Listing, args: argparse.Namespace) -> list[SelfTest]:
    """Test the devices one after another; time that one leaves is available to the next."""
    from pyopencl_gbdt.doctor.watch import remember, run_self_test

    chosen = _to_test(listing, args.device)
    if not chosen:
        return []
    say("Self-test")
    simulated = any(device.is_simulator for device in chosen)
    seconds = args.time_limit or (SIMULATOR_SECONDS if simulated else SECONDS)
    end = time.monotonic() + seconds
    runs = []
    for number, device in enumerate(chosen):
        share = max(1.0, (end - time.monotonic()) / (len(chosen) - number))
        title = f"  {device.device_id}  {device.name}"
        progress = StepLine(title)
        runs.append(run_self_test(device, share, progress.show))
        progress.clear()
        remember(runs[-1])
        say(wrapped(f"{device.device_id}  {device.name}  {runs[-1].verdict}", "  ", "    "))
        if runs[-1].texts:
            say(wrapped(f"measured: {'; '.join(runs[-1].texts)}", "    ", "      "))
        for case in runs[-1].failed:
            first = case["problem"].splitlines()[0]
            note = "" if case["chosen"] else " (not used unless asked for)"
            say(wrapped(f"{case['case']}{note}: {first}", "    ", "      "))
    say()
    return runs


def _to_test(listing: Listing, asked: str | None) -> list[Listed]:
    """Return the devices to test, the host's cores last; only the requested one, if any."""
    if asked is not None:
        return [listing.device(listing.chosen)] if listing.chosen else []
    return sorted(listing.usable, key=lambda device: device.capabilities["on_host_cores"])
