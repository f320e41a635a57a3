"""Workers that stand for those of a driver."""

from __future__ import annotations

import json
import sys

from pyopencl_gbdt.cards.trainings import FIRST
from tests.comparison.samples import SHAPE, make_device, make_result

#: Answers each step well, but for those that ``ACT`` makes it end, hang or fail in.
_CODE = """
import json, os, signal, sys, time
act = json.loads({act!r})
for step in json.loads(sys.argv[1]):
    name, said = step["name"], lambda line: print(json.dumps(line), flush=True)
    said({{"starting": name}})
    what = act.get(name + "|" + step["way"], act.get(name, ""))
    if what == "crash":
        sys.stderr.write("lost in /data/secret lab/driver.c\\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "hang":
        time.sleep(60)
    line = {{**step, "problem": "", "seconds": 0.1}}
    if step["timed"]:
        line["machine"] = {{
            "devices": [dict({device!r}, device=sys.argv[2])],
            "shapes": [dict({shape!r}, name=name)],
            "results": [dict({result!r}, shape=name, device=sys.argv[2])],
        }}
    else:
        line.update(digest="d" * 64, equal=what != "differ")
        if name == {first!r}:
            line["build_seconds"] = {build!r}
        if what == "raise":
            line.update(equal=False, problem="RuntimeError: /home/jane/x failed for jane on wolf")
    said(line)
"""


def worker(act: dict[str, str] | None = None, build: float = 0.9) -> tuple[str, ...]:
    """Return a command; ``act`` says by step's name what goes wrong.

    Parameters
    ----------
    act : dict or None
        ``crash``, ``hang``, ``differ`` or ``raise`` by ``name`` or ``name|way``.
    build : float
        Seconds in which the kernels of a training are built.
    """
    code = _CODE.format(
        act=json.dumps(act or {}), device=make_device("opencl:0:0"), shape=SHAPE,
        result=make_result("opencl:0:0"), build=build, first=FIRST,
    )  # fmt: skip
    return (sys.executable, "-I", "-S", "-c", code)
