"""What an evaluation tells."""

from __future__ import annotations

from typing import Any, NamedTuple


class EvalResult(NamedTuple):
    """One metric of one evaluation set; in ``cv`` with its deviation over the folds."""

    dataset_name: str
    metric_name: str
    metric_value: float
    maximize: bool
    metric_std_dev: float | None = None

    def __len__(self) -> int:
        return 5 if self.is_cv_result() else 4

    def __iter__(self) -> Any:
        return (getattr(self, name) for name in self._fields[: len(self)])

    def is_cv_result(self) -> bool:
        """Tell whether the value is a mean over folds."""
        return self.metric_std_dev is not None
