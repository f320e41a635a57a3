"""Rewrite kernels so that PoCL compiles their statements once, not three times.

PoCL 3.0 puts a kernel's statements into three functions: the kernel's own and two that launch it.
It optimises and translates each of them. This module moves the statements to a function of their
own, which PoCL must not copy; the kernel only calls it. The function may not ask for work-group ids
itself, since PoCL copies functions that do. So the kernel passes them. Each kernel returns at once
where ``build_ahead`` only has it compiled.

    KERNEL(1) find(const u32 n) {       FUNCTION find_statements(const u32 n, GROUPS) {
        ... GROUP_ID ...           ->       ... GROUP_ID ...          (now a parameter)
    }                                   }
                                        KERNEL(1) find(const u32 n) { IF_AHEAD_RETURN
                                            find_statements(n, get_group_id(0), ...);
                                        }
"""

from __future__ import annotations

import re

from pyopencl_gbdt.device.signature import signatures

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
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
    plain, known = _COMMENT.sub(" ", source), signatures(source)
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
