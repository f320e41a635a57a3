"""The demonstration: train on real data on the best device, and show the results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt._version import __version__
from pyopencl_gbdt.cli.output import Progress, kernel_lines, say, section, width, wrapped
from pyopencl_gbdt.data import load_higgs7k
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import find, open_device
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.metrics import auc
from pyopencl_gbdt.model import plot_importances, plot_tree
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.train import Model, train

F32 = npt.NDArray[np.float32]

#: The columns of HIGGS, named and ordered as on its page at UCI.
FEATURES = [
    *("lepton pT", "lepton eta", "lepton phi", "missing energy magnitude", "missing energy phi"),
    *(f"jet {jet} {what}" for jet in range(1, 5) for what in ("pt", "eta", "phi", "b-tag")),
    *("m_jj", "m_jjj", "m_lv", "m_jlv", "m_bb", "m_wbb", "m_wwbb"),
]
#: Levels of the first tree that are drawn; more would not fit on a screen.
DRAWN_DEPTH = 3
#: Columns before a feature's bar, of which a terminal of 80 columns shows 40 cells.
_BAR_AT = 40


def run_demo(
    device: str = "auto",
    n_rounds: int = 100,
    folder: str = "pyopencl_gbdt_demo",
    *,
    verbose: bool = False,
) -> None:
    """Train on the data of the package; print what happens, save the model.

    Parameters
    ----------
    device : str, default "auto"
        As in ``train``.
    n_rounds : int, default 100
        Number of rounds, at least 1.
    folder : str
        Where to save the model and, with matplotlib, two pictures. Created if absent.
    verbose : bool, default False
        Name every kernel's variant.

    Raises
    ------
    DeviceError
        If the device does not exist.
    ParameterError
        If ``n_rounds`` is less than 1.
    """
    if n_rounds < 1:
        raise ParameterError(f"rounds={n_rounds}: expected 1 or more; 100 is a good start")
    p = Parameters.from_dict(
        {"objective": "binary:logistic", "learning_rate": 0.1, "n_estimators": n_rounds}
    )
    info = find(device)
    assert info.caps is not None
    out = _create(folder)
    open_device(info.device_id).warm_up()
    X_train, y_train, X_test, y_test = load_higgs7k()

    say(f"pyopencl_gbdt {__version__}: a first look")
    say()
    section(
        "Data",
        f"HIGGS: {len(X_train)} rows to train on, {len(X_test)} others to test on, "
        f"{X_train.shape[1]} features. Simulated particle collisions: is it a process that makes "
        f"Higgs bosons (1) or background (0)?",
        "Baldi, Sadowski, Whiteson, Nature Communications 5, 4308 (2014); UCI, CC BY 4.0, "
        "https://doi.org/10.24432/C5V312",
    )
    section("Device", info.caps.label)
    section("Kernels", *kernel_lines(info.variants(), info.caps, verbose=verbose))
    section(
        "Model",
        f"{p.objective}, {n_rounds} trees of depth {p.max_depth} at most, "
        f"learning rate {p.learning_rate}, {p.max_bin} bins",
    )
    say()

    progress = Progress(_show_round, n_rounds=n_rounds, every=10, waits=True)
    model = train(
        {
            "objective": p.objective,
            "learning_rate": p.learning_rate,
            "n_estimators": n_rounds,
            "device": info.device_id,
        },
        Dataset(X_train, y_train, feature_names=FEATURES),
        evals=[(Dataset(X_test, y_test), "test")],
        eval_metric="auc",
        verbose=True,
        report=progress.report,
    )
    progress.finish()
    say()
    section("Time", progress.summary())
    say()
    on_train = model.predict(X_train, device=info.device_id)
    on_test = model.predict(X_test, device=info.device_id)
    _show_result(y_train, y_test, on_train, on_test)
    _show_features(model)
    _save(model, out)
    _show_next(out)


def _create(folder: str) -> Path:
    out = Path(folder)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise DataError(f"--out {folder}: this is a file; give the name of a folder") from error
    return out


def _show_round(number: int, metrics: list[str]) -> None:
    value = metrics[0].rsplit(":", 1)[1]
    say(f"  round {number:>5}   test AUC {value}")


def _show_result(y_train: F32, y_test: F32, on_train: F32, on_test: F32) -> None:
    """Compare the model with a prediction of the mean training label for all rows."""
    mean = np.float32(y_train.mean(dtype=np.float64))
    constant = np.full_like(y_test, mean)
    rows = [
        ("this model, test rows", y_test, on_test),
        ("this model, training rows", y_train, on_train),
        (f"always the mean ({mean:.3f}), test rows", y_test, constant),
    ]
    say(f"{'Result':<36}{'accuracy':>11}{'AUC':>9}")
    for name, label, prediction in rows:
        accuracy = np.mean((prediction > 0.5) == (label == 1))
        say(f"  {name:<34}{accuracy:>11.3f}{auc(label, prediction):>9.4f}")
    say(f"  ({y_test.mean(dtype=np.float64):.1%} of the test rows are 1)")
    say()


def _show_features(model: Model) -> None:
    gain = model.feature_importances("gain")
    said = "Top features by gain (mean over their splits, as a share of all features')"
    say(wrapped(said, "", "  "))
    cells = max(0, width() - _BAR_AT)
    for feature in np.argsort(-gain, kind="stable")[:5]:
        bar = "#" * round(cells * gain[feature] / max(float(gain.max()), 1e-30))
        say(f"  {FEATURES[feature]:<26}{gain[feature]:>7.1%}  {bar}".rstrip())
    say()


def _save(model: Model, out: Path) -> None:
    model.save_model(out / "model.json")
    lines = [f"{out / 'model.json'}  the model, in XGBoost's JSON format"]
    try:
        plot_tree(model.ensemble, 0, out / "first_tree.png", max_depth=DRAWN_DEPTH)
        plot_importances(model.ensemble, out / "importances.png")
    except ImportError as error:
        lines.append(f"no pictures: {error}")
    else:
        lines.append(f"{out / 'first_tree.png'}  the first tree")
        lines.append(f"{out / 'importances.png'}  the features by their gain")
    section("Saved", *lines)
    say()


def _show_next(out: Path) -> None:
    say("Next")
    say("  pyopencl-gbdt devices                      what else could train here")
    say("  pyopencl-gbdt train DATA --model M.json    your own CSV, TSV, libsvm or npz")
    say(f"  pyopencl-gbdt predict DATA --model {out / 'model.json'}")
