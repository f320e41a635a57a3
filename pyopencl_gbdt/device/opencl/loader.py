"""OpenCL's loader, called without pyopencl, which takes longer to import than drivers to start."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

CPU, GPU, ALL = 2, 4, 0xFFFFFFFF
_PLATFORM_NAME, _DEVICE_VERSION = 0x0902, 0x102F


class Loader:
    """Functions of OpenCL; those that fail raise ``OSError``.

    ``file``: a library that is linked to the loader.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self._library = ctypes.CDLL(file)

    def platforms(self) -> list[c_void_p]:
        """Return the platforms; the first call starts the drivers."""
        return self._listed("clGetPlatformIDs")

    def name(self, platform: c_void_p) -> str:
        return self._text("clGetPlatformInfo", platform, _PLATFORM_NAME)

    def devices(self, platform: c_void_p, kind: int) -> list[c_void_p]:
        """Return the devices of a platform that are of a kind."""
        try:
            return self._listed("clGetDeviceIDs", platform, c_uint64(kind))
        except OSError:  # there is none
            return []

    def version(self, device: c_void_p) -> str:
        return self._text("clGetDeviceInfo", device, _DEVICE_VERSION)

    def context(self, device: c_void_p) -> c_void_p:
        return self.made("clCreateContext", None, c_uint(1), byref(device), None, None)

    def build(self, context: c_void_p, device: c_void_p, source: str, options: str) -> c_void_p:
        """Return a built program."""
        text = (ctypes.c_char_p * 1)(source.encode())
        program = self.made("clCreateProgramWithSource", context, c_uint(1), text, None)
        self.call("clBuildProgram", program, c_uint(1), byref(device), options.encode(), None, None)
        return program

    def made(self, function: str, *arguments: Any) -> c_void_p:
        """Return what a function creates; its last parameter is the status."""
        create, status = getattr(self._library, function), c_int()
        create.restype = c_void_p
        made = create(*arguments, byref(status))
        if status.value:
            raise OSError(f"{function} returns {status.value}")
        return c_void_p(made)

    def call(self, function: str, *arguments: Any) -> None:
        """Call a function that returns the status."""
        if status := getattr(self._library, function)(*arguments):
            raise OSError(f"{function} returns {status}")

    def _listed(self, function: str, *of: Any) -> list[c_void_p]:
        count = c_uint()
        self.call(function, *of, c_uint(0), None, byref(count))
        found = (c_void_p * count.value)()
        self.call(function, *of, count, found, None)
        return [c_void_p(one) for one in found]

    def _text(self, function: str, of: c_void_p, what: int) -> str:
        text = ctypes.create_string_buffer(1024)
        self.call(function, of, c_uint(what), c_size_t(len(text)), text, None)
        return text.value.decode("utf-8", "replace")
