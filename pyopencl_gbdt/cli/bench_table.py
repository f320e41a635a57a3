"""Format a comparison as lines for a terminal."""

from __future__ import annotations

from pyopencl_gbdt.cli.output import wrapped
from pyopencl_gbdt.cli.text_table import TextTable
from pyopencl_gbdt.comparison.agreement import Compared, Row

_FIGURES = (
    ("set-up s", 9), ("ms/round", 10), ("% of copy", 10), ("Mrows/s", 9), ("MB", 7), ("first s", 8)
)  # fmt: skip


def title(compared: Compared) -> str:
    """Describe a shape in one line."""
    s = compared.shape
    models = f", {s['n_models']} models" if s["n_models"] > 1 else ""
    return (
        f"{s['name']}: {s['n_rows']} x {s['n_features']}, depth {s['max_depth']}, "
        f"{s['max_bin']} bins, {s['n_rounds']} rounds{models}"
    )


class BenchTable:
    """Formats shapes one at a time: a table for each, or one table if there is only one device.

    Parameters
    ----------
    n_devices : int
        Number of devices of all machines.
    n_machines : int
        Number of machines; with several, machine numbers precede devices.
    """

    def __init__(self, n_devices: int, n_machines: int = 1) -> None:
        self.alone, self.n_machines = n_devices == 1, n_machines
        first = ("shape" if self.alone else "device", 14)
        self.table = TextTable(first, _FIGURES, "model", indent=2)
        self._has_head = False

    def lines(self, compared: Compared) -> list[str]:
        """Return a shape's lines."""
        if compared.shape["problem"] and not compared.rows:
            problem = f"not trained: {compared.shape['problem']}"
            return ["", title(compared), wrapped(problem, "  ")]
        rows = [self._row(row) for row in compared.rows]
        if not self.alone:
            verdict = wrapped(compared.verdict, "  ")
            return ["", wrapped(title(compared), "", "  "), *self.table.head(), *rows, verdict]
        begun, self._has_head = self._has_head, True
        return [*([] if begun else ["", *self.table.head()]), *rows]

    def _row(self, row: Row) -> str:
        name = f"{row.machine + 1} " if self.n_machines > 1 else ""
        name += row.result["shape"] if self.alone else row.device["device"]
        r = row.result
        if row.failed:
            return wrapped(f"{name:<14} failed: {r['problem']}", "  ", "    ")
        figures = (
            f"{r['setup_seconds']:.3f}", f"{r['round_ms']:.2f}", f"{100 * r['share_of_copy']:.1f}",
            f"{r['predicted_rows_per_second'] / 1e6:.2f}", f"{r['peak_bytes'] / 1e6:.0f}",
            f"{r['first_fit_seconds']:.2f}",
        )  # fmt: skip
        again = "" if r["repeats_agree"] else " UNSTEADY"
        return self.table.row(name, figures, f"{r['model_digest'][:8]}{again}")
