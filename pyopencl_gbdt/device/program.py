"""The interface that built kernels of OpenCL and CUDA share: bind arguments, launch, in parts.

Drivers of GPUs that show a picture reset what runs for longer than 0.5 to 2 s, and the picture does
not move meanwhile. So kernels that read many rows do it in pieces, whose size follows from the
device's speed. No result depends on the pieces. CPUs have no such limit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.render import Param
from pyopencl_gbdt.device.signature import arrange
from pyopencl_gbdt.errors import KernelBuildError, KernelLaunchError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.logger import tell, tell_detail

T = TypeVar("T")
#: Work-groups in x, or in x and y.
Groups = int | tuple[int, int]


@dataclass(frozen=True)
class Launch:
    """A kernel with its arguments and sizes set. Calling it enqueues the same work each time."""

    name: str
    enqueue: Callable[[], None]

    def __call__(self) -> None:
        self.enqueue()


class BoundKernel:
    """What a ``Launch`` of a kernel calls: the kernel with its arguments set.

    This is a class because a traceback would keep a closure's variables, and their memory, alive.

    Attributes
    ----------
    args : tuple
        In order; they keep the arrays alive as long as the launch.
    grid : (int, int, int)
        Work-groups in x, y and z; those in z are fits, see ``joined_launches``.
    """

    def __init__(
        self, program: Program, name: str, groups: Groups, args: tuple[Any, ...], n_fits: int
    ) -> None:
        self.program, self.name, self.args = program, name, args
        x, y = groups if isinstance(groups, tuple) else (groups, 1)
        self.grid = (x, y, n_fits)


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
    device: Any
    place_in_z: str = ""
    """The kernels' expression of a work-group's place in z."""
    template: str = ""
    """The template's name."""
    params: Mapping[str, Param] = MappingProxyType({})
    """The template's parameters beside ``wg_size``."""
    large_local: int = 0
    """Bytes of local memory that a launch asks for, see ``LOCAL_LARGE`` in the dialects."""
    is_waiting: bool = False
    """Whether it is not being built yet, as its kernels may never be launched."""
    refuse: Callable[[], tuple[str, str, str]] | None = None
    """Function that takes the variant out of use; ``fallback.build_variant`` sets it."""

    def begin(self) -> None:
        """Begin the build, if it has not begun yet."""
        self.is_waiting = False

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
    def _bind(self, name: str, groups: Groups, args: tuple[Any, ...], n_fits: int = 1) -> Launch:
        """Set arguments that are already in order and of the kernel's types."""

    def finished(self, build: Callable[[], T]) -> T:
        """Return the result of a build that began earlier.

        If it fails, launching fails: the variant was chosen, and the fit has to start again.
        """
        if not self.device.works_in_place:  # else the compiler uses the host's cores
            self.device.programs.load_templates()
        try:
            return build()
        except KernelBuildError as error:
            if self.refuse is None:
                raise
            raise self.launch_error(str(error)) from error

    def of_source(self, source: str) -> Program:
        """Return the program of another source, with this one's name and local memory.

        Raises
        ------
        KernelBuildError
            If the kernels take more arguments, or need more registers, than the device has.
        """
        raise NotImplementedError(f"{self.kernel}: no program of another source")

    def bind_checked(self, kernel_name: str, groups: Groups, args: tuple[Any, ...]) -> Launch:
        """Return the launch with arguments of other launches, in order and of the right types."""
        return self._bind(kernel_name, groups, args)

    def bind_fits(
        self, kernel_name: str, groups: Groups, args: tuple[Any, ...], n_fits: int
    ) -> Launch:
        """Return a launch of several fits, see ``joined_launches``; ``args`` are in order."""
        return self._bind(kernel_name, groups, args, n_fits)

    def _prepare(self, name: str, groups: Groups, args: tuple[Any, ...]) -> Launch:
        return self._bind(name, groups, args)


