"""Format a comparison as lines for a terminal."""

from __future__ import annotations

from pyopencl_gbdt.cli.output import wrapped
from pyopencl_gbdt.comparison.agreement import Compared, Row

_HEAD = (
    f"  {'device':<14}{'set-up s':>9}{'ms/round':>10}{'% of copy':>10}{'Mrows/s':>9}"
    f"{'MB':>7}{'first s':>8}  model"
)


def title(compared: Compared) -> str:
    """Describe a shape in one line."""
    s = compared.shape
    models = f", {s['n_models']} models" if s["n_models"] > 1 else ""
    return (
        f"{s['name']}: {s['n_rows']} x {s['n_features']}, depth {s['max_depth']}, "
        f"{s['max_bin']} bins, {s['n_rounds']} rounds{models}"
    )


def lines(compared: Compared, *, machines: int = 1) -> list[str]:
    """Return a shape's table, at most 80 columns wide, and its verdict.

    Parameters
    ----------
    compared : Compared
    machines : int
        Number of machines in the document; with several, machine numbers precede devices.
    """
    if compared.shape["problem"] and not compared.rows:
        return [title(compared), f"  not trained: {compared.shape['problem']}"]
    shown = [title(compared), _HEAD, *(_line(row, machines) for row in compared.rows)]
    return [*shown, f"  {compared.verdict}"]


def _line(row: Row, machines: int) -> str:
    name = f"{row.machine + 1} " if machines > 1 else ""
    name += row.device["device"]
    r = row.result
    if row.failed:
        return wrapped(f"{name:<14} failed: {r['problem']}", "  ", "    ")
    again = "" if r["repeats_agree"] else " UNSTEADY"
    return (
        f"  {name:<14}{r['setup_seconds']:>9.3f}{r['round_ms']:>10.2f}"
        f"{100 * r['share_of_copy']:>10.1f}{r['predicted_rows_per_second'] / 1e6:>9.2f}"
        f"{r['peak_bytes'] / 1e6:>7.0f}{r['first_fit_seconds']:>8.2f}"
        f"  {r['model_digest'][:8]}{again}"
    )
