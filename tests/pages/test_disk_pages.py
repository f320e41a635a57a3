"""Pages of codes on disk: the bytes come back, and the files go."""

import gc
import os
import sys

import numpy as np
import pytest

from pyopencl_gbdt.errors import DataError, FileWriteError, MissingFolderError
from pyopencl_gbdt.fit.stream_in_place import MappedPages, can_map
from pyopencl_gbdt.pages import disk_pages
from pyopencl_gbdt.pages.codecs import (
    Bits,
    PageOrder,
    Plain,
    bits_of,
    choose,
    pack,
    packed_bytes,
    page_sizes,
    unpack,
)
from pyopencl_gbdt.pages.disk_pages import BEGIN, CHECK_EVERY, DiskPages
from pyopencl_gbdt.pages.page import Layout
from tests.compare import assert_same_bits
from tests.device.fakes import make_caps
from tests.reference.packed_bits import pack_bits

#: Codes of the features; the last two need 8 bits and 9.
CODES = np.array([1, 2, 3, 16, 17, 200, 256, 300])
ROWS = (33, 32)
CPU = make_caps(kind="cpu")


def layout_of(n_codes):
    offset = np.concatenate([[0], np.cumsum(n_codes)]).astype(np.uint32)
    zeros = np.zeros(n_codes.size, np.uint32)
    thresholds = np.zeros(int(offset[-1]), np.float32)
    return Layout(n_codes.astype(np.uint32), offset, thresholds, zeros)


def columns_of(n_codes, n_rows, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, n, n_rows) for n in n_codes]).astype(dtype)


def page_of(order, columns):
    page = np.full(columns.shape[1] * order.row_bytes, 7, np.uint8)
    order.write(columns, page)
    return page


@pytest.mark.parametrize("n_rows", [1, 7, 8, 9, 65])
def test_packed_bits_are_those_of_the_twin(n_rows):
    columns = columns_of(CODES, n_rows, np.uint16)
    bits = bits_of(CODES)
    assert bits.tolist() == [0, 1, 2, 4, 5, 8, 8, 9]
    packed = pack(columns, bits)
    assert_same_bits(packed, pack_bits(columns, bits))
    assert packed.size == packed_bytes(bits, n_rows)
    found = np.full_like(columns, 9)
    unpack(packed, bits, found)
    assert_same_bits(found, columns)


@pytest.mark.parametrize("coalesced", [False, True])
@pytest.mark.parametrize("n_codes", [CODES[:7], CODES, np.tile(CODES, 5)], ids=["8", "16", "wide"])
def test_every_codec_returns_the_page(n_codes, coalesced, monkeypatch):
    layout = layout_of(n_codes)
    order = PageOrder(layout, coalesced=coalesced)
    columns = columns_of(n_codes, 50, order.dtype)
    page = page_of(order, columns)
    assert_same_bits(order.columns(page), columns)
    chosen, _ = choose(layout, order, page, on_host_cores=not coalesced)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "zstandard", None)
        assert isinstance(choose(layout, order, page, on_host_cores=not coalesced)[0], Bits)
    for codec in (Plain(), Bits(layout, order), chosen):
        found = np.full_like(page, 3)
        codec.decode(codec.encode(page), found)
        assert_same_bits(found, page)


@pytest.fixture
def stored(tmp_path):
    """Two pages in two folders."""
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    layout = layout_of(CODES[:7])
    order = PageOrder(layout, coalesced=False)
    pages = [page_of(order, columns_of(CODES[:7], n, np.uint8, n)) for n in ROWS]
    made = DiskPages(layout, [(0, 33), (33, 32)], folders, CPU)
    for index, page in enumerate(pages):
        made.add(index, page)
    return made, pages, folders


def files_in(folders):
    return [file for folder in folders for file in folder.rglob("*")]


def test_pages_take_turns_among_folders_and_go(stored):
    made, pages, folders = stored
    assert [made.path(i).parent.parent for i in range(2)] == folders
    assert made.stored_bytes < sum(page.size for page in pages) + 2 * BEGIN
    for index in (1, 0):
        found = np.empty_like(pages[index])
        made.load(index, found)
        assert_same_bits(found, pages[index])
    made.close()
    assert files_in(folders) == []


def test_pages_go_with_their_object(tmp_path):
    own = DiskPages(layout_of(CODES), [(0, 33)], [tmp_path], CPU)
    path = own.path(0).parent
    assert path.exists()
    del own
    gc.collect()
    assert not path.exists()


