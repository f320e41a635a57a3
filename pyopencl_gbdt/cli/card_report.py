"""``pyopencl-gbdt doctor --report``: test cards, and write a small file to send."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pyopencl_gbdt.cli.options import add_options
from pyopencl_gbdt.cli.output import StepLine, check_output, complain, say, section, write_text
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import open_an_issue

if TYPE_CHECKING:
    from pyopencl_gbdt.cards.collect import Card
    from pyopencl_gbdt.cards.report import Report, Summary
    from pyopencl_gbdt.doctor.findings import Listed

#: The file, unless another is named.
FILE = "card-report.json"
#: Options of the doctor that a report does not take.
_OTHERS = ("json", "time_limit", "no_self_test")
_MOST_MINUTES = 1440


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of a report."""
    text = f"""
--report FILE  test each device further, two minutes each if kernels build quickly: 20 trainings
               that every device knows, and rounds of three shapes; write a file to send, {FILE}
--minutes N    with --report: most minutes for a device
--by NAME      with --report: your name in the table of cards; default none
"""
    add_options(parser, text, report={"nargs": "?", "const": FILE}, minutes={"type": float})


def check(args: argparse.Namespace) -> None:
    """Raise ``ParameterError`` or ``DataError`` if the options do not fit together."""
    if args.report is None:
        for name in ("minutes", "by"):
            if getattr(args, name) is not None:
                raise ParameterError(f"--{name} needs --report; add --report, or leave it out")
        return
    for name in _OTHERS:
        if getattr(args, name):
            option = name.replace("_", "-")
            raise ParameterError(
                f"--report writes all that is known and has --minutes; leave out --{option}"
            )
    if args.minutes is not None and not 0.1 <= args.minutes <= _MOST_MINUTES:
        raise ParameterError(f"--minutes {args.minutes:g}: expected 0.1..{_MOST_MINUTES}")
    check_output(args.report, "--report")


def run(args: argparse.Namespace, report: Report, devices: Sequence[Listed]) -> int:
    """Test the devices one after another; return 0 if one of them passes."""
    from pyopencl_gbdt.cards.collect import Card, Collector

    def save(*, finished: bool = False) -> None:
        write_text(args.report, report.text(finished=finished))

    save()  # a machine without a usable device is worth a report, too
    try:
        for number, device in enumerate(devices):
            section("Reports" if number == 0 else "", f"{device.device_id}  {device.name}")
            report.cards.append(Card(device, args.minutes))
            progress = StepLine(f"  {device.device_id}  {device.name}")
            Collector(report.cards[-1], save, progress.show, _say_behind(progress)).run()
            progress.clear()
        save(finished=True)
    except KeyboardInterrupt:
        complain(f"{args.report} holds what is known so far; it can be sent as it is")
        raise
    return _finish(args.report, report)


def _say_behind(progress: StepLine) -> Callable[[str], None]:
    def tell(text: str) -> None:
        progress.clear()
        section("", text)

    return tell


def _finish(file: str, report: Report) -> int:
    from pyopencl_gbdt.cards.report import summaries

    (machine,) = report.document(finished=True)["machines"]
    found = summaries(machine)
    for summary, card in zip(found, report.cards, strict=True):
        _show(summary, card)
    good = any(summary.good for summary in found)
    section("Saved", f"{file}; it names neither you nor your machine nor your folders")
    section("Send it", f"{open_an_issue()}, and attach the file. docs/cards.md tells what happens.")
    section("Verdict", "a device passed all checks." if good else "no device passed all checks.")
    return 0 if good else 1


def _show(summary: Summary, card: Card) -> None:
    say()
    section("Device", f"{summary.device} ({summary.driver})")
    section("Doctor", summary.doctor, *(card.self_test.texts if card.self_test else []))
    section("Digests", f"{summary.digests} models are those of all other devices")
    rounds = [f"{name} {ms:.1f} ms" for name, ms in summary.rounds.items()]
    section("Rounds", ", ".join(rounds) or "none")
    section("Failed", *summary.problems)
    section("Safer", *summary.safer)
    section("Ended", *filter(None, [card.ended]))
