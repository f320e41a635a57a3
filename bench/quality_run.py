"""Fit many libraries on many tables side by side, for ``python -m bench quality run``.

Each worker is a process on two cores of its own. It reads jobs from its standard input and writes
records to its standard output, one line of JSON each. The file of results grows by a line with
every fit, so a run that ended early goes on where it stopped.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.quality_tables import TRAIN_SHARE, QualityTable, read
from pyopencl_gbdt.estimators.presets import NEWEST, PLAIN, PRESETS

Job = dict[str, Any]
KEY = ("table", "split", "kind", "system")


def options(parser: argparse.ArgumentParser) -> None:
    """Add what a run takes."""
    parser.add_argument("--data", type=Path, required=True, metavar="TABLES.npz")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.jsonl",
                        help="results; fits that it has are left out")  # fmt: skip
    parser.add_argument("--systems", nargs="+", default=["ours"], metavar="NAME",
                        help="xgboost, lightgbm, catboost, sklearn, ours, "
                        "a preset of ours, or a name of --settings")  # fmt: skip
    parser.add_argument("--settings", type=Path, metavar="FILE.json",
                        help="parameters of ours by name; see values_for")  # fmt: skip
    parser.add_argument("--kinds", nargs="+", default=["default", "early"])
    parser.add_argument("--half", choices=["choosing", "checking", "both"], default="choosing")
    parser.add_argument("--tables", nargs="+", metavar="NAME", help="of that half; all if left out")
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--seconds", type=float, default=540.0, help="of the whole run")
    parser.add_argument("--limit", type=float, default=150.0, help="seconds of one fit")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--device", default="auto", help="of ours")


def run(chosen: argparse.Namespace) -> int:
    """Run the fits that the file of results lacks."""
    end = time.monotonic() + chosen.seconds
    settings = {name: {"preset": name} for name in (*NEWEST, *PRESETS) if name != PLAIN}
    settings |= json.loads(chosen.settings.read_text("utf-8")) if chosen.settings else {}
    done = {tuple(record[name] for name in KEY) for record in read_records(chosen.out)
            if "error" not in record}  # fmt: skip
    jobs: queue.Queue[Job] = queue.Queue()
    for job in _jobs(chosen, settings):
        if tuple(job[name] for name in KEY) not in done:
            jobs.put(job)
    total, lock = jobs.qsize(), threading.Lock()
    print(f"{total} fits, {len(done)} are there", flush=True)
    cores = sorted(os.sched_getaffinity(0))
    workers = min(chosen.workers, max(1, total))
    with chosen.out.open("a", encoding="utf-8") as out:

        def work(number: int) -> None:
            pair = [cores[(2 * number + i) % len(cores)] for i in range(2)]
            worker = None
            while time.monotonic() < end:
                try:
                    job = jobs.get_nowait()
                except queue.Empty:
                    break
                worker = worker or _start(chosen, pair)
                most = min(chosen.limit, end - time.monotonic())
                record = _ask(worker, job, most)
                if record is None:
                    worker = None
                    if time.monotonic() >= end - 0.1:
                        break
                    record = {name: job[name] for name in KEY} | {"error": "ended or too slow"}
                with lock:
                    out.write(json.dumps(record) + "\n")
                    out.flush()
            if worker:
                worker.kill()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    records = read_records(chosen.out)
    bad = [record for record in records if "error" in record]
    print(f"{len(records)} fits in {chosen.out}, {len(bad)} failed, {jobs.qsize()} left")
    for record in bad[-5:]:
        print(record)
    return 0


def read_records(file: Path) -> list[dict[str, Any]]:
    """Return the records of a file of results, or of one in gzip; a line cut short is left out."""
    found = []
    if file.is_file():
        content = file.read_bytes()
        content = gzip.decompress(content) if file.suffix == ".gz" else content
        for line in content.decode(errors="replace").splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return found


def _jobs(chosen: argparse.Namespace, settings: dict[str, Any]) -> Iterator[Job]:
    """Yield the fits, the first split of all tables first, and the long ones of a split first."""
    from bench.quality_systems import PEERS

    tables = read(chosen.data)
    names = [
        name for name, table in tables.items()
        if chosen.half == "both" or table.choosing == (chosen.half == "choosing")
    ]  # fmt: skip
    unknown = [name for name in chosen.tables or [] if name not in names]
    if unknown:
        raise SystemExit(f"--tables {' '.join(unknown)}: expected some of {', '.join(names)}")
    unknown = [s for s in chosen.systems if s not in PEERS and s != "ours" and s not in settings]
    if unknown:
        raise SystemExit(f"--systems {' '.join(unknown)}: expected some of {', '.join(settings)}")
    names = chosen.tables or names
    names.sort(key=lambda name: -tables[name].X.size * max(1, tables[name].n_classes))
    for place in chosen.splits:
        for kind in chosen.kinds:
            for system in chosen.systems:
                own = {} if system in PEERS else {"device": chosen.device, "verbosity": 0}
                for name in names:
                    chosen_values = values_for(settings.get(system, {}), tables[name])
                    yield {"table": name, "split": place, "kind": kind, "system": system,
                           "settings": {**own, **chosen_values}}  # fmt: skip


def values_for(settings: dict[str, Any], table: QualityTable) -> dict[str, Any]:
    """Return the parameters of a setting for one table.

    A value may be an object with a value for `numbers` and one for `classes`, or for one of them.
    That may be a list of [most rows to train on, value], which ends with [null, value].
    """
    found = {}
    task, n_rows = "classes" if table.n_classes else "numbers", TRAIN_SHARE * table.y.size
    for name, given in settings.items():
        value = given.get(task) if isinstance(given, dict) else given
        if isinstance(value, list):
            value = next(own for most, own in value if most is None or n_rows <= most)
        if value is not None:
            found[name] = value
    return found


def _start(chosen: argparse.Namespace, cores: list[int]) -> subprocess.Popen[str]:
    """Start a worker on its cores."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POCL_MAX_PTHREAD_COUNT")
    threads = dict.fromkeys(names, "2")
    command = [sys.executable, "-W", "ignore", "-m", "bench.quality_run", str(chosen.data)]
    command += map(str, cores)
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, **threads},
    )  # fmt: skip


def _ask(worker: subprocess.Popen[str], job: Job, seconds: float) -> dict[str, Any] | None:
    """Return a worker's record of a job; None if it ended, or was ended after those seconds."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    clock = threading.Timer(max(seconds, 0.1), worker.kill)
    clock.start()
    try:
        worker.stdin.write(json.dumps(job) + "\n")
        worker.stdin.flush()
        line = worker.stdout.readline()
        found: dict[str, Any] = json.loads(line)
        return found
    except (OSError, ValueError):
        worker.kill()
        worker.wait()
        return None
    finally:
        clock.cancel()


def worker(data: Path, cores: list[int]) -> None:
    """Do the jobs of the standard input."""
    os.sched_setaffinity(0, cores)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print goes with their errors
    from bench.quality_systems import measure

    tables = read(data)
    for line in sys.stdin:
        job = json.loads(line)
        record = {name: job[name] for name in KEY}
        try:
            record |= measure(tables[job["table"]], job["split"], job["kind"], job["system"],
                              job["settings"])  # fmt: skip
        except Exception as error:
            record["error"] = f"{type(error).__name__}: {error}"[:300]
        answers.write(json.dumps(record) + "\n")
        answers.flush()


if __name__ == "__main__":
    worker(Path(sys.argv[1]), [int(core) for core in sys.argv[2:]])
