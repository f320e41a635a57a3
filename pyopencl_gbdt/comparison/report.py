"""Format a comparison as one self-contained HTML file."""

from __future__ import annotations

import html as markup
from collections.abc import Callable, Sequence
from typing import Any

from mako.template import Template

from pyopencl_gbdt._version import __version__
from pyopencl_gbdt.comparison.agreement import Compared, Row, compare, overall
from pyopencl_gbdt.comparison.schema import short, size
from pyopencl_gbdt.device.render import source_folder
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: The page's style sheet defines colours ``c0`` to ``c7``; further ones start again at ``c0``.
N_COLOURS = 8
_WIDTH, _ROW, _BAR, _BAR_Y = 340, 34, 9, 18
_LABEL_Y = 13
#: Most characters above a bar, label and text together, in a font of wide letters.
_LETTERS = 42


@dataclass(frozen=True)
class DrawnBar:
    """A bar and the text above it.

    Attributes
    ----------
    label, text : str
        Left-aligned and right-aligned text.
    parts : sequence of (float, int, str)
        Length, colour number and tooltip of each part, from left to right.
    """

    label: str
    text: str
    parts: Sequence[tuple[float, int, str]]

    @property
    def length(self) -> float:
        return sum(part[0] for part in self.parts)


def bars(title: str, rows: Sequence[DrawnBar]) -> str:
    """Return an SVG of horizontal bars on a common scale that starts at 0.

    ``title``: read aloud by screen readers.
    """
    longest = max((row.length for row in rows), default=0.0) or 1.0
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_ROW * len(rows)}" role="img" '
        f'aria-label="{markup.escape(title)}">'
    ]
    for number, row in enumerate(rows):
        y = number * _ROW
        label = _cut(row.label, _LETTERS - len(row.text))
        parts.append(f'<text x="0" y="{y + _LABEL_Y}">{markup.escape(label)}</text>')
        parts.append(
            f'<text x="{_WIDTH}" y="{y + _LABEL_Y}" class="value">{markup.escape(row.text)}</text>'
        )
        parts.append(_rectangle(0, y + _BAR_Y, _WIDTH, "track", ""))
        x = 0.0
        for length, colour, tip in row.parts:
            width = _WIDTH * length / longest
            parts.append(_rectangle(x, y + _BAR_Y, width, f"c{colour % N_COLOURS}", tip))
            x += width
    return "".join([*parts, "</svg>"])


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _rectangle(x: float, y: float, width: float, kind: str, tip: str) -> str:
    tooltip = f"<title>{markup.escape(tip)}</title>" if tip else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_BAR}" '
        f'class="{kind}">{tooltip}</rect>'
    )


Json = dict[str, Any]
_TEMPLATE = "comparison.html.mako"
#: Number of kernels with a separate colour; the others share one.
_MOST_KERNELS = N_COLOURS - 1


@dataclass(frozen=True)
class Figure:
    """One quantity that the report plots.

    Attributes
    ----------
    value : callable
        Takes a result; returns the length of its bar.
    text : callable
        Formats that number for people.
    """

    title: str
    note: str
    value: Callable[[Json], float]
    text: Callable[[float], str]


METRICS = (
    Figure("A round", "Milliseconds a boosting round; shorter is better.",
           lambda r: r["round_ms"], lambda v: f"{short(v)} ms"),
    Figure("Set-up", "Seconds from NumPy arrays to ready to boost, kernels built before; shorter "
           "is better.", lambda r: r["setup_seconds"], lambda v: f"{short(v)} s"),
    Figure("Prediction", "Million rows a second, from a NumPy array to a NumPy array, by all trees "
           "of a model; longer is better.",
           lambda r: r["predicted_rows_per_second"] / 1e6, lambda v: f"{short(v)} M rows/s"),
    Figure("Share of bandwidth", "The least bytes that a round has to move, over the time that it "
           "takes, as a share of a copy's bandwidth on the same device; longer is better. Data "
           "that a cache holds can exceed 100 %.",
           lambda r: 100 * r["share_of_copy"], lambda v: f"{short(v)} %"),
    Figure("Device memory", "The most in use at a time; shorter is better.",
           lambda r: r["peak_bytes"], size),
)  # fmt: skip


