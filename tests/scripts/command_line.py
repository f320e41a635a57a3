"""List devices, train and predict at the command line, and read what it says."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from pyopencl_gbdt import Model


def command(*words, code=0):
    done = subprocess.run(
        [sys.executable, "-m", "pyopencl_gbdt", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        text=True,
    )
    assert done.returncode == code, done.stdout
    assert "Traceback" not in done.stdout, done.stdout
    return done.stdout


rng = np.random.default_rng(0)
rows = rng.normal(size=(300, 3))
rows = np.column_stack([(rows[:, 0] > 0).astype(float), rows])
np.savetxt("rows.csv", rows, delimiter=",", header="y,a,b,c", comments="", fmt="%.6f")

listed = command("devices")
assert listed.count("kernels") == listed.count("usable"), listed
said = command(
    "train",
    "rows.csv",
    "--label-column",
    "y",
    "--model",
    "m.json",
    "--objective",
    "binary:logistic",
    "--n-estimators",
    "5",
)
print(said)
assert len(said.splitlines()) < 14, said
assert not re.search(r"warnings? generated", said)
quiet = command(
    "train",
    "rows.csv",
    "--label-column",
    "y",
    "--model",
    "m.json",
    "--verbosity",
    "0",
)
assert quiet == "", quiet
# The model knows the columns' names, so the label's column is left out by itself.
command("predict", "rows.csv", "--model", "m.json", "--out", "p.txt")
predicted = np.loadtxt("p.txt")
assert np.allclose(predicted, Model.load_model("m.json").predict(rows[:, 1:]))

told = command("explain", "m.json", "rows.csv", "--html", "report.html")
assert told == "Saved report.html\n", told
assert "Where it errs most" in Path("report.html").read_text(encoding="utf-8")

wrong = command("train", "rows.csv", "--model", "m.json", "--max-bin", "70000", code=2)
assert "--max-bin" in wrong, wrong
assert "nope.json" in command("predict", "rows.csv", "--model", "nope.json", code=2)
