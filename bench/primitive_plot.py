"""Pictures of ``python -m bench primitives``: elements per second against size."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

try:
    from matplotlib.figure import Figure  # no pyplot: no window, no global state
except ImportError as error:
    raise ImportError("--plot needs matplotlib; pip install matplotlib") from error

_COLUMNS = 3


def plot(results: list[dict[str, Any]], path: str, device: str) -> str:
    """Draw one panel a primitive: ours as lines, the peer dashed in the same colour.

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
    panels: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        panels[result["kernel"]][result["detail"].split(",")[0]].append(result)
    rows = -(-len(panels) // _COLUMNS)
    figure = Figure(figsize=(5.2 * _COLUMNS, 3.6 * rows), layout="constrained")
    axes = figure.subplots(rows, _COLUMNS, squeeze=False).flat
    for axis, (kernel, lines) in zip(axes, panels.items(), strict=False):
        for detail, line in lines.items():
            line.sort(key=lambda r: r["n"])
            sizes = [r["n"] for r in line]
            (drawn,) = axis.plot(
                sizes, [r["seconds"] * 1e6 for r in line], marker=".", label=detail
            )
            peers = [(r["n"], r["peer_seconds"] * 1e6) for r in line if r["peer_seconds"]]
            if peers:
                x, y = zip(*peers, strict=True)
                axis.plot(
                    x, y, "--", color=drawn.get_color(), alpha=0.6, label=f"{line[0]['peer']}"
                )
        axis.set(title=kernel, xscale="log", yscale="log", xlabel="elements", ylabel="microseconds")
        axis.grid(visible=True, alpha=0.3)
        axis.legend(fontsize=7)
    for axis in list(axes):
        axis.set_visible(False)
    figure.suptitle(device)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return str(path)
