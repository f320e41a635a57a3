"""Read arrays of an npz archive; sizes in its headers are checked before memory is allocated."""

from __future__ import annotations

import contextlib
import io
import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from os import PathLike
from typing import IO, Any, Literal

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from pyopencl_gbdt.data.arrays.matrix import check_shape
from pyopencl_gbdt.data.budget import Budget
from pyopencl_gbdt.data.categories.levels import Categories
from pyopencl_gbdt.data.features import Features, check_features
from pyopencl_gbdt.data.files.contents import Data
from pyopencl_gbdt.data.groups import check_ids
from pyopencl_gbdt.data.targets import check_target, check_weight
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import plural, show

NAMES = ("X", "y", "weight", "qid", "feature_names")

MOST_HEADER = 10_000
"""Most bytes of an array's header; NumPy's limit."""

ERRORS = (
    *(ValueError, TypeError, AttributeError, LookupError, OSError, EOFError, ArithmeticError),
    *(SyntaxError, tokenize.TokenError, RuntimeError, MemoryError),  # of the header, a Python dict
    *(zipfile.BadZipFile, zlib.error),
)
"""What zipfile and NumPy's header parser raise for a damaged or encrypted archive."""

_HEADERS = {(1, 0): (2, npy.read_array_header_1_0), (2, 0): (4, npy.read_array_header_2_0)}
"""By format version: bytes of the header's length field, and the function that reads a header."""

Header = tuple[tuple[int, ...], bool, np.dtype[Any]]


def read_npz(
    data: Data, path: str | PathLike[str], budget: Budget, *, n_features: int | None,
    with_label: bool, categorical: Any = None, levels: Categories | None = None,
) -> tuple[
    Features,
    NDArray[np.float32] | None,
    NDArray[np.float32] | None,
    NDArray[np.int64] | None,
]:  # fmt: skip
    """Read arrays X with feature_names, y, weight and qid; pickled objects are never loaded.

    ``categorical`` and ``levels`` are as for `check_features`.

    Raises
    ------
    DataError
        The archive is damaged, lacks an array, or holds more than the memory limit allows.
    """
    with broken(path), zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name.removesuffix(".npy"): name for name in archive.namelist()}
        wanted = {name: members[name] for name in NAMES if name in members}
        _check_sizes(archive, wanted, len(data), budget)
        arrays = {name: _read(archive, member) for name, member in wanted.items()}
    for name in ("X", "y") if with_label else ("X",):
        if name not in arrays:
            found = ", ".join(map(_plain, list(members)[:20])) or "nothing"
            raise DataError(
                f"{path}: array {name!r} is absent (found: {found}): expected X"
                f"{' and y' if with_label else ''}; write it with numpy.savez(path, X=X, y=y)"
            )
    try:
        X = arrays["X"]
        check_shape(X.shape, "X", n_features)
        names = _feature_names(arrays.get("feature_names"), X)
        features = check_features(X, categorical=categorical, levels=levels, names=names)
        y = check_target(arrays["y"], len(X)) if with_label else None
        weight = check_weight(arrays.get("weight"), len(X))
        qid = check_ids(arrays.get("qid"), len(X))
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    return replace(features, names=names), y, weight, qid


def _plain(name: str) -> str:
    return name if name.isprintable() and len(name) <= 40 else show(name)


def _feature_names(names: NDArray[Any] | None, X: NDArray[Any]) -> list[str] | None:
    if names is None:
        return None
    if names.shape != (X.shape[1],):
        raise DataError(
            f"feature_names has shape {names.shape}: expected ({X.shape[1]},), "
            f"one name per column of X"
        )
    try:
        return [str(name) for name in names]
    except (ValueError, SystemError) as error:  # code points that are not characters
        raise DataError(f"feature_names is not text ({error}); write the file again") from error


def _check_sizes(
    archive: zipfile.ZipFile, wanted: dict[str, str], n_bytes: int, budget: Budget
) -> None:
    """Refuse arrays larger than their archive members, or larger than the memory limit."""
    for name, member in wanted.items():
        with StreamedArray.of_member(archive, member) as array:
            size = math.prod(array.shape)
            n_bytes += size * array.dtype.itemsize
            if name != "feature_names" and array.dtype != np.float32:
                n_bytes += 4 * size
            budget.check(n_bytes, f"with array {name}, of shape {show(array.shape)}, it takes")


