"""Files with random damage: read_table returns a table or raises DataError, nothing else."""

import gzip
import io

import numpy as np
import pytest

from pyopencl_gbdt.data import TableData, read_table
from pyopencl_gbdt.errors import DataError, ParameterError


@pytest.mark.parametrize("path", ["a\0.csv", "", 3])
def test_what_cannot_be_a_path(path):
    with pytest.raises(ParameterError, match="expected the path of a file"):
        read_table(path)


def npz_bytes():
    buffer = io.BytesIO()
    np.savez(buffer, X=np.ones((3, 2)), y=np.arange(3))
    return buffer.getvalue()


CSV = b'label,"a b",c\n1,0.5,\n0,-3e4,"7"\n1,?,2\n'
LIBSVM = b"1 0:0.5 3:1e3 # note\n0 1:2\n1 2:nan\n"
FILES = {"csv": CSV, "libsvm": LIBSVM, "gz": gzip.compress(CSV), "npz": npz_bytes()}
PIECES = [
    b"",
    b",",
    b'"',
    b":",
    b"\n",
    b"\t",
    b"#",
    b"e",
    b"-",
    b"9999999999",
    b"\0",
    b"\xe9",
    b"x",
]


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("with_label", [True, False])
@pytest.mark.filterwarnings("ignore:query ids")
def test_damage_is_reported(tmp_path, kind, with_label):
    rng = np.random.default_rng(len(kind))
    path = tmp_path / f"damaged.{kind}"
    outcomes = set()
    for _ in range(150):
        data = FILES[kind]
        for _ in range(rng.integers(1, 4)):
            start = rng.integers(len(data) + 1)
            data = (
                data[:start] + PIECES[rng.integers(len(PIECES))] + data[start + rng.integers(4) :]
            )
        path.write_bytes(data)
        try:
            table = read_table(path, with_label=with_label)
        except DataError as error:
            outcomes.add("refused" if path.name in str(error) else "refused without a name")
        else:
            assert isinstance(table, TableData)
            assert len(table.X.shape) == 2
            values = table.X if isinstance(table.X, np.ndarray) else table.X.values
            assert not np.isinf(values).any()
            assert with_label == (table.y is not None)
            outcomes.add("read")
    assert "refused" in outcomes
    assert outcomes <= {"refused", "read"}
