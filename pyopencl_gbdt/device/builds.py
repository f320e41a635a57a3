"""A message to those who wait while a device's driver builds kernels for the first time."""

from __future__ import annotations

from collections.abc import Callable

from pyopencl_gbdt.logger import tell

#: Building for longer than this is reported.
LONG_SECONDS = 1.0
#: Fewest and most templates that the message names: every fit builds more than the fewest.
_NAMES = (3, 5)


class BuildNotice:
    """Adds up how long a fit's kernels are built, and says so once if that is long.

    Parameters
    ----------
    label : str
        The device's name.
    share : float, default 1
        ``Device.build_share``.
    say : callable, optional
        Receives the message; by default the library's logger.
    say_each : callable or None
        Receives a line for each template that is built.
    """

    def __init__(
        self,
        label: str,
        share: float = 1.0,
        say: Callable[[str], None] = tell,
        say_each: Callable[[str], None] | None = None,
    ) -> None:
        self.label, self.share, self.say, self.say_each = label, share, say, say_each
        self._seconds, self._said = 0.0, False
        self._names: list[str] = []

    def took(self, template: str, seconds: float) -> None:
        """Take note of a build. One that the driver kept takes next to no time."""
        self._seconds += seconds / self.share
        if self.say_each is not None:
            self.say_each(f"built {template} for {self.label} in {seconds:.3f} s")
        if template not in self._names:
            self._names.append(template)
        enough = len(self._names) >= _NAMES[0]
        if enough and self._seconds > LONG_SECONDS and not self._said:
            self._said = True
            self.say(
                f"building kernels for {self.label}: {', '.join(self._names[-_NAMES[1] :])} and "
                "those that follow; they are kept, so the next fit starts sooner"
            )
