"""A message to those who wait while a device's driver builds kernels for the first time."""

from __future__ import annotations

import sys
from collections.abc import Callable

#: Building for longer than this is reported.
LONG_SECONDS = 1.0
#: Fewest and most templates that the message names: every fit builds more than the fewest.
_NAMES = (3, 5)


def to_standard_error(text: str) -> None:
    """Write a line to standard error at once; a program without one does without."""
    if sys.stderr is not None:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


class BuildNotice:
    """Adds up how long a fit's kernels are built, and says so once if that is long.

    Parameters
    ----------
    label : str
        The device's name.
    share : float, default 1
        ``Device.build_share``.
    say : callable, optional
        Receives the message; by default it goes to standard error.
    """

    def __init__(
        self, label: str, share: float = 1.0, say: Callable[[str], None] = to_standard_error
    ) -> None:
        self.label, self.share, self.say = label, share, say
        self._seconds, self._said = 0.0, False
        self._names: list[str] = []

    def took(self, template: str, seconds: float) -> None:
        """Take note of a build. One that the driver kept takes next to no time."""
        self._seconds += seconds / self.share
        if template not in self._names:
            self._names.append(template)
        enough = len(self._names) >= _NAMES[0]
        if enough and self._seconds > LONG_SECONDS and not self._said:
            self._said = True
            self.say(
                f"building kernels for {self.label}: {', '.join(self._names[-_NAMES[1] :])} and "
                "those that follow; they are kept, so the next fit starts sooner"
            )