def test_folders_of_killed_processes_go(stored, tmp_path):
    made, _, folders = stored
    stale = folders[0] / "pyopencl_gbdt-0123456789abcdef"
    stale.mkdir()
    (stale / "lock").touch()
    (stale / "000000.page").touch()
    other = DiskPages(made.layout, [(0, 1)], folders[:1], CPU)
    assert not stale.exists()
    assert made.path(0).exists()  # its process is alive
    other.close()


def _damage(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def _flip(path):
    """Change a bit of the file itself, which may be mapped."""
    with path.open("r+b") as file:
        file.seek(BEGIN)
        first = file.read(1)
        file.seek(BEGIN)
        file.write(bytes([first[0] ^ 1]))


def _cut(path):
    path.write_bytes(path.read_bytes()[:20])


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (_damage, "is damaged: its checksum differs"),
        (_cut, "has 20 bytes"),
        (lambda path: path.unlink(), "cannot be read"),
    ],
    ids=["damaged", "cut", "missing"],
)
def test_a_damaged_page_is_refused(stored, harm, words):
    made, pages, _ = stored
    harm(made.path(1))
    with pytest.raises(DataError, match=rf"000001.page: this page of codes {words}"):
        made.load(1, np.empty_like(pages[1]))


def test_damage_after_the_first_load(stored, monkeypatch):
    """A changed file is found by the next load; the same identity, within ``CHECK_EVERY``."""
    made, pages, _ = stored
    into = np.empty_like(pages[1])
    made.load(1, into)
    _damage(made.path(1))
    with pytest.raises(DataError, match="its checksum differs"):
        made.load(1, into)
    _damage(made.path(1))  # the same bit again
    monkeypatch.setattr(disk_pages, "_identity", lambda status: (status.st_size,))
    made.load(1, into)
    _damage(made.path(1))
    with pytest.raises(DataError, match="its checksum differs"):  # noqa: PT012
        for _ in range(CHECK_EVERY):
            made.load(1, into)


@pytest.fixture
def mapped(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_pages, "choose", lambda _layout, _order, page, **_: (Plain(), page))
    layout, rng = layout_of(CODES), np.random.default_rng(5)
    made = DiskPages(layout, [(0, 33), (33, 32)], [tmp_path], CPU)
    sizes = page_sizes(layout, made.bounds, coalesced=False)
    pages = [rng.integers(0, 3, size, np.uint8) for size in sizes]
    for index, page in enumerate(pages):
        made.add(index, page)
    assert can_map(made)
    return made, MappedPages(made, sizes), pages


def test_mapped_pages_are_the_files(mapped):
    made, pages, wanted = mapped
    for _ in range(2 * CHECK_EVERY):
        for index, page in enumerate(wanted):
            pages.ready(index)
            np.testing.assert_array_equal(pages.codes(index), page)
            assert pages.codes(index).ctypes.data % BEGIN == 0
    made.path(0).touch()
    pages.ready(0)  # another time, the same codes
    pages.close()
    assert not made.path(0).exists()


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (_flip, "is damaged: its checksum differs"),
        (lambda path: os.truncate(path, BEGIN + 20), "is damaged: it has 20 bytes of codes"),
        (lambda path: path.unlink(), "cannot be read"),
    ],
    ids=["damaged", "cut", "missing"],
)
def test_a_mapped_page_that_changes_is_refused(mapped, harm, words):
    made, pages, _ = mapped
    pages.ready(1)
    harm(made.path(1))
    with pytest.raises(DataError, match=rf"000001.page: this page of codes {words}"):
        pages.ready(1)


def test_a_page_of_another_fit_is_refused(stored):
    made, pages, folders = stored
    other = DiskPages(made.layout, made.bounds, folders, CPU)
    other.add(0, pages[0])
    made.path(0).write_bytes(other.path(0).read_bytes())
    other.close()
    with pytest.raises(DataError, match="belongs to another fit"):
        made.load(0, np.empty_like(pages[0]))


def test_a_full_disk_leaves_nothing_behind(stored, monkeypatch):
    made, pages, folders = stored

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.open", full)
    with pytest.raises(
        FileWriteError, match=r"No space left on device.*: expected room .* 2 pages"
    ):
        made.add(1, pages[1])
    assert files_in(folders) == []


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(MissingFolderError, match=r"cache_dir=.*no such folder"):
        DiskPages(layout_of(CODES), [(0, 1)], [tmp_path, tmp_path / "no"], CPU)
    assert list(tmp_path.iterdir()) == []
