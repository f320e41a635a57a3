"""Kill or stop a rank of an MPI job at random moments, and resume with another number of ranks.

    python -m tests.kill_hosts 50 [--seed 3] [--ranks 4]

Each time the job has to end with a non-zero exit code within the limit, without half a file, and
the resumed job has to give the model of one process. A rank that is stopped is one that hangs.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from pyopencl_gbdt import train
from pyopencl_gbdt.messages import pip_install
from tests import host_member
from tests.processes import IMPORT_PATH

ROOT = Path(__file__).resolve().parents[1]
#: Seconds without a sign of life after which a rank is given up, and those that ranks wait for one
#: that gives none yet, as it has not called ``train``; then the job has to end.
SILENCE, PATIENCE, LIMIT = 3.0, 20.0, 30.0


def started(ranks: int, folder: Path) -> subprocess.Popen[str]:
    """Start a job that leaves checkpoints in a folder."""
    run = shutil.which(
        "mpirun", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    assert run is not None, f"mpirun is not here: {pip_install('mpi')}"
    environment = {
        **os.environ, "PYTHONPATH": IMPORT_PATH, "PYOPENCL_GBDT_TEAM_SILENCE": str(SILENCE),
        "PYOPENCL_GBDT_TEAM_PATIENCE": str(PATIENCE),
    }  # fmt: skip
    member = ROOT / "tests" / "host_member.py"
    return subprocess.Popen(
        [run, "-n", str(ranks), sys.executable, str(member), str(folder)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def watched(job: subprocess.Popen[str], lines: list[str]) -> threading.Thread:
    """Read what a job says."""

    def read() -> None:
        assert job.stdout is not None
        for line in job.stdout:
            lines.append(line)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def processes(lines: list[str]) -> dict[int, int]:
    """Return the process of every rank that has said so; mpirun joins lines of several ranks."""
    found = re.findall(r"rank (\d+) is process (\d+);", "".join(list(lines)))
    return {int(rank): int(process) for rank, process in found}


def finished(lines: list[str]) -> int:
    """Return how many ranks have told their model."""
    return len(re.findall(r"rank \d+ of \d+: [0-9a-f]{64}", "".join(list(lines))))


def uninterrupted(ranks: int) -> float:
    """Return the seconds of a job, from the moment at which its processes are known."""
    with tempfile.TemporaryDirectory() as name:
        job, lines = started(ranks, Path(name)), []
        watched(job, lines)
        while len(processes(lines)) < ranks:
            if job.poll() is not None:
                raise SystemExit(f"the job ended at once\n{''.join(lines)}")
            time.sleep(0.01)
        began = time.monotonic()
        job.wait()
        return time.monotonic() - began


def strike(ranks: int, folder: Path, dice: random.Random, usual: float) -> str | None:
    """Start a job and kill or stop a rank; return what happened, or None if the job was over."""
    job, lines = started(ranks, folder), []
    reader = watched(job, lines)
    while len(processes(lines)) < ranks and job.poll() is None:
        time.sleep(0.01)
    moment, rank = dice.uniform(0, usual), dice.randrange(ranks)
    how = dice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP])
    time.sleep(moment)
    said = f"{how.name} to rank {rank} of {ranks} after {moment:.2f} s"
    if job.poll() is not None:
        return None
    struck = time.monotonic()
    try:
        os.kill(processes(lines)[rank], how)
    except ProcessLookupError:
        return None
    try:
        code = job.wait(LIMIT)
    except subprocess.TimeoutExpired:
        for process in processes(lines).values():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        job.wait()
        if finished(lines) == ranks:
            return None
        raise SystemExit(
            f"{said}: the job still runs after {LIMIT:g} s\n{''.join(lines)}"
        ) from None
    reader.join(5)
    if code == 0 and finished(lines) == ranks:
        return None
    if code == 0:
        raise SystemExit(f"{said}: exit code 0\n{''.join(lines)}")
    return f"{said}: ended after {time.monotonic() - struck:.1f} s, exit code {code}"


def resumed(ranks: int, folder: Path, wanted: str) -> None:
    """Finish the training with so many ranks; compare the model."""
    job, lines = started(ranks, folder), []
    reader = watched(job, lines)
    code = job.wait(120)
    reader.join(5)
    text = "".join(lines)
    if code or text.count(wanted) != ranks:
        raise SystemExit(f"resumed with {ranks} ranks: exit code {code}\n{text}")
    half = [path.name for path in folder.iterdir() if not path.name.endswith(".json")]
    if half:
        raise SystemExit(f"half-written files are left: {half}")


def main(argv: list[str] | None = None) -> None:
    """Run the trials."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ranks", type=int, default=3)
    args = parser.parse_args(argv)
    params = {**host_member.PARAMS, "device": os.environ.get("PYOPENCL_GBDT_DEVICE", "cpu")}
    alone = train(params, host_member.rows(0, 1), host_member.ROUNDS)
    wanted, dice = host_member.digest(alone), random.Random(args.seed)
    usual = uninterrupted(args.ranks)
    for number in range(args.count):
        with tempfile.TemporaryDirectory() as name:
            ranks = dice.randint(2, args.ranks)
            while (said := strike(ranks, Path(name), dice, usual)) is None:
                shutil.rmtree(name)  # the job was over before the signal
                Path(name).mkdir()
            rounds = max(
                (p.stem for p in Path(name).glob("*.json")), key=len, default="no checkpoint"
            )
            resumed(dice.randint(1, args.ranks), Path(name), wanted)
            print(f"{number + 1:3}: {said}; {rounds}; resumed to the same bytes", flush=True)
    print(f"{args.count} trials: no hang, all resumed to the same bytes")


if __name__ == "__main__":
    main()
