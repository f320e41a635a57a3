"""The exceptions that users may see.

A message names the parameter or file, its value, what is allowed and the next step, for example
``max_bin=70000: expected 2..65535; lower max_bin``.
"""

from __future__ import annotations


class GBDTError(Exception):
    """Base class of all errors that this library raises on purpose.

    Attributes
    ----------
    refusal : str
        Which row of ``parameters.refusals.REFUSED`` refused a training; empty for other errors.
    """

    refusal: str = ""


class ParameterError(GBDTError, ValueError):
    """A parameter is unknown, has the wrong type or is out of range."""


class ArgumentError(ParameterError, TypeError):
    """A method was given an argument that it does not have."""


class RoundIndexError(ParameterError, IndexError):
    """A model does not have the rounds that an index or a slice names."""


class DataError(GBDTError, ValueError):
    """An input array or file cannot be used: shape, dtype, NaN, infinity, labels."""


class DataTypeError(DataError, TypeError):
    """An input holds objects that are not numbers."""


class MissingFileError(DataError, FileNotFoundError):
    """A file to be read does not exist."""


class DataWarning(UserWarning):
    """Data can be used, but perhaps not as they were meant."""


class ModelFormatError(GBDTError, ValueError):
    """A model file is truncated, malformed or inconsistent."""


class NotFittedError(GBDTError, ValueError, AttributeError):
    """An estimator is used before ``fit``."""


class DeviceError(GBDTError, RuntimeError):
    """A device is missing, unusable or failed."""


class NoDeviceError(DeviceError):
    """No usable device is what was asked for."""


class TeamError(DeviceError):
    """Another member of a team has failed; its own error tells why."""


class KernelBuildError(DeviceError):
    """A kernel does not compile; has the numbered source and the compiler's log."""


class KernelLaunchError(DeviceError):
    """A device lacks the resources to launch a kernel.

    Attributes
    ----------
    kernel, refused : str
        The kernel's variant that failed; empty if unknown.
    instead : str
        The variant that is used from now on; empty if there is none.
    """

    def __init__(self, text: str, kernel: str = "", refused: str = "", instead: str = "") -> None:
        super().__init__(text)
        self.kernel, self.refused, self.instead = kernel, refused, instead


class KernelFallbackWarning(RuntimeWarning):
    """A kernel's variant fails and another one is used: same model, perhaps slower."""


class MemoryPlanError(GBDTError, MemoryError):
    """A fit needs more memory than the device has; raised before anything is allocated."""


class FileWriteError(GBDTError, OSError):
    """A file cannot be written; an existing file is unchanged."""


class MissingFolderError(FileWriteError, FileNotFoundError):
    """The folder of a file to be written does not exist."""
