"""Convert users' data to float32 arrays, NaN for missing values; no device code here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyopencl_gbdt.data.arrays.matrix import check_matrix
from pyopencl_gbdt.data.targets import (
    check_binary_labels,
    check_target,
    check_weight,
)
from pyopencl_gbdt.public_names import at_first_use

if TYPE_CHECKING:
    from pyopencl_gbdt.data.classes import (
        check_indicators,
        encode_known_labels,
        encode_labels,
        is_multilabel,
    )
    from pyopencl_gbdt.data.files.readers import TableData, load_higgs7k, read_table

_CLASSES = ("check_indicators", "encode_known_labels", "encode_labels", "is_multilabel")
__getattr__ = at_first_use(
    __name__,
    {
        **dict.fromkeys(_CLASSES, "classes"),
        **dict.fromkeys(("TableData", "load_higgs7k", "read_table"), "files.readers"),
    },
)

__all__ = [
    "TableData",
    "check_binary_labels",
    "check_indicators",
    "check_matrix",
    "check_target",
    "check_weight",
    "encode_known_labels",
    "encode_labels",
    "is_multilabel",
    "load_higgs7k",
    "read_table",
]
