"""Build OpenCL C source; on PoCL without the declarations that the kernels do not need."""

from __future__ import annotations

import contextlib
import re
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl

from pyopencl_gbdt.device.opencl import build_ahead
from pyopencl_gbdt.device.opencl.pocl import NO_HEADER, POCL
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

    ``source``: rendered for OpenCL; comments are removed.
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


#: Programs of PoCL whose kernels return at once where a grid has two work-groups in z.
_RETURN_AHEAD: weakref.WeakSet[Any] = weakref.WeakSet()
#: Kernels that few fits launch, which are compiled then: PoCL takes 0.02 s for the shortest one.
_SELDOM = ("set_leaf_rate",)
#: PoCL's compiler counts its warnings on the process's standard error; every message that we show
#: is an error.
NO_WARNINGS = "-w"
#: Has functions inlined first, for kernels that end in their last group: Clang puts the address of
#: a local array into a static function that gets no other one, and PoCL 3.0 then gives all threads
#: the same array. Last groups of several fits that counted splits at the same time had each other's
#: counts. Programs of GPUs' kernels take a fifth longer to build so.
INLINED = "-DINLINED=__attribute__((always_inline))"


def build_source(
    context: Any, platform: str, source: str, options: list[str], *, own_code: bool, alone: bool
) -> Any:
    """Build a rendered template.

    Parameters
    ----------
    context : pyopencl.Context
    own_code : bool
        Whether the source contains a user's statements, which may call any built-in function.
    alone : bool
        Whether a work-group has one work-item.

    Raises
    ------
    pyopencl.Error
        With the compiler's log.
    """
    if platform != POCL:
        return cl.Program(context, source).build(options, cache_dir=False)
    options = _for_pocl(source, options)
    if not own_code:
        few = _with_few_declarations(source, alone=alone)
        try:
            program = cl.Program(context, few).build([*options, NO_HEADER], cache_dir=False)
        except cl.Error:
            pass  # build with all declarations, so that the log shows the real error
        else:
            if alone:
                _RETURN_AHEAD.add(program)
            return program
    return cl.Program(context, source).build(options, cache_dir=False)


def add_to_helper(program: Any, source: str) -> None:
    """Let a helper process compile kernels that will be launched soon; see ``build_ahead``.

    Parameters
    ----------
    program : pyopencl.Program
        Built from ``source``.
    source : str
    """
    helper = build_ahead.current()
    if helper is None or program not in _RETURN_AHEAD:
        return
    text = program.get_build_info(program.devices[0], cl.program_build_info.OPTIONS)
    helper.add(program.source, text, argument_types(source))


def plan(
    queue: Any, source: str, options: list[str], build: Callable[[], Any]
) -> Callable[[], None] | None:
    """Plan a program of the rounds for PoCL, whose work-groups have one work-item.

    Parameters
    ----------
    queue : pyopencl.CommandQueue
        Where the fit launches kernels. PoCL crashes where it compiles two at a time, and it
        compiles those that wait in a queue.
    source : str
        As it is rendered.
    options : list of str
    build : callable
        Builds it in this process and returns the ``pyopencl.Program``.

    Returns
    -------
    callable or None
        See ``BuildHelper.plan``; None if there is no helper.
    """
    helper = build_ahead.current()
    # pyopencl appends options of its own
    as_built = getattr(cl.Program, "_process_build_options", None)
    if helper is None or as_built is None:
        return None
    text = as_built(queue.context, [*_for_pocl(source, options), NO_HEADER])[0].decode()
    kernels = [kernel for kernel in argument_types(source) if kernel[0] not in _SELDOM]
    few = _with_few_declarations(source, alone=True)
    own = partial(_compile_now, queue, build, kernels)
    before = helper.plan(build_ahead.Planned(few, text, kernels, own))
    if before is None:
        return None

    def wait() -> None:
        before()
        queue.finish()

    return wait


def _compile_now(queue: Any, build: Callable[[], Any], kernels: build_ahead.Kernels) -> None:
    """Build a program, and launch its kernels with two work-groups in z: they return at once."""
    queue.finish()
    program = build()
    if program not in _RETURN_AHEAD:
        return
    for name, types in kernels:
        launch_ahead(queue, cl.Kernel(program, name), types)


def launch_ahead(
    queue: Any, kernel: Any, types: Sequence[str], array: Any = None, n_items: int = 1
) -> None:
    """Launch a kernel with two work-groups in z, in which it returns at once.

    Parameters
    ----------
    queue : pyopencl.CommandQueue
    kernel : pyopencl.Kernel
    types : sequence of str
        NumPy types of the arguments; empty for arrays.
    array : pyopencl.Buffer or None
        Given for every array; None where the driver takes no array.
    n_items : int
        Work-items of a group.
    """
    for index, kind in enumerate(types):
        kernel.set_arg(index, np.zeros((), kind)[()] if kind else array)
    cl.enqueue_nd_range_kernel(queue, kernel, (n_items, 1, 2), (n_items, 1, 1))


def _for_pocl(source: str, options: list[str]) -> list[str]:
    return [*options, NO_WARNINGS, *([INLINED] if "is_last_group(" in source else [])]


def _with_few_declarations(source: str, *, alone: bool) -> str:
    """Return a source that needs no header of PoCL's."""
    fast = header("dialect_opencl_fast_build.h") if alone else ""
    text = with_single_copies(source) if alone else source
    return f"{header('dialect_opencl_builtins.h')}{fast}#line 1\n{text}"
