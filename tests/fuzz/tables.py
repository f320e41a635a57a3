"""Data files: CSV, TSV, libsvm and npz, each plain or gzipped."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np

from pyopencl_gbdt.data import read_table
from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.files.block_parsers import PARSERS
from tests.fuzz.formats import Format
from tests.fuzz.mutations import mutate

_PIECES = (
    b",", b"\t", b";", b" ", b"  ", b'"', b'""', b":", b"\n", b"\r", b"\r\n", b"#", b"e", b"-",
    b".", b"NA", b"?", b"nan", b"\0", b"\xe9", b"\xef\xbb\xbf", b"x", b"qid:", b"1:1", b",,",
    b'"\n"', b"\x0b", b"\x0c", b"\x1c", b"\xc2\xa0",
)  # fmt: skip


class Table(Format):
    """A text format that `read_table` knows."""

    pieces = _PIECES
    categorical: str | None = None

    def __init__(self, name: str, suffix: str, *texts: bytes) -> None:
        self.name, self.suffix, self.texts = name, suffix, texts

    def prepare(self) -> None:
        for parse in PARSERS.values():
            parse(b"1,2\n" * 10**5, ",", 2)

    def seeds(self) -> list[bytes]:
        return list(self.texts)

    def read(self, path: Path) -> None:
        for with_label in (True, False):
            table = read_table(path, with_label=with_label, categorical_features=self.categorical)
            values = table.X.values if isinstance(table.X, SparseMatrix) else table.X
            assert len(table.X.shape) == 2
            assert values.dtype == np.float32
            assert not np.isinf(values).any()
            assert with_label == (table.y is not None)


class Texts(Table):
    """Text whose columns may be categorical, in training and in prediction."""

    categorical = "from_dtype"

    def read(self, path: Path) -> None:
        super().read(path)
        found = read_table(path, categorical_features=self.categorical)
        named = {*found.categories, found.X.shape[1] - 1}
        table = read_table(path, categorical_features=sorted(named))
        again = read_table(path, levels=table.categories)
        assert table.categories.keys() == named
        np.testing.assert_array_equal(again.X, table.X)


class Gzipped(Format):
    """Another format, compressed: damage within the text, or to the compressed bytes."""

    def __init__(self, inner: Format) -> None:
        self.inner = inner
        self.name, self.suffix = f"{inner.name}.gz", f"{inner.suffix}.gz"
        self.pieces = inner.pieces

    def prepare(self) -> None:
        self.inner.prepare()

    def seeds(self) -> list[bytes]:
        return [gzip.compress(data, mtime=0) for data in self.inner.seeds()]

    def read(self, path: Path) -> None:
        self.inner.read(path)

    def mutate(self, data: bytes, rng: np.random.Generator) -> bytes:
        if rng.random() < 0.3:
            return mutate(data, rng, self.pieces)
        inner = self.inner.mutate(gzip.decompress(data), rng)
        times = int(10 ** rng.uniform(0, 4)) if rng.random() < 0.1 else 1
        return gzip.compress(inner * min(times, 1 + 10**7 // (len(inner) + 1)), mtime=0)


class Npz(Table):
    """Archives, damaged within their arrays or as a whole."""

    pieces = (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"\xff\xff\xff\xff", b"\0\0\0\0",
              b"<f8", b"|O", b"'shape': (", b"9999999999, ", b"(-1,)", b"True", b"\x93NUMPY\x02\0",
              b"<U9", b"c16", b"X.npy", b"/")  # fmt: skip

    def seeds(self) -> list[bytes]:
        X, y = np.arange(12.0).reshape(4, 3), np.arange(4)
        plain, packed = io.BytesIO(), io.BytesIO()
        np.savez(plain, X=X, y=y)
        np.savez_compressed(
            packed, X=X.astype(np.float32), y=y, weight=y + 1, qid=y // 2,
            feature_names=np.array(["a", "b", "c"]),
        )  # fmt: skip
        return [plain.getvalue(), packed.getvalue()]

    def mutate(self, data: bytes, rng: np.random.Generator) -> bytes:
        if rng.random() < 0.4:
            return super().mutate(data, rng)
        changed = io.BytesIO()
        method = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(changed, "w") as new:
            for info in old.infolist():
                array = old.read(info)
                if rng.random() < 0.3:
                    end = 128 if rng.random() < 0.5 else len(array)
                    array = mutate(array[:end], rng, self.pieces) + array[end:]
                new.writestr(info.filename, array, method)
        return changed.getvalue()


_CSV = Table("csv", ".csv", b'label,"a b",c\n1,0.5,\n0,-3e4,"7"\n1,?,2\n',
             b"1,2,3\r\n0,5,6\r\n", b"1; 2;3\n0;5;NA\n", b"1,2.5,3\n" * 30)  # fmt: skip
_TSV = Table("tsv", ".tsv", b"y\ta\tb\n1\t0.5\t\n0\t-3e4\t7\n", b"1 2 3\n0 NA  6\n")
_LIBSVM = Table("libsvm", ".libsvm", b"1 0:0.5 3:1e3 # note\n0 1:2\n1 2:nan\n",
                b"2 qid:1 0:5 1:6\n0 qid:2 0:7 1:8\n")  # fmt: skip
_TEXTS = Texts("texts", ".csv", b'label,"a b",c\n1,"x, y",\n0,z,"7"\n1,?,2\n',
               b"1,2,q\r\n0,5,6\r\n", b"1,\xc3\xa4,3\n" * 30)  # fmt: skip
_NPZ = Npz("npz", ".npz")
_PLAIN = (_CSV, _TSV, _TEXTS, _LIBSVM, _NPZ)

FORMATS: list[Format] = [*_PLAIN, *(Gzipped(one) for one in _PLAIN)]
