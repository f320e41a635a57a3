"""The interface that built kernels of OpenCL and CUDA share: bind arguments, launch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from pyopencl_gbdt.device.signature import arrange
from pyopencl_gbdt.errors import KernelLaunchError

#: Work-groups in x, or in x and y.
Groups = int | tuple[int, int]


@dataclass(frozen=True)
class Launch:
    """A kernel with its arguments and sizes set. Calling it enqueues the same work each time."""

    name: str
    enqueue: Callable[[], None]

    def __call__(self) -> None:
        self.enqueue()


class Action(Protocol):
    """What a tree's list consists of: a ``Launch``, a sum over a team, or what ``fit`` adds."""

    @property
    def name(self) -> str: ...

    def __call__(self) -> None: ...


class Program(ABC):
    """Kernels built from one rendered template."""

    wg_size: int
    """Work-items per work-group that the kernels were built for."""
    source: str
    kernel: str = ""
    """The kernel's name in the variant table; the template's name if it is not in the table."""
    large_local: int = 0
    """Bytes of local memory that a launch asks for, see ``LOCAL_LARGE`` in the dialects."""
    refuse: Callable[[], tuple[str, str, str]] | None = None
    """Function that takes the variant out of use; ``fallback.build_variant`` sets it."""

    def launch_error(self, text: str) -> KernelLaunchError:
        """Return the error to raise when a device lacks the resources to launch a kernel."""
        kernel, refused, instead = self.refuse() if self.refuse else ("", "", "")
        if not instead:
            text += "; try a smaller work_group_size=, or another one of `pyopencl-gbdt devices`"
        return KernelLaunchError(text, kernel, refused, instead)

    def label(self, name: str) -> str:
        """Return a kernel's name for lists that contain kernels of several programs."""
        return name if name == self.kernel else f"{self.kernel}.{name}"

    def bind(self, kernel_name: str, groups: Groups, /, *args: Any, **named: Any) -> Launch:
        """Set a kernel's arguments once.

        Parameters
        ----------
        kernel_name : str
        groups : int or (int, int)
            Work-groups to launch, in x or in x and y. If one of them is 0, nothing runs.
        *args, **named
            ``DeviceArray`` or numbers, by the kernel's parameter names. The first few may be given
            by position. Arrays must have the kernel's dtypes; numbers are converted.

        Raises
        ------
        TypeError
            If a name, a dtype or a number does not fit the kernel's signature.
        """
        return self._bind(kernel_name, groups, arrange(self.source, kernel_name, args, named))

    def prepare(self, kernel_name: str, groups: Groups, /, *args: Any, **named: Any) -> Launch:
        """Return the same launch as ``bind``; this costs less if the launch runs only once."""
        return self._prepare(kernel_name, groups, arrange(self.source, kernel_name, args, named))

    def launch(self, kernel_name: str, groups: Groups, /, *args: Any, **named: Any) -> None:
        """Prepare and enqueue at once."""
        self.prepare(kernel_name, groups, *args, **named)()

    @abstractmethod
    def _bind(self, name: str, groups: Groups, args: tuple[Any, ...]) -> Launch:
        """Set arguments that are already in order and of the kernel's types."""

    def _prepare(self, name: str, groups: Groups, args: tuple[Any, ...]) -> Launch:
        return self._bind(name, groups, args)


def numbered(source: str) -> str:
    """Return the source with line numbers, for a build error."""
    return "\n".join(f"{i:4d} {line}" for i, line in enumerate(source.splitlines(), 1))
