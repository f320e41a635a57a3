"""Free the device memory that an exception's traceback would keep alive."""

from __future__ import annotations

import contextlib
from types import TracebackType

#: Packages whose frames hold arrays of a device in their local variables.
_OURS = ("pyopencl_gbdt", "pyopencl", "cupy")


def clear_frames(error: BaseException | None) -> None:
    """Clear the local variables of this library's frames in an exception's traceback.

    A notebook or a debugger keeps the last traceback, and a traceback keeps its frames' variables.
    So the device memory of a failed fit would stay allocated. Frames of other packages, such as the
    user's callbacks, keep their variables, and so do frames that still run. A frame keeps the
    variables that its function takes from a function around it, so no generator expression calls
    the device with arrays of the function around it.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        clear_frames(error.__cause__)
        _clear(error.__traceback__)
        error = error.__context__


def _clear(traceback: TracebackType | None) -> None:
    while traceback is not None:
        frame = traceback.tb_frame
        if str(frame.f_globals.get("__name__", "")).split(".")[0] in _OURS:
            with contextlib.suppress(RuntimeError):  # it still runs
                frame.clear()
        traceback = traceback.tb_next
