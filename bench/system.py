"""What is compared: one small interface for ours and every peer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from bench.page_lines import F32, Line

#: Equal for all; min_child_weight, lambda and the depth are too, under each library's own name.
LEARNING_RATE = 0.1


@dataclass(frozen=True)
class Settings:
    """Where a system runs.

    Attributes
    ----------
    device : str
        A device string for ours; ``cuda`` or ``cpu`` for a peer, which may fall back to ``cpu``.
    n_threads : int
        Processor threads that a system may use.
    """

    device: str
    n_threads: int


def params_of(line: Line) -> dict[str, Any]:
    """Return the parameters of a line beside depth and bins, by XGBoost's names."""
    found: dict[str, Any] = {}
    if line.leaves:
        found |= {"grow_policy": "lossguide", "max_leaves": line.leaves, "max_depth": 0}
    if line.n_classes:
        found["num_class"] = line.n_classes
    if line.drawn < 1:
        found["colsample_bytree"] = line.drawn
    return {**found, **line.params}


class System(ABC):
    """A library that trains one line. Every method returns when its device has nothing to do.

    Attributes
    ----------
    incremental : bool
        Whether `rounds` adds to the rounds before. Where it does not, it trains a new model of so
        many rounds, and a round's time is the difference of two trainings.
    version, device : str
        The library's, and where it really runs; set by the constructor.
    """

    incremental: ClassVar[bool] = True
    version: str
    device: str

    def __init__(self, shape: Line, settings: Settings) -> None:
        self.shape, self.settings = shape, settings
        self.device = settings.device

    @abstractmethod
    def setup(self, values: F32, label: F32) -> None:
        """Go from NumPy arrays to ready to train."""

    def relabel(self, values: F32, label: F32) -> None:
        """Begin a new model on the same values with other labels."""
        self.setup(values, label)

    @abstractmethod
    def rounds(self, n: int) -> None:
        """Train so many rounds."""

    def compile(self) -> None:  # noqa: B027
        """Compile the trained model, where a system has to before it predicts."""

    @abstractmethod
    def predict(self, values: F32) -> F32:
        """Return probabilities or numbers for a NumPy array."""

    def peak_bytes(self) -> int | None:
        """Return the most device memory in use at a time, where the system counts it."""
        return None
