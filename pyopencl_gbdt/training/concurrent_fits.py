"""Several fits whose rounds run side by side, each in a queue of its own.

    one after another   host      |a|  wait  |b|  wait  |a|  wait  |b|  wait  |
                        device     |a a a a|  |b b b b|  |a a a a|  |b b b b|
    side by side        host      |a|b|wait|a| wait |b|wait|
                        device     |a a a a|  |a a a a|
                                     |b b b b|  |b b b b|

A round of few rows leaves most of a GPU idle, and the host waits for the metrics of each round. So
the host enqueues the rounds of all fits, and only then waits for the first one's metrics. Every
fit launches what it launches alone, so its bytes are the same.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Protocol

#: For comparison: ``off`` trains one round of each fit after the other, ``queues`` gives each a
#: queue, ``joined`` joins the launches of those on a GPU, see ``joined_fits``.
ENVIRONMENT = "PYOPENCL_GBDT_CONCURRENT_FITS"


def way() -> str:
    """Return the environment's word about fits side by side."""
    return os.environ.get(ENVIRONMENT, "").strip().lower()


class EnqueuedRounds(Protocol):
    """A fit whose rounds are enqueued, and waited for later."""

    @property
    def runs_ahead(self) -> bool:
        """Whether a round is enqueued before the metrics of the one before are taken."""

    def enqueue(self) -> None:
        """Enqueue a round and its metrics, for which ``take`` waits."""

    def take(self) -> None:
        """Wait for the first round that was enqueued and not waited for, and keep its metrics."""


class ConcurrentFits:
    """Runs the rounds of several fits on one device, or on several.

    ``fits``: with queues of their own.
    """

    def __init__(self, fits: Sequence[EnqueuedRounds]) -> None:
        self._fits = fits
        self._alone = way() == "off"

    def round(self) -> None:
        """Run one round of every fit."""
        self.run(1)

    def run(self, n_rounds: int) -> None:
        """Run rounds of every fit; each goes on when its own metrics are there."""
        if self._alone:
            for _ in range(n_rounds):
                for fit in self._fits:
                    fit.enqueue()
                    fit.take()
            return
        for number in range(n_rounds + 1):
            for fit in self._fits:
                ahead = fit.runs_ahead
                if ahead and number < n_rounds:
                    fit.enqueue()
                if number > 0:
                    fit.take()
                if not ahead and number < n_rounds:
                    fit.enqueue()
