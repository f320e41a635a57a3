"""Plan the device memory of quantising: if possible, no more than training needs.

Training holds the codes twice, by row and by feature, and 24 bytes for each row: margin, label, two
quanta, two row ids. Quantising may use as much, but at least `LEAST_BYTES`:

- If all values fit too, they are uploaded as a whole. Otherwise they are uploaded in pieces of 16
  MiB: every block of columns to be cut, and all columns once more to be encoded.
- A block has as many sorted columns as fit.
- Quantile summaries need no column: some rows of all columns are sorted at a time.
- A batch of these columns is sorted at a time. The sort's scratch takes as much memory as the
  batch. If rows have weights, row ids and running sums of the batch are kept too.

A device that shares the host's memory reads the values without a copy.
"""

from __future__ import annotations

from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.device.staging import PIECE_BYTES
from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.primitives.packed_codes import bytes_of_codes
from pyopencl_gbdt.primitives.radix_plan import scratch_bytes

#: Bytes that training holds for each row beside its codes.
ROW_BYTES = 24
#: Smallest budget; with it, a million rows of 28 features are cut in one block.
LEAST_BYTES = 128 * 1024 * 1024
#: Bytes of keys that are sorted at a time; with fewer, a GPU is idle between launches.
BATCH_BYTES = 32 * 1024 * 1024
#: Bytes of a block of sorted columns on a device that shares the host's memory. Writing to memory
#: for the first time costs a CPU more than reading the values once more.
SHARED_BLOCK_BYTES = 32 * 1024 * 1024
#: Values that are summarised at a time, ...
SUMMARY_VALUES = 1 << 22
#: ... which take so many bytes each (PoCL, 28 to 300 columns: 69 to 77), ...
SUMMARY_BYTES = 80
#: ... of them so many in one array, the ranks.
RANKS_BYTES = 24


def summary_values(device: Device) -> int:
    """Return how many values are summarised at a time: fewer where memory is small."""
    caps = device.caps
    room = (caps.global_bytes - device.allocated_bytes) // (2 * SUMMARY_BYTES)
    return max(1, min(SUMMARY_VALUES, room, caps.max_alloc_bytes // RANKS_BYTES))


def found_words(max_bin: int) -> int:
    """Return the number of uint32 for a feature's cuts: three numbers, and values on both sides."""
    return 3 + 2 * max_bin


@dataclass(frozen=True)
class SetUp:
    """Memory plan of a quantisation.

    Attributes
    ----------
    piece_rows : int
        Rows of a piece of values; all rows if the values stay on the device as a whole.
    block : int
        Sorted columns that are kept until they are cut.
    batch : int
        Columns that are sorted at a time.
    n_bytes : int
        Most bytes that are allocated at the same time.
    """

    piece_rows: int
    block: int
    batch: int
    n_bytes: int


def plan_set_up(
    device: Device,
    n_rows: int,
    n_features: int,
    max_bin: int,
    *,
    weighted: bool,
    resident: bool = False,
    code_bytes: int = 0,
    in_batches: bool = False,
    exact: bool = True,
) -> SetUp:
    """Return sizes within the budget, or the smallest possible ones.

    The quantiser's constructors take these sizes, so they cannot tell them: bytes are counted here.

    ``resident`` says that the values are on the device already, in one piece; ``code_bytes`` are
    those of the codes, if they are tiled or joint. ``in_batches`` says that reading the values anew
    takes longer than writing to memory, so that blocks are as large as memory allows. Columns are
    sorted as a whole if ``exact``, else summarised.
    """
    caps = device.caps
    page = code_bytes or bytes_of_codes(device, n_rows, n_features, max_bin)
    there = caps.global_bytes - device.allocated_bytes
    weights = 4 * n_rows if weighted else 4
    budget = min(max(page + ROW_BYTES * n_rows + weights, LEAST_BYTES), there)
    column = 4 * n_rows + 4 * found_words(max_bin)
    row_bytes = 4 * n_features
    most_rows = max(1, caps.max_alloc_bytes // row_bytes)

    batch = max(1, min(n_features, MOST_Y, BATCH_BYTES // (n_rows * (8 if weighted else 4))))
    if not caps.hides_latency and 2 * caps.compute_units * column <= budget // 2:
        batch = max(batch, min(n_features, caps.compute_units))  # one column for each core
    scratch = _scratch(device, n_rows, batch, weighted)

    piece_rows = n_rows if resident else min(n_rows, most_rows)
    values = 0 if device.borrows or resident else row_bytes * n_rows
    whole = weights + values + max(page, column + scratch) <= budget and piece_rows == n_rows
    if not (device.borrows or resident or whole):
        piece_rows = min(piece_rows, max(1, min(PIECE_BYTES, there // 8) // row_bytes))
        values = row_bytes * piece_rows
    fixed = weights + values

    fits = min((budget - fixed - scratch) // column, caps.max_alloc_bytes // (4 * n_rows))
    if device.borrows and not in_batches:
        fits = min(fits, max(batch, SHARED_BLOCK_BYTES // column))
    block = max(1, min(fits, n_features, MOST_Y))
    block = -(-n_features // -(-n_features // block))  # blocks of equal size
    batch = min(batch, block)
    tables = 4 * n_features * (3 + 2 * max_bin)
    cutting = block * column + _scratch(device, n_rows, batch, weighted)
    if not exact:
        cutting = SUMMARY_BYTES * min(n_rows * n_features, summary_values(device))
    return SetUp(piece_rows, block, batch, fixed + max(cutting, page + tables))


def check_codes(device: Device, n_rows: int, n_features: int, most_codes: int) -> None:
    """Refuse codes for which less memory was planned, and that do not fit.

    Raises
    ------
    MemoryPlanError
    """
    there = device.caps.global_bytes - device.allocated_bytes
    codes = bytes_of_codes(device, n_rows, n_features, most_codes)
    if codes > there:
        raise MemoryPlanError(
            f"the codes of {n_rows} x {n_features} values need {codes} bytes on "
            f"{device.caps.label}, which has {there} left; use fewer rows or features"
        )


def _scratch(device: Device, n_rows: int, batch: int, weighted: bool) -> int:
    """Return the bytes of a sort's scratch, with row ids and running sums if rows have weights."""
    beside = 12 * n_rows * batch if weighted else 12
    return beside + scratch_bytes(device, n_rows, batch, has_values=weighted)
