"""XGBoost's UBJSON as a format of model files."""

from __future__ import annotations

from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.formats.json_cursor import Cursor
from pyopencl_gbdt.model.formats.ubjson import parse_ubjson, render_ubjson
from pyopencl_gbdt.model.formats.xgboost_reader import read_document
from pyopencl_gbdt.model.formats.xgboost_writer import lacks, xgboost_document


class XGBoostUbjson:
    """XGBoost's JSON in binary; XGBoost itself writes it from version 1.6 on."""

    name = "XGBoost's UBJSON"
    suffixes = (".ubj", ".ubjson")
    reads = writes = True

    def sniff(self, head: bytes) -> bool:
        return head[:1] == b"{" and head[1:2] in (b"L", b"l", b"I", b"U", b"i", b"#", b"$")

    def lacks(self, model: Ensemble) -> str:
        return lacks(model)

    def read(self, data: bytes, source: str) -> Ensemble:
        return read_document(Cursor(parse_ubjson(data, source), "", source))

    def write(self, model: Ensemble) -> bytes:
        return render_ubjson(xgboost_document(model))
