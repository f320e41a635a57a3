"""The few exceptions a user meets.

Each message names the thing, its value, what is allowed and the next move, for example
``max_bin=70000: expected 2..65535; lower max_bin``.
"""

from __future__ import annotations


class GBDTError(Exception):
    """Base of every error that this library raises on purpose."""


class ParameterError(GBDTError, ValueError):
    """A parameter is unknown, has the wrong type or is out of range."""


class DataError(GBDTError, ValueError):
    """An input array or file cannot be used: shape, dtype, NaN, infinity, labels."""


class DataTypeError(DataError, TypeError):
    """An input holds objects that are no numbers at all."""


class ModelFormatError(GBDTError, ValueError):
    """A model file is truncated, malformed or inconsistent."""


class NotFittedError(GBDTError, ValueError, AttributeError):
    """An estimator is asked for predictions before ``fit``."""


class DeviceError(GBDTError, RuntimeError):
    """A device is missing, unusable or failed."""


class KernelBuildError(DeviceError):
    """A kernel does not build; carries the numbered source and the compiler's log."""


class KernelLaunchError(DeviceError):
    """A device has not the resources to launch a kernel.

    Attributes
    ----------
    kernel, refused : str
        Row of the variant table that was to be launched; empty where it is not known.
    instead : str
        The row that takes its place from now on; empty where there is none.
    """

    def __init__(self, text: str, kernel: str = "", refused: str = "", instead: str = "") -> None:
        super().__init__(text)
        self.kernel, self.refused, self.instead = kernel, refused, instead


class KernelFallbackWarning(RuntimeWarning):
    """A kernel's variant fails, and another one is used: same model, perhaps slower."""


class MemoryPlanError(GBDTError, MemoryError):
    """A fit needs more memory than the device has; raised before anything is allocated."""


class FileWriteError(GBDTError, OSError):
    """A file cannot be written; what was there is as it was."""


class MissingFolderError(FileWriteError, FileNotFoundError):
    """The folder of a file that is to be written is absent."""
