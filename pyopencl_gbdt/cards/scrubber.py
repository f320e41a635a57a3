"""Remove names of people, machines and folders from a report."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyopencl_gbdt.device import cache
from pyopencl_gbdt.doctor.report import Scrubber

#: Folders of systems and of drivers' packages; all others may tell of a person or a firm.
_SYSTEM = re.compile(r"/(etc|usr|dev|sys|proc|lib\w*|opt/(rocm[\w.-]*|intel))(/|$)")
_PATH = re.compile(r"(?<![\w/.>])(?:~|[A-Za-z]:)?[/\\](?![/\\])[^\s:;,'\"()]+")
HIDDEN = "<folder>"


def without_folders(text: str, own: Sequence[str] = ()) -> str:
    """Return a text whose paths have file names with a suffix only; paths of systems stay.

    Parameters
    ----------
    text : str
    own : sequence of str
        Folders, possibly with spaces in their names, that are removed first.
    """
    for folder in sorted(own, key=len, reverse=True):
        text = text.replace(folder, f"/{HIDDEN}")

    def hidden(found: re.Match[str]) -> str:
        path = found[0]
        if _SYSTEM.match(path):
            return path
        name = re.split(r"[/\\]", path)[-1]
        return f"{HIDDEN}/{name}" if "." in name.strip(".") else HIDDEN

    return _PATH.sub(hidden, text)


@dataclass(frozen=True)
class CardScrubber(Scrubber):
    """Removes folders, too."""

    folders: tuple[str, ...] = ()
    """Folders of this process; the only ones that are known to have spaces in their names."""

    @classmethod
    def here(cls) -> CardScrubber:
        """Return a scrubber with the names and folders of this machine and its user."""
        names = Scrubber.here()
        usual = cache.usual_folder()
        known = {str(Path.cwd()), sys.prefix, *([str(usual)] if usual else [])}
        own = [one for one in known if len(Path(one).parts) > 1 and not _SYSTEM.match(one)]
        return cls(names.home, names.user, names.host, tuple(own))

    def text(self, text: str) -> str:
        """Return a text without names and folders."""
        return without_folders(super().text(text), self.folders)
