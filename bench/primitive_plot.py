"""Pictures of ``python -m bench sweep``: elements per second against size."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

try:
    from matplotlib.figure import Figure  # no pyplot: no window, no global state
except ImportError as error:
    raise ImportError("pictures need matplotlib; pip install matplotlib") from error

Record = dict[str, Any]
_COLUMNS = 3


def plot(results: list[Record], path: str, device: str) -> str:
    """Draw one panel a primitive: ours as lines, the peer dashed and a copy dotted.

    Parameters
    ----------
    results : list of dict
        As ``Result``, of several sizes.
    path : str
        A file, whose ending chooses the format.
    device : str
        For the title.

    Returns
    -------
    str
        The file's name.
    """
    panels: dict[str, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        panels[result["kernel"]][result["detail"]].append(result)
    rows = -(-len(panels) // _COLUMNS)
    figure = Figure(figsize=(4.4 * _COLUMNS, 3.4 * rows), layout="constrained")
    axes = list(figure.subplots(rows, _COLUMNS, squeeze=False).flat)
    for axis, (kernel, lines) in zip(axes, panels.items(), strict=False):
        for detail, line in lines.items():
            _line(axis, sorted(line, key=lambda r: r["n"]), detail)
        axis.set(title=kernel, xlabel="elements", ylabel="million elements a second")
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.grid(visible=True, alpha=0.3)
        axis.legend(fontsize=7)
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    figure.suptitle(f"{device}; dotted: a copy of as many bytes")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return str(path)


def _line(axis: Any, line: list[Record], detail: str) -> None:
    """Draw the fastest runs, which a busy machine disturbs least."""
    sizes = [r["n"] for r in line]
    (drawn,) = axis.plot(
        sizes, [r["n"] / r["fastest"] / 1e6 for r in line], marker=".", label=detail
    )
    colour = drawn.get_color()
    copies = [r["mega_per_second"] / r["share_of_copy"] for r in line]
    axis.plot(sizes, copies, ":", color=colour, alpha=0.6)
    peers = [(r["n"], r["n"] / r["peer_fastest"] / 1e6) for r in line if r["peer_fastest"]]
    if peers:
        axis.plot(*zip(*peers, strict=True), "--", color=colour, alpha=0.6, label=line[0]["peer"])
