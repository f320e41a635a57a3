"""Build OpenCL C source; on PoCL without the declarations that the kernels do not need."""

from __future__ import annotations

from typing import Any

import pyopencl as cl

from pyopencl_gbdt.device import build_ahead
from pyopencl_gbdt.device.render import header
from pyopencl_gbdt.device.signature import argument_types
from pyopencl_gbdt.device.single_copy import with_single_copies

POCL = "Portable Computing Language"
#: Skips Clang's opencl-c.h, which PoCL reads before every program: 17,000 declarations of built-in
#: functions. PoCL 3.0 then builds one of our programs in 0.06 s instead of 0.2 s. The macro is the
#: header's include guard. A PoCL whose header has another guard reads the header as before;
#: ``dialect_opencl_builtins.h`` then repeats some of its declarations.
NO_HEADER = "-D_OPENCL_H_"
#: PoCL's compiler counts its warnings on the process's standard error; every message that we show
#: is an error.
NO_WARNINGS = "-w"


def build_source(
    context: Any,
    platform: str,
    source: str,
    options: list[str],
    *,
    own_code: bool,
    alone: bool,
    ahead: bool,
) -> Any:
    """Build a rendered template.

    Parameters
    ----------
    context : pyopencl.Context
    platform : str
        The platform's name.
    source : str
    options : list of str
        For the compiler.
    own_code : bool
        Whether the source contains a user's statements, which may call any built-in function.
    alone : bool
        Whether a work-group has one work-item.
    ahead : bool
        Whether a helper process may compile the kernels, see ``build_ahead``.

    Raises
    ------
    pyopencl.Error
        With the compiler's log.
    """
    if platform == POCL:
        options = [*options, NO_WARNINGS]
    if platform == POCL and not own_code:
        fast = header("dialect_opencl_fast_build.h") if alone else ""
        text = with_single_copies(source) if alone else source
        few = f"{header('dialect_opencl_builtins.h')}{fast}#line 1\n{text}"
        try:
            program = cl.Program(context, few).build([*options, NO_HEADER], cache_dir=False)
            if alone and ahead and (helper := build_ahead.current()) is not None:
                helper.add(few, [*options, NO_HEADER], argument_types(source))
            return program
        except cl.Error:
            pass  # build with all declarations, so that the log shows the real error
    return cl.Program(context, source).build(options, cache_dir=False)
