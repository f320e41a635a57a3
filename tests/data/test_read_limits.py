"""Files made to take for ever or all memory: refused before they do, by size and by name."""

import gzip
import os
import subprocess
import sys
import threading
import tracemalloc
import zipfile

import numpy as np
import pytest

from pyopencl_gbdt.data import budget as budget_module
from pyopencl_gbdt.data import read_table
from pyopencl_gbdt.data.budget import BASE, PER_BYTE, Budget, available_memory
from pyopencl_gbdt.data.files import readers
from pyopencl_gbdt.errors import DataError

SPACES = b" " * 200_000

#: What took minutes, or would.
SLOW = {
    "spaces before text": b"1," + SPACES + b"x\n",
    "spaces after a number": b"1,2" + SPACES + b"x\n",
    "spaces and a missing value": b"1," + SPACES + b"NA" + SPACES + b"x,\n",
    "spaces at the start": b"1,2\n" + SPACES + b"x,3\n",
    "tabs": b"1;" + b"\t" * 200_000 + b"x\n",
    "zeros": b"1,-" + b"0" * 200_000 + b"x\n",
    "delimiters": b"1" + b"," * 200_000 + b"x\n",
    "quotes": b"1," + b'"' * 200_001 + b"\n",
    "spaces before qid": b"1" + SPACES + b"qid: 1:1\n",
    "qid twice": b"1" + SPACES + b"qid:1" + SPACES + b"qid:2 1:1\n",
    "spaces before a pair": b"1 1:1" + SPACES + b"x:1\n",
    "a long index": b"1 " + b"1" * 200_000 + b"x:1\n",
    "pairs": b"1" + b" 1:1" * 50_000 + b" x\n",
    "names": b",".join(b"a%d" % i for i in range(20_000)) + b"\n",
    "empty lines": b"\n" * 200_000 + b"x\n",
}


@pytest.mark.thorough
def test_every_file_is_read_in_linear_time(tmp_path):
    for number, data in enumerate(SLOW.values()):
        (tmp_path / f"{number}").write_bytes(data)
    code = (
        "import sys\n"
        "from pyopencl_gbdt.data import read_table\n"
        "from pyopencl_gbdt.errors import DataError\n"
        "for number in range(int(sys.argv[2])):\n"
        "    for form in ('auto', 'libsvm'):\n"
        "        try:\n"
        "            read_table(f'{sys.argv[1]}/{number}', file_format=form)\n"
        "        except DataError:\n"
        "            pass\n"
        "    print(number, flush=True)\n"
    )
    words = [sys.executable, "-c", code, str(tmp_path), str(len(SLOW))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert len(done.stdout.split()) == len(SLOW)


def refused_within_memory(path, words, **options):
    """Read a file that is refused; return the message."""
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=words) as caught:
            read_table(path, **options)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (64 << 20) + 40 * path.stat().st_size
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_wide_libsvm_matrix(tmp_path, monkeypatch):
    """It takes the memory of its entries, but a few bytes do not ask for tables of gigabytes."""
    path = tmp_path / "wide.libsvm"
    path.write_text("1 0:1\n1 2147483646:2\n")
    words = refused_within_memory(path, "its largest index is 2147483646, counted from 0; tables")
    assert "give n_features=2147483647, or pass max_bytes=" in words
    tracemalloc.start()
    assert read_table(path, n_features=2**31 - 1).X.shape == (2, 2**31 - 1)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    refused_within_memory(path, "2 rows x 2147483647 columns take about 17.17 GB", dense=True)
    refused_within_memory(path, "expected 2147483647 at most; lower", n_features=999_999_999_999)
    path.write_text("1 999999999999999999:1\n")
    refused_within_memory(path, "line 1: found index 999999999999999999: expected 0..2147483646")

    def exhausted(*_, **__):
        raise MemoryError

    monkeypatch.setattr(readers, "parse_libsvm", exhausted)
    with pytest.raises(DataError, match=r"wide\.libsvm: the machine's main memory is exhausted"):
        read_table(path)


