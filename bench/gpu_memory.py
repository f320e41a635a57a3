"""Device memory in use on NVIDIA's cards, sampled through NVIDIA's management library."""

from __future__ import annotations

import ctypes
import threading

#: Between two samples; one takes some microseconds.
_SECONDS = 0.005


class _Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


class GpuMemory:
    """Samples the memory in use of all cards together while the block runs.

    It counts what every process takes, the driver's own share for a process included, so nothing
    else may use the cards meanwhile.

    Attributes
    ----------
    peak_bytes : int or None
        The most above what was in use before; None without the library or a card.
    """

    def __init__(self) -> None:
        self.peak_bytes: int | None = None
        self._cards: list[ctypes.c_void_p] = []
        self._stop = threading.Event()
        try:
            self._nvml = ctypes.CDLL("libnvidia-ml.so.1")
            self._nvml.nvmlInit_v2()
            count = ctypes.c_uint()
            self._nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
            for i in range(count.value):
                card = ctypes.c_void_p()
                if self._nvml.nvmlDeviceGetHandleByIndex_v2(i, ctypes.byref(card)) == 0:
                    self._cards.append(card)
        except (OSError, AttributeError):  # no such library, or an old one
            self._cards = []

    def __enter__(self) -> GpuMemory:
        self._thread = threading.Thread(target=self._sample, daemon=True)
        if self._cards:
            self._before, self.peak_bytes = self._used(), 0
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        if self._cards:
            self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(_SECONDS):
            self.peak_bytes = max(self.peak_bytes or 0, self._used() - self._before)

    def _used(self) -> int:
        memory, total = _Memory(), 0
        for card in self._cards:
            if self._nvml.nvmlDeviceGetMemoryInfo(card, ctypes.byref(memory)) == 0:
                total += memory.used
        return total