class View:
    """The data of the HTML template.

    Attributes
    ----------
    shapes : list of Compared
    devices : list of (int, dict)
        Every device with its machine's number, in order of colour.
    compares : bool
        Whether there are several devices; figures of one stand in a table without bars.
    kernels : list of str
        In order of colour.
    """

    def __init__(self, document: Json) -> None:
        self.machines = document["machines"]
        self.shapes = compare(document)
        self.devices = [
            (number, device)
            for number, machine in enumerate(self.machines)
            for device in machine["devices"]
        ]
        self.compares = len(self.devices) > 1
        self.kernels = self._order_kernels()
        self._colours = {(m, d["device"]): i for i, (m, d) in enumerate(self.devices)}
        self.good, self.verdict = overall(self.shapes)
        self.library = __version__
        self.metrics, self.short, self.size = METRICS, short, size

    def label(self, machine: int, device: Json) -> str:
        """Return a device's name in plots and tables, with the id first, to tell drivers apart."""
        prefix = f"{machine + 1} · " if len(self.machines) > 1 else ""
        return f"{prefix}{device['device']}\N{NO-BREAK SPACE}· {device['capabilities']['name']}"

    def colour(self, row: Row) -> int:
        """Return the colour number of a result."""
        return self._colours[row.machine, row.device["device"]]

    def find(self, compared: Compared, machine: int, device: Json) -> Row | None:
        """Return the result on a device; None if the shape was not tried there."""
        found = (r for r in compared.rows if (r.machine, r.device) == (machine, device))
        return next(found, None)

    def chart(self, metric: Figure, compared: Compared) -> str:
        """Return the bar chart of a shape."""
        rows = []
        for row in compared.rows:
            label = self.label(row.machine, row.device)
            if row.failed:
                rows.append(DrawnBar(label, "failed", []))
                continue
            value = metric.value(row.result)
            text = metric.text(value)
            rows.append(DrawnBar(label, text, [(value, self.colour(row), f"{label}: {text}")]))
        return bars(f"{metric.title}, {compared.shape['name']}", rows)

    def _order_kernels(self) -> list[str]:
        """Return the names of all kernels, those with the largest shares of rounds first."""
        shares: dict[str, float] = {}
        for compared in self.shapes:
            for row in compared.measured:
                total = sum(kernel["ms"] for kernel in row.result["kernels"]) or 1.0
                for kernel in row.result["kernels"]:
                    name = kernel["kernel"]
                    shares[name] = shares.get(name, 0.0) + kernel["ms"] / total
        return sorted(shares, key=lambda name: (-shares[name], name))

    @property
    def legend(self) -> list[str]:
        """The meaning of the colours of stacked bars."""
        more = len(self.kernels) > _MOST_KERNELS
        return self.kernels[:_MOST_KERNELS] + (["others"] if more else [])

    def kernel_chart(self, compared: Compared) -> str:
        """Return a shape's stacked bars, all of equal length, divided by kernel."""
        colours = {name: i for i, name in enumerate(self.kernels[:_MOST_KERNELS])}
        rows = []
        for row in compared.measured:
            spent = [(k["ms"], colours.get(k["kernel"], _MOST_KERNELS), k["kernel"])
                     for k in row.result["kernels"]]  # fmt: skip
            total = sum(ms for ms, _, _ in spent)
            parts = [
                (ms / total, colour, f"{name}: {short(ms)} ms, {ms / total:.0%}")
                for ms, colour, name in sorted(spent, key=_by)
                if ms
            ]
            label = self.label(row.machine, row.device)
            rows.append(DrawnBar(label, f"{short(total)} ms" if parts else "no profile", parts))
        return bars(f"Time of every kernel, {compared.shape['name']}", rows)

    def kernel_tables(self, compared: Compared) -> dict[Row, dict[str, Json]]:
        """Return the kernels, by name, of every device that has a profile."""
        return {
            row: {kernel["kernel"]: kernel for kernel in row.result["kernels"]}
            for row in compared.measured
            if row.result["kernels"]
        }


def _by(part: tuple[float, int, str]) -> tuple[int, str]:
    return part[1], part[2]


def html(document: Json) -> str:
    """Return the report of a document that `schema.check` accepts."""
    file = source_folder("templates") / _TEMPLATE
    template = Template(filename=str(file), default_filters=["h"], strict_undefined=True)
    return str(template.render(view=View(document)))
