"""XGBoost's JSON and UBJSON as formats of model files."""

from __future__ import annotations

from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.formats.base import first_key
from pyopencl_gbdt.model.formats.json_cursor import Cursor
from pyopencl_gbdt.model.formats.own_json import is_own, read_own
from pyopencl_gbdt.model.formats.ubjson import parse_ubjson, render_ubjson
from pyopencl_gbdt.model.formats.xgboost_reader import parse, read_document
from pyopencl_gbdt.model.formats.xgboost_writer import lacks, to_xgboost_json, xgboost_document


class XGBoostJson:
    """XGBoost's JSON; ``.model`` is what XGBoost's command line calls its files."""

    name = "XGBoost's JSON"
    suffixes = (".json", ".model")
    reads = writes = True

    def sniff(self, head: bytes) -> bool:
        return first_key(head) in ("learner", "version")

    def lacks(self, model: Ensemble) -> str:
        return lacks(model)

    def read(self, data: bytes, source: str) -> Ensemble:
        document = Cursor(parse(data, source), "", source)
        # members may come in another order, so that `sniff` does not know our own format
        return read_own(document, data) if is_own(document) else read_document(document)

    def write(self, model: Ensemble) -> bytes:
        return to_xgboost_json(model).encode("utf-8")


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
