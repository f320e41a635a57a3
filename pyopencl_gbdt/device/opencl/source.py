"""Build OpenCL C source; on PoCL without the declarations that the kernels do not need."""

from __future__ import annotations

import contextlib
import re
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pyopencl as cl

from pyopencl_gbdt.device.opencl import build_ahead
from pyopencl_gbdt.device.render import header
from pyopencl_gbdt.device.signature import argument_types, signatures, without_comments

_LOCAL_ARRAY = re.compile(r"\bLOCAL_(?:ARRAY|LINES)\(\s*(\w+)\s*,\s*(\w+)\s*,[^;]*\)\s*;")
_KERNEL = re.compile(r"(\bBRIEF\s+)?\bKERNEL\(\s*1\s*\)\s*(\w+)\s*\(([^()]*)\)\s*\{")
#: What the dialect's words for work-group ids mean within such a function.
_WORDS = {
    "LOCAL_ID": "0u",
    "GROUP_ID": "group_id_x",
    "GROUP_ID_Y": "group_id_y",
    "N_GROUPS": "n_groups_x",
    "N_GROUPS_Y": "n_groups_y",
    "GLOBAL_ID": "((u64)group_id_x)",
}
_ARGUMENTS = {
    "group_id_x": "GROUP_ID",
    "group_id_y": "GROUP_ID_Y",
    "n_groups_x": "N_GROUPS",
    "n_groups_y": "N_GROUPS_Y",
}
_RETURN = " IF_AHEAD_RETURN"
_BEGIN = "".join(
    f'#pragma push_macro("{word}")\n#undef {word}\n#define {word} {meaning}\n'
    for word, meaning in _WORDS.items()
)
_END = "".join(f'#pragma pop_macro("{word}")\n' for word in _WORDS)


def with_single_copies(source: str) -> str:
    """Return a rendered source with the statements of its kernels in functions of their own.

    Kernels of several work-items stay as they are. So do kernels marked ``BRIEF``, which PoCL does
    not copy. Arrays in local memory stay in the kernel, because only a kernel may declare them.

    Parameters
    ----------
    source : str
        Rendered for OpenCL; comments are removed.
    """
    plain, known = without_comments(source), signatures(source)
    parts, done = [], 0
    while (found := _KERNEL.search(plain, done)) is not None:
        brief, name, parameters = found.groups()
        end = _closing_brace(plain, found.end())
        if brief:
            parts += [plain[done : found.end()], _RETURN, plain[found.end() : end + 1]]
        else:
            names = [parameter.name for parameter in known[name]]
            statements = plain[found.end() : end]
            parts += [plain[done : found.start()], _split(name, parameters, names, statements)]
        done = end + 1
    return "".join([*parts, plain[done:]])


def _split(name: str, parameters: str, names: list[str], statements: str) -> str:
    """Return a function with a kernel's statements, and the kernel, which calls it."""
    arrays = list(_LOCAL_ARRAY.finditer(statements))
    pointers = [f"LOCAL {array[1]}* RESTRICT {array[2]}" for array in arrays]
    taken = ", ".join([parameters, *pointers, *(f"const u32 {name}" for name in _ARGUMENTS)])
    given = ", ".join([*names, *(array[2] for array in arrays), *_ARGUMENTS.values()])
    return (
        f"{_BEGIN}SINGLE_COPY {name}_statements({taken}) {{"
        f"{_LOCAL_ARRAY.sub('', statements)}}}\n{_END}"
        f"KERNEL(1) {name}({parameters}) {{{_RETURN}\n"
        f"    {' '.join(array[0] for array in arrays)}\n"
        f"    {name}_statements({given});\n}}\n"
    )


def _closing_brace(text: str, start: int) -> int:
    """Return the index of the brace that closes the one before ``start``."""
    depth = 1
    for brace in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.start()
    return len(text)


#: Builds that run now, and what restores the filters of warnings behind the last one.
_building, _lock = 0, threading.Lock()
_filters = contextlib.ExitStack()


@contextlib.contextmanager
def quiet_builds() -> Iterator[None]:
    """Ignore pyopencl's warnings of compilers that say something; several threads may build."""
    global _building  # noqa: PLW0603 - filters of warnings are a fact of the process
    with _lock:
        _building += 1
        if _building == 1:
            _filters.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore", cl.CompilerWarning)
    try:
        yield
    finally:
        with _lock:
            _building -= 1
            if _building == 0:
                _filters.close()


POCL = "Portable Computing Language"
#: Skips Clang's opencl-c.h, which PoCL reads before every program: 17,000 declarations of built-in
#: functions. PoCL 3.0 then builds one of our programs in 0.06 s instead of 0.2 s. The macro is the
#: header's include guard. A PoCL whose header has another guard reads the header as before;
#: ``dialect_opencl_builtins.h`` then repeats some of its declarations.
NO_HEADER = "-D_OPENCL_H_"
#: PoCL's compiler counts its warnings on the process's standard error; every message that we show
#: is an error.
NO_WARNINGS = "-w"
#: Has functions inlined first, for kernels that end in their last group: Clang puts the address of
#: a local array into a static function that gets no other one, and PoCL 3.0 then gives all threads
#: the same array. Last groups of several fits that counted splits at the same time had each other's
#: counts. Programs of GPUs' kernels take a fifth longer to build so.
INLINED = "-DINLINED=__attribute__((always_inline))"


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
        options = [*options, NO_WARNINGS, *([INLINED] if "is_last_group(" in source else [])]
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
