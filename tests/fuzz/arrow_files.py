"""Files of columns, read batch by batch through pyarrow: Arrow IPC and Parquet."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from pyopencl_gbdt import Dataset
from tests.fuzz.formats import Format


class Columns(Format):
    """Numbers, strings and a dictionary; the first column is the label."""

    n_sampled = 20
    pieces = (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\x10\0\0\0", b"\xe9")

    def __init__(self, name: str, suffix: str) -> None:
        self.name, self.suffix = name, suffix

    def seeds(self) -> list[bytes]:
        import pyarrow

        table = pyarrow.table(
            {"y": [0.0, 1.0] * 60, "a": np.arange(120), "s": ["x", "", "ab"] * 40}
        )
        kinds = table["s"].dictionary_encode()
        return [_written(table, self.name), _written(table.append_column("d", kinds), self.name)]

    def mutate(self, data: bytes, rng: np.random.Generator) -> bytes:
        """Mostly change one number of four bytes: other damage is found in the files' metadata."""
        if rng.random() < 0.3:
            return super().mutate(data, rng)
        place = 4 * int(rng.integers(len(data) // 4))
        number = int(rng.integers(2 ** int(rng.integers(1, 32)))).to_bytes(4, "little")
        return data[:place] + number + data[place + 4 :]

    def read(self, path: Path) -> None:
        data = Dataset.from_batches(path)
        assert data.num_row() == len(data.get_label())


def _written(table: Any, kind: str) -> bytes:
    import pyarrow.ipc
    import pyarrow.parquet

    target = io.BytesIO()
    if kind == "parquet":
        pyarrow.parquet.write_table(table, target)
        return target.getvalue()
    new = pyarrow.ipc.new_stream if kind == "arrow-stream" else pyarrow.ipc.new_file
    with new(target, table.schema) as writer:
        writer.write_table(table)
    return target.getvalue()


FORMATS: list[Format] = [
    Columns("arrow", ".arrow"), Columns("arrow-stream", ".arrow"), Columns("parquet", ".parquet")
]  # fmt: skip