def bound_kernel(action: Action) -> BoundKernel | None:
    """Return the kernel that an action launches; None if it does something else."""
    called: object = action.enqueue if isinstance(action, Launch) else None
    return called if isinstance(called, BoundKernel) else None


def begin_builds(actions: Sequence[Action]) -> None:
    """Begin to build all programs whose kernels are launched; see ``Program.begin``."""
    for kernel in filter(None, map(bound_kernel, actions)):
        kernel.program.begin()


def array_bytes(args: Sequence[Any]) -> int:
    """Return the bytes of all arrays among a kernel's arguments."""
    return sum(arg.nbytes for arg in args if hasattr(arg.__class__, "handle"))


def power_of_two(limit: int) -> int:
    """Return the largest power of two up to a limit; kernels need it to halve their groups."""
    return 1 << (max(1, limit).bit_length() - 1)


def numbered(source: str) -> str:
    """Return the source with line numbers, for a build error."""
    return "\n".join(f"{i:4d} {line}" for i, line in enumerate(source.splitlines(), 1))


#: Seconds that a kernel takes at most on a GPU.
LONGEST_SECONDS = 0.2
#: Share of a copy's speed that every kernel reaches: the histogram, which adds the most for each
#: byte, has 0.25 on an H200 (11 M x 28, 0.33 ms). Half of it is left for other devices.
SHARE = 0.125
#: Bytes a second of a compute unit whose speed was not measured. NVIDIA's cards copy more: an L4
#: 5.2 GB/s for each of 58, a T4 8 for each of 40, an H200 31 for each of 132.
UNIT_SPEED = 5_000_000_000
_NO_LIMIT = 1 << 62


def bytes_a_launch(caps: Capabilities) -> int:
    """Return how many bytes a launch may read and write, counted once each, on a device."""
    if caps.kind == "cpu":
        return _NO_LIMIT
    speed = caps.copy_speed or UNIT_SPEED * caps.compute_units
    return int(LONGEST_SECONDS * SHARE * speed)


@dataclass(frozen=True)
class Parts:
    """Launches that share the tasks of a kernel.

    The kernel has the arguments ``n_groups``, the work-groups of all launches, and ``first_group``,
    the number of a launch's first one among them.

    Attributes
    ----------
    n_parts : int
        At least 1.
    """

    n_parts: int

    @classmethod
    def of(cls, caps: Capabilities, n_bytes: float) -> Parts:
        """Return as many as a kernel needs that reads and writes so many bytes."""
        return cls(max(1, ceil(n_bytes / bytes_a_launch(caps))))

    def bind(
        self, program: Program, kernel: str, groups: Groups, /, **named: object
    ) -> list[Launch]:
        """Return the launches of all parts; the arguments are those of ``Program.bind``."""
        width = groups if isinstance(groups, int) else groups[0]
        shared = {**named, "n_groups": self.n_parts * width}
        return [
            program.bind(kernel, groups, first_group=part * width, **shared)
            for part in range(self.n_parts)
        ]


def rows_a_launch(caps: Capabilities, row_bytes: float) -> int:
    """Return how many rows a launch may take, at least 1.

    ``row_bytes``: bytes that the kernel reads and writes for each row.
    """
    return max(1, int(bytes_a_launch(caps) / max(row_bytes, 1)))


#: Building for longer than this is reported.
LONG_SECONDS = 1.0
#: Fewest and most templates that the message names: every fit builds more than the fewest.
_NAMES = (3, 5)


class BuildNotice:
    """Adds up how long a fit's kernels are built, and says so once if that is long.

    Parameters
    ----------
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

    @classmethod
    def of_fit(cls, label: str, share: float, verbosity: int) -> BuildNotice | None:
        """Return the notice that reports the builds of a fit's kernels; None for a silent fit."""
        if verbosity == 0:
            return None
        return cls(label, share, say_each=tell_detail if verbosity > 2 else None)

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
