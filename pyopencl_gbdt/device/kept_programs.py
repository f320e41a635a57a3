"""Keep rendered sources and built programs of fits for the processes to come.

What fits of a kind use lies together in one file of the cache, a *bundle*. A process reads a
kind's bundle once. It writes the bundle anew after its first fit of the kind, and at its end, if it
used what the bundle lacks. Built programs have files of their own beside it, for all kinds.

A source is kept by its parameters and by the contents of all files that may be pasted into it.
Mako, which is then not needed, takes a new process longer than all rounds of a small fit.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import threading
import zlib
from functools import cache
from pathlib import Path

from pyopencl_gbdt.device import cache as files
from pyopencl_gbdt.device.render import (
    Dialect,
    Param,
    Params,
    checked,
    header,
    load_templates,
    render,
    template_text,
    used_headers,
)

_PASTES = re.compile(r'\bfile="([^"]+)\.cl\.mako"')
#: Entries of a bundle at most; those that were used last stay. A fit has 6 to 40 programs, each
#: with a source and on most platforms a binary.
_MOST_ENTRIES = 96
_LENGTH_BYTES = 4
#: Sources are compressed fast, to a sixth.
_LEVEL = 1
#: Templates of most fits' rounds on GPUs.
_ROUND = (
    "gradients", "histogram", "histogram_banks", "split", "partition", "level", "update_margins",
    "finalize",
)  # fmt: skip
#: Bundles by process and name.
_bundles: dict[tuple[int, str], Bundle] = {}


@cache
def _pasted(template: str) -> frozenset[str]:
    """Return a template's name and those of all templates that it may paste in."""
    found: set[str] = set()
    todo = [template]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += _PASTES.findall(template_text(name))
    return frozenset(found)


@cache
def _renderer() -> str:
    """Return the source of the module that renders."""
    with contextlib.suppress(OSError):  # an archive has no such file; its templates change with it
        return Path(render.__code__.co_filename).read_text(encoding="utf-8")
    return ""


@cache
def contents(template: str, dialect: Dialect) -> str:
    """Return a digest of all files from which a template is rendered."""
    headers = {f"dialect_{dialect}", *used_headers(template)}
    texts = [_renderer(), *map(template_text, sorted(_pasted(template)))]
    return files.cache_key(*texts, *(header(f"{name}.h") for name in sorted(headers)))


@cache
def _load_round() -> None:
    """Load the templates of most fits' rounds in a thread; once a process."""
    names = sorted(set().union(*map(_pasted, _ROUND)))
    threading.Thread(target=load_templates, args=(names,), daemon=True).start()


class Bundle:
    """The programs of a kind of fit.

    ``name``: the bundle's key in the cache; empty keeps no sources, and programs in their own
    files.
    """

    def __init__(self, name: str = "") -> None:
        self._name = name
        self._entries: dict[str, bytes] | None = None if name else {}
        self._new = self._saved = False
        self._sources: dict[tuple[object, ...], str] = {}

    @property
    def is_new(self) -> bool:
        """Whether nothing is kept of this kind of fit."""
        return not self._read()

    def load_templates(self) -> None:
        """Load templates of rounds in a thread, if nothing is kept of this kind of fit."""
        if self._new and not self._saved:
            _load_round()

    def load(self, key: str) -> bytes | None:
        """Return a program that is kept by a key, or None."""
        found = self._take(key)
        if found is None:
            found = files.load(key)
            if found is not None:
                self._add(key, found)
        return found

    def store(self, key: str, program: bytes) -> None:
        """Keep a program by a key, see ``cache.cache_key``."""
        files.store(key, program)
        self._add(key, program)

    def source(self, template: str, dialect: Dialect, **params: Param) -> str:
        """Return a rendered template; parameters and errors are those of ``render``."""
        if not self._name:
            return render(template, dialect, **params)
        # fits ask again and again, so the key takes no check; True is no 1
        place = template, dialect, *params.items(), *map(type, params.values())
        if place not in self._sources:
            self._sources[place] = self._source(template, dialect, checked(template, params))
        return self._sources[place]

    def _source(self, template: str, dialect: Dialect, params: Params) -> str:
        key = files.cache_key(contents(template, dialect), template, dialect, repr(params))
        kept = self._take(key)
        if kept is not None:
            return zlib.decompress(kept).decode()
        text = render(template, dialect, **{name: value for name, _, value in params})
        self._add(key, zlib.compress(text.encode(), _LEVEL))
        return text

    def save(self) -> None:
        """Write the bundle for the next process, if this is its first fit of the kind."""
        if not self._saved:
            self._saved = True
            self._write()
            atexit.register(self._write)

    def _write(self) -> None:
        if not self._new or (os.getpid(), self._name) not in _bundles:
            return
        self._new = False
        entries = list(self._read().items())[-_MOST_ENTRIES:]
        index = json.dumps([[key, len(payload)] for key, payload in entries]).encode()
        length = len(index).to_bytes(_LENGTH_BYTES, "little")
        files.store(self._name, b"".join([length, index, *(payload for _, payload in entries)]))

    def _read(self) -> dict[str, bytes]:
        """Return all entries by key; those that were used last are the last."""
        if self._entries is None:
            data = files.load(self._name)
            self._entries = {} if data is None else _entries(data)
        return self._entries

    def _take(self, key: str) -> bytes | None:
        entries = self._read()
        found = entries.pop(key, None)
        if found is not None:
            entries[key] = found
        return found

    def _add(self, key: str, payload: bytes) -> None:
        if self._name:
            self._read()[key] = payload
            self._new = True


def _entries(data: bytes) -> dict[str, bytes]:
    start = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    found = {}
    for key, length in json.loads(data[_LENGTH_BYTES:start]):
        found[key] = data[start : start + length]
        start += length
    return found


def bundle(*kind: str) -> Bundle:
    """Return this process's bundle of a kind of fit, by facts of the device and of the fit."""
    name = f"bundle-{files.cache_key(*kind)[:32]}"
    return _bundles.setdefault((os.getpid(), name), Bundle(name))