def _read(archive: zipfile.ZipFile, member: str) -> NDArray[Any]:
    with StreamedArray.of_member(archive, member) as array:
        return array.all()


@contextlib.contextmanager
def broken(path: str | PathLike[str]) -> Iterator[None]:
    """Turn what zipfile and NumPy raise for a damaged archive into ``DataError``."""
    try:
        yield
    except DataError:
        raise
    except ERRORS as error:
        reason = repr(str(error))[1:201].rstrip("'") or type(error).__name__
        raise DataError(
            f"{path}: cannot be read as npz ({reason}); write it with "
            f"numpy.savez(path, X=X, y=y) from arrays of numbers"
        ) from error


class StreamedArray:
    """An array in the npy format whose rows are read one after the other.

    ``stream``: it is closed by ``with``.
    """

    def __init__(self, stream: IO[bytes], n_bytes: int, name: str) -> None:
        self._stream = stream
        (self.shape, self.fortran_order, self.dtype), n_header = _read_header(stream)
        if math.prod(self.shape) * self.dtype.itemsize > n_bytes - n_header:
            raise ValueError(
                f"array {name} has shape {show(self.shape)} and dtype {self.dtype}, and "
                f"{plural(n_bytes - n_header, 'byte')} of data"
            )

    @classmethod
    def of_member(cls, archive: zipfile.ZipFile, member: str) -> StreamedArray:
        """Open an array of an npz archive."""
        info, name = archive.getinfo(member), member.removesuffix(".npy")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"array {name} is compressed in a way that NumPy does not write")
        return cls(archive.open(info), info.file_size, name)

    def all(self) -> NDArray[Any]:
        """Return the whole array."""
        if math.prod(self.shape) == 0:
            return np.empty(self.shape, self.dtype)
        order: Literal["F", "C"] = "F" if self.fortran_order else "C"
        return self._read(math.prod(self.shape)).reshape(self.shape, order=order)

    def rows(self, n_rows: int) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the first row of each piece, and the piece, of at most ``n_rows`` rows.

        An array in Fortran order is read whole: its rows lie apart.
        """
        if self.fortran_order:
            whole = self.all()
            for first in range(0, self.shape[0], n_rows):
                yield first, whole[first : first + n_rows]
            return
        for first in range(0, self.shape[0], n_rows):
            rows = min(n_rows, self.shape[0] - first)
            shape = (rows, *self.shape[1:])
            yield first, self._read(math.prod(shape)).reshape(shape)

    def _read(self, size: int) -> NDArray[Any]:
        flat = np.empty(size * self.dtype.itemsize, np.uint8)
        _fill(flat, self._stream)
        return flat.view(self.dtype)

    def __enter__(self) -> StreamedArray:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


def _fill(flat: NDArray[np.uint8], stream: IO[bytes]) -> None:
    """Read as many bytes as the array has."""
    view, n_read = flat.data, 0
    while n_read < len(view):
        n = stream.readinto(view[n_read : n_read + (1 << 20)])  # type: ignore[attr-defined]
        if not n:
            raise EOFError("an array ends early")
        n_read += n


def _read_header(stream: IO[bytes]) -> tuple[Header, int]:
    """Return shape, memory order and dtype of an array, and the number of bytes before its data."""
    version = npy.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"version {version} of the array format")
    n_length, parse = _HEADERS[version]
    length = stream.read(n_length)
    n_header = int.from_bytes(length, "little")
    if n_header > MOST_HEADER:
        raise ValueError(f"a header of {n_header} bytes")
    shape, fortran_order, dtype = parse(io.BytesIO(length + stream.read(n_header)))
    if dtype.hasobject:
        raise ValueError("Python objects, which need allow_pickle=True, are never read")
    if dtype.names is not None or dtype.subdtype is not None:
        raise ValueError(f"dtype {dtype}, which is not a plain number type")
    if any(isinstance(n, bool) or n < 0 for n in shape):
        raise ValueError(f"shape {show(shape)}")
    return (shape, fortran_order, dtype), npy.MAGIC_LEN + n_length + n_header
