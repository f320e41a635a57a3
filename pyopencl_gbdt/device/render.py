"""Render a kernel template for a dialect; unknown and missing parameters are errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from mako.lookup import TemplateLookup

Dialect = Literal["opencl", "cuda"]
Param = int | str | bool
#: Parameters in order of their names, each with its name, its type's name and its value.
Params = tuple[tuple[str, str, Param], ...]

_ARGS = re.compile(r'<%page\s+args="([^"]*)"\s*/>')
_USES = re.compile(r"^##\s*uses(?: if (not )?(\w+))?:\s*(.+)$", re.MULTILINE)


@cache
def source_folder(name: Literal["templates", "cl_kernels"]) -> Path:
    """Return the folder of kernel sources: in the package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / name, package.parent / name):
        if (folder / "__init__.py").is_file():
            return folder
    raise FileNotFoundError(
        f"{name}: kernel sources found neither in {package / name} nor in {package.parent / name}; "
        "reinstall pyopencl_gbdt"
    )


@cache
def template_files() -> dict[str, Path]:
    """Return the path of every kernel template by name; the names are unique across folders."""
    files = sorted(source_folder("templates").rglob("*.cl.mako"))
    return {file.name.removesuffix(".cl.mako"): file for file in files}


@cache
def _lookup() -> TemplateLookup:
    from mako.lookup import TemplateLookup  # a machine that only predicts may do without it

    return TemplateLookup(
        directories=sorted({str(file.parent) for file in template_files().values()}),
        strict_undefined=True,
        filesystem_checks=False,
    )


def load_templates(names: Iterable[str]) -> None:
    """Read and translate templates, which takes longer than to render them."""
    for name in names:
        _lookup().get_template(f"{name}.cl.mako")


@cache
def template_text(template: str) -> str:
    """Return the unrendered text of a template."""
    file = template_files().get(template)
    if file is None:
        raise FileNotFoundError(
            f"{template}.cl.mako: no such template below {source_folder('templates')}; "
            "reinstall pyopencl_gbdt"
        )
    return file.read_text(encoding="utf-8")


@cache
def declared(template: str) -> frozenset[str]:
    """Return the names of the parameters that a template declares in ``<%page args>``."""
    found = _ARGS.search(template_text(template))
    names = found.group(1) if found else ""
    return frozenset(name.strip() for name in names.split(",") if name.strip())


@cache
def header(name: str) -> str:
    """Return the text of a file of ``cl_kernels``."""
    return (source_folder("cl_kernels") / name).read_text(encoding="utf-8")


def used_headers(template: str) -> set[str]:
    """Return the headers that a template's ``uses`` lines name, whatever its parameters are."""
    lines = _USES.findall(template_text(template))
    return {name for _, _, line in lines for name in line.split()}


@lru_cache(maxsize=1024)
def _render(template: str, dialect: Dialect, params: Params) -> str:
    values = {name: value for name, _, value in params}  # the type tells True from 1
    body = _lookup().get_template(f"{template}.cl.mako").render(**values)
    lines = _USES.findall(template_text(template))
    kept = (line for no, when, line in lines if not when or bool(values[when]) != bool(no))
    uses = dict.fromkeys(name for line in kept for name in line.split())  # each once
    parts = [header(f"dialect_{dialect}.h")]
    if values.get("wg_size") == 1:  # no barrier is needed; PoCL builds twice as fast without
        parts.append("#undef BARRIER\n#define BARRIER() ((void)0)")
    parts += [*(header(f"{name}.h") for name in uses), str(body)]
    return "\n".join(parts)


def render(template: str, dialect: Dialect, **params: Param) -> str:
    """Render a kernel template.

    Parameters
    ----------
    template : str
        Name of ``templates/<room>/<template>.cl.mako``.
    dialect : {"opencl", "cuda"}
        Chooses the header that defines ``KERNEL``, ``GLOBAL`` and the kernels' other macros.
    **params
        Exactly the parameters that the template declares.

    Returns
    -------
    str
        The complete source: the dialect's header, the headers in the template's ``uses``
        lines (those of ``uses if parameter`` where that is true, those of ``uses if not parameter``
        where it is not), and the rendered template.

    Raises
    ------
    TypeError
        If a declared parameter is missing or an undeclared one is given.
    """
    return _render(template, dialect, checked(template, params))


def checked(template: str, params: Mapping[str, Param]) -> Params:
    """Return a template's parameters in order, after a check that it declares them.

    Raises
    ------
    TypeError
        If a declared parameter is missing or an undeclared one is given.
    """
    wanted = declared(template)
    if params.keys() != wanted:
        missing, unknown = wanted - params.keys(), params.keys() - wanted
        raise TypeError(
            f"template {template!r}: missing parameters {sorted(missing)}, "
            f"undeclared parameters {sorted(unknown)}; it declares {sorted(wanted)}"
        )
    return tuple([(name, type(value).__name__, value) for name, value in sorted(params.items())])
