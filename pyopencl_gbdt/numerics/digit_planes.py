"""Bit planes: a number is split into several integers whose sums over rows stay below 2^61."""

from __future__ import annotations

#: The largest key (see ``product_sums``) of ln(S / hazard) * 1; the logarithm is below 256.
LARGEST_KEY = 134 + 127


def plane_bits(n_rows: int) -> int:
    """Return the number of bits of a plane: the sum over all rows has to stay below 2^61."""
    return min(40, 61 - n_rows.bit_length())