@pytest.mark.thorough
def test_the_limit_can_be_moved(tmp_path):
    path = tmp_path / "repeats.libsvm.gz"
    path.write_bytes(gzip.compress(b"1 " + b" ".join(b"%d:2" % i for i in range(300_000)), 9))
    message = refused_within_memory(path, "text and pairs take about", max_bytes=5_000_000)
    needed = int(message.partition("max_bytes=")[2].split(" ")[0]) + 4 * 300_000
    table = read_table(path, max_bytes=needed)
    assert table.X.shape == (1, 300_000)
    message = refused_within_memory(path, "pairs and a matrix of 1 row", max_bytes=needed - 1)
    assert "which is max_bytes" in message
    path = tmp_path / "small.libsvm"
    path.write_text("1 10:2\n" * 10)
    assert read_table(path, max_bytes=10_000).X.shape == (10, 11)
    refused_within_memory(path, "which is max_bytes", max_bytes=100)


@pytest.mark.parametrize("given", [0, -1, 1.5, "1", True])
def test_a_limit_that_is_none(tmp_path, given):
    path = tmp_path / "a.csv"
    path.write_text("1,2\n")
    with pytest.raises(DataError, match=r"max_bytes=.*: expected a whole number of bytes from 1"):
        read_table(path, max_bytes=given)
    assert read_table(path, max_bytes=np.int64(100)).X.shape == (1, 1)


def test_a_file_warrants_what_files_usually_take(tmp_path):
    """One pair in a hundred is there: 4 bytes for every 1/100 of 10 bytes."""
    path = tmp_path / "sparse.libsvm"
    rng = np.random.default_rng(0)
    rows = [sorted(rng.choice(20_000, 200, replace=False).tolist()) for _ in range(600)]
    path.write_text("\n".join("1 " + " ".join(f"{c}:0.25" for c in row) for row in rows))
    assert BASE < 4 * 600 * 20_000  # it need not be dense
    assert read_table(path, n_features=20_000).X.shape == (600, 20_000)


@pytest.mark.few(4)
@pytest.mark.parametrize("text", [b"\n", b" ", b"1,2\n", b"1,\n", b"1 1:1\n", b"1\n", b'"1",2\n'])
def test_gzip_of_what_repeats(tmp_path, text):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(text * (40_000_000 // len(text)), 1))
    message = refused_within_memory(path, "takes? a")
    assert "unpack it with gunzip, or pass max_bytes=" in message


def test_gzip_of_usual_text(tmp_path):
    rng = np.random.default_rng(0)
    text = "\n".join(",".join(map(str, row)) for row in rng.integers(0, 10, (20_000, 20)).tolist())
    path = tmp_path / "digits.csv.gz"
    path.write_bytes(gzip.compress(text.encode(), 6))
    assert read_table(path).X.shape == (20_000, 19)


def test_gzip_within_the_users_limit(tmp_path):
    path = tmp_path / "zeros.csv.gz"
    path.write_bytes(gzip.compress(b"0,0,0,0\n" * 2_000_000))
    refused_within_memory(path, "its text and table take about 48 MB")
    assert read_table(path, max_bytes=10**8).X.shape == (2_000_000, 3)


def test_a_pipe_is_read_up_to_the_limit(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write(data):
        try:
            with path.open("wb") as stream:
                stream.write(data)
        except BrokenPipeError:
            pass

    for n_rows in (3, 2_000_000):
        writer = threading.Thread(target=write, args=(b"1,2\n" * n_rows,), daemon=True)
        writer.start()
        if n_rows == 3:
            assert read_table(path).X.shape == (3, 1)
        else:
            with pytest.raises(DataError, match=r"pipe, .*: reading .* which is max_bytes"):
                read_table(path, max_bytes=4_000_000)
        writer.join()


def npy(shape, descr="<f8", version=b"\x01\x00", data=b"", header=None):
    text = header or f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}}}"
    length = len(text).to_bytes(2 if version[0] == 1 else 4, "little")
    return b"\x93NUMPY" + version + length + text.encode() + data


