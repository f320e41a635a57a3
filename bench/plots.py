"""Pictures of ``python -m bench pages``' results, by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    from matplotlib.figure import Figure  # no pyplot: no window, no global state
except ImportError as error:
    raise ImportError("--plot needs matplotlib; pip install matplotlib") from error

from pyopencl_gbdt.device.timing import middle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Record = dict[str, Any]

#: Shapes of a series differ in one number, which is the x of a curve.
SERIES = {"bins-": ("max_bin", "bins"), "rows-": ("n_rows", "rows")}
_COLOURS = ("#2166ac", "#67a9cf", "#d6604d", "#f4a582", "#4d9221", "#8073ac", "#7f7f7f", "#b2912f")
_BAR = 0.16


def plot(report: Record, path: str) -> str:
    """Draw milliseconds a round: bars per shape, and a curve for each series that was run.

    Parameters
    ----------
    report : dict
        As `bench.pages` writes it.
    path : str
        A file, whose ending chooses the format, or a folder, which gets ``pages.png``.

    Returns
    -------
    str
        The file's name.
    """
    target = Path(path)
    if target.is_dir():
        target /= "pages.png"
    trained = [shape for shape in report["lines"] if _done(shape)]
    groups = {prefix: [s for s in trained if s["name"].startswith(prefix)] for prefix in SERIES}
    single = [shape for shape in trained if not shape["name"].startswith(tuple(SERIES))]
    curves = {prefix: shapes for prefix, shapes in groups.items() if shapes}
    names = list(dict.fromkeys(s["name"] for shape in report["lines"] for s in _done(shape)))
    colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(names)}
    n_axes = bool(single) + len(curves)
    if not n_axes:
        return "nothing to draw: no shape was trained"
    bars_height = 1.2 + sum(_BAR * len(_done(shape)) + 0.25 for shape in single)
    figure = Figure(figsize=(6.4 * n_axes, max(4.4, bars_height)), layout="constrained")
    axes = list(figure.subplots(1, n_axes, squeeze=False)[0])
    if single:
        _bars(axes.pop(0), single, colours)
    for axis, (prefix, shapes) in zip(axes, curves.items(), strict=True):
        _curve(axis, shapes, *SERIES[prefix], colours)
    devices = ", ".join(device["label"] for device in report["devices"])
    figure.suptitle(f"{devices}; {report['host']['n_cpus']} processor threads", fontsize=9)
    figure.savefig(target, dpi=120)
    return str(target)


def _done(shape: Record) -> list[Record]:
    done = [system for system in shape["systems"] if not system["problem"]]
    return [system for system in done if "round" in system["seconds"]]


def _milliseconds(system: Record) -> float:
    return 1e3 * middle(system["seconds"]["round"])


def _bars(axis: Axes, shapes: Sequence[Record], colours: dict[str, str]) -> None:
    """Draw a group of bars per shape, from top to bottom, each with its number."""
    y, ticks = 0.0, []
    for shape in shapes:
        systems = _done(shape)
        ticks.append(y + _BAR * (len(systems) - 1) / 2)
        for system in systems:
            milliseconds = _milliseconds(system)
            colour = colours[system["name"]]
            label = (
                system["name"] if system["name"] not in axis.get_legend_handles_labels()[1] else ""
            )
            axis.barh(y, milliseconds, 0.9 * _BAR, color=colour, label=label or "_")
            axis.text(milliseconds, y, f" {milliseconds:.3g}", va="center", fontsize=7)
            y += _BAR
        y += 0.25
    axis.set_xscale("log")
    axis.margins(x=0.15)
    axis.invert_yaxis()
    axis.set_yticks(ticks, [shape["name"] for shape in shapes])
    axis.set_xlabel("ms a round")
    axis.legend(fontsize=7)


def _curve(
    axis: Axes, shapes: Sequence[Record], key: str, word: str, colours: dict[str, str]
) -> None:
    """Draw a line per system over the number that the series varies, both axes logarithmic."""
    for name, colour in colours.items():
        points = sorted(
            (shape[key], _milliseconds(system))
            for shape in shapes
            for system in _done(shape)
            if system["name"] == name
        )
        if points:
            axis.plot(*zip(*points, strict=True), "o-", color=colour, label=name, markersize=4)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel(word)
    axis.set_ylabel("ms a round")
    axis.grid(visible=True, which="major", color="#dddddd")
    axis.legend(fontsize=7)
