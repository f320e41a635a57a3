"""What all pictures share: colours, axes, short names and files.

matplotlib is imported only when a picture is drawn. A picture for a file does not use pyplot, so
no window or global state is involved: it can be drawn on a server and in threads.
"""

from __future__ import annotations

import io
import os
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

from pyopencl_gbdt.arguments import check_path, check_whole
from pyopencl_gbdt.data.files.whole_file import write_whole
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import pip_install
from pyopencl_gbdt.model.ensemble import Ensemble

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, FAINT, LINE = "#1f2933", "#6b7785", "#9aa5b1"
#: Colours that colour-blind people tell apart (Okabe and Ito, Color Universal Design, 2008).
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK)
#: Colour of grids, and how dense: it suits light and dark pages.
_GRID = "#8a97a355"
#: Inches per character at a font size of 9 points; longer names are cut.
CHARACTER, LONGEST_LABEL = 0.077, 34
#: Agg draws at most 65,535 pixels.
MOST_PIXELS = 60_000


def fitted(model: Any) -> Any:
    """Return the ``Model`` of an estimator, and anything else as it is.

    Raises
    ------
    NotFittedError
        If ``model`` is an estimator that is not fitted.
    """
    return model._fitted() if hasattr(model, "_fitted") else model


def ensemble_of(model: Any) -> Ensemble:
    """Return the ``Ensemble`` of an estimator, a ``Model`` or an ``Ensemble``.

    Raises
    ------
    ParameterError
        If ``model`` is anything else.
    NotFittedError
        If ``model`` is an estimator that is not fitted.
    """
    model = fitted(model)
    found = getattr(model, "ensemble", model)
    if not isinstance(found, Ensemble):
        raise ParameterError(
            f"model={type(model).__name__}: expected an estimator, a Model or an Ensemble; give "
            "one that is fitted"
        )
    return found


def check_tree_number(ensemble: Ensemble, tree: Any, name: str = "tree") -> None:
    """Raise ``ParameterError`` unless ``tree`` is the index of a tree."""
    check_whole(name, tree, 0, len(ensemble.trees) - 1, move="choose a tree that exists")


def new_axes(width: float, height: float, *, pyplot: bool, layout: str | None = None) -> Axes:
    """Return the axes of a new figure of this size in inches.

    ``pyplot`` tells whether ``matplotlib.pyplot`` knows the figure and can show it.

    Raises
    ------
    ImportError
        If matplotlib is missing.
    """
    options: dict[str, Any] = {"figsize": (width, height), "layout": layout}
    try:
        if pyplot:
            import matplotlib.pyplot as plt

            figure = plt.figure(**options)
        else:
            from matplotlib.figure import Figure

            figure = Figure(**options)
    except ImportError as error:
        raise ImportError(f"plots need matplotlib: {pip_install('plot')}") from error
    axes: Axes = figure.add_subplot()
    return axes


def save(axes: Axes, path: str | os.PathLike[str] | None) -> None:
    """Write the figure of these axes, whole or not at all; the ending chooses the format."""
    if path is None:
        return
    check_path("path", path)
    figure: Any = axes.figure
    dpi = min(120.0, MOST_PIXELS / float(max(figure.get_size_inches())))
    name, drawn = os.fsdecode(path), io.BytesIO()
    ending = PurePath(name).suffix
    figure.savefig(drawn, dpi=dpi, format=ending[1:] or "png")
    write_whole(name if ending else f"{name}.png", drawn.getvalue())


def shorten(text: str, longest: int = LONGEST_LABEL) -> str:
    """Cut a text to this many characters; an ellipsis says so."""
    return text if len(text) <= longest else text[: max(longest - 1, 0)] + "…"


def frame(axes: Axes, *, grid: Literal["both", "x", "y"] | None, **labels: str) -> None:
    """Write title and labels, ``$`` as a plain character; hide two sides; ``grid`` is an axis."""
    for name, text in labels.items():
        getattr(axes, f"set_{name}")(text, parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(False)
    if grid is not None:
        axes.grid(True, axis=grid, color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)


def check_limits(**limits: object) -> None:
    """Raise ``ParameterError`` unless each limit is None or two numbers."""
    for name, limit in limits.items():
        if limit is not None and (not isinstance(limit, (tuple, list)) or len(limit) != 2):
            raise ParameterError(f"{name}={limit!r}: expected two numbers; give (from, to)")
