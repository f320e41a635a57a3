"""Write the stub of the estimators' constructor from the table of parameters.

python -m tests.stubs
"""

from __future__ import annotations

from pathlib import Path

from pyopencl_gbdt.estimators import constructor

STUB = Path(constructor.__file__).with_suffix(".pyi")
_BEGIN = '''"""Written by ``python -m tests.stubs`` from the table of parameters; do not edit."""

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any

import numpy as np

from pyopencl_gbdt.callbacks import TrainingCallback
from pyopencl_gbdt.estimators.spellings import AliasedParameters
from pyopencl_gbdt.objectives.custom import Custom
from pyopencl_gbdt.training.eval_metrics import Metrics

OWN: dict[str, tuple[str, Any]]
PARAMETERS: dict[str, Parameter]

class Constructed(AliasedParameters):
'''


def stub() -> str:
    """Return the text of the stub."""
    rows = constructor.PARAMETERS.values()
    attributes = [f"    {row.name}: {row.annotation}" for row in rows]
    arguments = [f"        {row.name}: {row.annotation} = ..." for row in rows]
    head, tail = ["    def __init__(", "        self", "        *"], ["        **others: Any"]
    lines = ",\n".join([*head, *arguments, *tail]).replace("(,\n", "(\n")
    return _BEGIN + "\n".join(attributes) + f"\n\n{lines},\n    ) -> None: ...\n"


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
