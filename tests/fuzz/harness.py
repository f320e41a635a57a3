"""Lets a process read mutations, and judges what comes of each."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]

#: Seconds a file may take.
LIMIT = 10.0
#: Seconds until the process has imported everything and read the seeds.
START_LIMIT = 120.0


def most_memory(size: int) -> int:
    """Return the bytes that reading a file of this size may take at most."""
    return 64 * 2**20 + 40 * size


@dataclass
class Outcome:
    """What came of the mutations of a format."""

    name: str
    n_read: int = 0
    n_refused: int = 0
    most_seconds: float = 0.0
    most_bytes: int = 0
    problems: list[str] = field(default_factory=list)
    """Each with the number of its mutation."""

    def add(self, line: dict[str, Any]) -> None:
        self.n_read += 1
        self.n_refused += line["refused"]
        self.most_seconds = max(self.most_seconds, line["seconds"])
        self.most_bytes = max(self.most_bytes, line["peak"] or 0)
        problem = line["problem"]
        if not problem and (line["peak"] or 0) > most_memory(line["size"]):
            problem = f"{line['peak'] / 2**20:.0f} MB for a file of {line['size']} bytes"
        if problem:
            self.problems.append(f"mutation {line['number']}: {problem}: {line['error']}")


def run(
    counts: Mapping[str, int],
    seed: int = 0,
    first: int = 0,
    limit: float = LIMIT,
    module: str = "",
) -> dict[str, Outcome]:
    """Read mutations ``first`` to ``first + count - 1`` of each format; return what came of them.

    One process reads them all. A new one goes on after a crash or a hang.

    Parameters
    ----------
    counts : mapping of str to int
        How many of each format.
    seed, first : int
    limit : float
        Seconds a file may take.
    module : str
        Where the formats are, as a list ``BAD``, if they are not those of this package.
    """
    outcomes = {name: Outcome(name) for name in counts}
    left = [[name, first, first + count] for name, count in counts.items()]
    while left:
        problem = "crash"
        for line in _lines([module, str(seed)], left, limit):
            if "number" in line:
                name, number, end = left[0]
                outcomes[name].add(line)
                left[0][1] = number + 1
                if number + 1 == end:
                    del left[0]
            else:
                problem = line.get("problem", problem)
        if left:  # the process ended before this one
            name, number, end = left[0]
            outcomes[name].n_read += 1
            outcomes[name].problems.append(f"mutation {number}: {problem}")
            left[0][1] = number + 1
            if number + 1 == end:
                del left[0]
    return outcomes


def _lines(words: list[str], left: list[list[Any]], limit: float) -> Iterator[dict[str, Any]]:
    """Start a process, and yield its lines and, unless it ends well, how it ended."""
    words = [*words, *(":".join(map(str, one)) for one in left)]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", *words],
            cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        waiting: queue.Queue[str] = queue.Queue()
        reader = threading.Thread(target=_forward, args=(process.stdout, waiting), daemon=True)
        reader.start()
        started = False
        try:
            while text := waiting.get(timeout=limit if started else START_LIMIT):
                started = True
                yield json.loads(text)
            if process.wait() != 0:
                errors.seek(0)
                last = errors.read()[-2000:]
                assert started, f"the process did not start:\n{last}"
                yield {"problem": f"crash, exit code {process.returncode}: {last}"}
        except queue.Empty:
            assert started, "the process did not start in time"
            yield {"problem": f"more than {limit:g} s"}
        finally:
            process.kill()
            process.wait()
            reader.join()
            process.stdout.close()


def _forward(stream: IO[str], waiting: queue.Queue[str]) -> None:
    for text in stream:
        waiting.put(text)
    waiting.put("")