def archive(path, method=zipfile.ZIP_DEFLATED, **arrays):
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in arrays.items():
            file.writestr(f"{name}.npy", data)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (npy("(10**0, 1)"), "cannot be read as npz"),
        (npy("(9999999999, 9999999999)"), r"shape \(9999999999, 9999999999\) and dtype float64"),
        (npy("(99999999999999999999999, 2)"), "shape .* 0 bytes of data"),
        (npy("(2147483647, 1)", data=bytes(80)), "and 80 bytes of data"),
        (npy("(-1, 4)"), r"shape \(-1, 4\)"),
        (npy("(True, 4)"), "shape"),
        (npy("(2, 2)", descr="|O", data=bytes(32)), "allow_pickle=True, are never read"),
        (npy("(2, 2)", descr="|V99999999999"), "cannot be read as npz"),
        (npy("(2, 2)", version=b"\x03\x00"), "version"),
        (npy("", version=b"\x02\x00", header="(" * 9000), "cannot be read as npz"),
        (npy("", version=b"\x02\x00", header=" " * 20_000), "a header of 20000 bytes"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "a header of 4294967295 bytes"),
        (npy("(2, 2)"[:5]), "cannot be read as npz"),
        (b"", "cannot be read as npz"),
    ],
)
def test_headers_of_npz_that_claim_too_much(tmp_path, array, words):
    path = tmp_path / "a.npz"
    archive(path, X=array, y=npy("(2,)", data=bytes(16)))
    refused_within_memory(path, words)


def test_npz_of_what_repeats(tmp_path):
    path = tmp_path / "bomb.npz"
    X = np.zeros((3 * 10**6, 4), np.int8)
    np.savez_compressed(path, X=X, y=np.zeros(3 * 10**6, np.int8))
    refused_within_memory(path, r"with array X, of shape \(3000000, 4\), it takes 60")
    assert read_table(path, max_bytes=10**8).X.shape == X.shape
    del X
    archive(path, X=b"\x93NUMPY" + bytes(5 * 10**7), y=b"")
    refused_within_memory(path, "cannot be read as npz")
    archive(path, zipfile.ZIP_LZMA, X=npy("(2, 2)", data=bytes(32)), y=npy("(2,)", data=bytes(16)))
    refused_within_memory(path, "compressed in a way")


def test_arrays_of_npz_can_be_written_to_and_keep_their_order(tmp_path):
    path = tmp_path / "a.npz"
    X = np.arange(6, dtype=np.float32).reshape(2, 3)
    for given in (X, np.asfortranarray(X), X.astype(">f4"), X.astype(np.float16), X > 2):
        np.savez(path, X=given, y=[1, 2])
        table = read_table(path)
        assert table.X.flags.writeable
        np.testing.assert_array_equal(table.X, given)


@pytest.mark.thorough
def test_a_table_larger_than_the_memory_that_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr(budget_module, "available_memory", lambda: 2_000_000)
    path = tmp_path / "a.libsvm"
    path.write_text("1 0:2\n" * 50_000)
    message = refused_within_memory(path, "of 50000 rows x 1 column take about 3.[0-9]+ MB")
    assert "expected at most 2 MB, which this machine has left" in message
    path.write_text("1 399999:1\n1 0:2\n")
    assert read_table(path).X.shape == (2, 400_000)
    large = tmp_path / "b.csv"
    large.write_bytes(b"1,2\n" * 750_000)
    refused_within_memory(large, "3 MB: reading it takes 3 MB: expected at most 2 MB")


def test_memory_that_is_left(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    assert available_memory(tmp_path) is None
    write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    4000 kB\nSwapFree:  1000 kB\n")
    assert available_memory(tmp_path) == 5000 * 1024
    write("proc/self/limits", "Max address space         4096000     unlimited    bytes\n")
    write("proc/self/status", "VmPeak:\t 3000 kB\nVmSize:\t 2000 kB\n")
    assert available_memory(tmp_path) == 2000 * 1024
    write("proc/self/cgroup", "0::/a/b\n")
    write("sys/fs/cgroup/a/memory.max", "max\n")
    write("sys/fs/cgroup/a/memory.current", "77\n")
    assert available_memory(tmp_path) == 2000 * 1024
    write("sys/fs/cgroup/a/memory.max", "1000000\n")
    write("sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 70\n")
    assert available_memory(tmp_path) == 1_000_000 - 77 + 70
    write("proc/self/cgroup", "3:cpu:/x\n2:memory:/c\n")
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "5000\n")
    write("sys/fs/cgroup/memory/memory.usage_in_bytes", "6000\n")
    assert available_memory(tmp_path) == 0
    real = available_memory()
    assert real is None or real > 1 << 20


def test_budget_names_what_it_allows():
    Budget("f", 10).check(BASE + 10 * PER_BYTE, "it takes")
    with pytest.raises(DataError, match=r"^f, 10 bytes: it takes 33.55 MB: expected at most 33.55"):
        Budget("f", 10).check(BASE + 10 * PER_BYTE + 1, "it takes")
